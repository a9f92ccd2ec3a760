//! Writing to the standard streams, and leaving.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use netperf_cli::{Notice, OutputStream};

/// What is drawn on a terminal meanwhile.
#[derive(Debug)]
enum Overlay {
    Nothing,
    /// A line, on standard error.
    Line,
    /// All of it is drawn on: what is for a terminal waits, in order.
    Screen(Vec<(OutputStream, String)>),
}

static OVERLAY: Mutex<Overlay> = Mutex::new(Overlay::Nothing);

fn overlay() -> MutexGuard<'static, Overlay> {
    OVERLAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints on standard output, at once: what was printed must be there even if
/// the next thing that happens is a kill.
pub(crate) fn out(text: &str) {
    beside_overlay(OutputStream::Stdout, text);
}

/// Prints bytes on standard output as they are.
pub(crate) fn out_bytes(bytes: &[u8]) {
    print_out(bytes);
}

/// Prints on standard error.
pub(crate) fn err(text: &str) {
    beside_overlay(OutputStream::Stderr, text);
}

fn beside_overlay(stream: OutputStream, text: &str) {
    let mut overlay = overlay();
    match &mut *overlay {
        Overlay::Screen(waiting) if is_terminal(stream) => waiting.push((stream, text.to_owned())),
        Overlay::Line if is_terminal(stream) && !text.is_empty() => {
            print(&mut io::stderr().lock(), netperf_tui::erase());
            write(stream, text);
        }
        Overlay::Nothing | Overlay::Line | Overlay::Screen(_) => write(stream, text),
    }
}

fn is_terminal(stream: OutputStream) -> bool {
    match stream {
        OutputStream::Stdout => io::stdout().is_terminal(),
        OutputStream::Stderr => io::stderr().is_terminal(),
    }
}

fn write(stream: OutputStream, text: &str) {
    match stream {
        OutputStream::Stdout => print_out(text.as_bytes()),
        OutputStream::Stderr => print(&mut io::stderr().lock(), text),
    }
}

/// From now on what is for a terminal waits: something else is drawn there.
pub(crate) fn hold() {
    let mut overlay = overlay();
    if !matches!(*overlay, Overlay::Screen(_)) {
        *overlay = Overlay::Screen(Vec::new());
    }
}

/// Shows a line on standard error until it is erased, or something is printed.
pub(crate) fn draw_line(line: &str) {
    let mut overlay = overlay();
    *overlay = Overlay::Line;
    print(
        &mut io::stderr().lock(),
        &format!("{}{line}", netperf_tui::erase()),
    );
}

/// Nothing is drawn any more: erases the line, or prints what waited.
pub(crate) fn release() {
    let mut overlay = overlay();
    match std::mem::replace(&mut *overlay, Overlay::Nothing) {
        Overlay::Nothing => {}
        Overlay::Line => print(&mut io::stderr().lock(), netperf_tui::erase()),
        Overlay::Screen(waited) => waited
            .iter()
            .for_each(|(stream, text)| write(*stream, text)),
    }
}

/// Prints on the stream that the command line names.
pub(crate) fn say(stream: OutputStream, text: &str) {
    match stream {
        OutputStream::Stdout => out(text),
        OutputStream::Stderr => err(text),
    }
}

fn print(stream: &mut impl Write, text: &str) {
    // There is nobody else to tell.
    let _gone = written(stream, text.as_bytes());
}

fn written(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).and_then(|()| stream.flush())
}

/// Why standard output has not all that was printed.
static LOST: OnceLock<String> = OnceLock::new();

fn print_out(bytes: &[u8]) {
    match written(&mut io::stdout().lock(), bytes) {
        // A reader that is gone has seen what it wanted to.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _first = LOST.set(system_text(&error));
        }
        Ok(()) | Err(_) => {}
    }
}

/// The exit status of the program, which is no success where part of what it printed is
/// nowhere, as on a disk that is full.
pub(crate) fn unless_lost(exit: ExitCode) -> ExitCode {
    let Some(why) = LOST.get() else {
        return exit;
    };
    err(&format!("netperf: standard output: {why}\n"));
    if exit == ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    exit
}

/// Prints what the command line wants printed before anything else; all of it on
/// standard error where standard output takes JSON alone.
pub(crate) fn notices(notices: &[Notice], json: bool) {
    for notice in notices {
        let (terminal, print): (bool, fn(&str)) = match notice.stream {
            OutputStream::Stdout if !json => (io::stdout().is_terminal(), out),
            OutputStream::Stdout | OutputStream::Stderr => (io::stderr().is_terminal(), err),
        };
        if terminal || !notice.terminal_only {
            print(&notice.text);
        }
    }
}

/// Why a program ends without having done what it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failure {
    /// For standard output, newlines included.
    pub(crate) stdout: String,
    /// For standard error, newlines included.
    pub(crate) stderr: String,
    /// All of it in a line, where the others have the words of the original, which only
    /// those look for who read what it prints.
    pub(crate) in_short: Option<String>,
    /// Exit status.
    pub(crate) exit: u8,
}

impl Failure {
    /// Lines on standard output.
    pub(crate) fn stdout(exit: u8, lines: &str) -> Self {
        Self {
            stdout: format!("{lines}\n"),
            exit,
            ..Self::default()
        }
    }

    /// Lines on standard error.
    pub(crate) fn stderr(exit: u8, lines: &str) -> Self {
        Self {
            stderr: format!("{lines}\n"),
            exit,
            ..Self::default()
        }
    }

    /// All its lines.
    pub(crate) fn lines(&self) -> String {
        let ended = self.stdout.is_empty() || self.stdout.ends_with('\n');
        let between = if ended { "" } else { "\n" };
        format!("{}{between}{}", self.stdout, self.stderr)
    }

    /// The same, standard output being for something else: in short, if it can be.
    pub(crate) fn on_stderr(&self) -> Self {
        Self {
            stderr: self.in_short.clone().unwrap_or_else(|| self.lines()),
            exit: self.exit,
            ..Self::default()
        }
    }

    /// The same, with further lines for standard error.
    pub(crate) fn and(mut self, lines: &str) -> Self {
        self.stderr.push_str(lines);
        self
    }

    /// Prints it and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        out(&self.stdout);
        err(&self.stderr);
        ExitCode::from(self.exit)
    }
}

/// The system's text for an error, without the number that Rust appends.
pub(crate) fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}
