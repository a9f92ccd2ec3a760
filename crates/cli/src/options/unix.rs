//! The options behind `--` of the Unix-domain tests: STREAM_STREAM, STREAM_RR,
//! DG_STREAM, DG_RR.

use netperf_arguments::args::TestArgs;
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

use super::{help_row, shared};

type Opt = OptionSpec<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::SEND_SIZE,
    shared::RECV_SIZE,
    shared::REQUEST_SIZE,
    Opt::lettered('p', "socket-directory", Group::Addresses)
        .takes("directory", ValueKind::File)
        .set(|a, text| a.directory = Some(text.to_owned()))
        .help("folder for netperf's socket file")
        .more(
            "Only DG_RR needs one. The default is the system's folder for temporary files, which \
             is also used if a socket cannot be created in the given one.",
        ),
    shared::SOCKET_BUFFER,
    shared::REMOTE_SOCKET_BUFFER,
];
