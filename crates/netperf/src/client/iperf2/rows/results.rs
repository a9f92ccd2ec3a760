//! The final rows of a client: those of streams, sums, and reports of the server.

use std::time::Duration;

use netperf_engine::iperf2::Transfer;
use netperf_model::figures::whole;
use netperf_model::iperf2::{DelayMoments, Iperf2Direction};
use netperf_report::iperf2::{enhanced, id, late, loss};
use netperf_session::iperf2::account::DatagramAccount;
use netperf_wire::iperf2::ServerReport;

use super::{ClientRows, StreamOutcome};
use crate::client::iperf2::counts;
use crate::iperf2::{Iperf2Client, Iperf2Stream, Iperf2StreamResult, MovedCounts, ReportRow};
use crate::output::{err, out};

/// A stream of the client, and its results.
type OwnResult<'a> = (&'a Iperf2Stream, &'a Iperf2StreamResult);

impl ClientRows {
    /// Final rows, sums and reports.
    pub(crate) fn results(&mut self, client: &Iperf2Client, results: &[StreamOutcome]) {
        let own = client.streams.iter().zip(results);
        let own: Vec<OwnResult<'_>> = own
            .filter_map(|(stream, result)| Some((stream, result.as_ref().ok()?)))
            .collect();
        let back = results.get(client.streams.len()..).unwrap_or_default();
        let (mut all, mut end) = self.own(&own);
        if self.args.plan.direction == Iperf2Direction::Tradeoff {
            // The directions follow each other.
            self.sum(client, (Duration::ZERO, end), &all);
            self.datagrams_of_all(client, &all);
            self.reports(&own);
            self.titles.clear();
            self.opened_back(client);
            let (all, end) = self.backward(client, back);
            self.sum(client, (Duration::ZERO, end), &all);
            return;
        }
        self.opened_back(client);
        let (more, longest) = self.backward(client, back);
        (all, end) = (all.plus(more), end.max(longest));
        self.rest_of_all(client, end, &all);
        self.sum(client, (Duration::ZERO, end), &all);
        self.datagrams_of_all(client, &all);
        self.connect_times(client);
        self.reports(&own);
    }

    /// The times that several connections took to open (`-e`).
    fn connect_times(&self, client: &Iperf2Client) {
        let plan = &self.args.plan;
        let is_dual = plan.direction.connects_back();
        if !self.args.enhanced || plan.udp || is_dual || client.streams.len() < 2 {
            return;
        }
        let mut times = DelayMoments::default();
        for stream in &client.streams {
            times.add(stream.connect_time.as_secs_f64() * 1e6);
        }
        if self.shows_rows() {
            out(&enhanced::connect_times(&times));
        }
    }

    /// Rows of the client's own streams. Returns what all moved, and the longest time.
    fn own(&mut self, own: &[OwnResult<'_>]) -> (MovedCounts, Duration) {
        let (mut all, mut longest) = (MovedCounts::default(), Duration::ZERO);
        for (stream, result) in own {
            let (mut both, mut time) = (MovedCounts::default(), Duration::ZERO);
            if let Some(received) = result.received {
                self.rest(stream, true, &received);
                self.received(stream, result, &received);
                both = both.plus(received_sum(result, &received));
                time = time.max(received.elapsed);
            }
            if let Some(sent) = result.sent {
                self.rest(stream, false, &sent);
                let moved = self.sent(stream, result, &sent);
                both = both.plus(moved);
                time = time.max(sent.elapsed);
            }
            self.both_ways(stream.number, (Duration::ZERO, time), &both);
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
        if self.args.csv {
            let report = result.report.as_ref().filter(|_| plan.udp);
            let figures = report.map_or([0, 0, datagrams - 1, 0], |report| {
                [
                    report.jitter.micros(),
                    report.lost,
                    report.datagrams,
                    report.out_of_order,
                ]
            });
            let whole = (Duration::ZERO, sent.elapsed);
            self.csv(stream, whole, bytes, plan.udp.then_some(figures));
            return moved;
        }
        if !self.shows_rows() {
            return moved;
        }
        let udp = plan.udp;
        self.title(self.sent_titles());
        let name = id(stream.number, false);
        let mut row = self.figures.row(&name, Duration::ZERO, sent.elapsed, bytes);
        if self.args.enhanced {
            row.push_str(&counts::sent_columns(&moved, stream, sent.elapsed, udp));
        }
        out(&format!("{row}\n"));
        if udp {
            out(&format!("{name} Sent {datagrams} datagrams\n"));
        }
        moved
    }

    /// The final row of what a stream received on its own connection or flow.
    fn received(&mut self, stream: &Iperf2Stream, result: &Iperf2StreamResult, got: &Transfer) {
        if self.args.csv {
            let figures = result.account.as_ref().map(quality);
            self.csv(stream, (Duration::ZERO, got.elapsed), got.bytes, figures);
            return;
        }
        let is_known = self.has_one_clock(stream.local, stream.remote);
        self.receiver_row(&id(stream.number, true), result, (got, is_known));
    }

    /// A final row of what is received. The last part is true if both ends have one clock.
    fn receiver_row(
        &mut self,
        name: &str,
        result: &Iperf2StreamResult,
        (got, is_known): (&Transfer, bool),
    ) {
        if !self.shows_rows() {
            return;
        }
        self.title(self.received_titles());
        let whole_time = (Duration::ZERO, got.elapsed);
        let mut row = self
            .figures
            .row(name, whole_time.0, whole_time.1, got.bytes);
        let mut behind = String::new();
        if let Some((account, total)) = &result.account {
            let jitter = Duration::from_micros(whole(account.jitter()));
            row.push_str(&loss(jitter, account.order.lost, *total));
            if self.args.enhanced {
                let (arrived, moments) = (account.order.arrived, account.transits());
                let amount = (got.bytes, got.elapsed);
                row.push_str(&enhanced::delays(&moments, is_known, arrived, amount));
            }
            behind = late(name, whole_time, account.order.out_of_order);
        } else if let Some(reads) = &result.reads {
            row.push_str(&enhanced::reads(reads));
        }
        out(&format!("{row}\n{behind}"));
    }

    /// Rows of what the server sent on connections or flows of its own. Returns what all moved, and
    /// the longest time.
    fn backward(
        &mut self,
        client: &Iperf2Client,
        results: &[StreamOutcome],
    ) -> (MovedCounts, Duration) {
        let first = u32::try_from(client.streams.len()).unwrap_or_default() + 1;
        let (mut all, mut longest) = (MovedCounts::default(), Duration::ZERO);
        let results = results.iter().filter_map(|result| result.as_ref().ok());
        let opened = client.opened_back();
        for (number, (result, stream)) in (first..).zip(results.zip(&opened)) {
            let Some(got) = result.received else { continue };
            all = all.plus(received_sum(result, &got));
            longest = longest.max(got.elapsed);
            if self.args.csv {
                let figures = result.account.as_ref().map(quality);
                let ends = (stream.remote, stream.local);
                let times = (Duration::ZERO, got.elapsed);
                self.csv_row((number, ends), times, got.bytes, figures);
            } else {
                let is_known = self.has_one_clock(stream.local, stream.remote);
                self.receiver_row(&id(number, false), result, (&got, is_known));
            }
        }
        (all, longest)
    }

    /// Reports of the server, and lines about those that did not come.
    fn reports(&self, own: &[OwnResult<'_>]) {
        let mut titles = None;
        for (stream, result) in own {
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
        if self.leaves_out('V') {
            return;
        }
        let row = ReportRow {
            figures: self.figures,
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

/// Jitter in microseconds, lost, total and out of order.
fn quality((account, total): &(DatagramAccount, u64)) -> [u64; 4] {
    [
        whole(account.jitter()),
        account.order.lost,
        *total,
        account.order.out_of_order,
    ]
}

/// What a stream received.
fn received_sum(result: &Iperf2StreamResult, got: &Transfer) -> MovedCounts {
    let account = result.account.as_ref();
    MovedCounts {
        bytes: got.bytes,
        reads: result.reads.unwrap_or_default(),
        datagrams: account.map_or(0, |(_, total)| *total),
        lost: account.map_or(0, |(account, _)| account.order.lost),
        late: account.map_or(0, |(account, _)| account.order.out_of_order),
        ..MovedCounts::default()
    }
}
