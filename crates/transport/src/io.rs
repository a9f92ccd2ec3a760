//! Faster methods of moving bytes: further endpoints of the same transports, one file per
//! kernel mechanism.

pub mod again;
pub mod batch;
pub mod discard;
pub mod numbered;
mod on_ring;
pub mod stamped;
pub mod uring;
pub mod while_sending;
pub mod zerocopy;

pub use again::{Again, BriefSpin, Sleep, Spin};
pub use batch::{BatchedRecv, BatchedSend};
pub use discard::Discarding;
pub use numbered::Numbered;
pub use on_ring::{OnRing, RingCaller};
pub use stamped::Stamped;
pub use uring::{ByRing, RingRecv, RingSend, RingZeroCopy};
pub use zerocopy::ZeroCopy;

use netperf_model::Feature;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::stamps;
use netperf_os::uring::Uring;
use std::io;
use std::os::fd::AsFd;

use crate::{built, settings, socket};

/// Features of this kernel, probed on sockets that are never connected.
#[must_use]
pub fn features() -> Vec<Feature> {
    let works = |feature: &Feature| try_out(*feature).is_ok();
    Feature::all().filter(works).collect()
}

/// Probes a feature. A refusal that depends on the user or on values appears only when the
/// feature is used.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every kernel has most features"
)]
fn try_out(feature: Feature) -> io::Result<()> {
    use netperf_model::TransportId::{Tcp, Udp};
    let on = |transport, option, value| {
        let socket = socket::any(transport)?;
        sockopt::set(socket.as_fd(), option, value)
    };
    built::check_feature(feature)?;
    match feature {
        Feature::Timestamps => {
            stamps::enable(socket::any(Udp)?.as_fd(), stamps::StampSource::Kernel)
        }
        Feature::DeviceStamps => {
            stamps::enable(socket::any(Udp)?.as_fd(), stamps::StampSource::Device)
        }
        Feature::Uring => Uring::new(1, None).map(drop),
        Feature::ZeroCopy => on(Tcp, IntOption::ZeroCopy, 1),
        Feature::Segments => {
            on(Udp, IntOption::Segment, 1000)?;
            on(Udp, IntOption::Reassemble, 1)
        }
        Feature::Setting(setting) => settings::probe(setting),
        _ => Ok(()),
    }
}
