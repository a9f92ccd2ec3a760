//! Stage 1: from words to [`Args`], by the tables.

use netperf_model::{Suite, TestId};

use crate::args::{Args, GlobalArgs, ServerArgs, TestArgs};
use crate::command::{CliError, Command, Notice, ServerCommand, Stream, Usage};
use crate::options::{global, omni, server, sockets};
use crate::table::{Ending, Halt, OnComplaint, read};
use crate::{VERSION, usage};

/// Where netperf's command line led.
pub(crate) enum Read {
    /// To the end.
    Args(Box<Args>),
    /// To an option that ends everything.
    Command(Command),
}

/// The name of the test that runs when none is given.
const DEFAULT_TEST: TestId = TestId::TcpStream;

/// The test asked for; `None` when the name is unknown.
pub(crate) fn test_of(args: &GlobalArgs) -> Option<TestId> {
    match &args.test {
        Some(name) => TestId::from_name(name),
        None => Some(DEFAULT_TEST),
    }
}

/// Reads netperf's words, the program's name first.
pub(crate) fn netperf(words: &[String], notices: &mut Vec<Notice>) -> Result<Read, CliError> {
    let (program, rest) = words.split_first().map_or(("", words), |(p, r)| (p, r));
    let mut global = GlobalArgs::default();
    let ending = read(
        global::TABLE,
        program,
        rest,
        OnComplaint::Stop,
        &mut global,
        notices,
    );
    let rest = match ending {
        Ending::Done(rest) => rest,
        Ending::Halted(halt) => {
            return Ok(Read::Command(halted(halt, Stream::Stderr, usage::global)));
        }
        Ending::Complaint(line) => {
            let usage = complaint(&line, &usage::global());
            return Ok(Read::Command(Command::Usage(usage)));
        }
        Ending::Failed(error) => return Err(error),
    };
    let mut test = TestArgs::default();
    if let Some(command) = test_options(&global, program, rest, &mut test, notices)? {
        return Ok(Read::Command(command));
    }
    Ok(Read::Args(Box::new(Args {
        program: program.to_owned(),
        command_line: words.join(" "),
        global,
        test,
    })))
}

/// Reads the words behind `--` with the table of the test's suite, if it has one.
fn test_options(
    global: &GlobalArgs,
    program: &str,
    words: &[String],
    test: &mut TestArgs,
    notices: &mut Vec<Notice>,
) -> Result<Option<Command>, CliError> {
    let Some(suite) = test_of(global).map(|test| test.row().suite) else {
        return Ok(None);
    };
    let table = match suite {
        Suite::Omni => omni::TABLE,
        Suite::Sockets => sockets::TABLE,
        Suite::Control => return Ok(None),
    };
    match read(table, program, words, OnComplaint::GoOn, test, notices) {
        Ending::Done(_) | Ending::Complaint(_) => Ok(None),
        Ending::Halted(halt) => Ok(Some(halted(halt, Stream::Stdout, || usage::suite(suite)))),
        Ending::Failed(error) => Err(error),
    }
}

/// Reads netserver's words, the program's name first.
pub(crate) fn netserver(
    words: &[String],
    notices: &mut Vec<Notice>,
) -> Result<ServerCommand, CliError> {
    let (program, rest) = words.split_first().map_or(("", words), |(p, r)| (p, r));
    let mut args = ServerArgs::default();
    let ending = read(
        server::TABLE,
        program,
        rest,
        OnComplaint::Stop,
        &mut args,
        notices,
    );
    Ok(match ending {
        Ending::Done(_) => ServerCommand::Serve(Box::new(args)),
        Ending::Halted(Halt::Version) => ServerCommand::Version(VERSION.to_owned()),
        Ending::Halted(Halt::Help | Halt::ListSelectors { .. }) => ServerCommand::Usage(Usage {
            stream: Stream::Stderr,
            text: usage::netserver(),
            exit: 1,
        }),
        Ending::Complaint(line) => ServerCommand::Usage(complaint(&line, &usage::netserver())),
        Ending::Failed(error) => return Err(error),
    })
}

fn halted(halt: Halt, stream: Stream, help: impl Fn() -> String) -> Command {
    match halt {
        Halt::Help => Command::Usage(Usage {
            stream,
            text: help(),
            exit: 1,
        }),
        Halt::Version => Command::Version(VERSION.to_owned()),
        Halt::ListSelectors { one_per_line } => Command::ListSelectors { one_per_line },
    }
}

/// What `getopt` says, and then the help.
fn complaint(line: &str, help: &str) -> Usage {
    Usage {
        stream: Stream::Stderr,
        text: format!("{line}\n{help}"),
        exit: 1,
    }
}
