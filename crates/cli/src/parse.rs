//! Stage 1: from words to [`Args`], by the tables.

pub(crate) mod asked_test;

use std::io;
use std::path::Path;

use netperf_arguments::args::{Args, GlobalArgs, HumanArg, NameForm, ServerArgs, TestArgs};
use netperf_arguments::command::{CliError, Command, Notice, OutputStream, ServerCommand, Usage};
use netperf_arguments::fault::Fault;
use netperf_arguments::foreign;
use netperf_arguments::long::{OptionProblem, OtherTables, misuse, shown};
use netperf_arguments::table::{
    Halt, OnComplaint, OptionReader, OptionSpec, TableEnd, ValueShape, by_letter, by_name,
};
use netperf_model::{Suite, TestId};
use zeroize::Zeroizing;

use self::asked_test::{in_any_suite, named_test, test_of};
use crate::config;
use crate::masked::masked_words;
use crate::options::{self, SUITES, global, server};
use crate::peer_served;
use crate::subcommand::{self, PlainWords};
use crate::{CliEnvironment, VERSION, resolve, topic, usage};

/// Reads netperf's words, the program's name first, and makes the command of them.
pub(crate) fn netperf(
    words: &[String],
    environment: &CliEnvironment<'_>,
    human: HumanArg,
    notices: &mut Vec<Notice>,
) -> Result<Command, CliError> {
    let (program, rest) = words.split_first().map_or(("", words), |(p, r)| (p, r));
    let mut args = GlobalArgs {
        human,
        ..GlobalArgs::default()
    };
    let mut reader = OptionReader {
        table: global::table(),
        program,
        on_complaint: OnComplaint::Stop,
        strict: false,
        elsewhere: Early::default(),
        garbled: Vec::new(),
    };
    let rest = match reader.read(rest, &mut args, notices)? {
        TableEnd::Done(rest) => rest,
        TableEnd::Halted(halt) => {
            return halted(program, halt, OutputStream::Stderr, usage::global);
        }
        TableEnd::Complaint(line) => {
            let letter = line.rsplit('\'').nth(1).and_then(|text| text.parse().ok());
            let unknown = line.contains("invalid option");
            let hint = letter.and_then(|letter| match unknown {
                true => letter_meant(letter),
                false => foreign::letter(letter).map(str::to_owned),
            });
            let hint = hint.unwrap_or_else(|| "`netperf --help` shows the options".to_owned());
            return Ok(Command::Usage(Usage::error(format!("{line}; {hint}\n"), 1)));
        }
    };
    let (attempt, halted) = test_options(&args, program, &reader.elsewhere, rest);
    notices.extend(attempt.notices);
    if let Some(command) = halted? {
        return Ok(command);
    }
    let (quiet, left_over) = reader
        .elsewhere
        .left_over
        .into_iter()
        .partition(|word| is_behind_letter(words, word));
    let mut garbled = reader.garbled;
    garbled.extend(attempt.garbled);
    let first = words.first().cloned().into_iter();
    let shown = masked_words(words.get(1..).unwrap_or_default());
    if let Some(peer) = attempt.global.peer {
        let option = peer_served::unserved(peer, words.get(1..).unwrap_or_default());
        if let Some(option) = option {
            return Err(CliError::NotServedByPeer {
                why: peer_served::why(peer, &option),
                option,
                peer: peer.option(),
            });
        }
    }
    let mut args = Args {
        program: program.to_owned(),
        command_line: first.chain(shown).collect::<Vec<_>>().join(" "),
        left_over,
        left_behind: [quiet, attempt.left_over].concat(),
        garbled,
        named: long_names(words),
        global: attempt.global,
        test: attempt.test,
    };
    let named = named_test(&args.global);
    foreign::form::complete(&mut args, named)?;
    resolve::command(&args, environment, notices)
}

/// Returns true for a word behind a letter that takes none, such as `-c foo` and `-r 1,1`. Scripts
/// have those.
fn is_behind_letter(words: &[String], word: &str) -> bool {
    let is_letter = |before: &str| {
        let letters = before.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.bytes().all(|letter| letter.is_ascii_alphabetic())
    };
    let mut pairs = words.iter().zip(words.iter().skip(1));
    pairs.any(|(before, behind)| behind == word && is_letter(before))
}

/// The hint about a letter that is not known in front of `--`.
fn letter_meant(letter: char) -> Option<String> {
    let behind = || {
        let row = by_letter(options::of_suite(Suite::Omni)?.table, letter)?;
        let name = row.long;
        Some(format!(
            "-{letter} is an option of the test: it goes after --, or is given as --{name}"
        ))
    };
    foreign::letter(letter).map(str::to_owned).or_else(behind)
}

/// The long options among the words, without their dashes and values; of an alias, the option.
fn long_names(words: &[String]) -> Vec<String> {
    let texts = words.iter().filter_map(|word| word.strip_prefix("--"));
    let names = texts.map(|text| text.split('=').next().unwrap_or_default());
    let names = names.map(|name| foreign::alias(name).unwrap_or(name));
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Reads the words behind `--`, which may include global options, with the table of the test's
/// suite, if it has one.
///
/// A `--test` among them may change the suite; then they are read again.
fn test_options<'p>(
    global: &GlobalArgs,
    program: &'p str,
    early: &Early,
    words: &[String],
) -> (Attempt<'p>, Result<Option<Command>, CliError>) {
    let read = |test| {
        let mut attempt = Attempt {
            program,
            global: global.clone(),
            test: TestArgs::default(),
            notices: Vec::new(),
            left_over: Vec::new(),
            garbled: Vec::new(),
        };
        let halted = attempt.read(test, early, words);
        (attempt, halted)
    };
    let test = test_of(global);
    let first = read(test);
    let asked = test_of(&first.0.global);
    if suite_of(asked) == suite_of(test) {
        first
    } else {
        read(asked)
    }
}

fn suite_of(test: Option<TestId>) -> Option<Suite> {
    test.map(|test| test.row().suite)
}

/// One reading of the test-specific options.
struct Attempt<'p> {
    program: &'p str,
    global: GlobalArgs,
    test: TestArgs,
    notices: Vec<Notice>,
    left_over: Vec<String>,
    garbled: Vec<String>,
}

impl Attempt<'_> {
    /// Parses test-specific options given before `--`, then the words behind it.
    fn read(
        &mut self,
        test: Option<TestId>,
        early: &Early,
        words: &[String],
    ) -> Result<Option<Command>, CliError> {
        // An unknown test is complained of once netserver is reached.
        let Some(test) = test else { return Ok(None) };
        let Some(options) = options::of_suite(test.row().suite) else {
            return match early.taken.first() {
                Some((name, _)) => Err(other_test(self.program, name, test)),
                None => Ok(None),
            };
        };
        let mut halt = self.early(test, options.table, early)?;
        if halt.is_none() {
            let mut reader = OptionReader {
                table: options.table,
                program: self.program,
                on_complaint: options.on_complaint,
                strict: false,
                elsewhere: Globals {
                    args: &mut self.global,
                    test,
                    left_over: &mut self.left_over,
                },
                garbled: Vec::new(),
            };
            let end = reader.read(words, &mut self.test, &mut self.notices)?;
            self.garbled.append(&mut reader.garbled);
            match end {
                TableEnd::Done(rest) => self.left_over.extend_from_slice(rest),
                TableEnd::Complaint(line) => {
                    let name = test.row().name;
                    let line = format!("{line}; `netperf --help {name}` shows the options\n");
                    return Ok(Some(Command::Usage(Usage::error(line, 1))));
                }
                TableEnd::Halted(ended) => halt = Some(ended),
            }
        }
        let Some(halt) = halt else { return Ok(None) };
        let halt = if halt == Halt::Explain(String::new()) {
            Halt::Explain(test.row().name.to_owned())
        } else {
            halt
        };
        let letters = || usage::suite(options);
        halted(self.program, halt, OutputStream::Stdout, letters).map(Some)
    }

    fn early(
        &mut self,
        test: TestId,
        table: &'static [OptionSpec<TestArgs>],
        early: &Early,
    ) -> Result<Option<Halt>, CliError> {
        for (name, word) in &early.taken {
            let Some(row) = by_name(table, name) else {
                return Err(other_test(self.program, name, test));
            };
            let word = word.as_deref();
            let halt = row.apply_long(self.program, &mut self.test, word, &mut self.notices)?;
            if halt.is_some() {
                return Ok(halt);
            }
        }
        Ok(None)
    }
}

/// An option that only other tests have.
fn other_test(program: &str, name: &str, test: TestId) -> CliError {
    let test = test.row().name;
    misuse(program, name, OptionProblem::OtherTest { test })
}

/// Test-specific long options in front of `--`, kept until the test is known.
#[derive(Debug, Default)]
struct Early {
    taken: Vec<(String, Option<String>)>,
    left_over: Vec<String>,
}

impl OtherTables for Early {
    fn shape(&self, name: &str) -> Option<ValueShape> {
        in_any_suite(name).map(OptionSpec::shape)
    }

    fn take(
        &mut self,
        _program: &str,
        name: &str,
        word: Option<&str>,
        _notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        self.taken.push((name.to_owned(), word.map(str::to_owned)));
        Ok(None)
    }

    fn plain(&mut self, words: &[&str]) {
        self.left_over
            .extend(words.iter().map(|&word| word.to_owned()));
    }

    fn unknown(&self, program: &str, name: &str, mut own: Vec<&'static str>) -> CliError {
        let others = SUITES.iter().flat_map(|suite| suite.table);
        own.extend(others.map(|row| row.long));
        unknown_option(program, name, own)
    }
}

/// Error for a long option that netperf does not have.
fn unknown_option(program: &str, name: &str, own: Vec<&'static str>) -> CliError {
    let problem = match subcommand::words().find(|word| *word == name) {
        Some(word) => OptionProblem::Subcommand { word },
        None if matches!(name, "percentile" | "percentiles") => OptionProblem::Percentiles,
        None => OptionProblem::unknown(name, own, "--help all"),
    };
    misuse(program, name, problem)
}

/// Global long options behind `--`.
#[derive(Debug)]
struct Globals<'a> {
    args: &'a mut GlobalArgs,
    test: TestId,
    left_over: &'a mut Vec<String>,
}

impl OtherTables for Globals<'_> {
    fn shape(&self, name: &str) -> Option<ValueShape> {
        by_name(global::table(), name).map(OptionSpec::shape)
    }

    fn take(
        &mut self,
        program: &str,
        name: &str,
        word: Option<&str>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        let row = by_name(global::table(), name);
        row.map_or(Ok(None), |row| {
            row.apply_long(program, self.args, word, notices)
        })
    }

    fn plain(&mut self, words: &[&str]) {
        self.left_over
            .extend(words.iter().map(|&word| word.to_owned()));
    }

    fn unknown(&self, program: &str, name: &str, mut own: Vec<&'static str>) -> CliError {
        if in_any_suite(name).is_some() {
            return other_test(program, name, self.test);
        }
        own.extend(global::table().iter().map(|row| row.long));
        unknown_option(program, name, own)
    }
}

/// Reads netserver's words, the program's name first.
pub(crate) fn netserver(
    words: &[String],
    read_file: &dyn Fn(&Path) -> io::Result<String>,
    notices: &mut Vec<Notice>,
) -> Result<ServerCommand, CliError> {
    let first = typed(words, ServerArgs::default(), notices)?;
    let ServerCommand::Serve(args) = first else {
        return Ok(first);
    };
    let program = words.first().map_or("", String::as_str);
    if let Some(path) = &args.check_config {
        return Ok(ServerCommand::Usage(checked(program, path, read_file)));
    }
    // An error of the file's settings alone: the command line may add the missing ones.
    let mut in_file = None;
    let args = match &args.config {
        None => args,
        Some(path) => {
            let mut from_file = ServerArgs::default();
            let name = path.to_string_lossy();
            let text = read_file(path).map(Zeroizing::new);
            let text = text.map_err(|error| unread(program, path, &error))?;
            let faults = config::apply(&name, &text, &mut from_file);
            if !faults.is_empty() {
                return Err(CliError::Config(lines(program, &faults)));
            }
            if let Some(text) = from_file.contradiction(NameForm::InFile) {
                in_file = Some(format!("{}: {text}", shown(&name)));
            }
            from_file.seal();
            // Notices of the first pass have already been collected.
            match typed(words, from_file, &mut Vec::new())? {
                ServerCommand::Serve(args) => args,
                other @ (ServerCommand::Usage(_)
                | ServerCommand::Version(_)
                | ServerCommand::FullVersion) => {
                    return Ok(other);
                }
            }
        }
    };
    match args.contradiction(NameForm::Typed) {
        Some(text) => {
            let text = in_file.unwrap_or(text);
            Err(CliError::Config(format!("{program}: {text}")))
        }
        None => Ok(ServerCommand::Serve(args)),
    }
}

/// The settings of `--check-config`, with the options beside it, if they can be read.
pub(crate) fn settings_to_check(
    words: &[String],
    read_file: &dyn Fn(&Path) -> io::Result<String>,
) -> Option<Box<ServerArgs>> {
    let served = |from_file| match typed(words, from_file, &mut Vec::new()) {
        Ok(ServerCommand::Serve(args)) => Some(args),
        Ok(ServerCommand::Usage(_) | ServerCommand::Version(_) | ServerCommand::FullVersion)
        | Err(_) => None,
    };
    let path = served(ServerArgs::default())?.check_config?;
    let mut from_file = ServerArgs::default();
    let text = Zeroizing::new(read_file(&path).ok()?);
    let faults = config::apply(&path.to_string_lossy(), &text, &mut from_file);
    from_file.seal();
    served(from_file).filter(|_| faults.is_empty())
}

/// Reports problems of a configuration file, or that there are none.
fn checked(program: &str, path: &Path, read_file: &dyn Fn(&Path) -> io::Result<String>) -> Usage {
    let name = path.to_string_lossy();
    let wrong = |text: String| Usage::error(format!("{text}\n"), 1);
    match read_file(path).map(Zeroizing::new) {
        Err(error) => wrong(unread(program, path, &error).to_string()),
        Ok(text) => match crate::check_config(&name, &text).as_slice() {
            [] => Usage::help(format!("{name}: nothing is wrong\n")),
            faults => wrong(lines(program, faults)),
        },
    }
}

fn lines(program: &str, faults: &[Fault]) -> String {
    let lines = faults.iter().map(|fault| format!("{program}: {fault}"));
    lines.collect::<Vec<String>>().join("\n")
}

fn unread(program: &str, path: &Path, error: &io::Error) -> CliError {
    let why = netperf_model::system_text(error);
    let name = path.display().to_string();
    CliError::Config(format!(
        "{program}: {}: cannot be read: {why}",
        shown(&name)
    ))
}

/// Applies command-line words over existing values.
fn typed(
    words: &[String],
    mut args: ServerArgs,
    notices: &mut Vec<Notice>,
) -> Result<ServerCommand, CliError> {
    let (program, rest) = words.split_first().map_or(("", words), |(p, r)| (p, r));
    let mut reader = OptionReader {
        table: server::TABLE,
        program,
        on_complaint: OnComplaint::Stop,
        strict: false,
        elsewhere: PlainWords::default(),
        garbled: Vec::new(),
    };
    let usage = match reader.read(rest, &mut args, notices)? {
        TableEnd::Done(behind) => {
            let mut words = reader.elsewhere.0;
            words.extend_from_slice(behind);
            let garbled = reader.garbled.iter();
            notices.extend(garbled.map(|line| Notice::stderr(&format!("{program}: {line}"))));
            if let Some(word) = words.iter().find(|word| is_order(word)) {
                return Err(CliError::Order {
                    program: program.to_owned(),
                    word: word.clone(),
                });
            }
            notices.extend(ignored_by_netserver(program, &words));
            return Ok(ServerCommand::Serve(Box::new(args)));
        }
        TableEnd::Halted(Halt::Version) => {
            return Ok(ServerCommand::Version(VERSION.to_owned()));
        }
        TableEnd::Halted(Halt::FullVersion) => return Ok(ServerCommand::FullVersion),
        TableEnd::Halted(Halt::Explain(topic)) => {
            Usage::help(topic::text_of_netserver(program, &topic)?)
        }
        TableEnd::Halted(Halt::Help | Halt::ListSelectors { .. }) => {
            Usage::error(usage::netserver(), 1)
        }
        TableEnd::Complaint(line) => {
            Usage::error(format!("{line}; `netserver --help` shows the options\n"), 1)
        }
    };
    Ok(ServerCommand::Usage(usage))
}

/// Words by which services are managed. netserver would start and listen for any of them.
const ORDERS: &[&str] = &[
    "start",
    "stop",
    "status",
    "restart",
    "reload",
    "run",
    "serve",
    "daemon",
    "enable",
    "disable",
    "install",
    "uninstall",
    "remove",
    "up",
    "down",
    "info",
    "show",
    "list",
    "shutdown",
    "halt",
    "abort",
    "end",
    "pause",
    "resume",
    "refresh",
    "terminate",
    "stats",
    "try-restart",
    "reload-or-restart",
    "condrestart",
    "force-reload",
    "kill",
    "quit",
    "exit",
    "help",
    "version",
];

fn is_order(word: &str) -> bool {
    ORDERS.iter().any(|order| order.eq_ignore_ascii_case(word))
}

/// The line about words that are neither options nor values of one.
fn ignored_by_netserver(program: &str, words: &[String]) -> Option<Notice> {
    let word = words.iter().find(|word| !word.starts_with('-'))?;
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let word = shown(word);
    let meant = if is_number {
        format!("a port is given as -p {word}")
    } else {
        format!("an address to listen at is given as -L {word}")
    };
    Some(Notice::stderr(&format!(
        "{program}: '{word}' is ignored: {meant}"
    )))
}

fn halted(
    program: &str,
    halt: Halt,
    stream: OutputStream,
    letters: impl Fn() -> String,
) -> Result<Command, CliError> {
    Ok(match halt {
        Halt::Help => Command::Usage(Usage {
            stream,
            text: letters(),
            exit: 1,
        }),
        Halt::Explain(topic) => Command::Usage(Usage::help(topic::text(program, &topic)?)),
        Halt::Version => Command::Version(VERSION.to_owned()),
        Halt::FullVersion => Command::FullVersion,
        Halt::ListSelectors { one_per_line } => Command::ListSelectors { one_per_line },
    })
}
