//! One control connection, from the first message to the end.

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::record::{Records, SessionEnd, SessionQuestion, SessionRecord};
use netperf_measure::clock;
use netperf_model::{ControlPlan, CpuMethod, Denied, KeyRole, Require};
use netperf_os::Socket;
use netperf_os::wait::{Interest, ready};
use netperf_program::link::ControlLink;
use netperf_session::driver::{self, Link, LinkEvent};
use netperf_session::{access, server};
use netperf_wire::{Frame, RequestKind};

use super::admission;
use super::agent;
use super::host::EngineHost;
use super::secure::{self, Authentication, Stopped};

/// Serves the connection and reports each test and the end. Data may also arrive by `handoff`; the
/// connection of a coordinator is passed to the agent at `door`.
pub(super) fn serve(
    control: Socket,
    args: &ServerArgs,
    (handoff, door): (Option<Socket>, Option<Socket>),
    records: &mut dyn Records,
) {
    let cpu_method = args.cpu_method.unwrap_or(CpuMethod::ProcStat);
    let peer = admission::peer_of(&control);
    let policy = args.policy();
    // inetd does not check the policy before it starts a session.
    if !policy.admits(peer) {
        refuse(&control, &Denied::Network, records);
        return;
    }
    let mut facts = server::Facts {
        cpu_method,
        cpu_rate: clock_ticks(),
        cpus: i32::try_from(netperf_measure::cpu::count()).unwrap_or(i32::MAX),
        peer,
        here: admission::is_local(&control),
        policy,
    };
    // Shared rather than duplicated: preloaded socket stacks do not know a duplicate
    // descriptor.
    let control = Rc::new(control);
    let mut link = ControlLink::new(Rc::clone(&control));
    link.keep_alive(args.control_keepalive.unwrap_or(ControlPlan::KEEPALIVE));
    let entered = match secure::authenticate(&mut link, args) {
        Ok(entered) => entered,
        Err(stopped) => {
            let ending = leave(&control, &stopped, records);
            records.tell(SessionRecord::Ended(ending));
            return;
        }
    };
    let has_key = entered != Authentication::WithoutKey;
    if let Authentication::ByKey(index) = entered {
        if let Err(denied) = admit_key(index, args, door.is_some(), records) {
            records.tell(SessionRecord::denied(&denied));
            refuse_over(&mut link, &denied);
            return;
        }
    }
    let key = match &entered {
        Authentication::ByKey(index) => args.access.keys.as_ref().zip(Some(*index)),
        Authentication::WithoutKey => None,
    };
    let role = key.and_then(|(keys, index)| Some(keys.keys().get(index)?.role));
    if let Some(door) = door.filter(|_| role == Some(KeyRole::Agent)) {
        // The end of either side ends the session.
        let _ended = agent::forward(&mut link, door.as_fd());
        records.tell(SessionRecord::Ended(SessionEnd::Finished));
        return;
    }
    facts.policy = facts.policy.for_client(has_key, facts.here);
    // A client with the key need not send the passphrase.
    let phrase = args.passphrase.clone();
    let demanded = entered == Authentication::WithoutKey && args.require() == Require::Passphrase;
    let files = args.operations.files.clone();
    let mut host = EngineHost::new(
        Rc::clone(&control),
        handoff,
        (&facts.policy, args.access.found.as_ref()),
        cpu_method,
        (files, records),
    );
    let mut link = TrackedLink {
        inner: link,
        // Default if the connection does not end otherwise: netserver ended it.
        ending: SessionEnd::Broken,
    };
    driver::serve(&mut link, &mut host, &facts, phrase.filter(|_| demanded));
    records.tell(SessionRecord::Ended(link.ending));
}

/// Reports the key of a client and asks for a seat.
fn admit_key(
    index: usize,
    args: &ServerArgs,
    is_agent: bool,
    records: &mut dyn Records,
) -> Result<(), Denied> {
    records.tell(SessionRecord::Key(index));
    let keys = args.access.keys.as_ref();
    let key = keys.and_then(|keys| keys.keys().get(index));
    if key.is_some_and(|key| key.role == KeyRole::Agent) && !is_agent {
        return Err(Denied::KeyRole);
    }
    if args.require() == Require::None {
        return Ok(());
    }
    let most = key.and_then(|key| key.max_sessions).unwrap_or_default();
    let asked = records.ask(SessionQuestion::Proven, &args.policy().limits);
    // The answer of the listener does not include the limit.
    asked.map_err(|denied| {
        if matches!(denied, Denied::KeySessions(_)) {
            Denied::KeySessions(most)
        } else {
            denied
        }
    })
}

/// Ends the session of a client that failed to authenticate.
fn leave(control: &Socket, stopped: &Stopped, records: &mut dyn Records) -> SessionEnd {
    match stopped {
        Stopped::Denied(denied) => refuse(control, denied, records),
        Stopped::WrongKey => records.tell(SessionRecord::denied(&Denied::WrongKey)),
        Stopped::Gone(ending) => return *ending,
    }
    SessionEnd::Broken
}

/// A control connection that records how it ended.
struct TrackedLink<L> {
    inner: L,
    ending: SessionEnd,
}

impl<L: Link> Link for TrackedLink<L> {
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        let sent = self.inner.send(frame);
        if sent.is_err() {
            self.ending = SessionEnd::Cut;
        }
        sent
    }

    fn receive(&mut self, within: Duration) -> io::Result<LinkEvent> {
        let arrival = self.inner.receive(within);
        match &arrival {
            Ok(LinkEvent::Frame(_)) => {}
            Ok(LinkEvent::Closed(0)) => self.ending = SessionEnd::Finished,
            Ok(LinkEvent::Closed(_) | LinkEvent::Foreign(_)) | Err(_) => {
                self.ending = SessionEnd::Cut;
            }
            Ok(LinkEvent::TimedOut(..)) => self.ending = SessionEnd::Silent,
        }
        arrival
    }

    fn hurry(&mut self, within: Option<Duration>) {
        self.inner.hurry(within);
    }

    fn half_close(&mut self) {
        self.inner.half_close();
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the wire has the rate in single precision"
)]
fn clock_ticks() -> f32 {
    netperf_measure::cpu::calibrate(CpuMethod::ProcStat).unwrap_or(0.0) as f32
}

/// Time that a refused client has to read the reason.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// Sends the reason to a refused client over the encrypted connection and waits until it closes.
fn refuse_over(link: &mut ControlLink, denied: &Denied) {
    let until = clock::now().plus(REFUSAL_TIME);
    let refusal = access::refuse(RequestKind::CpuCalibrate, denied);
    let mut open = link.send(&refusal).is_ok();
    while open && !until.left().is_zero() {
        open = matches!(link.receive(until.left()), Ok(LinkEvent::Frame(_)));
    }
}

/// Sends the reason to a refused client and waits until it closes.
fn refuse(control: &Socket, denied: &Denied, records: &mut dyn Records) {
    records.tell(SessionRecord::denied(denied));
    if !admission::send_refusal(control, denied) {
        return;
    }
    let until = clock::now().plus(REFUSAL_TIME);
    while !until.left().is_zero() && admission::is_open(control) {
        // The condition of the loop checks the result.
        let wait = until.left() + Duration::from_millis(1);
        let _ready = ready(control.as_fd(), Interest::Read, wait);
    }
}
