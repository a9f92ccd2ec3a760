//! The options behind `--` of the SCTP tests.

use netperf_arguments::args::TestArgs;
use netperf_arguments::command::CliError;
use netperf_arguments::grammar::{int, size};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

use super::{help_row, shared};

type Opt = OptionSpec<TestArgs>;

/// Associations of one test at most: as many as there are ports to come from.
const ASSOCIATIONS: u32 = 65_535;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::SEND_SIZE,
    shared::RECV_SIZE,
    shared::REQUEST_SIZE,
    Opt::lettered('N', "messages", Group::Operation)
        .takes("count", ValueKind::Size)
        .set(|a, text| a.messages = Some(size(text)))
        .help("end after this many messages or transactions")
        .more("Instead of after a time. 0 keeps the time limit."),
    Opt::lettered('T', "associations", Group::Operation)
        .takes("count", ValueKind::Within(1, ASSOCIATIONS))
        .checked(|a, text| {
            let count = u32::try_from(int(text)).unwrap_or(0);
            a.associations = Some(count);
            if count == 0 {
                return Err(CliError::Associations);
            }
            Ok(())
        })
        .help("number of concurrent associations (MANY tests)")
        .more("For the tests with MANY in their name (default 1)."),
    shared::SOCKET_BUFFER,
    shared::REMOTE_SOCKET_BUFFER,
    shared::NO_DELAY,
    Opt::lettered('B', "non-blocking", Group::Sockets)
        .flag(|a| a.non_blocking = true)
        .help("use non-blocking sockets")
        .more(
            "At client and server: calls return at once and are repeated when data can be moved.",
        ),
    shared::DATA_HOST,
    shared::LOCAL_DATA_HOST,
    shared::DATA_PORT,
    shared::DATA_IPV4,
    shared::DATA_IPV6,
    shared::AVOID_COPY,
    shared::UNUSED_I,
];
