//! Results of parsing: the command for the mains, and text to print first.

use netperf_model::catalog::tests::TESTS;
use netperf_model::in_force::Substitution;
use netperf_model::{ControlPlan, Format, ReportPlan, TestPlan};

use crate::args::{ServerArgs, Show};
use crate::foreign;
use crate::long::{Misuse, nearest, shown};

/// Output stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Something to print before going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Stream.
    pub stream: OutputStream,
    /// Whole lines, each with its newline.
    pub text: String,
    /// In a run that netperf 2.7 could make, for terminals only: scripts take any byte on standard
    /// error for a failure. All other runs print it.
    pub is_hint: bool,
}

impl Notice {
    /// `line` on standard error.
    pub fn stderr(line: &str) -> Self {
        Self {
            stream: OutputStream::Stderr,
            text: format!("{line}\n"),
            is_hint: false,
        }
    }

    /// `lines` on standard output.
    pub fn stdout(lines: &str) -> Self {
        Self {
            stream: OutputStream::Stdout,
            text: format!("{lines}\n"),
            is_hint: false,
        }
    }

    /// `line` on standard error, except in the scripts of netperf 2.7.
    pub fn hint(line: &str) -> Self {
        Self {
            is_hint: true,
            ..Self::stderr(line)
        }
    }
}

/// Result of parsing a command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed<C> {
    /// Printed first, in this order, whatever `command` is.
    pub notices: Vec<Notice>,
    /// The command.
    pub command: Result<C, CliError>,
}

/// A help text to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Stream.
    pub stream: OutputStream,
    /// The whole text, with its final newline.
    pub text: String,
    /// Exit status.
    pub exit: u8,
}

impl Usage {
    /// Help that was asked for by name.
    pub const fn help(text: String) -> Self {
        Self {
            stream: OutputStream::Stdout,
            text,
            exit: 0,
        }
    }

    /// An error in the command line.
    pub const fn error(text: String, exit: u8) -> Self {
        Self {
            stream: OutputStream::Stderr,
            text,
            exit,
        }
    }
}

/// A test to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCommand {
    /// The plan.
    pub plan: TestPlan,
    /// Output options.
    pub report: ReportPlan,
    /// Number of `-d` options.
    pub debug_level: u32,
    /// Terminal display during the run.
    pub show: Show,
    /// History to store the result in; empty for the default one.
    pub history: Option<String>,
    /// True if the test may use the port of the control connection for data when a separate
    /// port is blocked.
    pub auto_one_port: bool,
    /// Lines about values of the command line that are not used as they were typed.
    pub garbled: Vec<String>,
    /// Requests to netserver in a test without one.
    pub unserved: Vec<Substitution>,
    /// Long options of the command line, without their dashes. What they ask for is in force, or
    /// the run fails; letters only warn.
    pub named: Vec<String>,
}

impl RunCommand {
    /// Returns true if an option was given by its long name.
    #[must_use]
    pub fn is_named(&self, option: &str) -> bool {
        self.named.iter().any(|name| name == option)
    }

    /// Returns true for a command line that netperf 2.7 can read, too: without long options, and
    /// with its own format.
    #[must_use]
    pub fn is_classic(&self) -> bool {
        let ours = matches!(
            self.report.format,
            Format::Human | Format::Json | Format::JsonStream
        );
        self.named.is_empty() && !ours
    }
}

/// Command of netperf.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Run a test.
    Run(Box<RunCommand>),
    /// Make the control connection if there is one, and then say that the test is unknown.
    UnknownTest(Box<UnknownTest>),
    /// List the output selectors on stdout and exit 1.
    ListSelectors {
        /// One per line rather than separated by commas.
        one_per_line: bool,
    },
    /// List tests and transports and whether they can run, and exit 0.
    List(Box<ListCommand>),
    /// Print help.
    Usage(Usage),
    /// Print this on stdout and exit 0.
    Version(String),
    /// Print [`crate::environment::VERSION`] and this program's version, commit and features on stdout, and
    /// exit 0.
    FullVersion,
}

/// Parameters of `--list`.
#[derive(Clone, Debug, PartialEq)]
pub struct ListCommand {
    /// A plan without data whose control connection leads to the remote host; without one if no
    /// host is given.
    pub plan: TestPlan,
    /// True if it is to be printed as JSON.
    pub json: bool,
}

/// Command of netserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerCommand {
    /// Serve.
    Serve(Box<ServerArgs>),
    /// Print help.
    Usage(Usage),
    /// Print this on stdout and exit 0.
    Version(String),
    /// Print [`crate::environment::VERSION`] and this program's version, commit and features on stdout, and
    /// exit 0.
    FullVersion,
}

/// A test name that is not in the catalogue.
///
/// The original finds out only after the control connection is made, so that a
/// missing netserver is reported first.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownTest {
    /// The name, upper case.
    pub name: String,
    /// The control connection to make first; `None` with `-N`.
    pub control: Option<ControlPlan>,
    /// True if the output is not that of the original, whose text is then left out.
    pub in_short: bool,
}

impl UnknownTest {
    /// Exit status once the text has been printed.
    pub const EXIT: u8 = 1;

    /// The lines to print on stdout, each with its newline.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "The test you requested ({}) is unknown to this netperf.\n\
             Please verify that you have the correct test name, \n\
             and that test family has been compiled into this netperf.\n",
            self.name
        )
    }

    /// All of it in one line, for output that is not the original's.
    #[must_use]
    pub fn line(&self) -> String {
        let hint = self.hint();
        let hint = hint.trim_start_matches("netperf: ");
        format!("netperf: there is no test {}: {hint}", self.name)
    }

    /// The line with the test that was probably meant.
    #[must_use]
    pub fn hint(&self) -> String {
        if self.name.bytes().all(|byte| byte.is_ascii_digit()) {
            let name = &self.name;
            return format!("netperf: a length in seconds is given as -l {name}\n");
        }
        if self.name == "UDP_MAERTS" {
            return "netperf: --udp --reverse lets netserver send datagrams\n".to_owned();
        }
        let described = foreign::test(&self.name).map(str::to_owned);
        let near = described.or_else(|| nearest(&self.name, TESTS.iter().map(|row| row.name)));
        let near = near.map(|near| format!("did you mean {near}? "));
        let near = near.unwrap_or_default();
        format!("netperf: {near}`netperf -t help` lists the tests\n")
    }
}

/// Why a command line cannot be carried out. `Display` gives the lines to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CliError {
    /// A word that is not UTF-8.
    #[error("{program}: argument {position} is not valid UTF-8")]
    NotUtf8 {
        /// argv\[0\].
        program: String,
        /// Its place in argv, the program being 0.
        position: usize,
    },
    /// A long option that is wrong.
    #[error("{0}")]
    LongOption(Box<Misuse>),
    /// `-I` with a level other than 95 or 99.
    #[error("Only 95% and 99% confidence level is supported")]
    ConfidenceLevel,
    /// `-T` with lists of CPUs that may mean two things, or are none.
    #[error("netperf: -T '{0}' is not clear: separate the ends by a colon, as in 0-3:4-7")]
    UnclearCpus(String),
    /// `-F` with a remote name that does not fit into the request.
    #[error("Remote fill file name must be less than 32 characters")]
    RemoteFillName,
    /// A selection file that cannot be read.
    #[error("Could not open output selection file '{name}' errno {errno}")]
    SelectionFile {
        /// The word behind `-k`, `-o` or `-O`.
        name: String,
        /// The system's error number, 0 if it is none of the system's.
        errno: i32,
    },
    /// A selection file with a name that is too long.
    // Line and column are exchanged, as in the original.
    #[error("Output selection starting column {line} on line {column} is too long")]
    SelectionName {
        /// The line, from 1.
        line: usize,
        /// Characters of the file so far, plus one.
        column: usize,
    },
    /// `--io blocking` with fewer threads than flows, which are so many.
    #[error(
        "netperf: --io blocking takes a thread for each flow: use --threads {0}, or another --io"
    )]
    ThreadForEach(u32),
    /// `--io blocking` with many flows that go both ways.
    #[error(
        "netperf: --io blocking: a flow that goes both ways cannot wait in a call for one of them: \
         use --io epoll, poll or uring, or leave it out"
    )]
    BlockingBothWays,
    /// `-N` with a test that has no customary service.
    #[error("No default port known for the {test} test, please set one yourself")]
    NoDefaultPort {
        /// The test's name.
        test: String,
    },
    /// `-N` with a test that cannot do without netserver.
    #[error("The {suite} tests do not know how to {lacks}")]
    NeedsControl {
        /// The suite, in capitals.
        suite: &'static str,
        /// Feature that the suite lacks.
        lacks: &'static str,
    },
    /// `-T` of the sctp suite with less than one association.
    #[error("Number of SCTP associations must be >= 1")]
    Associations,
    /// `-t` behind `--` with a word that names no kind of socket.
    #[error("{program}: socket type '{word}' is unknown, use stream, dgram or seqpacket")]
    SocketKind {
        /// argv\[0\].
        program: String,
        /// The word.
        word: String,
    },
    /// An option that `--iperf2` or `--iperf3` does not serve.
    #[error("netperf: {option}: not served with {peer}{why}; leave it out")]
    NotServedByPeer {
        /// The option.
        option: String,
        /// The option that names the peer.
        peer: &'static str,
        /// Why, if there is more to say, behind a comma.
        why: &'static str,
    },
    /// An option for something that the test does not have.
    #[error("netperf: {option}: {why}")]
    OutOfPlace {
        /// The option.
        option: &'static str,
        /// Why not, and the way out.
        why: &'static str,
    },
    /// `--count 0`.
    #[error("{program}: --count needs an amount of at least 1; --time 0 runs until SIGINT")]
    NoAmount {
        /// argv\[0\].
        program: String,
    },
    /// A word that is neither an option nor a value of one, without a host or port.
    #[error(
        "{program}: '{}' is neither a command nor the value of an option; {meant}",
        shown(word)
    )]
    LeftOver {
        /// argv\[0\].
        program: String,
        /// The word.
        word: String,
        /// Probable meaning.
        meant: String,
    },
    /// A word by which a service is managed, to netserver.
    #[error(
        "{program}: '{}' is not an option: {}",
        shown(word),
        instead_of_order(word)
    )]
    Order {
        /// argv\[0\].
        program: String,
        /// The word.
        word: String,
    },
    /// An option that says more of a rate, without one.
    #[error("{program}: --{option} is for tests at a rate: give --rate as well")]
    NeedsRate {
        /// argv\[0\].
        program: String,
        /// The option, without its dashes.
        option: &'static str,
    },
    /// An option that says more of going on until figures are known, without that one.
    #[error("{program}: --until-confidence is that of --until: give --until as well")]
    NeedsUntil {
        /// argv\[0\].
        program: String,
    },
    /// Settings of netserver that are wrong, or do not go together: whole lines.
    #[error("{0}")]
    Config(String),
    /// A transport that is not in the catalogue.
    #[error("{program}: transport {wanted} is not supported")]
    Transport {
        /// argv\[0\].
        program: String,
        /// The unsupported request.
        wanted: String,
    },
}

impl CliError {
    /// Stream for the message.
    #[must_use]
    pub const fn stream(&self) -> OutputStream {
        let on_stdout = matches!(
            self,
            Self::ConfidenceLevel
                | Self::SelectionFile { .. }
                | Self::SelectionName { .. }
                | Self::NoDefaultPort { .. }
                | Self::NeedsControl { .. }
                | Self::Associations
        );
        if on_stdout {
            OutputStream::Stdout
        } else {
            OutputStream::Stderr
        }
    }

    /// The exit status.
    #[must_use]
    pub const fn exit(&self) -> u8 {
        match self {
            Self::ConfidenceLevel
            | Self::RemoteFillName
            | Self::SelectionFile { .. }
            | Self::SelectionName { .. }
            | Self::NoDefaultPort { .. }
            | Self::NeedsControl { .. } => 255,
            Self::NotUtf8 { .. }
            | Self::LongOption(_)
            | Self::UnclearCpus(_)
            | Self::ThreadForEach(_)
            | Self::BlockingBothWays
            | Self::NeedsRate { .. }
            | Self::NeedsUntil { .. }
            | Self::LeftOver { .. }
            | Self::Order { .. }
            | Self::NoAmount { .. }
            | Self::SocketKind { .. } => 2,
            Self::Transport { .. } | Self::Associations | Self::Config(_) => 1,
            Self::OutOfPlace { .. } | Self::NotServedByPeer { .. } => 3,
        }
    }
}

/// The way to do what a word of a service manager means.
fn instead_of_order(word: &str) -> &'static str {
    match word.to_ascii_lowercase().as_str() {
        "start" => "netserver starts without a word",
        "help" => "`netserver --help` shows the options",
        "version" => "`netserver -V` prints the version",
        "status" => "`systemctl status netserver` or `pgrep netserver` shows whether one runs",
        "reload" => "SIGHUP reads the file of --config again",
        _ => "SIGTERM ends a netserver, and `systemctl` manages one that systemd started",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_test_is_answered_with_the_one_probably_meant() {
        let hint = |name: &str| {
            let unknown = UnknownTest {
                name: name.to_owned(),
                control: None,
                in_short: false,
            };
            unknown.hint()
        };
        let list = "`netperf -t help` lists the tests\n";
        let meant = format!("netperf: did you mean TCP_RR? {list}");
        assert_eq!(hint("TPC_RR"), meant);
        assert_eq!(hint("SOMETHING_ELSE"), format!("netperf: {list}"));
        assert!(hint("UDP_MAERTS").contains("--udp --reverse"));
        let unknown = UnknownTest {
            name: "TPC_RR".to_owned(),
            control: None,
            in_short: true,
        };
        let line = "netperf: there is no test TPC_RR: did you mean TCP_RR? ";
        assert_eq!(unknown.line(), format!("{line}{list}"));
    }
}
