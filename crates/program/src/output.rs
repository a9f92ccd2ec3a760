//! Output to the standard streams, and exit statuses.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use netperf_cli::{CliError, Notice, OutputStream, Usage};
use netperf_model::escape::{escaped, escaped_bytes, escaped_with_colours};
pub use netperf_model::system_text;
use netperf_model::{Refusal, without_numbers};
use netperf_os::signals::{self, Signal};
use netperf_os::terminal;
use netperf_text::look::TextLook;

/// Use of the terminal by the live view.
#[derive(Debug)]
enum Overlay {
    Nothing,
    /// A status line on standard error.
    Line,
    /// Full screen: other terminal output is queued in order.
    Screen(Vec<(OutputStream, String)>),
}

/// Returns to the start of the line and erases it (ECMA-48: CR, EL).
const ERASE: &str = "\r\x1b[K";

static OVERLAY: Mutex<Overlay> = Mutex::new(Overlay::Nothing);

fn overlay() -> MutexGuard<'static, Overlay> {
    OVERLAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints on standard output and flushes, so that the text survives a later kill.
pub fn out(text: &str) {
    say(OutputStream::Stdout, text);
}

/// Prints on standard error. Errors of the system have their texts alone.
pub fn err(text: &str) {
    say(OutputStream::Stderr, &without_numbers(text));
}

/// Prints on the given stream; a full screen delays what is for the terminal. What steers a terminal
/// is escaped: the text may be of another end.
pub fn say(stream: OutputStream, text: &str) {
    say_escaped(stream, &escaped(text));
}

/// Prints text whose colours a terminal shows. All else that steers it is escaped.
pub fn say_styled(stream: OutputStream, text: &str) {
    say_escaped(stream, &escaped_with_colours(text));
}

fn say_escaped(stream: OutputStream, text: &str) {
    let mut overlay = overlay();
    match &mut *overlay {
        Overlay::Screen(waiting) if is_terminal(stream) => waiting.push((stream, text.to_owned())),
        Overlay::Line if is_terminal(stream) && !text.is_empty() => {
            print(&mut io::stderr().lock(), ERASE);
            write(stream, text);
        }
        Overlay::Nothing | Overlay::Line | Overlay::Screen(_) => write(stream, text),
    }
}

/// Returns whether a person reads the stream.
pub fn is_terminal(stream: OutputStream) -> bool {
    match stream {
        OutputStream::Stdout => io::stdout().is_terminal(),
        OutputStream::Stderr => io::stderr().is_terminal(),
    }
}

/// Columns that a line on standard output should have at most; `None` where no person reads it.
pub fn columns() -> Option<usize> {
    is_terminal(OutputStream::Stdout).then(|| look().columns)
}

fn write(stream: OutputStream, text: &str) {
    match stream {
        OutputStream::Stdout => out_bytes(text.as_bytes()),
        OutputStream::Stderr => print(&mut io::stderr().lock(), text),
    }
}

/// Queues terminal output from now on, because the full screen is in use.
pub fn hold() {
    let mut overlay = overlay();
    if !matches!(*overlay, Overlay::Screen(_)) {
        *overlay = Overlay::Screen(Vec::new());
    }
}

/// Shows a status line on standard error until it is erased or other text is printed.
pub fn draw_line(line: &str) {
    *overlay() = Overlay::Line;
    progress(line);
}

/// Replaces the last line on standard error.
pub fn progress(line: &str) {
    print(
        &mut io::stderr().lock(),
        &format!("{ERASE}{}", escaped(line)),
    );
}

/// Ends drawing: erases the status line, or prints the queued text.
pub fn release() {
    let mut overlay = overlay();
    match std::mem::replace(&mut *overlay, Overlay::Nothing) {
        Overlay::Nothing => {}
        Overlay::Line => print(&mut io::stderr().lock(), ERASE),
        Overlay::Screen(waited) => waited
            .iter()
            .for_each(|(stream, text)| write(*stream, text)),
    }
}

/// Prints help and returns the exit status.
pub fn usage(usage: &Usage) -> ExitCode {
    say(usage.stream, &usage.text);
    ExitCode::from(usage.exit)
}

fn print(stream: &mut impl Write, text: &str) {
    // There is no other stream for an error about this one.
    let _gone = written(stream, text.as_bytes());
}

fn written(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).and_then(|()| stream.flush())
}

/// First write error of standard output.
static LOST: OnceLock<String> = OnceLock::new();

/// True if a closed pipe ends the program.
static ENDS_WITH_READER: AtomicBool = AtomicBool::new(false);

/// From now on this program ends as by SIGPIPE when the reader of its standard output is gone, as
/// programs in C do.
pub fn end_with_reader() {
    ENDS_WITH_READER.store(true, Ordering::Relaxed);
}

/// Prints a document or a picture on standard output.
pub fn out_document(bytes: &[u8]) {
    out_bytes(&escaped_bytes(bytes));
}

fn out_bytes(bytes: &[u8]) {
    match written(&mut io::stdout().lock(), bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            if ENDS_WITH_READER.load(Ordering::Relaxed) {
                signals::end_of(Signal::Pipe);
            }
        }
        Err(error) => {
            let _first = LOST.set(system_text(&error));
        }
        Ok(()) => {}
    }
}

/// Turns success into failure if part of the output could not be written, for example on a full
/// disk.
pub fn unless_lost(program: &str, exit: ExitCode) -> ExitCode {
    let Some(why) = LOST.get() else {
        return exit;
    };
    err(&format!("{program}: standard output: {why}\n"));
    if exit == ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    exit
}

/// Use of hints about the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintUse {
    /// They are printed.
    Always,
    /// They are printed on terminals: the command line is one of netperf 2.7.
    OnTerminals,
    /// They are not printed: netperf 2.7 could read the command line, and a program asks for the
    /// output.
    Never,
}

impl HintUse {
    /// Returns true if a hint on this stream is printed.
    fn permits(self, stream: OutputStream) -> bool {
        match self {
            Self::Always => true,
            Self::OnTerminals => is_terminal(stream),
            Self::Never => false,
        }
    }
}

/// Prints the notices of the command line; all of them on standard error if standard output is
/// JSON.
pub fn notices(notices: &[Notice], json: bool, hints: HintUse) {
    for notice in notices {
        let stream = if json {
            OutputStream::Stderr
        } else {
            notice.stream
        };
        if !notice.is_hint || hints.permits(stream) {
            say(stream, &notice.text);
        }
    }
}

/// Returns true if the locale supports Unicode (locale(7)).
pub fn has_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(crate::key::variable);
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Letters, width and colours (NO_COLOR of no-color.org) of standard output.
pub fn look() -> TextLook {
    let size = terminal::columns(io::stdout().as_fd());
    let is_terminal = is_terminal(OutputStream::Stdout);
    let styled = crate::key::variable("TERM").is_some_and(|kind| kind != "dumb");
    let plain = TextLook {
        unicode: has_unicode(),
        colour: is_terminal && styled && crate::key::variable("NO_COLOR").is_none(),
        ..TextLook::default()
    };
    plain.within(size.filter(|_| is_terminal))
}

/// Exit status of most failures.
pub const FAILED: u8 = 1;
/// Exit status for an invalid command line or an unreadable file.
pub const INVALID: u8 = 2;
/// Exit status when a host or this build lacks a requirement.
pub const UNSUPPORTED: u8 = 3;
/// Exit status when netserver refuses a test, or a host is not found or not reached.
pub const REFUSED: u8 = 255;

/// A failure that ends the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Text for standard output, including newlines.
    pub stdout: String,
    /// Text for standard error, including newlines.
    pub stderr: String,
    /// One-line form, if it is not the hint alone.
    pub in_short: Option<String>,
    /// Lines of standard error with cause and remedy, if the other texts are those of the original,
    /// which only programs that parse them need.
    pub hint: String,
    /// Exit status.
    pub exit: u8,
    /// True if no netserver was found: no such host, a refused connection, another program, or no
    /// answer.
    pub unreached: bool,
}

/// A link-local address (RFC 4291 section 2.5.6) without its interface.
pub fn lacks_zone(address: SocketAddr) -> bool {
    match address {
        SocketAddr::V6(v6) => v6.scope_id() == 0 && v6.ip().is_unicast_link_local(),
        SocketAddr::V4(_) => false,
    }
}

impl Failure {
    /// Lines on standard output.
    pub fn stdout(exit: u8, lines: impl Display) -> Self {
        Self {
            stdout: format!("{lines}\n"),
            exit,
            ..Self::default()
        }
    }

    /// Lines on standard error.
    pub fn stderr(exit: u8, lines: impl Display) -> Self {
        Self {
            stderr: format!("{lines}\n"),
            exit,
            ..Self::default()
        }
    }

    /// A line of netperf on standard error, for most failures.
    pub fn failed(line: impl Display) -> Self {
        Self::stderr(FAILED, format_args!("netperf: {line}"))
    }

    /// The same when the command line is invalid.
    pub fn invalid(line: impl Display) -> Self {
        Self::stderr(INVALID, format_args!("netperf: {line}"))
    }

    /// The same when a host or this build lacks a requirement.
    pub fn unsupported(line: impl Display) -> Self {
        Self::stderr(UNSUPPORTED, format_args!("netperf: {line}"))
    }

    /// The same when netserver refuses the test.
    pub fn refused(line: impl Display) -> Self {
        Self::stderr(REFUSED, format_args!("netperf: {line}"))
    }

    /// The same failure, because no netserver was found.
    #[must_use]
    pub fn without_netserver(self) -> Self {
        Self {
            unreached: true,
            ..self
        }
    }

    /// A line of netserver on standard error.
    pub fn netserver(exit: u8, line: impl Display) -> Self {
        Self::stderr(exit, format_args!("netserver: {line}"))
    }

    /// All lines.
    pub fn lines(&self) -> String {
        let ended = self.stdout.is_empty() || self.stdout.ends_with('\n');
        let between = if ended { "" } else { "\n" };
        let all = format!("{}{between}{}", self.stdout, self.stderr);
        without_numbers(&all).into_owned()
    }

    /// The same failure for standard error only, in its one-line form if there is one: the cause and
    /// the remedy without the lines of the original.
    pub fn on_stderr(&self) -> Self {
        let in_short = self.in_short.clone();
        let hint = Some(&self.hint).filter(|hint| !hint.is_empty()).cloned();
        Self {
            stderr: in_short.or(hint).unwrap_or_else(|| self.lines()),
            exit: self.exit,
            unreached: self.unreached,
            ..Self::default()
        }
    }

    /// Adds lines for standard error.
    pub fn and(mut self, lines: &str) -> Self {
        self.stderr.push_str(lines);
        self
    }

    /// Adds a line of netperf with cause and remedy.
    pub fn hint(mut self, line: impl Display) -> Self {
        self.hint.push_str(&format!("netperf: {line}\n"));
        self
    }

    /// Prints the failure and returns the exit status.
    pub fn report(&self) -> ExitCode {
        out(&self.stdout);
        err(&self.stderr);
        err(&self.hint);
        ExitCode::from(self.exit)
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        match error.stream() {
            OutputStream::Stdout => Self::stdout(error.exit(), error),
            OutputStream::Stderr => Self::stderr(error.exit(), error),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::unsupported(refusal)
    }
}
