//! A flow of datagrams at the server.
//!
//! The source of a datagram is not proven. The server therefore sends a source at most as many
//! bytes as have arrived from it, unless the policy permits it to send there.

use std::time::Duration;

use netperf_model::iperf2::{DATAGRAM, DATAGRAM_RATE, Iperf2Rate};

use crate::messages::{CLASSIC_REPORT, Datagram, DatagramLayout, UdpHeader, UpperFlags};

use super::account::DatagramAccount;
use super::connection::back_time;
use super::{BackTime, Iperf2Refusal, LEAST_DATAGRAM, MOST_DATAGRAM, SendOrder, amount, port_back};

/// Reports of a flow: the client repeats its final datagram until one arrives.
pub const MOST_REPORTS: u32 = 10;
/// Time after the final datagram during which repeated ones are answered, and the address of the
/// flow begins no other by a late datagram.
pub const LINGER: Duration = Duration::from_secs(2);
/// Time without a datagram after which a flow ends, if its rate gives no longer one.
pub const IDLE: Duration = Duration::from_secs(5);
/// Longest such time.
pub const MOST_IDLE: Duration = Duration::from_secs(30);

/// Actions of the server besides receiving a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowSending {
    /// Send on the flow, instead of receiving.
    Reverse(SendOrder),
    /// Send on the flow, and receive.
    Both(SendOrder),
    /// Send on its own flow, to this port of the client.
    Back(BackTime, u16, SendOrder),
}

/// Stage of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowStage {
    /// Datagrams are counted.
    Receiving,
    /// The final datagram had this number.
    Finished(u64),
}

/// Result of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// Counted.
    Counted,
    /// The flow has ended: send a report if one may be sent, and connect back if asked for.
    Finished,
    /// A final datagram arrived again: send the report again if it may be sent.
    Repeated,
    /// Ignored: it arrived after the end.
    Ignored,
}

/// A flow of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramFlow {
    /// Positions of fields.
    pub layout: DatagramLayout,
    /// Client header of the first datagram; `None` without.
    pub header: Option<UdpHeader>,
    /// Data that the server sends.
    pub sending: Option<FlowSending>,
    /// Received data.
    pub account: DatagramAccount,
    /// Stage.
    pub stage: FlowStage,
    /// Reports sent.
    pub reports: u32,
    /// Bytes that arrived and were not answered yet.
    pub credit: u64,
    /// The report asks the client to print delays: with trip times, and without a header.
    pub enhanced: bool,
}

impl DatagramFlow {
    /// Begins a flow with its first datagram; `None` if a datagram of an unknown source begins
    /// none: a final one, or one of less than 4 bytes.
    ///
    /// # Errors
    /// [`Iperf2Refusal`] if the client asks for something impossible.
    pub fn begin(bytes: &[u8]) -> Option<Result<Self, Iperf2Refusal>> {
        let layout = DatagramLayout::of_first(bytes);
        let datagram = Datagram::decode(bytes, layout)?;
        if datagram.is_final() {
            return None;
        }
        let header = UdpHeader::decode(bytes, layout);
        let sending = match header.as_ref().map(|one| sending(one, layout)) {
            None => None,
            Some(Ok(sending)) => sending,
            Some(Err(refusal)) => return Some(Err(refusal)),
        };
        Some(Ok(Self {
            layout,
            enhanced: is_enhanced(header.as_ref()),
            header,
            sending,
            account: DatagramAccount::default(),
            stage: FlowStage::Receiving,
            reports: 0,
            credit: 0,
        }))
    }

    /// Takes a datagram, also the first. `now` are microseconds of the time of day.
    pub fn take(&mut self, bytes: &[u8], now: u64) -> FlowAction {
        let Some(datagram) = Datagram::decode(bytes, self.layout) else {
            return FlowAction::Ignored;
        };
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.credit = self.credit.saturating_add(length);
        match (self.stage, datagram.is_final()) {
            (FlowStage::Receiving, is_final) => {
                self.account.add(&datagram, bytes.len(), self.layout, now);
                if !is_final {
                    return FlowAction::Counted;
                }
                self.stage = FlowStage::Finished(datagram.number.unsigned_abs());
                FlowAction::Finished
            }
            (FlowStage::Finished(_), true) => FlowAction::Repeated,
            (FlowStage::Finished(_), false) => FlowAction::Ignored,
        }
    }

    /// True if a datagram of this number, from the source of this finished flow, begins another.
    #[must_use]
    pub fn gives_way_to(&self, bytes: &[u8]) -> bool {
        let layout = DatagramLayout::of_first(bytes);
        let first = Datagram::decode(bytes, layout);
        let is_first = first.is_some_and(|one| matches!(one.number, 0 | 1));
        self.stage != FlowStage::Receiving && is_first && !self.is_numbered_from(layout)
    }

    /// True if a late first datagram of this layout may belong to this flow.
    fn is_numbered_from(&self, layout: DatagramLayout) -> bool {
        // A flow that lost its first datagram waits for it.
        self.layout == layout && self.account.order.lost > 0
    }

    /// True if the client awaits a report.
    #[must_use]
    pub fn wants_report(&self) -> bool {
        let upper = self.header.as_ref().map(|one| one.header.upper());
        let upper = upper.unwrap_or_default();
        ![
            UpperFlags::NO_UDP_FIN,
            UpperFlags::REVERSE,
            UpperFlags::FULL_DUPLEX,
        ]
        .into_iter()
        .any(|flag| upper.contains(flag))
    }

    /// Makes the report that answers this final datagram; `None` if none may be sent: there were
    /// enough, the client awaits none, or it would be more than has arrived from its source.
    pub fn report(&mut self, final_datagram: &[u8]) -> Option<Vec<u8>> {
        let FlowStage::Finished(total) = self.stage else {
            return None;
        };
        if self.reports >= MOST_REPORTS || !self.wants_report() {
            return None;
        }
        let report = self.account.report(total, self.enhanced);
        let bytes = match self.layout {
            DatagramLayout::Modern => report.encode().to_vec(),
            DatagramLayout::Classic => {
                let mut bytes = final_datagram.to_vec();
                bytes.resize(bytes.len().max(CLASSIC_REPORT), 0);
                report.encode_classic(&mut bytes);
                bytes
            }
        };
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.credit = self.credit.checked_sub(length)?;
        self.reports += 1;
        Some(bytes)
    }

    /// Time without a datagram after which the flow ends.
    #[must_use]
    pub fn idle_time(&self) -> Duration {
        let gap = self.header.as_ref().and_then(|one| {
            let (rate, length) = rate_and_length(one, self.layout);
            (u64::try_from(length).ok()? * 8_000).checked_div(rate)
        });
        let gap = Duration::from_millis(gap.unwrap_or_default().min(60_000));
        (IDLE + 2 * gap).min(MOST_IDLE)
    }
}

/// True if a client with this header prints delays.
fn is_enhanced(header: Option<&UdpHeader>) -> bool {
    header.is_none_or(|one| {
        let upper = one.header.upper();
        upper.contains(UpperFlags::TRIP_TIMES) || upper.contains(UpperFlags::ISOCHRONOUS)
    })
}

/// Rate in bit/s and length of the datagrams, by the header.
fn rate_and_length(header: &UdpHeader, layout: DatagramLayout) -> (u64, usize) {
    let base = &header.header;
    let rate = match layout {
        DatagramLayout::Classic => base.window_or_rate,
        DatagramLayout::Modern => base.extension.map_or(0, |one| one.rate),
    };
    let length = match usize::try_from(base.buffer_len) {
        Ok(0) => DATAGRAM,
        Ok(length) => length.clamp(LEAST_DATAGRAM, MOST_DATAGRAM),
        Err(_) => MOST_DATAGRAM,
    };
    let rate = if rate == 0 {
        DATAGRAM_RATE
    } else {
        u64::from(rate)
    };
    (rate, length)
}

/// Data that the server sends, by the header.
fn sending(
    header: &UdpHeader,
    layout: DatagramLayout,
) -> Result<Option<FlowSending>, Iperf2Refusal> {
    let base = &header.header;
    let (rate, block) = rate_and_length(header, layout);
    let sending = SendOrder {
        amount: amount(base.amount),
        block,
        rate: Some(Iperf2Rate::Bits(rate)),
    };
    let upper = base.upper();
    if upper.contains(UpperFlags::REVERSE) {
        return Ok(Some(FlowSending::Reverse(sending)));
    }
    if upper.contains(UpperFlags::FULL_DUPLEX) {
        return Ok(Some(FlowSending::Both(sending)));
    }
    let Some(when) = back_time(base.flags) else {
        return Ok(None);
    };
    Ok(Some(FlowSending::Back(when, port_back(base)?, sending)))
}
