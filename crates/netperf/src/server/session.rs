//! One control connection, served to its end.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_measure::clock;
use netperf_model::{CpuMethod, Denied};
use netperf_os::Socket;
use netperf_os::wait::{Interest, ready};
use netperf_session::{driver, server};

use super::door;
use super::host::EngineHost;
use super::note::note;
use crate::link::ControlLink;

pub(super) fn serve(control: Socket, args: &ServerArgs) {
    let cpu_method = args.cpu_method.unwrap_or(CpuMethod::ProcStat);
    let peer = door::peer_of(&control);
    let policy = args.policy();
    // Whoever accepted the connection may have asked nobody, as inetd does not.
    if !policy.admits(peer) {
        turn_away(&control, peer);
        return;
    }
    let facts = server::Facts {
        cpu_method,
        cpu_rate: clock_ticks(),
        cpus: i32::try_from(netperf_measure::cpu::count()).unwrap_or(i32::MAX),
        peer,
        policy,
    };
    let local = control
        .local_addr()
        .ok()
        .and_then(|address| address.as_socket())
        .map(|address| address.ip());
    // Shared rather than duplicated: preloaded stacks do not know a duplicate.
    let control = Rc::new(control);
    let mut host = EngineHost::new(Rc::clone(&control), (local, peer), cpu_method);
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

/// How long a client that was turned away has to read why.
const READS: Duration = Duration::from_secs(5);

fn turn_away(control: &Socket, peer: Option<IpAddr>) {
    let denied = Denied::Network;
    note(&format!("refused {}: {denied}", door::named(peer)));
    if !door::tell(control, &denied) {
        return;
    }
    let until = clock::now().plus(READS);
    let mut forgotten = [0; 2048];
    while !until.left().is_zero() {
        let fd = control.as_fd();
        let ended = ready(fd, Interest::Read, until.left())
            .and_then(|ready| match ready {
                true => netperf_os::io::recv(fd, &mut forgotten).map(|count| count == 0),
                false => Ok(false),
            })
            .unwrap_or(true);
        if ended {
            return;
        }
    }
}
