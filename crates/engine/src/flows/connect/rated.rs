//! Connections that are opened at a given rate, whether or not earlier ones are through: by
//! whichever flow has none.

use std::collections::VecDeque;
use std::io;

use netperf_os::events::Watch;

use super::{Connected, Connecting, ConnectionSlot, ExchangeProgress, ExchangeStep, asked};
use crate::due::queue::{AGAIN, DueQueue};
use crate::flows::flow::{FlowEndpoint, FlowState};
use crate::flows::loops::LoopEvents;
use crate::flows::shared::RunStage;
use crate::flows::worker::{WorkerRecorder, WorkerState};
use crate::stop::Ended;
use crate::workload::connect::Exchange;

/// When connections are opened, and by whom.
pub(in crate::flows) struct DueConnections<'c> {
    pub(in crate::flows) queue: &'c mut DueQueue,
    /// Flows without a connection.
    pub(in crate::flows) free: VecDeque<usize>,
    /// Transactions that are still to be completed.
    pub(in crate::flows) left: u64,
    /// The connection that is due was seen to have to wait.
    pub(in crate::flows) held: bool,
}

/// netperf's end: connects when that is due, exchanges, waits for netserver to close, closes.
pub(in crate::flows) fn dial_at_times<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<ConnectionSlot<E>, R::Mark>],
    by: &mut LoopEvents<'_>,
    mut exchange: Exchange<'_>,
    mut dial: impl FnMut(usize) -> io::Result<Connecting<E>>,
    connected: Connected<'_>,
    (opening, state): (&mut DueConnections<'_>, &mut WorkerState<'_, R>),
) -> io::Result<Ended> {
    opening.queue.begin();
    loop {
        let stage = state.look(flows);
        if stage == RunStage::Abandon {
            return Ok(Ended::Abandoned);
        }
        if !stage.goes_on() {
            opening.queue.close(opening.queue.now());
        }
        opening.open_due(flows, by, &mut dial, state)?;
        if opening.is_over() {
            return Ok(Ended::TimeOver);
        }
        for index in 0..by.poller.wait(opening.wait(), &state.tally)? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token) else {
                continue;
            };
            let event = by.poller.event(index);
            match asked((flow, event), &mut exchange, connected, state)? {
                ExchangeProgress::Waits => continue,
                ExchangeProgress::Done => {
                    let queue = &mut *opening.queue;
                    queue.answered(token, &[], queue.now(), state.counts());
                    flow.counts.transactions += 1;
                    state.tally.transactions += 1;
                    opening.left -= 1;
                }
                ExchangeProgress::Broken => {
                    opening.queue.forget(token);
                }
            }
            flow.endpoint = ConnectionSlot::empty();
            opening.free.push_back(token);
        }
        state.publish();
    }
}

impl DueConnections<'_> {
    /// Opens the connections that are due, as far as there are flows for them.
    #[inline]
    fn open_due<E: FlowEndpoint, R: WorkerRecorder>(
        &mut self,
        flows: &mut [FlowState<ConnectionSlot<E>, R::Mark>],
        by: &LoopEvents<'_>,
        dial: &mut impl FnMut(usize) -> io::Result<Connecting<E>>,
        state: &mut WorkerState<'_, R>,
    ) -> io::Result<()> {
        while self.wants_more() {
            let now = self.queue.now();
            let Some(token) = self.free.front().copied() else {
                if self.queue.is_due(now) {
                    self.hold();
                }
                return Ok(());
            };
            let (Some(arrival), Some(flow)) = (self.queue.due(now), flows.get_mut(token)) else {
                return Ok(());
            };
            let Connecting::UnderWay(connection) = dial(token)? else {
                self.queue.put_off_until(arrival, now + AGAIN);
                self.hold();
                return Ok(());
            };
            self.free.pop_front();
            by.poller.add(connection.fd(), token, Watch::Changes)?;
            flow.sent = 0;
            flow.got = 0;
            flow.endpoint = ConnectionSlot::begun(connection, ExchangeStep::Connecting);
            if !std::mem::replace(&mut flow.blocked, true) {
                state.starts();
            }
            self.queue.sent(arrival, token, now, state.counts());
            self.queue.put_off(arrival);
            self.held = false;
        }
        Ok(())
    }

    /// Returns whether another connection is to be opened.
    #[inline]
    fn wants_more(&self) -> bool {
        !self.queue.is_closed() && (self.queue.in_flight() as u64) < self.left
    }

    fn is_over(&self) -> bool {
        self.left == 0 || (self.queue.is_closed() && self.queue.in_flight() == 0)
    }

    /// Longest wait: for a flow where none is free, else for the due time.
    #[inline]
    fn wait(&self) -> Option<std::time::Duration> {
        let opens = self.wants_more() && !self.free.is_empty();
        if opens {
            self.queue.wait(self.queue.now())
        } else {
            None
        }
    }

    /// The connection that is due must wait, which counts once.
    fn hold(&mut self) {
        if !self.held {
            self.held = true;
            self.queue.held_back();
        }
    }
}
