//! The options of `netperf campaign`.

use std::path::PathBuf;

use super::plain_help_row;
use crate::args::CampaignArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<CampaignArgs>;

/// Every option.
pub(crate) static TABLE: &[Opt] = &[
    Opt::named("inventory", Group::Operation)
        .takes("file", ValueKind::File)
        .set(|a, text| a.inventory = Some(text.to_owned()))
        .help("the hosts that take part; - is standard input")
        .more(
            "A host on each line, with its port, labels and address for data: h1:12865 rack=r1 \
             data=10.0.0.1. Also the output of kubectl get pods -o json, ansible-inventory --list \
             and scontrol show hostnames, a host file of MPI, and what netperf campaign inventory \
             prints.",
        ),
    Opt::named("key-file", Group::Operation)
        .takes("file", ValueKind::File)
        .set(|a, text| a.key_file = Some(PathBuf::from(text)))
        .help("file with the key of the agents")
        .more("Without it the key comes from NETPERF_KEY_FILE in the environment."),
    Opt::named("join-listen", Group::Operation)
        .takes("[host]:port", ValueKind::Text)
        .set(|a, text| a.join_listen = Some(text.to_owned()))
        .help("wait here for agents with --join")
        .more("For agents that cannot be connected to. It waits up to two minutes."),
    Opt::named("expect", Group::Operation)
        .takes("count", ValueKind::Count)
        .set(|a, text| a.expect = text.parse().ok())
        .help("number of agents that join"),
    Opt::lettered('o', "output", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.output = Some(text.into()))
        .help("write the result, or the key, to this file"),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = true)
        .help("print the result as JSON"),
    plain_help_row(),
];
