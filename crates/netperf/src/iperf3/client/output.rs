//! Output of a client in the forms of iperf3.

use netperf_cli::iperf3::Iperf3Client;
use netperf_measure::clock;
use netperf_os::{Socket, system};
use netperf_wire::iperf3::{Cookie, PORT, Parameters, Protocol, ServerOutput, StreamDirection};

use super::{TestObserver, Tested};
use crate::iperf3::json::{Json, TestFacts};
use crate::iperf3::run::{Run, StreamInterval};
use crate::iperf3::text::TextView;
use crate::output::{err, out};

/// Output of one test.
pub(crate) struct Output {
    json: bool,
    verbose: bool,
    title: Option<String>,
    letter: Option<char>,
    host: String,
    view: Option<TextView>,
    start: TestFacts,
    intervals: Vec<StreamInterval>,
}

impl Output {
    /// The output of a test to a server of this name.
    pub(crate) fn new(args: &Iperf3Client, host: &str) -> Self {
        Self {
            json: args.common.json,
            verbose: args.common.verbose,
            title: args.title.clone(),
            letter: args.common.format,
            host: host.to_owned(),
            view: None,
            start: TestFacts::default(),
            intervals: Vec::new(),
        }
    }

    /// Prints lines, each behind the title.
    fn lines(&self, text: &str) {
        if self.json {
            return;
        }
        match &self.title {
            None => out(text),
            Some(title) => {
                let lines = text.lines().map(|line| format!("{title}:  {line}\n"));
                out(&lines.collect::<String>());
            }
        }
    }

    /// Prints the results.
    pub(crate) fn last(&self, tested: &Tested) {
        if self.json {
            let json = Json {
                start: &self.start,
                view: self.view.as_ref(),
                intervals: &self.intervals,
                tested,
            };
            out(&json.text());
            return;
        }
        if let (Some(view), Some(totals)) = (&self.view, &tested.totals) {
            if self.verbose && tested.error.is_none() {
                self.lines(&summary());
            }
            if tested.error.is_none() || !self.intervals.is_empty() {
                self.lines(&view.last(totals, tested.peer.as_deref()));
            }
            if let (true, Some(peer)) = (self.verbose, &tested.peer) {
                self.lines(&utilisation(view, totals, peer));
            }
        }
        let server = tested.peer.as_ref().and_then(|peer| peer.output.as_ref());
        match server {
            Some(ServerOutput::Text(text)) => self.lines(&format!("\nServer output:\n{text}\n")),
            Some(ServerOutput::Json(value)) => {
                self.lines(&format!("\nServer JSON output:\n{value:#}\n"));
            }
            None => {}
        }
        match (&tested.error, tested.interrupted) {
            (None, _) => self.lines("\niperf Done.\n"),
            (Some(error), true) => err(&format!("iperf3: interrupt - {error}\n")),
            (Some(error), false) => err(&format!("iperf3: error - {error}\n")),
        }
    }
}

impl TestObserver for Output {
    fn connecting(&mut self, port: Option<&str>) {
        let default = PORT.to_string();
        let port = port.unwrap_or(&default);
        self.start.host.clone_from(&self.host);
        self.start.port = port.parse().unwrap_or(PORT);
        let names = system::names();
        if self.verbose {
            self.lines(&format!(
                "iperf {}\n{}\n",
                super::VERSION,
                described(&names)
            ));
        }
        self.start.system = described(&names);
        let host = &self.host;
        self.lines(&format!("Connecting to host {host}, port {port}\n"));
    }

    fn begins(
        &mut self,
        control: &Socket,
        parameters: &Parameters,
        cookie: Cookie,
        mss: Option<u32>,
    ) {
        self.start.since_epoch = clock::since_epoch();
        self.start.cookie = cookie.text().to_owned();
        self.start.mss = mss.unwrap_or(0);
        self.start.parameters = parameters.clone();
        self.start.buffers = (
            control.send_buffer_size().unwrap_or(0),
            control.recv_buffer_size().unwrap_or(0),
        );
        if self.verbose {
            let time = crate::iperf3::json::http_date(self.start.since_epoch);
            let mut text = format!("Control connection MSS {}\nTime: {time}\n", self.start.mss);
            text.push_str(&format!("      Cookie: {}\n", cookie.text()));
            if parameters.protocol == Protocol::Tcp {
                let given = if parameters.mss.is_some() {
                    ""
                } else {
                    " (default)"
                };
                let mss = parameters.mss.unwrap_or(self.start.mss);
                text.push_str(&format!("      TCP MSS: {mss}{given}\n"));
            }
            if parameters.bandwidth > 0 {
                text.push_str(&format!("      Target Bitrate: {}\n", parameters.bandwidth));
            }
            self.lines(&text);
        }
        if parameters.direction == StreamDirection::Reverse {
            let host = &self.host;
            self.lines(&format!("Reverse mode, remote host {host} is sending\n"));
        }
    }

    fn connected(&mut self, run: &Run, parameters: &Parameters) {
        let view = TextView {
            client: true,
            parameters: parameters.clone(),
            infos: run.infos.clone(),
            letter: self.letter,
        };
        self.lines(&view.connected());
        if self.verbose {
            self.lines(&starting(parameters));
        }
        self.view = Some(view);
    }

    fn interval(&mut self, interval: StreamInterval, first: bool) {
        if let Some(view) = &self.view {
            self.lines(&view.interval(&interval, first));
        }
        self.intervals.push(interval);
    }
}

fn summary() -> String {
    "Test Complete. Summary Results:\n".to_owned()
}

fn described(names: &system::Names) -> String {
    format!(
        "{} {} {} {}",
        names.sysname, names.node, names.release, names.machine
    )
}

fn starting(parameters: &Parameters) -> String {
    let protocol = match parameters.protocol {
        Protocol::Udp => "UDP",
        Protocol::Tcp | Protocol::Sctp => "TCP",
    };
    let amount = if parameters.num > 0 {
        format!("{} bytes to send", parameters.num)
    } else if parameters.blockcount > 0 {
        format!("{} blocks to send", parameters.blockcount)
    } else {
        format!("{} second test", parameters.time)
    };
    format!(
        "Starting Test: protocol: {protocol}, {} streams, {} byte blocks, omitting {} seconds, \
         {amount}, tos {}\n",
        parameters.parallel, parameters.len, parameters.omit, parameters.tos
    )
}

fn utilisation(
    view: &TextView,
    totals: &crate::iperf3::run::Totals,
    peer: &netperf_wire::iperf3::Results,
) -> String {
    let one = |cpu: [f64; 3]| {
        let [total, user, system] = cpu;
        format!("{total:.1}% ({user:.1}%u/{system:.1}%s)")
    };
    let (own, other) = match view.parameters.direction {
        StreamDirection::Reverse => ("receiver", "sender"),
        StreamDirection::Forward | StreamDirection::Both => ("sender", "receiver"),
    };
    let mut text = format!(
        "CPU Utilization: local/{own} {}, remote/{other} {}\n",
        one(totals.cpu),
        one(peer.cpu)
    );
    let (sender, receiver) = match view.parameters.direction {
        StreamDirection::Reverse => (&peer.congestion, &totals.congestion),
        StreamDirection::Forward | StreamDirection::Both => (&totals.congestion, &peer.congestion),
    };
    for (key, name) in [("snd", sender), ("rcv", receiver)] {
        if let Some(name) = name {
            text.push_str(&format!("{key}_tcp_congestion {name}\n"));
        }
    }
    text
}
