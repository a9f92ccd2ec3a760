//! Destinations of the lines of iperf3.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::Arc;

use netperf_iperf3::options::Iperf3Common;
use netperf_measure::clock;
use netperf_model::escape::escaped;
use netperf_os::system;

use crate::output::{err, out, system_text};

/// Standard output, or a file (`--logfile`). Each line is behind the time (`--timestamps`) and
/// the title of the test (`-T`).
#[derive(Clone, Debug, Default)]
pub struct LineWriter {
    title: Option<String>,
    timestamps: Option<String>,
    file: Option<Arc<File>>,
}

impl LineWriter {
    /// The writer that the options of an end ask for.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(common: &Iperf3Common, title: Option<&str>) -> Result<Self, String> {
        let opened = common.log_file.as_ref().map(|name| {
            let file = OpenOptions::new().append(true).create(true).open(name);
            let unable = |error| format!("unable to open log file {name}: {}", system_text(&error));
            file.map(Arc::new).map_err(unable)
        });
        let writer = Self {
            title: title.map(str::to_owned),
            timestamps: common.timestamps.clone(),
            file: opened.transpose()?,
        };
        // The time zone is read once, before a sandbox hides its file.
        let _known = writer.time();
        Ok(writer)
    }

    fn time(&self) -> String {
        let format = self.timestamps.as_deref();
        let time = format.and_then(|format| system::local_time(clock::since_epoch(), format));
        time.unwrap_or_default()
    }

    fn write(&self, text: &str) {
        match &self.file {
            None => out(text),
            Some(file) => {
                let mut file = file.as_ref();
                if let Err(error) = file.write_all(escaped(text).as_bytes()) {
                    err(&format!("iperf3: log file: {}\n", system_text(&error)));
                }
            }
        }
    }

    /// Writes lines for people.
    pub fn lines(&self, text: &str) {
        let title = self.title.as_ref();
        let title = title.map_or_else(String::new, |title| format!("{title}:  "));
        self.prefixed(text, &title);
    }

    fn prefixed(&self, text: &str, title: &str) {
        if title.is_empty() && self.timestamps.is_none() {
            return self.write(text);
        }
        let time = self.time();
        let lines = text.lines().map(|line| format!("{time}{title}{line}\n"));
        self.write(&lines.collect::<String>());
    }

    /// Writes a document as it is.
    pub fn document(&self, text: &str) {
        self.write(text);
    }

    /// Writes a complaint: to standard error, or to the file.
    pub fn complaint(&self, text: &str) {
        let line = format!("iperf3: {text}\n");
        if self.file.is_none() {
            err(&line);
        } else {
            self.prefixed(&line, "");
        }
    }
}
