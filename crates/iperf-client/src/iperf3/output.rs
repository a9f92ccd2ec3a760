//! Output of a client in the forms of iperf3.

use netperf_iperf3::defaults::VERSION;
use netperf_iperf3::figures::StreamInterval;
use netperf_iperf3::json::{Json, TestFacts, http_date};
use netperf_iperf3::messages::{Cookie, PORT, Parameters, ServerOutput, StreamDirection};
use netperf_iperf3::text::TextView;
use netperf_iperf3::verbose::{starting, wanted};
use netperf_measure::clock;
use netperf_os::system;
use netperf_program::iperf3::lines::LineWriter;
use netperf_program::iperf3::run::Run;

use super::{Iperf3Form, TestObserver, Tested};

/// Output of one test.
pub struct Output {
    form: Iperf3Form,
    writer: LineWriter,
    host: String,
    view: Option<TextView>,
    start: TestFacts,
    /// Length of a datagram, if the path has determined it.
    found_length: Option<u32>,
    intervals: Vec<StreamInterval>,
    has_rows: bool,
}

impl Output {
    /// The output of a test to a server of this name.
    pub fn new(form: Iperf3Form, host: &str, writer: LineWriter) -> Self {
        Self {
            form,
            writer,
            host: host.to_owned(),
            view: None,
            start: TestFacts::default(),
            found_length: None,
            intervals: Vec::new(),
            has_rows: false,
        }
    }

    fn lines(&self, text: &str) {
        if !self.form.json {
            self.writer.lines(text);
        }
    }

    fn json<'a>(&'a self, tested: Option<&'a Tested>) -> Json<'a> {
        Json {
            start: &self.start,
            view: self.view.as_ref(),
            intervals: &self.intervals,
            totals: tested.and_then(|tested| tested.totals.as_ref()),
            peer: tested.and_then(|tested| tested.peer.as_deref()),
            error: None,
        }
    }

    /// Prints the results.
    pub fn last(&self, tested: &Tested) {
        if let Some(warning) = &tested.warning {
            self.writer.complaint(&format!("warning - {warning}"));
        }
        let error = match (&tested.error, tested.interrupted) {
            (Some(error), true) => Some(format!("interrupt - {error}")),
            (error, _) => error.clone(),
        };
        if self.form.json {
            let json = Json {
                error: error.as_deref(),
                ..self.json(Some(tested))
            };
            let text = if self.form.stream {
                json.end_events()
            } else {
                json.text()
            };
            return self.writer.document(&text);
        }
        if let (Some(view), Some(totals)) = (&self.view, &tested.totals) {
            if tested.error.is_none() || self.has_rows {
                self.lines(&view.last(totals, tested.peer.as_deref()));
            }
        }
        match self.start.output_of(tested.peer.as_deref()) {
            Some(ServerOutput::Text(text)) => self.lines(&format!("\nServer output:\n{text}\n")),
            Some(ServerOutput::Json(value)) => {
                self.lines(&format!("\nServer JSON output:\n{value:#}\n"));
            }
            None => {}
        }
        match (error, tested.interrupted) {
            (None, _) => self.lines("\niperf Done.\n"),
            (Some(error), true) => self.writer.complaint(&error),
            (Some(error), false) => self.writer.complaint(&format!("error - {error}")),
        }
    }
}

impl TestObserver for Output {
    fn connecting(&mut self, port: Option<&str>) {
        self.start.host.clone_from(&self.host);
        self.start.port = port.and_then(|port| port.parse().ok()).unwrap_or(PORT);
        let names = system::names();
        if self.form.verbose {
            self.lines(&format!("iperf {VERSION}\n{names}\n"));
        }
        self.start.system = names.to_string();
    }

    fn found_length(&mut self, length: u32) {
        self.found_length = Some(length);
    }

    fn begins(&mut self, parameters: &Parameters, cookie: Cookie, mss: Option<u32>) {
        self.start.since_epoch = clock::since_epoch();
        self.start.cookie = cookie.text().to_owned();
        self.start.mss = mss.unwrap_or(0);
        self.start.parameters = parameters.clone();
        if self.form.verbose {
            let time = http_date(self.start.since_epoch);
            let mss = self.start.mss;
            let found = self.found_length;
            let found = found.map(|length| format!("Setting UDP block size to {length}\n"));
            let found = found.unwrap_or_default();
            self.lines(&format!(
                "Control connection MSS {mss}\n{found}Time: {time}\n"
            ));
        }
        let (host, port) = (&self.host, self.start.port);
        self.lines(&format!("Connecting to host {host}, port {port}\n"));
        if parameters.direction == StreamDirection::Reverse {
            let host = &self.host;
            self.lines(&format!("Reverse mode, remote host {host} is sending\n"));
        }
        if self.form.verbose {
            self.lines(&wanted(&self.start));
        }
    }

    fn message(&mut self, name: &str, text: String) {
        self.writer.lines(&format!("{name}\n{text}\n"));
    }

    fn connected(&mut self, run: &Run, parameters: &Parameters) {
        let view = TextView {
            client: true,
            parameters: parameters.clone(),
            infos: run.infos.clone(),
            letter: self.form.letter,
            verbose: self.form.verbose,
        };
        self.start.buffers = run.buffers;
        self.lines(&view.connected());
        if self.form.verbose {
            self.lines(&starting(parameters));
        }
        self.view = Some(view);
        if self.form.stream {
            self.writer.document(&self.json(None).start_event());
        }
    }

    fn interval(&mut self, interval: StreamInterval, first: bool) {
        if let Some(view) = &self.view {
            self.lines(&view.interval(&interval, first));
        }
        if self.form.stream {
            let event = self.json(None).interval_event(&interval);
            return self.writer.document(&event);
        }
        if self.form.json {
            self.intervals.push(interval);
        }
        self.has_rows = true;
    }
}
