//! The options behind `--` of the SCTP tests.

use super::{help_row, shared};
use crate::args::TestArgs;
use crate::command::CliError;
use crate::grammar::{int, size};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<TestArgs>;

/// Associations of one test at most: as many as there are ports to come from.
const ASSOCIATIONS: u32 = 65_535;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::send_size(),
    shared::recv_size(),
    shared::request_size(),
    Opt::ready(
        'N',
        "count",
        "end after this many messages or transactions",
        Action::Value(|a, text| a.messages = Some(size(text))),
    )
    .long("messages", Group::Operation, ValueKind::Size)
    .more("Instead of after a time. 0 keeps the time limit."),
    Opt::ready(
        'T',
        "count",
        "number of concurrent associations (MANY tests)",
        Action::Checked(|a, text, _| {
            let count = u32::try_from(int(text)).unwrap_or(0);
            a.associations = Some(count);
            if count == 0 {
                return Err(CliError::Associations);
            }
            Ok(())
        }),
    )
    .long(
        "associations",
        Group::Operation,
        ValueKind::Within(1, ASSOCIATIONS),
    )
    .more("For the tests with MANY in their name (default 1)."),
    shared::socket_buffer(),
    shared::remote_socket_buffer(),
    shared::no_delay(),
    Opt::ready(
        'B',
        "",
        "use non-blocking sockets",
        Action::Flag(|a| a.non_blocking = true),
    )
    .long("non-blocking", Group::Sockets, ValueKind::Nothing)
    .more("At both ends: calls return at once and are repeated when data can be moved."),
    shared::data_host(),
    shared::local_data_host(),
    shared::data_port(),
    shared::data_ipv4(),
    shared::data_ipv6(),
    shared::avoid_copy(),
    shared::unused_i(),
];
