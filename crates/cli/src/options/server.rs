//! The options of netserver.

use netperf_model::Family;

use super::{help_row, ready, set_host};
use crate::args::ServerArgs;
use crate::grammar::int;
use crate::table::{Action, Halt, Row};

/// Every letter.
pub(crate) static TABLE: &[Row<ServerArgs>] = &[
    help_row(),
    ready(
        'D',
        "",
        "stay in the foreground",
        Action::Flag(|a| {
            a.foreground = true;
            a.standalone = true;
        }),
    ),
    ready(
        'f',
        "",
        "serve one client at a time without starting a process for each",
        Action::Flag(|a| {
            a.no_fork = true;
            a.standalone = true;
        }),
    ),
    ready(
        'L',
        "host,family",
        "listen only here",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.listen, text, notices);
            a.standalone = true;
            Ok(())
        }),
    ),
    ready(
        'p',
        "port",
        "listen on this port, 12865 unless given",
        Action::Value(|a, text| {
            a.port = Some(text.to_owned());
            a.standalone = true;
        }),
    ),
    ready(
        '4',
        "",
        "listen on IPv4 only",
        Action::Flag(|a| a.listen.family = Some(Family::V4)),
    ),
    ready(
        '6',
        "",
        "listen on IPv6 only",
        Action::Flag(|a| a.listen.family = Some(Family::V6)),
    ),
    ready(
        'Z',
        "passphrase",
        "close connections that do not begin with this passphrase",
        Action::Value(|a, text| a.passphrase = Some(text.to_owned())),
    ),
    ready(
        'd',
        "",
        "write debug output, more for each time given",
        Action::Flag(|a| a.debug += 1),
    ),
    ready(
        'N',
        "",
        "never write debug output",
        Action::Flag(|a| {
            a.quiet = true;
            a.debug = 0;
        }),
    ),
    ready(
        'n',
        "count",
        "number of CPUs; accepted, the system tells",
        Action::Value(|_, _| {}),
    ),
    ready(
        'v',
        "level",
        "verbosity; accepted, no effect",
        Action::Value(|a, text| a.verbosity = int(text)),
    ),
    ready(
        'V',
        "",
        "show the version and exit",
        Action::Halt(Halt::Version),
    ),
];
