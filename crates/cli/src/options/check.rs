//! The options of `netperf check`.

use super::plain_help_row;
use crate::args::CheckArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<CheckArgs>;

/// Every option.
pub(crate) static TABLE: &[Opt] = &[
    Opt::lettered('H', "host", Group::Hosts)
        .takes("host", ValueKind::RemoteHost)
        .set(|a, text| text.clone_into(&mut a.host))
        .help("the host, where it is not the first word"),
    Opt::lettered('p', "port", Group::Hosts)
        .takes("port", ValueKind::Port)
        .set(|a, text| a.port = Some(text.to_owned()))
        .help("control port of netserver (default 12865)"),
    Opt::lettered('4', "ipv4", Group::Hosts)
        .flag(|a| a.family = Some('4'))
        .help("use IPv4"),
    Opt::lettered('6', "ipv6", Group::Hosts)
        .flag(|a| a.family = Some('6'))
        .help("use IPv6"),
    Opt::named("time", Group::Test)
        .takes("time", ValueKind::Interval)
        .set(|a, text| a.time = Some(text.to_owned()))
        .help("length of each measurement (default 3s)"),
    Opt::named("human", Group::Output)
        .flag(|a| a.json = false)
        .help("print the summary as text (default)"),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = true)
        .help("print the summary as JSON"),
    Opt::named("db", Group::History)
        .takes("place", ValueKind::Text)
        .set(|a, text| a.place = Some(text.to_owned()))
        .help("location of the history, as in netperf history"),
    Opt::named("no-history", Group::History)
        .flag(|a| a.forget = true)
        .help("neither store the results nor compare them with the last ones"),
    plain_help_row(),
];
