//! One thread's part of a run: the state around its loop, and its report.

use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::counters::Counts;
use netperf_measure::latency::HistogramView;
use netperf_measure::recorder::{LatencyRecorder, NoRecorder, Recorder};
use netperf_model::{
    ArrivedAmount, FlowCounts, Latency, Paced, Quality, Stamps, Tally, TransportId, Window,
};
use netperf_os::{alarm, tcp};
use netperf_transport::meeting::OnSocket;

use super::ends::EndedFlows;
use super::flow::{FlowEndpoint, FlowState};
use super::shared::{RunStage, SharedRun, StageBits};
use crate::due::queue::DueQueue;
use crate::error::EngineError;
use crate::feedback::PAUSE_LOOK;
use crate::finish::{Drained, drain_within};
use crate::live::Live;
use crate::sequence::Numbers;
use crate::stop::Ended;

/// A recorder that a worker can make for itself.
pub(super) trait WorkerRecorder: Recorder {
    /// A fresh one; `latency` is whether times are to be kept, where it may or may not.
    fn fresh(latency: bool) -> Self;

    /// The distribution; `None` where none is recorded.
    fn kept(&self) -> Option<Latency>;

    /// A look at it for other threads.
    fn watched(&self) -> Option<HistogramView>;
}

impl WorkerRecorder for NoRecorder {
    fn fresh(_: bool) -> Self {
        Self
    }

    fn kept(&self) -> Option<Latency> {
        None
    }

    fn watched(&self) -> Option<HistogramView> {
        None
    }
}

impl WorkerRecorder for LatencyRecorder {
    fn fresh(_: bool) -> Self {
        Self::new(1)
    }

    fn kept(&self) -> Option<Latency> {
        Some(self.latency())
    }

    fn watched(&self) -> Option<HistogramView> {
        Some(self.watched())
    }
}

impl WorkerRecorder for Option<LatencyRecorder> {
    fn fresh(latency: bool) -> Self {
        latency.then(|| LatencyRecorder::new(1))
    }

    fn kept(&self) -> Option<Latency> {
        self.as_ref().map(LatencyRecorder::latency)
    }

    fn watched(&self) -> Option<HistogramView> {
        self.as_ref().map(LatencyRecorder::watched)
    }
}

/// An endpoint whose kernel may tell what has arrived at the other end.
pub(super) trait Acknowledged {
    /// Bytes that the other end of the connection has acknowledged; `None` if unknown.
    fn acknowledged(&self) -> Option<u64>;
}

impl<E: FlowEndpoint> Acknowledged for E {
    fn acknowledged(&self) -> Option<u64> {
        tcp::detail(self.fd()).ok()?.bytes_acked
    }
}

/// State of a loop besides flows and buffers.
#[derive(Debug)]
pub(super) struct WorkerState<'a, R> {
    pub(super) tally: Tally,
    /// The other end, which alone sends, is to be stopped at the end.
    pub(super) tells: bool,
    /// Time after which a response counts as lost, where one may be.
    pub(super) patience: Option<Duration>,
    /// Data that arrives after the end of the time counts only if all of it arrives within the
    /// grace period.
    pub(super) cuts: bool,
    /// Data that arrives after a signal of the user does not count.
    pub(super) cuts_at_stop: bool,
    /// Counts at the end of the time.
    at_end: Option<(Moment, Tally)>,
    /// Time for data on its way when the time is over, from the bytes received so far and their time.
    pub(super) drain: fn(u64, Duration) -> Duration,
    begun: Moment,
    /// Writes numbers into datagrams.
    pub(super) numbers: Option<Numbers>,
    shared: &'a SharedRun,
    counts: &'a Counts,
    /// For operations before, in and behind the part that counts.
    recorders: [R; 3],
    part: usize,
    /// The stage at the last look.
    stage: RunStage,
    bits: StageBits,
    edges: CountedPart,
    starts: Starts,
    /// When it was over already, where only silence told of that.
    over: Option<Moment>,
    /// When datagrams came last, once the time was over.
    came_late: Option<Moment>,
}

/// The part of the run that counts, where that is not all of it.
#[derive(Clone, Copy, Debug, Default)]
struct CountedPart {
    wanted: bool,
    begin: Option<PartEdge>,
    end: Option<PartEdge>,
}

/// Counts at an edge of the part that counts.
#[derive(Clone, Copy, Debug)]
struct PartEdge {
    at: Moment,
    tally: Tally,
    /// Bytes that the other ends of all connections have acknowledged, if the kernel tells.
    acknowledged: Option<u64>,
}

/// The part of the run that counts, by one worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedWindow {
    pub(super) begin: Moment,
    pub(super) length: Duration,
    pub(super) tally: Tally,
    /// Bytes acknowledged in it, if the kernel tells.
    pub(super) acknowledged: Option<u64>,
}

impl PartEdge {
    fn now<E: Acknowledged, M>(tally: Tally, flows: &[FlowState<E, M>]) -> Self {
        let at = clock::now();
        let of_flow = |flow: &FlowState<E, M>| flow.endpoint.acknowledged();
        Self {
            at,
            tally,
            acknowledged: flows.iter().map(of_flow).sum(),
        }
    }

    fn since(&self, begin: &Self) -> CountedWindow {
        let both = self.acknowledged.zip(begin.acknowledged);
        CountedWindow {
            begin: begin.at,
            length: self.at.since(begin.at),
            tally: self.tally.since(&begin.tally),
            acknowledged: both.map(|(after, before)| after.saturating_sub(before)),
        }
    }
}

/// The part of the run that counts: workers see its edges within one round of each other, so
/// their mean length is its length.
pub(super) fn window(reports: &[WorkerReport], transport: TransportId) -> Window {
    let mut window = Window::default();
    let mut workers = 0_u32;
    let (mut begins, mut acknowledged) = (0_u64, Some(0_u64));
    let mut begin: Option<Moment> = None;
    for part in reports.iter().filter_map(|report| report.window) {
        window.tally = window.tally.plus(&part.tally);
        window.seconds += part.length.as_secs_f64();
        begin = begin.max(Some(part.begin));
        begins = begins.saturating_add(part.begin.nanos());
        acknowledged = acknowledged
            .zip(part.acknowledged)
            .map(|(all, one)| all + one);
        workers += 1;
    }
    window.seconds /= f64::from(workers.max(1));
    window.begin_nanos = begins / u64::from(workers.max(1));
    window.begin_monotonic = begin.map(Moment::monotonic).unwrap_or_default();
    // Elsewhere the kernel counts what the transport adds, or one path of several.
    let plain = matches!(transport, TransportId::Tcp | TransportId::IpDefault);
    window.arrived = acknowledged
        .filter(|_| plain && workers > 0)
        .map(|bytes| ArrivedAmount { bytes, error: None });
    window
}

/// When flows had their first operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    pub(super) earliest: Option<Moment>,
    pub(super) latest: Option<Moment>,
    pub(super) flows: usize,
}

/// The middle of the three recorders.
const COUNTED: usize = 1;

impl<'a, R: WorkerRecorder> WorkerState<'a, R> {
    /// A state for a run of which only a part counts, or all.
    pub(super) fn new(
        shared: &'a SharedRun,
        counts: &'a Counts,
        margins: bool,
        latency: bool,
    ) -> Self {
        let fresh = || R::fresh(latency);
        let stage = shared.stage();
        Self {
            tally: Tally::default(),
            tells: false,
            cuts: false,
            cuts_at_stop: false,
            at_end: None,
            drain: drain_within,
            begun: clock::now(),
            patience: None,
            numbers: None,
            shared,
            counts,
            recorders: [fresh(), fresh(), fresh()],
            part: if stage == RunStage::Warm { 0 } else { COUNTED },
            stage,
            bits: StageBits::of(stage),
            edges: CountedPart {
                wanted: margins,
                ..CountedPart::default()
            },
            starts: Starts::default(),
            over: None,
            came_late: None,
        }
    }

    /// Lets others look at the times of operations that count.
    pub(super) fn show(&self, live: Option<&Live>) {
        if let Some((live, times)) = live.zip(self.recorders[COUNTED].watched()) {
            live.keeps(times);
        }
    }

    /// The run begins now.
    pub(super) fn begin<E: Acknowledged, M>(&mut self, flows: &[FlowState<E, M>]) {
        self.begun = clock::now();
        if self.edges.wanted && self.stage >= RunStage::Count {
            self.edges.begin = Some(PartEdge::now(self.tally, flows));
        }
    }

    /// The stage of the run, asked once in each round.
    #[inline]
    pub(super) fn look<E: Acknowledged, M>(&mut self, flows: &mut [FlowState<E, M>]) -> RunStage {
        if self.shared.bits() != self.bits {
            self.follow(flows);
        }
        self.stage
    }

    /// Enters the stage of the run, and waits while the run pauses: the part that counts begins and
    /// ends meanwhile, too.
    #[cold]
    fn follow<E: Acknowledged, M>(&mut self, flows: &mut [FlowState<E, M>]) {
        loop {
            self.bits = self.shared.bits();
            let stage = self.bits.stage();
            if stage != self.stage {
                self.turn(stage, flows);
            }
            if !self.bits.pauses() {
                return;
            }
            std::thread::sleep(PAUSE_LOOK);
        }
    }

    /// Returns whether operations may be begun.
    #[inline]
    pub(super) fn goes_on(&self) -> bool {
        self.shared.bits().goes_on()
    }

    /// Returns whether the run stops where it is.
    #[inline]
    pub(super) fn is_abandoned(&self) -> bool {
        self.shared.stage() == RunStage::Abandon
    }

    /// Recorder of the current part.
    #[inline]
    pub(super) fn recorder(&mut self) -> &mut R {
        &mut self.recorders[self.part]
    }

    /// Returns whether the current part counts.
    #[inline]
    pub(super) fn counts(&self) -> bool {
        self.part == COUNTED
    }

    /// For others to see how far it has come.
    #[inline]
    pub(super) fn publish(&self) {
        self.counts.publish(&self.tally);
    }

    /// A flow has its first operation.
    #[inline]
    pub(super) fn starts(&mut self) {
        let now = clock::now();
        let starts = &mut self.starts;
        starts.earliest.get_or_insert(now);
        starts.latest = Some(now);
        starts.flows += 1;
    }

    /// Ends a round of receives that began with so many bytes: others see what counts.
    #[inline]
    pub(super) fn round_is_over(&mut self, stage: RunStage, before: u64) {
        if !stage.goes_on() {
            self.comes_late(before);
        }
        if !self.is_cut() {
            self.publish();
        }
    }

    /// Notes the time if something has come since `before`, when the time was over.
    #[cold]
    fn comes_late(&mut self, before: u64) {
        if self.tally.bytes_received != before {
            self.came_late = Some(clock::now());
        }
    }

    /// Nothing has happened any more since then.
    #[cold]
    pub(super) fn was_over(&mut self, since: Moment) {
        self.over = Some(since);
    }

    /// Copies the counts at the edges of the part that counts.
    #[cold]
    fn turn<E: Acknowledged, M>(&mut self, stage: RunStage, flows: &mut [FlowState<E, M>]) {
        self.stage = stage;
        let cuts = self.cuts || self.cuts_at_stop && alarm::stopped_by_user();
        if cuts && stage >= RunStage::Finish {
            self.note_end(flows);
        }
        if !self.edges.wanted {
            return;
        }
        if stage >= RunStage::Count && self.edges.begin.is_none() {
            self.edges.begin = Some(PartEdge::now(self.tally, flows));
            self.part = COUNTED;
            for flow in &mut *flows {
                flow.before = flow.counts;
            }
        }
        if stage >= RunStage::Cool && self.edges.end.is_none() {
            self.edges.end = Some(PartEdge::now(self.tally, flows));
            self.part = COUNTED + 1;
            for flow in flows {
                flow.within = flow.counts.since(&flow.before);
            }
        }
    }

    /// Returns whether the grace period is over that begins when all that was sent on the
    /// connections has arrived.
    #[cold]
    pub(super) fn drained<E: OnSocket, M>(&mut self, flows: &mut [FlowState<E, M>]) -> bool {
        // The end of the data counts as one byte.
        let arrived = |flow: &FlowState<E, M>| {
            tcp::unacknowledged(flow.endpoint.fd()).is_ok_and(|bytes| bytes <= 1)
        };
        if flows.iter().all(arrived) {
            self.note_end(flows);
        }
        let ends = |(over, tally): (Moment, Tally)| {
            over.elapsed() >= (self.drain)(tally.bytes_received, over.since(self.begun))
        };
        self.at_end.is_some_and(ends)
    }

    /// Returns whether what arrives now may not count.
    #[inline]
    fn is_cut(&self) -> bool {
        self.at_end.is_some()
    }

    /// Notes the counts at the end of what counts, once.
    pub(super) fn note_end<E, M>(&mut self, flows: &mut [FlowState<E, M>]) {
        if self.is_cut() {
            return;
        }
        self.at_end = Some((clock::now(), self.tally));
        for flow in flows {
            flow.at_end = flow.counts;
        }
    }

    /// Report of a loop that is over.
    pub(super) fn report<E: Acknowledged, M: Copy>(
        mut self,
        ended: Ended,
        flows: &mut [FlowState<E, M>],
    ) -> WorkerReport {
        self.over = self.over.or_else(|| Some(clock::now()));
        // Whatever ended the loop ended the part that counts.
        self.turn(self.stage.max(RunStage::Finish), flows);
        let numbered = self.numbers.is_some();
        let tracked = |flow: &&FlowState<E, M>| numbered || flow.track.is_some();
        let qualities = flows.iter().filter(tracked).map(FlowState::quality);
        let quality = qualities.reduce(|all, one| all.beside(&one));
        let margins = self.edges.wanted;
        let count = |flow: &FlowState<E, M>| if margins { flow.within } else { flow.counts };
        let at_end = |flow: &FlowState<E, M>| if margins { flow.within } else { flow.at_end };
        let cut = self.at_end.map(|(over, tally)| CutCounts {
            over,
            tally,
            flows: flows.iter().map(at_end).collect(),
        });
        self.summed_up(ended, flows.iter().map(count).collect(), cut, quality)
    }

    /// The report with these counts of the flows.
    #[cold]
    fn summed_up(
        self,
        ended: Ended,
        flows: Vec<FlowCounts>,
        cut: Option<CutCounts>,
        quality: Option<Quality>,
    ) -> WorkerReport {
        if !self.is_cut() {
            self.publish();
        }
        let over = self.over.unwrap_or_else(clock::now);
        let window = match (self.edges.begin, self.edges.end) {
            (Some(begin), Some(end)) => Some(end.since(&begin)),
            _ => None,
        };
        WorkerReport {
            cut,
            ended,
            tally: self.tally,
            window,
            flows,
            starts: self.starts,
            latency: self.recorders[COUNTED].kept(),
            paced: None,
            stamps: None,
            quality,
            ports: Vec::new(),
            over,
            came_late: self.came_late,
            closed: over,
            left: EndedFlows::default(),
            cipher: None,
            segment_size: None,
            connected: over,
            broke: None,
        }
    }

    /// Report of a loop that an error ended.
    pub(super) fn broken_off<E: Acknowledged, M: Copy>(
        self,
        error: EngineError,
        flows: &mut [FlowState<E, M>],
    ) -> WorkerReport {
        let mut report = self.report(Ended::Abandoned, flows);
        report.broke = Some(error);
        report
    }
}

/// Counts of a worker at the end of the time.
#[derive(Debug)]
pub(super) struct CutCounts {
    over: Moment,
    tally: Tally,
    flows: Vec<FlowCounts>,
}

impl WorkerReport {
    /// Takes the counts back to the end of the time.
    pub(super) fn cut_at_the_end(&mut self) {
        if let Some(CutCounts { over, tally, flows }) = self.cut.take() {
            (self.over, self.tally, self.flows) = (over, tally, flows);
        }
    }

    /// End of its connections.
    pub(super) fn drained(&self) -> Drained {
        self.left.drained.unwrap_or(Drained::Closed)
    }

    /// Takes the account of due requests.
    pub(super) fn keep(&mut self, mut queue: DueQueue) {
        queue.close(queue.now());
        // Of a part of the run, no more is recorded than what ended within it.
        let (latency, paced) = queue.balance(self.window.is_none());
        self.latency = Some(latency);
        self.paced = Some(paced);
    }
}

/// Report of a worker.
#[derive(Debug)]
pub(super) struct WorkerReport {
    pub(super) ended: Ended,
    pub(super) tally: Tally,
    /// The part that counts, where that is not all.
    pub(super) window: Option<CountedWindow>,
    pub(super) flows: Vec<FlowCounts>,
    pub(super) starts: Starts,
    pub(super) latency: Option<Latency>,
    /// Account of a rate.
    pub(super) paced: Option<Paced>,
    /// Time stamps of transactions.
    pub(super) stamps: Option<Stamps>,
    /// Loss, order and delay of numbered datagrams.
    pub(super) quality: Option<Quality>,
    /// netperf's port of each flow, 0 where there is none.
    pub(super) ports: Vec<u16>,
    /// When the loop was over.
    pub(super) over: Moment,
    /// When datagrams came last, if that was when the time was over.
    pub(super) came_late: Option<Moment>,
    /// Counts at the end of the time, where later ones may not count.
    pub(super) cut: Option<CutCounts>,
    /// When its connections were at their end.
    pub(super) closed: Moment,
    /// Remains of its flows.
    pub(super) left: EndedFlows,
    /// Encryption of the first flow.
    pub(super) cipher: Option<String>,
    pub(super) segment_size: Option<u32>,
    /// When the last of its connections stood.
    pub(super) connected: Moment,
    /// The error that ended the loop.
    pub(super) broke: Option<EngineError>,
}
