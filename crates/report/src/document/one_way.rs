//! The parts of transaction times.

use netperf_model::fields::MeasuredFigure;
use netperf_model::{OneWay, Part, Spread, Stamper};
use serde::{Deserialize, Serialize};

use super::finite;

/// The parts of transaction times in one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "one_way")]
pub struct OneWayResult {
    /// The source of timestamps: the kernels, or the network devices.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["software", "hardware"])))]
    pub clock: String,
    /// Transactions that both programs observed completely.
    pub transactions: usize,
    /// Sampled transactions that could not be used.
    pub discarded: usize,
    /// The sampling interval at the end: one in this number of transactions.
    pub sampled_every: u32,
    /// The time by which netserver's clock is ahead of netperf's, at the middle of the
    /// iteration.
    pub clock_offset_nanoseconds: i64,
    /// The largest error of the offset.
    pub clock_offset_error_nanoseconds: MeasuredFigure,
    /// The relative speed of netserver's clock. Null if it cannot be told from 0.
    pub clock_drift_parts_per_billion: Option<f64>,
    /// The largest error of the drift, or the largest possible drift. Null if unknown.
    pub clock_drift_error_parts_per_billion: MeasuredFigure,
    /// The largest error of the clock of netperf's device against its system, and so of the
    /// times of that stack. Null if the kernels stamped.
    pub local_device_clock_error_nanoseconds: MeasuredFigure,
    /// The largest error of the clock of netserver's device against its system, and so of the
    /// times of that stack. Null if the kernels stamped.
    pub remote_device_clock_error_nanoseconds: MeasuredFigure,
    /// From the end of netperf's previous receive call to its send call: the time of netperf
    /// itself, and pauses. The means of the parts together are the mean latency.
    pub local_turnaround: Spread,
    /// From netperf's send call to its device.
    pub local_send: Spread,
    /// From netperf's device to netserver's.
    pub wire_there: Spread,
    /// From netserver's device to the end of its receive call.
    pub remote_recv: Spread,
    /// From netserver's receive call to its send call.
    pub remote_turnaround: Spread,
    /// From netserver's send call to its device.
    pub remote_send: Spread,
    /// From netserver's device to netperf's.
    pub wire_back: Spread,
    /// From netperf's device to the end of its receive call.
    pub local_recv: Spread,
}

impl OneWayResult {
    pub(super) fn of(found: &OneWay) -> Self {
        let (clock, part) = (&found.clock, |part| found.part(part));
        let stamper = match found.devices {
            Some(_) => Stamper::Device,
            None => Stamper::Kernel,
        };
        Self {
            clock: stamper.label().to_owned(),
            transactions: found.transactions,
            discarded: found.discarded,
            sampled_every: found.every,
            clock_offset_nanoseconds: clock.nanos,
            clock_offset_error_nanoseconds: MeasuredFigure::of(clock.error),
            clock_drift_parts_per_billion: finite(clock.drift),
            clock_drift_error_parts_per_billion: MeasuredFigure::of(clock.drift_error),
            local_device_clock_error_nanoseconds: MeasuredFigure::of(
                found.devices.map(|[own, _]| own),
            ),
            remote_device_clock_error_nanoseconds: MeasuredFigure::of(
                found.devices.map(|[_, far]| far),
            ),
            local_turnaround: part(Part::ClientTurn),
            local_send: part(Part::ClientSend),
            wire_there: part(Part::WireThere),
            remote_recv: part(Part::ServerReceive),
            remote_turnaround: part(Part::ServerTurn),
            remote_send: part(Part::ServerSend),
            wire_back: part(Part::WireBack),
            local_recv: part(Part::ClientReceive),
        }
    }
}
