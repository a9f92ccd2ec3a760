//! The netserver program.

mod accept_loop;
mod admission;
mod agent;
mod check;
mod environment;
mod host;
mod host_limits;
mod iperf2;
mod iperf3;
mod listen;
mod one_port;
mod own_process;
mod peer;
mod pending;
mod process_limits;
mod proofs;
mod secure;
mod served_protocol;
mod session;
mod session_limit;
mod session_process;
mod session_starter;
mod start_rates;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use netperf_cli::{LogLevel, NameForm, SandboxArg, ServerArgs, ServerCommand};
use netperf_daemon::log::ServerLog;
use netperf_daemon::record::{Grant, Records, SessionEnd, SessionQuestion, SessionRecord};
use netperf_daemon::sandbox::{Means, SessionNeeds};
use netperf_daemon::session_log::{ProcessEnd, SessionLog};
use netperf_daemon::{metrics_server, rights_helper, sandbox};
use netperf_engine::{
    EngineError, NetserverProgram, PrepareServer, PreparedServer, prepare_server,
};
use netperf_measure::clock;
use netperf_model::{
    Denied, EndJob, EndNeeds, GuardedFeature, KeyRing, KeyRole, Limits, PassphraseText, Require,
};
use netperf_os::privileges::{self, ResourceLimit};
use netperf_os::wait::{Interest, ready};
use netperf_os::{Socket, pass, rights};
use netperf_program::key;
use netperf_program::memory::report_lack_of_memory;
use netperf_program::output::{self, FAILED, Failure, HintUse, INVALID, out};
use netperf_program::session_settings::{self, SessionSettings};

use environment::Environment;
use host_limits::HostLimits;
pub use iperf2::serve_alone as iperf2_alone;
pub use iperf3::alone::serve as iperf3_alone;
use iperf3::session::{SessionStart, StreamTimeouts};
use served_protocol::ServedProtocol;
use session_starter::Given;

use crate::iperf3::report::Iperf3Report;

/// Raises limits that a program in C does not reach: sessions limit themselves.
fn prepare_limits() {
    const STACK: u64 = 8 << 20;
    const DESCRIPTORS: u64 = 256;
    netperf_os::process::survive_large_files();
    privileges::raise_limit(ResourceLimit::FileSize, u64::MAX);
    privileges::raise_limit(ResourceLimit::Stack, STACK);
    privileges::raise_limit(ResourceLimit::OpenFiles, DESCRIPTORS);
    privileges::raise_limit(ResourceLimit::Processes, sandbox::PROCESSES);
}

/// Prepares netserver's end of a test in a program that has no other.
///
/// # Errors
/// As [`netperf_engine::TestEnd::prepare`].
pub fn prepare_end(
    handoff: Option<Socket>,
    job: EndJob,
    reserve: &mut dyn FnMut(EndNeeds) -> io::Result<()>,
) -> Result<Box<dyn PreparedServer>, EngineError> {
    prepare_server::<NetserverProgram>(handoff, job, reserve)
}

/// Runs netserver. `full_version` is the output of `--version`; `prepare` prepares the ends of its
/// tests.
#[must_use]
pub fn main(argv: &[OsString], full_version: &str, prepare: PrepareServer) -> ExitCode {
    host::prepare_by(prepare);
    netperf_os::process::set_name(netperf_os::process::own_name());
    prepare_limits();
    session_process::serve_forked_by(serve_forked);
    report_lack_of_memory("netserver");
    let Ok(settings) = inherited_settings() else {
        return Failure::netserver(FAILED, "the settings of the session cannot be read").report();
    };
    let argv = &[argv, &settings.words].concat();
    let settings = (settings.passphrase, settings.keys);
    let read = |path: &std::path::Path| std::fs::read_to_string(path);
    let parsed = netperf_cli::netserver(argv, &read);
    // Sessions have the words of the listener, which has printed its notices.
    if key::variable(own_process::RECORDS).is_none() {
        output::notices(&parsed.notices, false, HintUse::Always);
    }
    match parsed.command {
        Ok(ServerCommand::Serve(mut args)) => {
            // Daemonising changes the working directory.
            let files = args.operations.files.take();
            args.operations.files = files.and_then(|files| std::path::absolute(files).ok());
            with_credentials(*args, settings)
                .and_then(|args| serve(&args, argv))
                .unwrap_or_else(|failure| failure.report())
        }
        Ok(ServerCommand::Usage(usage)) => {
            let args = netperf_cli::settings_to_check(argv, &read);
            let failures = args.map(|args| check::failures(*args)).unwrap_or_default();
            if failures.is_empty() {
                check::show_limits(argv, &read);
                return output::unless_lost("netserver", output::usage(&usage));
            }
            for failure in &failures {
                // The status is the same for all.
                let _failed = failure.report();
            }
            ExitCode::from(FAILED)
        }
        Ok(ServerCommand::Version(text)) => version(&text),
        Ok(ServerCommand::FullVersion) => version(full_version),
        Err(error) => Failure::from(error).report(),
    }
}

/// Prints a version and the sandbox that this host has.
fn version(text: &str) -> ExitCode {
    out(&format!("{text}sandbox: {}\n", Means::find().described()));
    output::unless_lost("netserver", ExitCode::SUCCESS)
}

/// Settings of a session process.
fn inherited_settings() -> io::Result<SessionSettings> {
    match key::variable(session_settings::DESCRIPTOR) {
        Some(number) => SessionSettings::inherited(number.parse().map_err(io::Error::other)?),
        None => Ok(SessionSettings::default()),
    }
}

/// Loads the keys, if any are configured. The listener has read those and the passphrase of a
/// session.
fn with_credentials(
    mut args: ServerArgs,
    (passphrase, keys): (Option<PassphraseText>, Option<Arc<KeyRing>>),
) -> Result<ServerArgs, Failure> {
    let is_session = key::variable(own_process::RECORDS).is_some();
    if !is_session {
        HostLimits::find().complete(&mut args);
    }
    args.access.keys = if is_session {
        if passphrase.is_some() != args.passphrase.is_some() {
            let line = "the settings of the session have no passphrase";
            return Err(Failure::netserver(FAILED, line));
        }
        args.passphrase = passphrase;
        args.access.found =
            key::variable(session_process::FOUND).and_then(|found| found.parse().ok());
        if let Some(cid) = args.access.found.as_ref().and_then(|found| found.cid) {
            netperf_os::address::set_local_cid(cid);
        }
        keys
    } else {
        key::load_for_server(args.access.key_file.as_deref())
            .map_err(|line| Failure::netserver(FAILED, line))?
            .map(Arc::new)
    };
    if args.require() == Require::Key && args.access.keys.is_none() {
        let line = "--require key needs a key: give its file with --key-file, or with key-file in the file of \
                    settings";
        return Err(Failure::netserver(FAILED, line));
    }
    if let Some(line) = args.open_to_iperf(NameForm::Typed) {
        return Err(Failure::netserver(INVALID, line));
    }
    let keys = args.access.keys.as_ref();
    let may_coordinate = keys.is_some_and(|keys| {
        let mut keys = keys.keys().iter();
        keys.any(|key| key.role == KeyRole::Agent)
    });
    if args.agent.enabled && !may_coordinate {
        let line = "--agent takes --key-file with a key for agents: netperf campaign key";
        return Err(Failure::netserver(FAILED, line));
    }
    Ok(args)
}

/// Runs a session if descriptor 0 is a control connection from inetd or from the netserver
/// listener; otherwise runs the listener.
fn serve(args: &ServerArgs, argv: &[OsString]) -> Result<ExitCode, Failure> {
    let environment = Environment::look(argv);
    let trace = |line: &str| {
        if args.debug > 0 {
            out(&format!("{line}: enter\n"));
        }
    };
    trace("check_if_inetd");
    if let Some(asked) = &args.operations.health {
        return health(asked);
    }
    if let Some(channel) = environment.starter.and_then(pass::take_inherited) {
        let session = |control: OwnedFd, given: Given<OwnedFd>| {
            serve_forked(control, args, given, ServedProtocol::Netperf)
        };
        return Ok(session_starter::serve(&channel, session));
    }
    let inetd = !args.standalone && !environment.supervisor.listens();
    if inetd && netperf_os::process::standard_input_is_socket() {
        return match netperf_os::process::take_standard_input() {
            Some(control) => one_session(control.into(), args, &environment),
            None => Ok(ExitCode::FAILURE),
        };
    }
    trace("setup_listens");
    listen::run(args, &environment)
}

/// Queries /health of the netserver at an address.
fn health(asked: &str) -> Result<ExitCode, Failure> {
    let wrong = |exit, why: &str| Failure::netserver(exit, format_args!("--health {asked}: {why}"));
    let at =
        metrics_server::address(asked).ok_or_else(|| wrong(INVALID, metrics_server::EXPECTED))?;
    metrics_server::ask(at).map_err(|error| wrong(FAILED, &output::system_text(&error)))?;
    Ok(ExitCode::SUCCESS)
}

/// Exit status of a session that could not be sandboxed.
const UNCONFINED: u8 = 3;

fn confine(args: &ServerArgs, environment: &Environment, connects: Option<u16>) -> io::Result<()> {
    let wanted = match args.operations.sandbox {
        SandboxArg::Auto if environment.preloaded => SandboxArg::Off,
        wanted @ (SandboxArg::Auto | SandboxArg::Require | SandboxArg::Off) => wanted,
    };
    let needs = SessionNeeds {
        files: args.operations.files.as_deref(),
        connects,
        memory: args.policy().limits.memory.each,
        rings: args.policy().features.contains(GuardedFeature::Uring),
    };
    sandbox::confine(wanted, needs)
}

/// Time limit for an answer of the listener, which many clients may keep busy.
const ANSWER: Duration = Duration::from_secs(30);

/// Records of a session process. The listener has the other end of its standard output.
#[derive(Default)]
struct ListenerRecords {
    /// Questions so far.
    asked: u32,
}

impl Records for ListenerRecords {
    fn tell(&mut self, record: SessionRecord) {
        out(&record.line());
    }

    fn ask(&mut self, question: SessionQuestion, limits: &Limits) -> Result<(), Denied> {
        self.asked = self.asked.wrapping_add(1);
        self.tell(SessionRecord::Asks(self.asked, question));
        let byte = answer_to(self.asked).ok_or(Denied::Busy)?;
        Grant::denied(byte, limits).map_or(Ok(()), Err)
    }
}

/// The byte of the listener's answer to the question with this number; `None` if it does not come
/// in time. Answers to earlier questions are dropped.
fn answer_to(number: u32) -> Option<u8> {
    let (listener, until) = (io::stdout(), clock::now().plus(ANSWER));
    let (mut answer, mut length) = ([0; Grant::BYTES], 0);
    loop {
        let is_ready = matches!(
            ready(listener.as_fd(), Interest::Read, until.left()),
            Ok(true)
        );
        let rest = answer.get_mut(length..).filter(|_| is_ready)?;
        match netperf_os::io::recv(listener.as_fd(), rest) {
            Ok(count) if count > 0 => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return None,
        }
        if length == Grant::BYTES {
            if let Some(byte) = Grant::byte_for(number, answer) {
                return Some(byte);
            }
            length = 0;
        }
    }
}

/// Serves a session in this process, which was forked by the starter of sessions, or by a listener
/// that cannot start itself again.
fn serve_forked(
    control: OwnedFd,
    args: &ServerArgs,
    given: Given<OwnedFd>,
    protocol: ServedProtocol,
) -> ExitCode {
    let environment = Environment {
        records: true,
        protocol,
        preloaded: key::variable("LD_PRELOAD").is_some(),
        ..Environment::default()
    };
    serve_for_listener(control.into(), args, &environment, given)
}

fn serve_for_listener(
    control: Socket,
    args: &ServerArgs,
    environment: &Environment,
    given: Given<OwnedFd>,
) -> ExitCode {
    if let Some(door) = given.rights {
        rights::set_door(door.into());
    }
    let connects = match environment.protocol {
        ServedProtocol::Iperf2 => iperf2::port_back(&control),
        ServedProtocol::Netperf | ServedProtocol::Iperf3 | ServedProtocol::Iperf2Datagrams => None,
    };
    if confine(args, environment, connects).is_err() {
        out(&SessionRecord::Ended(SessionEnd::Unconfined).line());
        return ExitCode::from(UNCONFINED);
    }
    let failed = SessionRecord::Failed(netperf_os::io::NO_MEMORY).line();
    netperf_os::memory::set_last_message(1, &failed);
    match environment.protocol {
        ServedProtocol::Netperf | ServedProtocol::Iperf3 => {}
        ServedProtocol::Iperf2 => {
            iperf2::serve_connection(control, args, &mut ListenerRecords::default());
            return ExitCode::SUCCESS;
        }
        ServedProtocol::Iperf2Datagrams => {
            iperf2::serve_datagrams(control, args);
            return ExitCode::SUCCESS;
        }
    }
    let handoff = given.handoff.map(Socket::from);
    if environment.protocol == ServedProtocol::Iperf3 {
        if let Some(handoff) = handoff {
            let start = SessionStart {
                control,
                read: Vec::new(),
                handoff,
                policy: args.policy(),
                timeouts: StreamTimeouts::default(),
                rate_limit: None,
                authority: None,
                report: Iperf3Report::default(),
            };
            let _recorded = iperf3::session::serve(start, &mut ListenerRecords::default());
        }
        return ExitCode::SUCCESS;
    }
    let inherited = (handoff, given.door.map(Socket::from));
    session::serve(control, args, inherited, &mut ListenerRecords::default());
    ExitCode::SUCCESS
}

/// Serves the session of this process and reports it to the listener or to a log.
fn one_session(
    control: Socket,
    args: &ServerArgs,
    environment: &Environment,
) -> Result<ExitCode, Failure> {
    if environment.records {
        let given = Given {
            handoff: environment.handoff.and_then(pass::take_inherited),
            door: environment.door.and_then(pass::take_inherited),
            rights: environment.rights.and_then(pass::take_inherited),
        };
        return Ok(serve_for_listener(control, args, environment, given));
    }
    // inetd may connect all three standard streams to the client, which must not read the log.
    let to_client = netperf_os::process::standard_error_is_socket() && !environment.journal;
    let log = ServerLog::open(args, environment.journal);
    let log = log.map_err(|error| listen::no_log(args, &error))?;
    let mut log = log.with_debug_output(args);
    if to_client {
        log = log.only_to_file();
    }
    let peer = control.peer_addr().map(|peer| peer::described(&peer));
    if !environment.preloaded {
        // Without it, calls that take a right fail.
        let _no_rights = rights_helper::start(args, None);
    }
    if let Err(error) = confine(args, environment, None) {
        let fields = [("error", error.to_string().into())];
        log.say(LogLevel::Error, "sandbox", &fields);
        return Ok(ExitCode::from(UNCONFINED));
    }
    let mut session_log = SessionLog::new(peer.unwrap_or_default(), args.access.keys.clone());
    session::serve(control, args, (None, None), &mut session_log);
    session_log.write(ProcessEnd::Exit(0), &mut log);
    Ok(ExitCode::SUCCESS)
}
