//! Terminal output during a test: the full screen (`--live`) or a line (`--progress`). A
//! separate thread reads the counters and draws; the loop is not involved
//! (docs/decisions/0024-live-view.md).

mod ticker;

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use netperf_cli::{Progress, RunCommand};
use netperf_engine::live::Live;
use netperf_measure::clock;
use netperf_model::Format;
use netperf_os::{process, terminal, wait};
use netperf_program::key::variable;
use netperf_program::output::{self, Failure, err};
use netperf_tui::{Capabilities, LiveView, ScreenSize, Term};

use self::ticker::LiveTicker;

/// Time from one picture to the next.
const EVERY: Duration = Duration::from_millis(250);
/// Largest number of flows to observe; a screen does not have space for more.
const FLOWS: u32 = 64;
/// The stack of the thread, bytes.
const STACK: usize = 256 * 1024;

/// Kind of display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DrawMode {
    Screen,
    Line,
}

/// The display.
struct Shown {
    kind: DrawMode,
    term: Term,
    look: Capabilities,
    /// The size of the last picture.
    size: Option<ScreenSize>,
    view: LiveView,
}

/// One terminal, from the first iteration to the result.
static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<Shown>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses beforehand what cannot be shown.
pub(super) fn check(run: &RunCommand) -> Result<(), Failure> {
    wanted(run).map(drop).map_err(Failure::unsupported)
}

/// The requested display and terminal; `None` if there is none.
fn wanted(run: &RunCommand) -> Result<Option<(DrawMode, Term)>, String> {
    if run.show.live {
        return screen(run).map(|term| Some((DrawMode::Screen, term)));
    }
    let term = Term::stderr();
    let shown = match run.show.progress {
        Progress::Never => false,
        Progress::Always if !term.is_term() => {
            return Err("--progress always: standard error is not a terminal".to_owned());
        }
        Progress::Always => true,
        Progress::Auto => term.is_term() && disturbs_nothing(run),
    };
    let shown = shown && run.plan.test.moves_data();
    Ok(shown.then_some((DrawMode::Line, term)))
}

/// Returns true if a status line disturbs no other output: the result goes elsewhere or comes
/// in one piece after the banner, and this program has the terminal as its input. Programs that a
/// script starts in the background do not.
fn disturbs_nothing(run: &RunCommand) -> bool {
    let lines = run.report.prints_interim;
    let in_steps = matches!(run.report.format, Format::JsonStream | Format::Iperf(_));
    let one_piece = run.report.format == Format::Json || !(lines || in_steps);
    let elsewhere = !io::stdout().is_terminal() || one_piece;
    let attended = io::stdin().is_terminal() && terminal::is_in_foreground(io::stderr().as_fd());
    elsewhere && attended && !run.report.is_bare() && run.debug_level == 0 && can_be_drawn_on()
}

/// Returns true if the terminal supports cursor control.
fn can_be_drawn_on() -> bool {
    variable("TERM").is_some_and(|kind| kind != "dumb")
}

/// The terminal that a screen is drawn on.
fn screen(run: &RunCommand) -> Result<Term, String> {
    if !run.plan.test.moves_data() {
        let test = run.plan.test.row().name;
        return Err(format!("--live: {test} moves no data to look at"));
    }
    screen_terminal()
}

/// The terminal that a screen can be drawn on.
fn screen_terminal() -> Result<Term, String> {
    let terms = [Term::stderr(), Term::stdout()];
    let Some(term) = terms.into_iter().find(Term::is_term) else {
        return Err(
            "--live: neither standard error nor standard output is a terminal: leave it out"
                .to_owned(),
        );
    };
    if !can_be_drawn_on() {
        return Err("--live: a terminal of this type (TERM) cannot be drawn on".to_owned());
    }
    if !terminal::is_in_foreground(fd(&term)) {
        return Err("--live: not in the foreground of this terminal".to_owned());
    }
    Ok(term)
}

/// A screen that a single thread draws.
pub struct FullScreen {
    term: Term,
    size: Option<ScreenSize>,
    keys: Keys,
}

impl FullScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// One line.
    pub fn open() -> Result<Self, String> {
        let term = screen_terminal()?;
        output::hold();
        leave_when_panicking();
        if let Err(error) = terminal::enter(fd(&term)) {
            output::release();
            let why = output::system_text(&error);
            return Err(format!("--live: cannot draw on the terminal: {why}"));
        }
        Ok(Self {
            term,
            size: None,
            keys: Keys::of(DrawMode::Screen),
        })
    }

    /// Size of the terminal.
    pub fn size(&self) -> ScreenSize {
        let (rows, columns) = self.term.size();
        ScreenSize { columns, rows }
    }

    /// Returns true if the terminal has colours.
    pub fn has_colours(&self) -> bool {
        self.term.features().colors_supported()
    }

    /// Does what was typed.
    pub fn read_keys(&mut self, within: Duration) {
        self.keys.read_within(within);
    }

    /// Draws these lines from the first one on.
    pub fn draw(&mut self, lines: &[String]) {
        let size = self.size();
        let resized = self.size.replace(size) != Some(size);
        draw_lines(&self.term, lines, resized);
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        terminal::leave();
        output::release();
    }
}

/// Draws lines on a terminal, which is cleared before if its size is new.
fn draw_lines(term: &Term, lines: &[String], resized: bool) {
    let rows = lines.join("\x1b[K\r\n");
    let clear = if resized { "\x1b[2J" } else { "" };
    // A terminal that is gone is a hang-up, which ends the program.
    let _gone = term.write_str(&format!("{clear}\x1b[H{rows}\x1b[K\x1b[J"));
}

/// The descriptor of a terminal, which is a standard stream.
fn fd(term: &Term) -> BorrowedFd<'static> {
    // The standard streams live as long as the program.
    if term.as_raw_fd() == 1 {
        static STDOUT: std::sync::OnceLock<io::Stdout> = std::sync::OnceLock::new();
        STDOUT.get_or_init(io::stdout).as_fd()
    } else {
        static STDERR: std::sync::OnceLock<io::Stderr> = std::sync::OnceLock::new();
        STDERR.get_or_init(io::stderr).as_fd()
    }
}

/// Enables observation of connections if a display needs it.
pub(super) fn live(run: &RunCommand, live: Live) -> Live {
    if run.show.live {
        live.with_flows(FLOWS)
    } else {
        live
    }
}

/// Runs `work` with its picture beside it, if there is to be one.
pub(super) fn beside<T>(
    run: &RunCommand,
    iteration: usize,
    live: &Live,
    work: impl FnOnce() -> T,
) -> T {
    let mut shown = shown();
    if shown.is_none() {
        *shown = open(run);
    }
    // Without a pipe there is no way to end the thread, and so none.
    let (Some(shown), Ok((stopped, stop))) = (shown.as_mut(), process::pipe()) else {
        return work();
    };
    shown.view.begin(iteration);
    std::thread::scope(|scope| {
        let drawing = std::thread::Builder::new()
            .name("live".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || {
                // Signals are the main thread's.
                let _best_effort = process::block_signals();
                shown.follow(run, live, &stopped);
            });
        let done = work();
        drop(stop);
        // Without the thread nothing is drawn, but the test continues.
        drop(drawing.map(ScopedJoinHandle::join));
        done
    })
}

/// Begins to draw.
fn open(run: &RunCommand) -> Option<Shown> {
    let (kind, term) = wanted(run).ok().flatten()?;
    if kind == DrawMode::Screen {
        output::hold();
        leave_when_panicking();
        if let Err(error) = terminal::enter(fd(&term)) {
            output::release();
            let why = output::system_text(&error);
            err(&format!(
                "netperf: --live: cannot draw on the terminal: {why}\n"
            ));
            return None;
        }
    }
    let look = Capabilities {
        colour: term.features().colors_supported(),
        unicode: output::has_unicode(),
    };
    Some(Shown {
        kind,
        term,
        look,
        size: None,
        view: LiveView::new(ticker::about(run)),
    })
}

/// Restores the terminal before a panic message is printed.
fn leave_when_panicking() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        terminal::leave();
        before(panic);
    }));
}

/// Nothing is drawn any more: the terminal is as it was, and shows what waited for it.
pub(super) fn close() {
    if shown()
        .take()
        .is_some_and(|shown| shown.kind == DrawMode::Screen)
    {
        terminal::leave();
    }
    output::release();
}

impl Shown {
    /// Draws until told to stop, and then once more.
    fn follow(&mut self, run: &RunCommand, live: &Live, stopped: &OwnedFd) {
        let mut keys = Keys::of(self.kind);
        let mut ticker = LiveTicker::begin(run, live);
        if self.kind == DrawMode::Screen {
            self.draw();
        }
        let mut due = clock::now().plus(EVERY);
        while !keys.stopped_within(due.left(), stopped) {
            if due.left().is_zero() {
                due = clock::now().plus(EVERY);
                self.view.take(ticker.tick());
                self.draw();
            }
        }
        self.view.take(ticker.tick());
        self.view.finish();
        self.draw();
    }

    fn draw(&mut self) {
        let (rows, columns) = self.term.size();
        let size = ScreenSize { columns, rows };
        match self.kind {
            DrawMode::Line => output::draw_line(&self.view.line(columns, self.look.unicode)),
            DrawMode::Screen => {
                let lines = self.view.screen(size, self.look);
                let resized = self.size.replace(size) != Some(size);
                draw_lines(&self.term, &lines, resized);
            }
        }
    }
}

/// The keys of a terminal.
struct Keys(Option<File>);

impl Keys {
    /// Keys from standard input, if that is the terminal of the display.
    fn of(kind: DrawMode) -> Self {
        let stdin = io::stdin();
        let read = kind == DrawMode::Screen && stdin.is_terminal();
        let own = stdin.as_fd().try_clone_to_owned().ok();
        Self(own.filter(|_| read).map(File::from))
    }

    /// Waits, and does what is typed meanwhile; whether the run is over.
    fn stopped_within(&mut self, within: Duration, stopped: &OwnedFd) -> bool {
        // Rounded up: what is due is due when the wait is over.
        let within = within + Duration::from_millis(1);
        let ready = match &self.0 {
            Some(keys) => wait::readable_of([stopped.as_fd(), keys.as_fd()], within),
            None => wait::readable_of([stopped.as_fd()], within).map(|[over]| [over, false]),
        };
        match ready {
            Ok([over, typed]) => {
                if typed {
                    self.read();
                }
                over
            }
            Err(_) => true,
        }
    }

    /// Does what is typed within this time.
    fn read_within(&mut self, within: Duration) {
        let Some(keys) = &self.0 else { return };
        if wait::readable_of([keys.as_fd()], within).is_ok_and(|[typed]| typed) {
            self.read();
        }
    }

    fn read(&mut self) {
        let mut typed = [0; 64];
        let read = self.0.as_mut().map(|keys| keys.read(&mut typed));
        match read {
            Some(Ok(count)) if count > 0 => {
                let ends = |key: &u8| matches!(key, b'q' | b'Q');
                if typed.iter().take(count).any(ends) {
                    terminal::interrupt_self();
                }
            }
            // There are no keys any more.
            _ => self.0 = None,
        }
    }
}
