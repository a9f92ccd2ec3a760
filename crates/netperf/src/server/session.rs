//! One control connection, served to its end.

use std::rc::Rc;

use netperf_cli::ServerArgs;
use netperf_model::CpuMethod;
use netperf_os::Socket;
use netperf_session::{driver, server};

use super::host::EngineHost;
use crate::link::ControlLink;

pub(super) fn serve(control: Socket, args: &ServerArgs) {
    let cpu_method = args.cpu_method.unwrap_or(CpuMethod::ProcStat);
    let peer = control
        .peer_addr()
        .ok()
        .and_then(|address| address.as_socket());
    let facts = server::Facts {
        cpu_method,
        cpu_rate: clock_ticks(),
        cpus: i32::try_from(netperf_measure::cpu::count()).unwrap_or(i32::MAX),
        peer: peer.map(|address| address.ip().to_canonical()),
    };
    let local = control
        .local_addr()
        .ok()
        .and_then(|address| address.as_socket())
        .map(|address| address.ip());
    // Shared rather than duplicated: preloaded stacks do not know a duplicate.
    let control = Rc::new(control);
    let mut host = EngineHost::new(Rc::clone(&control), local, cpu_method);
    driver::serve(
        &mut ControlLink::new(control),
        &mut host,
        &facts,
        args.passphrase.clone(),
    );
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the wire has the rate in single precision"
)]
fn clock_ticks() -> f32 {
    netperf_measure::cpu::calibrate(CpuMethod::ProcStat).unwrap_or(0.0) as f32
}
