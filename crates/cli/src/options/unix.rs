//! The options behind `--` of the Unix-domain tests: STREAM_STREAM, STREAM_RR,
//! DG_STREAM, DG_RR.

use super::{help_row, shared};
use crate::args::TestArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::send_size(),
    shared::recv_size(),
    shared::request_size(),
    Opt::ready(
        'p',
        "directory",
        "folder for netperf's socket file",
        Action::Value(|a, text| a.directory = Some(text.to_owned())),
    )
    .long("socket-directory", Group::Addresses, ValueKind::File)
    .more(
        "Only DG_RR needs one. The default is the system's folder for temporary files, which is \
         also used if a socket cannot be created in the given one.",
    ),
    shared::socket_buffer(),
    shared::remote_socket_buffer(),
];
