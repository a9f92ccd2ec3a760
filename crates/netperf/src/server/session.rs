//! One control connection, served to its end.

use netperf_os::Socket;
use netperf_session::{driver, server};

use super::host::EngineHost;
use crate::link::ControlLink;

pub(super) fn serve(control: Socket, passphrase: Option<String>) {
    let peer = control
        .peer_addr()
        .ok()
        .and_then(|address| address.as_socket());
    let facts = server::Facts {
        cpu_rate: calibration_rate(),
        cpus: i32::try_from(netperf_measure::cpu::count()).unwrap_or(i32::MAX),
        peer: peer.map(|address| address.ip().to_canonical()),
    };
    let Ok(watched) = control.try_clone() else {
        return;
    };
    let mut link = ControlLink::new(control);
    driver::serve(
        &mut link,
        &mut EngineHost::new(watched, facts.cpu_rate),
        &facts,
        passphrase,
    );
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the wire has the rate in single precision"
)]
fn calibration_rate() -> f32 {
    netperf_measure::cpu::calibration_rate() as f32
}
