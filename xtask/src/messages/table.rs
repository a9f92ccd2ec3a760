//! Facts about messages that the sources lack: the programs that show them, and the exit statuses of
//! error types. A missing entry and an entry without a message are errors.

/// A section of the page.
pub(super) struct MessageSection {
    pub(super) title: &'static str,
    /// A sentence about it.
    pub(super) about: &'static str,
    /// Beginnings of the paths of its sources; the longest one decides.
    pub(super) paths: &'static [&'static str],
    /// Exit status of reasons without a type, unless [`REASONS`] has another one.
    pub(super) status: &'static str,
}

/// The sections, in the order of the page.
pub(super) const SECTIONS: &[MessageSection] = &[
    MessageSection {
        title: "Command lines",
        about: "Errors of options begin with the name of the program. Lines about letters that netperf 2.7 \
                accepts are warnings.",
        paths: &["crates/arguments/src", "crates/cli/src"],
        status: "2",
    },
    MessageSection {
        title: "netperf",
        about: "A warning is a line on standard error and an element of `warnings` in JSON. One of the \
                kind `not_as_asked` is an error with status 3 if a long option asked for the setting. \
                A test without a result ends with status 1 and the text of its warning.",
        paths: &[
            "crates/client/src",
            "crates/model/src",
            "crates/program/src",
            "crates/report/src",
        ],
        status: "1, 3 or 255",
    },
    MessageSection {
        title: "netperf report, compare and run",
        about: "`netperf run` ends with the status of a run of netperf that failed.",
        paths: &[
            "crates/cli/src/subcommand/compare.rs",
            "crates/cli/src/subcommand/report.rs",
            "crates/cli/src/vary.rs",
            "crates/commands/src/report.rs",
            "crates/commands/src/compare.rs",
            "crates/commands/src/versus.rs",
            "crates/commands/src/files.rs",
            "crates/commands/src/unbuilt.rs",
            "crates/comparison/src",
            "crates/web/src",
        ],
        status: "2",
    },
    MessageSection {
        title: "netperf sweep",
        about: "",
        paths: &[
            "crates/cli/src/subcommand/sweep.rs",
            "crates/commands/src/sweep.rs",
            "crates/comparison/src/sweep.rs",
        ],
        status: "2",
    },
    MessageSection {
        title: "netperf check",
        about: "If the first measurement fails, the message and the status are those of netperf.",
        paths: &[
            "crates/cli/src/subcommand/check.rs",
            "crates/commands/src/check",
            "crates/quality/src",
        ],
        status: "2",
    },
    MessageSection {
        title: "netperf campaign",
        about: "",
        paths: &[
            "crates/cli/src/subcommand/campaign.rs",
            "crates/commands/src/campaign",
            "crates/campaign/src",
        ],
        status: "2",
    },
    MessageSection {
        title: "netperf history",
        about: "",
        paths: &[
            "crates/cli/src/subcommand/history.rs",
            "crates/commands/src/history.rs",
            "crates/client/src/store.rs",
            "crates/history/src",
        ],
        status: "1 or 2",
    },
    MessageSection {
        title: "netperf counters",
        about: "",
        paths: &[
            "crates/cli/src/subcommand/counters.rs",
            "crates/commands/src/counters.rs",
            "crates/measure/src/host_counters",
        ],
        status: "2",
    },
    MessageSection {
        title: "netserver",
        about: "A client prints a refusal as `netperf: netserver refuses: ...` and ends with status 255. Lines \
                of the log have a level, an event and fields, and do not end netserver.",
        paths: &[
            "crates/arguments/src/args/server.rs",
            "crates/cli/src/config.rs",
            "crates/server/src",
            "crates/daemon/src",
            "crates/model/src/keys.rs",
            "crates/model/src/policy",
        ],
        status: "1",
    },
    MessageSection {
        title: "Under the names iperf and iperf3",
        about: "Messages of iperf 2 and iperf3 have the words of the original programs.",
        paths: &[
            "crates/iperf2/src",
            "crates/iperf3/src",
            "crates/iperf-client/src",
            "crates/netperf/src/iperf.rs",
            "crates/program/src/iperf",
            "crates/server/src/iperf2",
            "crates/server/src/iperf3",
        ],
        status: "1",
    },
    MessageSection {
        title: "Reasons in other messages",
        about: "These are parts of the messages above, which give the exit status.",
        paths: &[
            "crates/engine/src",
            "crates/measure/src",
            "crates/os/src",
            "crates/session/src",
            "crates/transport/src",
            "crates/wire/src",
        ],
        status: "that of the message",
    },
];

/// Exit statuses of reasons in other files, by the beginning of their paths.
pub(super) const REASONS: &[(&str, &str)] = &[
    ("crates/cli/src/subcommand", "2"),
    ("crates/cli/src/vary.rs", "2"),
    ("crates/client/src/show.rs", "3"),
    ("crates/model/src/refusal", "3"),
    ("crates/program/src", "1"),
];

/// The exit status of an error type.
pub(super) enum ErrorStatus {
    /// One for all variants.
    Always(u8),
    /// A function with an arm for each variant, in a file, and the status of arms without one.
    Arms(&'static str, &'static str, Option<u8>),
    /// The message that shows it.
    Within(&'static str),
}

use ErrorStatus::{Always, Arms, Within};

/// The error types.
pub(super) const ERRORS: &[(&str, ErrorStatus)] = &[
    ("BadAddress", Within("2, in an error of the command line")),
    ("BadBudget", Within("2, in an error of the command line")),
    ("BadCampaignPlan", Always(2)),
    ("BadFeatures", Within("2, in an error of the command line")),
    ("BadHostSupport", Within("1, as an invalid response")),
    ("BadHostlist", Always(2)),
    ("BadKeyFile", Always(1)),
    ("BadLine", Always(2)),
    (
        "BadMessage",
        Within("1, as the reason why a member is lost"),
    ),
    ("BadNetwork", Within("2, in an error of the command line")),
    ("BadPlan", Always(2)),
    ("BadPortRange", Within("2, in an error of the command line")),
    ("BadStartups", Within("2, in an error of the command line")),
    (
        "BadTransports",
        Within("2, in an error of the command line"),
    ),
    ("BrokenBy", Within("1 at the client")),
    ("CellsError", Always(2)),
    (
        "CliError",
        Arms("crates/arguments/src/command.rs", "exit", None),
    ),
    ("ClientError", Always(1)),
    ("DecodeError", Within("1, in an invalid response")),
    ("Denied", Always(255)),
    ("EngineError", Within("that of the operation")),
    (
        "HistoryError",
        Arms("crates/client/src/store.rs", "store_failure", None),
    ),
    ("Incomparable", Always(2)),
    ("InventoryError", Always(2)),
    ("Iperf2Error", Always(1)),
    ("Iperf2Refusal", Within("1 at the client")),
    ("Iperf3Error", Always(1)),
    ("Lacking", Always(3)),
    ("ManifestError", Always(2)),
    ("Misuse", Always(2)),
    ("NoRoom", Always(3)),
    ("NotAnInventory", Always(2)),
    (
        "Operation",
        Arms("crates/client/src/failure.rs", "engine", Some(1)),
    ),
    ("OptionProblem", Within("2, after the name of the option")),
    ("Refusal", Always(3)),
    ("ResolveError", Always(255)),
    ("RsaError", Always(1)),
    ("SelectionError", Always(255)),
    (
        "SessionError",
        Arms("crates/client/src/failure.rs", "session", None),
    ),
    ("SnapshotError", Always(2)),
    ("TooLarge", Always(1)),
    ("Unreadable", Always(2)),
    ("Unschedulable", Always(2)),
    ("UsersError", Always(1)),
    ("WeakSecret", Always(1)),
    ("WhyBad", Always(2)),
    ("XtiError", Within("1, in a failure of the test")),
];

/// Functions of `Failure`, `Notice` and `Usage` that make one. The first ones take a message.
pub(super) const CONSTRUCTORS: &[(&str, &[&str])] = &[
    (
        "Failure",
        &[
            "and",
            "failed",
            "from",
            "hint",
            "invalid",
            "netserver",
            "on_stderr",
            "refused",
            "stderr",
            "stdout",
            "unsupported",
            "without_netserver",
        ],
    ),
    ("Notice", &["hint", "stderr", "stdout"]),
    ("Usage", &["error", "help"]),
];

/// Variants of `Warning` without a result, which the program reports as its failure.
pub(super) const FAILED_TESTS: [&str; 2] = ["Implausible", "Unheard"];

/// Variants of `Warning`, and true for those whose text is constructed with them.
pub(super) const WARNINGS: &[(&str, bool)] = &[
    ("ClockWentWrong", false),
    ("CpuBound", true),
    ("EndedEarly", false),
    ("FellBackToTcp", false),
    ("Fragments", true),
    ("GeneratorLate", true),
    ("Implausible", true),
    ("Imprecise", true),
    ("NotAsAsked", true),
    ("OneHost", false),
    ("PeerLost", false),
    ("QueueDiscarded", false),
    ("RateMissed", true),
    ("Stalled", true),
    ("Unanswered", true),
    ("Unheard", true),
];

/// Use of the lines that a function itself prints on standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineUse {
    /// Warnings, beside a result.
    Warning,
    /// Errors with an exit status.
    Error(&'static str),
    /// Neither: progress, or where something was stored.
    Information,
    /// Messages that are listed elsewhere.
    Frame,
}

use LineUse::{Error, Frame, Information, Warning};

/// Functions that print lines themselves, by file and name.
pub(super) const LINES: &[(&str, &str, LineUse)] = &[
    ("crates/client/src/asked.rs", "before", Frame),
    ("crates/client/src/human.rs", "close", Information),
    ("crates/client/src/keep.rs", "keep", Information),
    ("crates/client/src/private.rs", "start", Information),
    ("crates/client/src/run/blocked.rs", "settle", Warning),
    ("crates/client/src/run/doubts.rs", "show", Frame),
    ("crates/client/src/run/many.rs", "remark", Warning),
    ("crates/client/src/run/series.rs", "warn", Frame),
    (
        "crates/client/src/run/trace.rs",
        "dump_tcp_info",
        Information,
    ),
    ("crates/client/src/show.rs", "open", Warning),
    ("crates/commands/src/campaign.rs", "measure", Warning),
    (
        "crates/commands/src/campaign/progress.rs",
        "line",
        Information,
    ),
    (
        "crates/commands/src/campaign/results.rs",
        "keep",
        Information,
    ),
    ("crates/commands/src/check.rs", "ended", Error("1")),
    ("crates/commands/src/check.rs", "run", Warning),
    ("crates/commands/src/compare.rs", "run", Warning),
    ("crates/commands/src/counters.rs", "run", Warning),
    ("crates/commands/src/history.rs", "add", Error("2")),
    ("crates/commands/src/report.rs", "make", Information),
    ("crates/commands/src/report.rs", "pictures", Warning),
    ("crates/commands/src/sweep.rs", "run", Error("1")),
    ("crates/commands/src/versus.rs", "compared", Warning),
    ("crates/commands/src/versus.rs", "pairs", Warning),
    ("crates/iperf-client/src/iperf2.rs", "complain", Error("1")),
    ("crates/iperf-client/src/iperf2.rs", "pause", Warning),
    ("crates/iperf-client/src/iperf2.rs", "run", Error("1")),
    ("crates/iperf-client/src/iperf2.rs", "test", Error("1")),
    (
        "crates/iperf-client/src/iperf2/rows/results.rs",
        "reports",
        Warning,
    ),
    (
        "crates/iperf-client/src/iperf2/session.rs",
        "set_options",
        Warning,
    ),
    ("crates/iperf-client/src/iperf3.rs", "fail", Error("1")),
    ("crates/iperf-client/src/iperf3.rs", "run", Error("1")),
    ("crates/netperf/src/iperf.rs", "iperf2_main", Error("1")),
    ("crates/netperf/src/iperf.rs", "iperf3_main", Error("1")),
    ("crates/netperf/src/iperf.rs", "warn", Warning),
    ("crates/program/src/iperf2.rs", "prepare_process", Warning),
    (
        "crates/program/src/iperf3/lines.rs",
        "complaint",
        Error("1"),
    ),
    ("crates/program/src/iperf3/lines.rs", "write", Warning),
    ("crates/program/src/output.rs", "unless_lost", Error("1")),
    (
        "crates/server/src/iperf2/alone.rs",
        "accept_all",
        Error("1"),
    ),
    (
        "crates/server/src/iperf2/alone.rs",
        "background",
        Information,
    ),
    ("crates/server/src/iperf2/alone.rs", "serve", Error("1")),
    ("crates/server/src/iperf2/alone.rs", "socket", Warning),
    (
        "crates/server/src/iperf2/connection.rs",
        "connect_back",
        Warning,
    ),
    ("crates/server/src/iperf2/datagrams.rs", "look", Warning),
    ("crates/server/src/iperf2/datagrams.rs", "refuse", Warning),
    ("crates/server/src/iperf3/alone.rs", "serve", Error("1")),
    (
        "crates/server/src/iperf3/authority.rs",
        "warn_of_readers",
        Warning,
    ),
];

/// Exit statuses of failures in functions that take them from elsewhere, by file and name.
pub(super) const STATUSES: &[(&str, &str, &str)] = &[
    ("crates/client/src/control.rs", "not_connected", "255"),
    (
        "crates/commands/src/check.rs",
        "tell",
        "that of the measurement",
    ),
    ("crates/commands/src/versus.rs", "one", "that of the run"),
];

/// Functions that return messages to callers whom the search does not follow, by file and name.
pub(super) const TEXTS: &[(&str, &str, LineUse)] = &[
    (
        "crates/arguments/src/args/server.rs",
        "contradiction",
        Error("1"),
    ),
    ("crates/arguments/src/command.rs", "hint", Error("1")),
    ("crates/arguments/src/command.rs", "line", Error("1")),
    ("crates/arguments/src/command.rs", "text", Error("1")),
    ("crates/arguments/src/garbled.rs", "remark", Warning),
    ("crates/arguments/src/getopt.rs", "complaint", Warning),
    (
        "crates/campaign/src/coordinator/failures.rs",
        "reason_to_end",
        Error("1"),
    ),
    (
        "crates/campaign/src/coordinator/member.rs",
        "loss_after",
        Warning,
    ),
    ("crates/campaign/src/outcome.rs", "doubts", Warning),
    ("crates/cli/src/resolve/output.rs", "wrong_names", Warning),
    (
        "crates/cli/src/subcommand/campaign.rs",
        "run_lack",
        Error("2"),
    ),
    ("crates/client/src/asked.rs", "left_out", Warning),
    ("crates/client/src/asked.rs", "why_no_congestion", Warning),
    ("crates/client/src/control.rs", "attempt", Error("255")),
    ("crates/client/src/run/empty.rs", "unsent", Error("1")),
    ("crates/client/src/until.rs", "words", Warning),
    ("crates/client/src/until/settled.rs", "lost", Warning),
    (
        "crates/commands/src/campaign/peer.rs",
        "refusal",
        Error("1"),
    ),
    ("crates/commands/src/check/runs.rs", "missing", Warning),
    ("crates/iperf-client/src/iperf3.rs", "explained", Error("1")),
    (
        "crates/iperf-client/src/iperf3/claims.rs",
        "contradiction",
        Error("1"),
    ),
    ("crates/iperf2/src/options/values.rs", "invalid", Error("1")),
    ("crates/iperf3/src/options/values.rs", "warning", Warning),
    (
        "crates/measure/src/contradiction.rs",
        "contradiction",
        Error("1"),
    ),
    ("crates/quality/src/probes.rs", "degraded", Warning),
];

/// Files whose tables give reasons why options have no place in a test.
pub(super) const ROWS: &str = "crates/model/src/refusal";

/// A function that decides by terminals or by hints what it prints, by file and name, and the reason
/// why no error or warning is missing off terminals.
#[cfg(test)]
pub(super) const TERMINALS: &[(&str, &str, &str)] = &[
    (
        "crates/cli/src/options/length.rs",
        "length_hint",
        "a hint, which only classic runs leave out: Go programs write -l 1m0s",
    ),
    (
        "crates/cli/src/options/repeat.rs",
        "iterations",
        "a hint, which only classic runs leave out: -i 10 is correct in scripts",
    ),
    (
        "crates/cli/src/resolve/left_over.rs",
        "settle",
        "a hint, which only classic runs leave out: scripts have other words beside a host",
    ),
    (
        "crates/cli/src/resolve/output.rs",
        "selection",
        "a hint, which only classic runs leave out: scripts select names of other versions",
    ),
    (
        "crates/client/src/human.rs",
        "close",
        "the headline of a result, not a warning",
    ),
    (
        "crates/client/src/lib.rs",
        "run_as_asked",
        "the list of selectors that the original prints first",
    ),
    (
        "crates/client/src/run/doubts.rs",
        "show",
        "warnings that JSON has, and those of classic runs",
    ),
    (
        "crates/client/src/run/session.rs",
        "notice",
        "progress: netperf waits for a result",
    ),
    ("crates/client/src/show.rs", "disturbs_nothing", "progress"),
    (
        "crates/client/src/show.rs",
        "screen_terminal",
        "--live fails without a terminal",
    ),
    ("crates/client/src/show.rs", "of", "keys of the live view"),
    (
        "crates/client/src/show.rs",
        "wanted",
        "--progress always fails without a terminal",
    ),
    ("crates/commands/src/campaign.rs", "view", "colours"),
    (
        "crates/commands/src/campaign/offline.rs",
        "inventory",
        "a table in place of JSON lines",
    ),
    (
        "crates/commands/src/campaign/progress.rs",
        "default",
        "progress",
    ),
    ("crates/commands/src/check/live.rs", "open", "progress"),
    ("crates/commands/src/sweep.rs", "new", "progress"),
    (
        "crates/commands/src/versus.rs",
        "pairs",
        "an end of line after the progress",
    ),
    ("crates/commands/src/versus.rs", "progress", "progress"),
    (
        "crates/program/src/output.rs",
        "columns",
        "the width of lines",
    ),
    ("crates/program/src/output.rs", "look", "colours and width"),
    (
        "crates/program/src/output.rs",
        "permits",
        "hints of classic runs only; all other runs print them",
    ),
    (
        "crates/program/src/output.rs",
        "say_escaped",
        "text that waits for the end of the live view",
    ),
];
