//! A terminal of any size to run programs in: tmux(1), with a separate server.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::require::require;
use crate::{Scratch, eventually, start};

/// Time limit for something to appear.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal that goes away with the test.
#[derive(Debug)]
pub struct Terminal {
    scratch: Scratch,
    socket: PathBuf,
}

impl Terminal {
    /// A terminal of so many columns and rows in which a shell carries out `script`, with
    /// nothing in its environment but these variables and the path. When the script is
    /// over, a line says `ended with` its status, and the terminal stays; Ctrl-C does not end
    /// the shell. `None` without
    /// tmux; see [`require`].
    pub fn start(
        (columns, rows): (u16, u16),
        variables: &[(&str, &str)],
        script: &str,
    ) -> Option<Self> {
        let tmux = Path::new("/usr/bin/tmux").exists();
        if !require(tmux, "tmux", "install tmux") {
            return None;
        }
        let scratch = Scratch::new();
        let terminal = Self {
            socket: scratch.path().join("tmux"),
            scratch,
        };
        // Everything that is written to the terminal is in a file, too: the shell waits
        // until a reader takes the text.
        let all = terminal.file("all");
        let script = format!(
            "trap : INT; cd '{}'; while [ ! -e go ]; do sleep 0.02; done; {script}\necho \"ended with $?\"; exec cat",
            terminal.scratch.path().display()
        );
        let mut shell = vec!["env".to_owned(), "-i".to_owned(), "TERM=screen".to_owned()];
        let path = crate::environment("PATH").unwrap_or_default();
        shell.push(format!("PATH={path}"));
        shell.extend(
            variables
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        shell.extend(["sh".to_owned(), "-c".to_owned(), script]);
        let size = [columns.to_string(), rows.to_string()];
        let [columns, rows] = &size;
        let mut words = vec!["new-session", "-d", "-x", columns, "-y", rows, "--"];
        words.extend(shell.iter().map(String::as_str));
        terminal.tmux(&words);
        terminal.tmux(&["pipe-pane", &format!("exec cat >'{}'", all.display())]);
        assert!(
            eventually(PATIENCE, || all.exists()),
            "nobody reads the terminal"
        );
        std::fs::write(terminal.file("go"), "").expect("a file");
        Some(terminal)
    }

    /// A file in the folder that the script is in.
    pub fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut tmux = Command::new("/usr/bin/tmux");
        tmux.env_clear()
            .env("PATH", crate::environment("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&self.socket)
            .args(words)
            .stdin(Stdio::null());
        start::output(&mut tmux).expect("tmux")
    }

    /// Text of the screen, row by row.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The same with its colours.
    pub fn coloured(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// The screen and all that was scrolled away, with lines that were wrapped in one.
    pub fn scrolled(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// Every byte that was written to it.
    pub fn written(&self) -> String {
        let all = std::fs::read(self.file("all")).unwrap_or_default();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// A variable of tmux, such as `alternate_on` or `cursor_flag`.
    pub fn is(&self, flag: &str) -> bool {
        let shown = self.tmux(&["display-message", "-p", &format!("#{{{flag}}}")]);
        shown.trim() == "1"
    }

    /// Types a key, such as `q` or `C-c`.
    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Gives it another size.
    pub fn resize(&self, (columns, rows): (u16, u16)) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Waits until the screen is as `wanted`, and gives it.
    pub fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let seen = eventually(PATIENCE, || {
            screen = self.screen();
            wanted(&screen)
        });
        assert!(seen, "{what}: not on the screen:\n{screen}");
        screen
    }

    /// Waits until the script is over, and gives all that is on the terminal.
    pub fn end(&self) -> String {
        let mut all = String::new();
        let over = eventually(PATIENCE, || {
            all = self.scrolled();
            all.contains("ended with ")
        });
        assert!(over, "the script goes on:\n{all}");
        all
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The end of tmux ends its programs. A failed test has reported the reason.
        self.run(&["kill-server"]);
    }
}
