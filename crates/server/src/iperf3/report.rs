//! Output of a server about a test, for its terminal and for a client that asks for it.

use std::time::Duration;

use netperf_iperf3::figures::{SocketBuffers, StreamInterval, Totals, without_omitted};
use netperf_iperf3::json::{Json, TestFacts, document, http_date};
use netperf_iperf3::messages::{Cookie, Parameters, Results, ServerOutput};
use netperf_iperf3::text::TextView;
use netperf_iperf3::verbose::{starting, wanted};
use netperf_measure::clock;
use netperf_os::net::addresses;
use netperf_os::{Socket, system};
use netperf_program::iperf3::lines::LineWriter;
use netperf_program::iperf3::run::Run;

/// Length of the output for the client from which no more intervals are added: clients read so
/// much at most.
const MOST_TEXT: usize = 32_768;
/// Most intervals of a document for the client.
const MOST_INTERVALS: usize = 60;
/// Most figures of streams in the intervals of a document; the client chooses time and streams.
const MOST_FIGURES: usize = 500_000;

/// Form of the output.
#[derive(Clone, Debug)]
pub(crate) struct ReportOptions {
    /// Interval of the rows; `None` for none.
    pub(crate) interval: Option<Duration>,
    /// Unit of rates (`-f`).
    pub(crate) letter: Option<char>,
    /// A document (`-J`).
    pub(crate) json: bool,
    /// An object per line (`--json-stream`).
    pub(crate) stream: bool,
    /// More lines (`-V`).
    pub(crate) verbose: bool,
    /// The messages of the control connection (`-d`).
    pub(crate) debug: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            interval: Some(Duration::from_secs(1)),
            letter: None,
            json: false,
            stream: false,
            verbose: false,
            debug: false,
        }
    }
}

/// Output of a server of one test.
#[derive(Debug, Default)]
pub(crate) struct Iperf3Report {
    options: ReportOptions,
    /// Its destination; `None` if it is not printed.
    writer: Option<LineWriter>,
    /// The client asks for it.
    is_sent: bool,
    facts: TestFacts,
    view: Option<TextView>,
    /// Text for the client.
    text: String,
    intervals: Vec<StreamInterval>,
    rows: u32,
    totals: Option<Totals>,
}

impl Iperf3Report {
    /// A report that is printed.
    pub(crate) fn printed(options: ReportOptions, writer: LineWriter) -> Self {
        Self {
            options,
            writer: Some(writer),
            ..Self::default()
        }
    }

    /// True if it is printed.
    pub(crate) const fn is_printed(&self) -> bool {
        self.writer.is_some()
    }

    /// Time between rows, if anything is shown.
    pub(crate) fn interval_time(&self) -> Option<Duration> {
        let shown = self.writer.is_some() || self.is_sent;
        self.options.interval.filter(|_| shown)
    }

    fn lines(&mut self, text: &str) {
        if self.options.json {
            return;
        }
        if let Some(writer) = &self.writer {
            writer.lines(text);
        }
        if self.is_sent {
            self.text.push_str(text);
        }
    }

    fn document(&self, text: &str) {
        if let Some(writer) = &self.writer {
            writer.document(text);
        }
    }

    /// Prints a message of the control connection, if that is asked for.
    pub(crate) fn message(&self, name: &str, message: impl FnOnce() -> String) {
        if let (true, Some(writer)) = (self.options.debug, &self.writer) {
            writer.lines(&format!("{name}\n{}\n", message()));
        }
    }

    /// A client has sent its parameters.
    pub(crate) fn accepts(&mut self, control: &Socket, cookie: Cookie, parameters: &Parameters) {
        self.message("get_parameters:", || document(parameters));
        self.is_sent = parameters.get_server_output;
        let peer = addresses(control).1;
        self.facts = TestFacts {
            accepts: true,
            host: peer.map(|peer| peer.ip().to_string()).unwrap_or_default(),
            port: peer.map_or(0, |peer| peer.port()),
            system: system::names().to_string(),
            since_epoch: clock::since_epoch(),
            cookie: cookie.text().to_owned(),
            mss: parameters.mss.unwrap_or(0),
            parameters: parameters.clone(),
            buffers: SocketBuffers::default(),
        };
        if self.options.verbose {
            let time = http_date(self.facts.since_epoch);
            self.lines(&format!("Time: {time}\n"));
        }
        let line = format!(
            "Accepted connection from {}, port {}\n",
            self.facts.host, self.facts.port
        );
        self.lines(&line);
        if self.options.verbose {
            let lines = wanted(&self.facts);
            self.lines(&lines);
        }
    }

    /// All streams are open.
    pub(crate) fn connected(&mut self, run: &Run) {
        let parameters = &self.facts.parameters;
        let view = TextView {
            client: false,
            parameters: parameters.clone(),
            infos: run.infos.clone(),
            letter: self.options.letter,
            verbose: self.options.verbose,
        };
        let mut lines = view.connected();
        if self.options.verbose {
            lines.push_str(&starting(parameters));
        }
        self.facts.buffers = run.buffers;
        self.view = Some(view);
        self.lines(&lines);
        if self.options.stream {
            self.document(&self.json(None, None).start_event());
        }
    }

    fn json<'a>(&'a self, peer: Option<&'a Results>, error: Option<&'a str>) -> Json<'a> {
        Json {
            start: &self.facts,
            view: self.view.as_ref(),
            intervals: &self.intervals,
            totals: self.totals.as_ref(),
            peer,
            error,
        }
    }

    /// Number of intervals so far.
    pub(crate) const fn rows(&self) -> u32 {
        self.rows
    }

    /// An interval is over.
    pub(crate) fn interval(&mut self, interval: StreamInterval) {
        let first = self.rows == 0;
        self.rows += 1;
        if self.options.stream {
            self.document(&self.json(None, None).interval_event(&interval));
        }
        if self.options.json {
            let most = if self.writer.is_some() && !self.options.stream {
                MOST_FIGURES / interval.streams.len().max(1)
            } else {
                MOST_INTERVALS
            };
            if self.intervals.len() < most {
                self.intervals.push(interval);
            }
            return;
        }
        let Some(view) = &self.view else { return };
        let lines = view.interval(&interval, first);
        if let Some(writer) = &self.writer {
            writer.lines(&lines);
        }
        if self.is_sent && self.text.len() < MOST_TEXT {
            self.text.push_str(&lines);
            if self.text.len() >= MOST_TEXT {
                self.text.push_str("[further intervals are left out]\n");
            }
        }
    }

    /// The streams have ended. Returns what the client asked for.
    pub(crate) fn measured(&mut self, totals: &Totals) -> Option<ServerOutput> {
        let lines = self.view.as_ref().map(|view| view.last(totals, None));
        self.totals = Some(totals.clone());
        self.lines(&lines.unwrap_or_default());
        if !self.is_sent {
            return None;
        }
        if !self.options.json {
            return Some(ServerOutput::Text(std::mem::take(&mut self.text)));
        }
        let shown = self.intervals.len().min(MOST_INTERVALS);
        let json = Json {
            intervals: self.intervals.get(..shown).unwrap_or_default(),
            ..self.json(None, None)
        };
        let value = serde_json::from_str(&json.text()).ok()?;
        Some(ServerOutput::Json(value))
    }

    /// The results of the client, of the part of the test that counts.
    pub(crate) fn counted(&self, mut peer: Box<Results>) -> Box<Results> {
        peer.cpu = peer.cpu.map(|share| share.max(0.0));
        if let (Some(view), Some(totals)) = (&self.view, &self.totals) {
            without_omitted(&mut peer, (&view.infos, totals), &self.facts.parameters);
        }
        peer
    }

    /// The session is over. `error` is what follows `iperf3: `.
    pub(crate) fn ended(&mut self, peer: Option<&Results>, error: Option<&str>) {
        let Some(writer) = self.writer.clone() else {
            return;
        };
        if self.options.json {
            let short = error.map(|error| error.strip_prefix("error - ").unwrap_or(error));
            let json = self.json(peer, short);
            writer.document(&if self.options.stream {
                json.end_events()
            } else {
                json.text()
            });
            return;
        }
        if let Some(error) = error {
            writer.complaint(error);
        }
    }
}
