//! The summary of one run for a person: the answer first, then a table, hosts last.

mod directions;
mod limit;
mod tables;

use netperf_report::document::{AskedTest, Document, EndDocument, IterationDocument};
use netperf_text::columns::titled;
use netperf_text::duration::duration;
use netperf_text::escape;
use netperf_text::look::TextLook;
use netperf_text::unit::{NO_BREAK, Unit, quantity};
use std::time::Duration;

/// Columns of the titles of lines.
const TITLE: usize = 12;

/// The summary of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunSummary<'a> {
    document: &'a Document,
}

impl<'a> RunSummary<'a> {
    /// The summary of a document.
    #[must_use]
    pub const fn of(document: &'a Document) -> Self {
        Self { document }
    }

    /// The summary in lines.
    #[must_use]
    pub fn text(self, look: TextLook) -> String {
        let headline = titled("", 0, &self.headline(), look.columns);
        let mut text = look.bold(headline.trim_end());
        text.push_str("\n\n");
        let mut line = |title: &str, words: Option<String>| {
            let words = words.filter(|words| !words.is_empty());
            let words = words.map(|words| titled(title, TITLE, &words, look.columns));
            text.push_str(&words.unwrap_or_default());
        };
        for rate in self.rates() {
            line(rate.title, rate.words(look));
        }
        for (title, words) in self.datagrams() {
            line(title, Some(words));
        }
        line("Latency", self.no_response());
        line("TCP", self.tcp());
        line("CPU", self.cpus());
        line("Limited by", self.limit());
        for table in [self.latencies(look), self.flows(look)] {
            text.extend(table.map(|table| format!("\n{table}")));
        }
        text.push('\n');
        self.warnings(&mut text, look);
        self.hosts(&mut text, look);
        look.letters(&text)
    }

    /// The answer in one line: what was measured, between whom, by which test and for how long.
    #[must_use]
    pub fn headline(self) -> String {
        let about = self.about();
        let Some(answer) = self.answer() else {
            let words = match self.document.error {
                Some(_) => "No result",
                None if self.rates().is_empty() => "Done",
                None => "Unknown rate",
            };
            return format!("{words} ({about})");
        };
        format!("{answer} ({about})")
    }

    /// The test, its host and its length.
    fn about(self) -> String {
        let test = &self.document.test;
        let mut parts = vec![format!("{} to {}", named_test(test), self.server())];
        if let Some(peer) = &self.document.peer {
            let version = peer.version.as_deref().unwrap_or_default();
            let name = format!("{} {version}", peer.program);
            parts.push(escape::line(name.trim_end()));
        }
        let seconds = self.document.result.as_ref();
        let seconds = seconds.and_then(|result| result.elapsed_seconds.0);
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        parts.extend(time.map(|time| duration(time).replace(' ', NO_BREAK)));
        if let Some(many) = test.many.as_ref().filter(|many| many.flows > 1) {
            parts.push(format!("{} flows", many.flows));
        }
        let runs = self.document.iterations.len();
        if runs > 1 {
            parts.push(format!("mean of {runs} runs"));
        }
        parts.join(", ")
    }

    /// The host of the server, with its address.
    fn server(self) -> String {
        let remote = &self.document.remote;
        let named = escape::line(&remote.requested.host);
        let address = remote.address.as_deref().map(escape::line);
        match address.filter(|address| *address != named && !address.is_empty()) {
            Some(address) => format!("{named} [{address}]"),
            None => named,
        }
    }

    fn first(self) -> Option<&'a IterationDocument> {
        self.document.iterations.first()
    }

    pub(super) fn counts_transactions(self) -> bool {
        let test = &self.document.test;
        test.connects || (test.sends && test.receives && test.bidirectional.is_none())
    }

    /// State of TCP: retransmitted segments of the sender, and the last round trip.
    fn tcp(self) -> Option<String> {
        let test = &self.document.test;
        let counts = |run: &IterationDocument| {
            let local = run.local.retransmitted_segments.filter(|_| test.sends);
            let remote = run.remote.as_ref();
            let remote = remote.and_then(|end| end.retransmitted_segments);
            let remote = remote.filter(|_| test.receives);
            let known = local.or(remote)?;
            Some(known.max(local.unwrap_or(0).saturating_add(remote.unwrap_or(0))))
        };
        let counts: Option<Vec<u32>> = self.document.iterations.iter().map(counts).collect();
        let counts = counts.filter(|counts| !counts.is_empty());
        let segments = counts.map(|counts| {
            let count = quantity(counts.iter().sum::<u32>().into(), Unit::Count("segments"));
            format!("{count} retransmitted")
        });
        let state = self.first().and_then(|run| run.tcp);
        let round_trip = state.map(|tcp| {
            let time = quantity(f64::from(tcp.round_trip_micros) / 1e6, Unit::Seconds);
            format!("round trip {time}")
        });
        let segment = self.first().and_then(|run| run.segment_size_bytes);
        let segment = segment.map(|bytes| format!("segments of {bytes}{NO_BREAK}bytes"));
        let parts = [segments, round_trip, segment];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    fn cpus(self) -> Option<String> {
        let run = self.first()?;
        let remote = run.remote.as_ref();
        let each = [("client", Some(&run.local)), ("server", remote)];
        let each = each.into_iter().filter_map(|(name, end)| {
            let cpu = end?.cpu.as_ref().filter(|cpu| cpu.busy >= 0.0)?;
            let peak = (cpu.peak_id >= 0 && cpu.peak_busy >= 0.0).then(|| {
                format!(
                    " (CPU{NO_BREAK}{}:{NO_BREAK}{:.0}{NO_BREAK}%)",
                    cpu.peak_id, cpu.peak_busy
                )
            });
            let peak = peak.unwrap_or_default();
            Some(format!("{name} {:.0}{NO_BREAK}%{peak}", cpu.busy))
        });
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| each.join(", "))
    }

    fn warnings(self, text: &mut String, look: TextLook) {
        let error = self.document.error.as_ref().map(|error| {
            let message = &error.message;
            message.strip_prefix("netperf: ").unwrap_or(message)
        });
        let mut line = |title: &str, shown: String, message: &str| {
            let words = titled(title, TITLE, &escape::line(message), look.columns);
            text.push_str(&words.replacen(title, &shown, 1));
        };
        let warnings = self.document.warnings.iter();
        for warning in warnings.filter(|warning| Some(&warning.message[..]) != error) {
            line("Warning", look.yellow("Warning"), &warning.message);
        }
        if let Some(error) = error {
            line("Failed", look.red("Failed"), error);
        }
    }

    /// Facts about the hosts.
    fn hosts(self, text: &mut String, look: TextLook) {
        let run = self.first();
        let of_client = run.and_then(|run| run.local.congestion_control.clone());
        let remote = run.and_then(|run| run.remote.as_ref());
        let of_server = remote.and_then(|end| end.congestion_control.clone());
        for (title, end, control) in [
            ("Client", &self.document.local, of_client),
            ("Server", &self.document.remote, of_server),
        ] {
            let words = host(end, control);
            if !words.is_empty() {
                text.push_str(&titled(title, TITLE, &words, look.columns));
            }
        }
    }
}

/// Interface, congestion control, system and version of a host, as far as they are known.
fn host(end: &EndDocument, congestion_control: Option<String>) -> String {
    let host = end.host.as_ref();
    let plain = |text: &String| escape::line(text);
    let parts = [
        host.and_then(|host| host.interface.name.as_ref())
            .map(plain),
        end.interface_speed()
            .map(|speed| quantity(speed, Unit::BitsPerSecond)),
        end.interface_mtu().map(|mtu| format!("MTU {mtu}")),
        congestion_control.as_ref().map(plain),
        end.system().as_ref().map(plain),
        host.and_then(|host| host.machine.as_ref()).map(plain),
        end.setting("netperf_version")
            .map(|version| escape::line(&format!("netperf {version}"))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The name of the test, with its protocol if the name lacks it.
fn named_test(test: &AskedTest) -> String {
    let (name, protocol) = (escape::line(&test.name), escape::line(&test.protocol));
    let of_name = name.split('_').next().unwrap_or_default();
    let usual = if of_name == "OMNI" { "TCP" } else { of_name };
    if protocol.is_empty() || protocol.eq_ignore_ascii_case(usual) {
        name
    } else {
        format!("{name} over {protocol}")
    }
}
