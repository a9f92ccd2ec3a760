//! Code that both ends of a test share.

use std::path::Path;
use std::time::Duration;

use netperf_measure::cpu;
use netperf_model::sizes;
use netperf_model::{
    CpuUsage, EndJob, EndPlan, EndResult, EndSetup, IoCounts, Meeting, RateUnit, Tally, TransportId,
};
use netperf_transport::socket::{self, OpenedSocket, SocketFacts};

use crate::error::{EngineError, Operation};
use crate::path;
use crate::ring::{Ring, RingLayout};

/// Contents of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectionUse {
    /// Nothing.
    Nothing,
    /// Messages of this many bytes: requests or responses.
    Messages(u32),
    /// Data without an end, in calls of a derived size.
    Bulk,
}

impl DirectionUse {
    /// Contents of a direction, from its use and the size of its messages.
    pub(crate) fn of(used: bool, message: Option<u32>) -> Self {
        match message {
            _ if !used => Self::Nothing,
            Some(size) => Self::Messages(size),
            None => Self::Bulk,
        }
    }
}

/// The rings of one end.
#[derive(Debug)]
pub(crate) struct Rings {
    pub(crate) send: Option<Ring>,
    pub(crate) recv: Option<Ring>,
}

/// Returns whether a full local queue drops messages silently, unless asked to report them: true
/// for the datagrams of IP.
pub(crate) fn drops_silently(transport: TransportId) -> bool {
    let row = transport.row();
    transport.is_inet() && row.meeting != Meeting::Connection && !row.reliable
}

/// Sizes and widths of one end, derived where nothing was asked for; `largest` is the
/// largest message of the transport, bytes.
pub(crate) fn setup(
    plan: &EndPlan,
    opened: &OpenedSocket,
    largest: Option<u32>,
    sends: DirectionUse,
    receives: DirectionUse,
) -> EndSetup {
    let mut setup = EndSetup {
        send_buffer: opened.send_buffer,
        recv_buffer: opened.recv_buffer,
        nodelay: opened.nodelay,
        priority: opened.priority,
        tos: opened.tos,
        settings: socket::in_force(&opened.socket, &plan.socket.settings),
        ..EndSetup::default()
    };
    setup.send_size = match sends {
        DirectionUse::Nothing => None,
        DirectionUse::Messages(size) => Some(size),
        DirectionUse::Bulk => Some(sizes::send_size(&plan.send, opened.send_buffer, largest)),
    };
    setup.send_size = setup
        .send_size
        .map(|size| evenly(plan, size, sends, largest));
    setup.recv_size = match receives {
        DirectionUse::Nothing => None,
        DirectionUse::Messages(size) => Some(size),
        DirectionUse::Bulk => Some(sizes::recv_size(&plan.recv, opened.recv_buffer)),
    };
    let width = |carries, ring, buffer, size: Option<u32>| match carries {
        DirectionUse::Nothing => 0,
        DirectionUse::Messages(_) => sizes::rr_width(ring),
        DirectionUse::Bulk => sizes::stream_width(ring, buffer, size.unwrap_or(1)),
    };
    setup.send_width = width(sends, &plan.send, opened.send_buffer, setup.send_size);
    setup.recv_width = width(receives, &plan.recv, opened.recv_buffer, setup.recv_size);
    if plan.io.zerocopy && plan.send.width.is_none() {
        setup.send_width = path::zerocopy_width(setup.send_size);
    }
    setup
}

/// The plan of one of several flows, which share a rate.
pub(crate) fn of_flow(plan: &EndPlan, flows: u32) -> EndPlan {
    EndPlan {
        rate: plan.rate.map(|rate| rate.of_each(flows)),
        ..plan.clone()
    }
}

/// Bytes per send of a byte stream at a rate: without a size, a send carries what is due in a
/// millisecond, so that the rate is even.
fn evenly(plan: &EndPlan, size: u32, sends: DirectionUse, largest: Option<u32>) -> u32 {
    /// Not so little that a send is mostly overhead.
    const LEAST: u32 = 1024;
    let bits = plan.rate.filter(|rate| rate.unit == RateUnit::Bits);
    let derived = sends == DirectionUse::Bulk && plan.send.size.is_none() && largest.is_none();
    let Some(rate) = bits.filter(|_| derived) else {
        return size;
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and a larger size is not used"
    )]
    let slice = (rate.per_second / 8.0 / 1000.0) as u32;
    size.min(slice.max(LEAST))
}

/// Time when buffers get their default contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FillTime {
    /// When they are made.
    Now,
    /// When the data connection stands ([`Rings::fill`]).
    Connected,
}

impl Rings {
    /// Fills the buffers that have no contents yet.
    pub(crate) fn fill(&mut self) {
        let rings = [&mut self.send, &mut self.recv];
        rings.into_iter().flatten().for_each(Ring::fill);
    }
}

/// Makes the buffers. Those that get the contents of the file `fill` are filled at once.
///
/// `bulk` tells whether data goes one way.
pub(crate) fn rings(
    plan: &EndPlan,
    setup: &EndSetup,
    bulk: bool,
    (fill, time): (Option<&Path>, FillTime),
) -> Result<Rings, EngineError> {
    let [send, recv] = layouts(plan, setup, bulk);
    let ring = |layout: Option<RingLayout>| {
        let operation = fill.map_or(Operation::Buffers, |path| Operation::Fill(path.into()));
        let ring = layout.map(|layout| match (fill, time) {
            (None, FillTime::Connected) => Ring::unfilled(layout),
            (Some(_), _) | (None, FillTime::Now) => Ring::new(layout, fill),
        });
        ring.transpose().map_err(operation.failed())
    };
    Ok(Rings {
        send: ring(send)?,
        recv: ring(recv)?,
    })
}

/// Layouts of the rings for sending and receiving.
fn layouts(plan: &EndPlan, setup: &EndSetup, bulk: bool) -> [Option<RingLayout>; 2] {
    let (sends, receives) = path::buffers(plan, setup, bulk);
    let layout = |(size, width): (Option<u32>, u32), align, offset| {
        size.map(|size| RingLayout {
            size,
            width,
            align,
            offset,
        })
    };
    [
        layout(sends, plan.send.align, plan.send.offset),
        layout(receives, plan.recv.align, plan.recv.offset),
    ]
}

/// Memory of the buffers of netserver's end, bytes.
///
/// # Errors
/// As [`rings`].
pub(crate) fn memory(job: &EndJob, setup: &EndSetup, cpus: u32) -> Result<u64, EngineError> {
    let mut memory = 0_u64;
    for layout in layouts(&job.end, setup, job.is_bulk())
        .into_iter()
        .flatten()
    {
        let bytes = layout.bytes().map_err(Operation::Buffers.failed())?;
        memory = memory.saturating_add(bytes);
    }
    // Each thread has rings besides those of the end.
    let threads = job.flows.as_ref().map_or(0, |flows| {
        let pinned = u32::try_from(flows.workers.cpus.len()).unwrap_or(u32::MAX);
        let most = flows.workers.threads.unwrap_or_else(|| cpus.max(pinned));
        most.min(flows.count)
    });
    Ok(memory.saturating_mul(u64::from(threads) + 1))
}

/// Finds out beforehand what measuring CPU utilisation takes, if that is wanted.
pub(crate) fn prepare_cpu(plan: &EndPlan) -> Result<(), EngineError> {
    plan.cpu
        .as_ref()
        .map_or(Ok(()), cpu::prepare)
        .map_err(Operation::Cpu.failed())
}

/// Has the kernel stamp arrivals from now on, where that is wanted. Where that cannot be
/// waited for the first transactions have no stamps, which the result counts.
pub(crate) fn stamping(plan: &EndPlan) -> Option<std::net::UdpSocket> {
    const WITHIN: Duration = Duration::from_secs(2);
    let wanted = plan.stamps.map(|_| netperf_os::stamps::begin(WITHIN));
    wanted.and_then(Result::ok)
}

/// Begins to measure CPU utilisation, if that is wanted.
pub(crate) fn meter(plan: &EndPlan) -> Result<Option<cpu::Meter>, EngineError> {
    plan.cpu
        .as_ref()
        .map(cpu::start)
        .transpose()
        .map_err(Operation::Cpu.failed())
}

/// CPU utilisation until now: `run` of the `sampled` time belongs to the test.
pub(crate) fn usage(
    meter: Option<&cpu::Meter>,
    sampled: Duration,
    run: Duration,
) -> Result<Option<CpuUsage>, EngineError> {
    meter
        .map(|meter| meter.usage(sampled, run))
        .transpose()
        .map_err(Operation::Cpu.failed())
}

/// Builds the result of an end.
pub(crate) fn result(
    plan: &EndPlan,
    setup: &EndSetup,
    facts: SocketFacts,
    tally: Tally,
    elapsed: Duration,
    (cpu, io): (Option<CpuUsage>, Option<IoCounts>),
) -> EndResult {
    // A size that was asked for, or a connection that is no more, keeps its first value.
    let end = |asked: bool, first: Option<u32>, last: Option<u32>| {
        if asked { first } else { last.or(first) }
    };
    let socket = &plan.socket;
    EndResult {
        calls_unknown: false,
        process_cpu: None,
        tally,
        sends_unknown: false,
        failed_sends_unknown: false,
        elapsed: elapsed.as_secs_f64(),
        cpu,
        send_buffer_end: end(
            socket.send_buffer.is_some(),
            setup.send_buffer,
            facts.send_buffer,
        ),
        recv_buffer_end: end(
            socket.recv_buffer.is_some(),
            setup.recv_buffer,
            facts.recv_buffer,
        ),
        retransmissions: facts.retransmissions,
        congestion: facts.congestion,
        fast_open: facts.fast_open,
        worker_threads: None,
        flows: None,
        settings: None,
        io,
        series: None,
        stamps: None,
        paced: None,
        quality: None,
        arrivals: None,
    }
}
