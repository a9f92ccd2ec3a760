//! The final rows of a client: those of streams, sums, and reports of the server.

use std::time::Duration;

use netperf_engine::iperf2::Transfer;
use netperf_iperf2::messages::ServerReport;
use netperf_iperf2::rows::{
    CountedInterval, DatagramQuality, IntervalCounts, MovedCounts, ReportRow, enhanced, figures_of,
    id, sent_line,
};
use netperf_model::iperf2::{DelayMoments, Iperf2Direction};
use netperf_program::output::{err, out};

use super::ClientRows;
use super::ways::WayOf;
use crate::iperf2::counts;
use crate::iperf2::session::{Iperf2Client, Iperf2Stream, Iperf2StreamResult, StreamOutcome};

/// A stream of the client, with its place, and its results.
type OwnResult<'a> = (usize, &'a Iperf2Stream, &'a Iperf2StreamResult);

impl ClientRows {
    /// Final rows, sums and reports.
    pub fn results(&mut self, client: &Iperf2Client, results: &[StreamOutcome]) {
        let streams = client.streams.len();
        let back = results.get(streams..).unwrap_or_default();
        let has_parts = self.args.plan.direction == Iperf2Direction::Tradeoff;
        if has_parts && !self.is_second {
            self.first_part(client, results);
        }
        self.opened_back(client);
        let own = if has_parts {
            Vec::new()
        } else {
            own_results(client, results)
        };
        let (all, end) = self.own(client, &own);
        let (more, longest) = self.backward(client, back);
        let (all, end) = (all.plus(more), end.max(longest));
        self.end_sum(client, end, &all);
        if !has_parts {
            self.datagrams_of_all(client, &all);
        }
        self.connect_times(client);
        self.reports(&own);
    }

    /// Final rows of the client's own streams where the server sends afterwards.
    pub fn first_part(&mut self, client: &Iperf2Client, first: &[StreamOutcome]) {
        let own = own_results(client, first);
        let (all, end) = self.own(client, &own);
        self.end_sum(client, end, &all);
        self.datagrams_of_all(client, &all);
        self.reports(&own);
        self.titles.clear();
        self.ways.clear();
        self.sums = IntervalCounts::default();
        self.is_second = true;
    }

    /// The times that several connections took to open (`-e`).
    fn connect_times(&self, client: &Iperf2Client) {
        let plan = &self.args.plan;
        if !self.args.enhanced || plan.udp || client.streams.len() < 2 {
            return;
        }
        let mut times = DelayMoments::default();
        for stream in &client.streams {
            times.add(stream.connect_time.as_secs_f64() * 1e6);
        }
        if self.args.shows_rows() {
            out(&enhanced::connect_times(&times));
        }
    }

    /// Rows of the client's own streams. Returns what all moved, and the longest time.
    fn own(&mut self, client: &Iperf2Client, own: &[OwnResult<'_>]) -> (MovedCounts, Duration) {
        let (mut all, mut longest) = (MovedCounts::default(), Duration::ZERO);
        for (at, stream, result) in own {
            let (mut both, mut time) = (MovedCounts::default(), Duration::ZERO);
            if let Some(received) = result.received {
                both = both.plus(self.end_way(client, WayOf::Received(*at), &received));
                time = time.max(received.elapsed);
            }
            if let Some(sent) = result.sent {
                let _row_of_its_own = self.end_way(client, WayOf::Sent(*at), &sent);
                both = both.plus(self.sent(stream, result, &sent));
                time = time.max(sent.elapsed);
            }
            self.end_pair(*at, time, &both);
            all = all.plus(both);
            longest = longest.max(time);
        }
        (all, longest)
    }

    /// The final row of what a stream sent. Returns what it sent.
    fn sent(
        &mut self,
        stream: &Iperf2Stream,
        result: &Iperf2StreamResult,
        sent: &Transfer,
    ) -> MovedCounts {
        let plan = &self.args.plan;
        // The final datagram counts.
        let last = if plan.udp { plan.block().max(16) } else { 0 };
        let bytes = sent.bytes + u64::try_from(last).unwrap_or_default();
        // The original counts one more than it sends.
        let datagrams = sent.calls + 2;
        let moved = MovedCounts {
            bytes,
            datagrams,
            ..counts::sent(stream)
        };
        let quality = match &result.report {
            Some(report) => DatagramQuality {
                jitter: report.jitter.micros(),
                lost: report.lost,
                datagrams: report.datagrams,
                late: report.out_of_order,
            },
            None => DatagramQuality {
                jitter: 0,
                lost: 0,
                datagrams: datagrams - 1,
                late: 0,
            },
        };
        let udp = plan.udp;
        let whole = CountedInterval {
            times: (Duration::ZERO, sent.elapsed),
            counts: moved,
        };
        self.stream_row(stream, &whole, quality);
        if udp && self.args.shows_rows() {
            out(&sent_line(&id(stream.number, false), datagrams));
        }
        moved
    }

    /// Rows of what the server sent on separate connections or flows. Returns what all moved, and
    /// the longest time.
    fn backward(
        &mut self,
        client: &Iperf2Client,
        results: &[StreamOutcome],
    ) -> (MovedCounts, Duration) {
        let (mut all, mut longest) = (MovedCounts::default(), Duration::ZERO);
        let results = results.iter().filter_map(|result| result.as_ref().ok());
        for (at, result) in results.enumerate() {
            let Some(got) = result.received else { continue };
            all = all.plus(self.end_way(client, WayOf::Back(at), &got));
            longest = longest.max(got.elapsed);
        }
        (all, longest)
    }

    /// Reports of the server, and lines about those that did not come.
    fn reports(&self, own: &[OwnResult<'_>]) {
        let mut titles = None;
        for (_, stream, result) in own {
            if let Some(report) = &result.report {
                self.report(stream, report, &mut titles);
            }
            if result.unreported {
                let [tries, number] = [201, stream.number + 2];
                err(&format!(
                    "[{number:3}] WARNING: did not receive ack of last datagram after {tries} \
                     tries.\n"
                ));
            }
        }
    }

    /// The report of the server. `titles` are those of the report before.
    fn report(
        &self,
        stream: &Iperf2Stream,
        report: &ServerReport,
        titles: &mut Option<&'static str>,
    ) {
        if self.args.leaves_out('V') {
            return;
        }
        let row = ReportRow {
            figures: figures_of(self.args.unit),
            report,
            is_known: self.has_one_clock(stream.local, stream.remote),
        };
        let (name, wanted) = (id(stream.number, false), row.titles());
        let shown = if titles.replace(wanted) == Some(wanted) {
            ""
        } else {
            wanted
        };
        let row = row.text(&name);
        out(&format!("{name} Server Report:\n{shown}{row}"));
    }
}

/// The results of own streams that did not fail.
fn own_results<'a>(client: &'a Iperf2Client, results: &'a [StreamOutcome]) -> Vec<OwnResult<'a>> {
    let own = client.streams.iter().zip(results).enumerate();
    own.filter_map(|(at, (stream, result))| Some((at, stream, result.as_ref().ok()?)))
        .collect()
}
