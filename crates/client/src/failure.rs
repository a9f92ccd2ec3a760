//! Error messages, in the words that scripts know (cli.md, error catalogue).

use std::io;

use netperf_engine::{EngineError, Lost, Operation};
use netperf_measure::device_stamps::Lacking;
use netperf_model::{
    Denied, Family, Feature, GuardedFeature, Many, Setting, TestPlan, TransportId,
};
use netperf_program::output::{FAILED, Failure, REFUSED, system_text};
use netperf_report::SelectionError;
use netperf_session::SessionError;
use netperf_wire::RemoteErrno;

use super::way_out;

/// Returns true if this error number of bind(2) or connect(2) means that a socket family has no
/// device; vsock has `ESOCKTNOSUPPORT`.
const fn is_empty_family(number: i32) -> bool {
    matches!(
        RemoteErrno(number),
        RemoteErrno::ENODEV | RemoteErrno::ESOCKTNOSUPPORT
    )
}

/// Returns true if this error number means that there is no interface of a name.
pub(super) const fn is_missing(number: i32) -> bool {
    matches!(RemoteErrno(number), RemoteErrno::ENODEV)
}

/// Returns true if this error number means that the kernel lacks the transport or denies
/// access.
const fn is_lacking(number: i32) -> bool {
    matches!(
        RemoteErrno(number),
        RemoteErrno::EPERM
            | RemoteErrno::EACCES
            | RemoteErrno::ENODEV
            | RemoteErrno::ENOPROTOOPT
            | RemoteErrno::EPROTONOSUPPORT
            | RemoteErrno::ESOCKTNOSUPPORT
            | RemoteErrno::EAFNOSUPPORT
    )
}

/// This host lacks the interface of `--bind-device`.
pub(super) fn no_interface(text: &str) -> Failure {
    Failure::unsupported(format_args!(
        "this host cannot do --bind-device: {text}: it has no interface of that name (ip link lists \
         them)"
    ))
}

/// The engine failed.
pub(super) fn engine(error: &EngineError, transport: TransportId, family: Family) -> Failure {
    let text = system_text(&error.error);
    let number = error.error.raw_os_error().unwrap_or(0);
    let line = match &error.operation {
        Operation::Extra(Feature::Setting(Setting::Device)) if is_missing(number) => {
            return no_interface(&text);
        }
        Operation::Extra(feature) => {
            let hint = unable(*feature, None);
            return Failure {
                stderr: because(&hint, &text),
                ..hint
            };
        }
        Operation::Create => return not_created(transport, family, number, &text),
        Operation::Bind | Operation::Connect if is_empty_family(number) => {
            return unsupported(transport, None);
        }
        Operation::Send => {
            return Failure {
                stdout: format!("send_data: data send error: {text} (errno {number})\n"),
                stderr: format!("netperf: send_omni: send_data failed: {text}\n"),
                hint: way_out::too_long(number, transport, family),
                exit: FAILED,
                ..Failure::default()
            };
        }
        Operation::Fill(_) => {
            let line = format!("Could not open requested fill file: {text}");
            return Failure::stdout(FAILED, line);
        }
        Operation::Connect => format!("netperf: send_omni: connect_data_socket failed: {text}"),
        Operation::SendFile(_) if error.error.kind() == io::ErrorKind::UnexpectedEof => {
            "alloc_sendfile_buf_ring: specified file too small.\n\
             file must be larger than send_width * send_size"
                .to_owned()
        }
        Operation::SendFile(_) => {
            format!("alloc_sendfile_buf_ring: Could not open requested file: {text}")
        }
        Operation::Probe if error.error.kind() == io::ErrorKind::TimedOut => {
            "netperf: --one-port: no datagram arrives: the path must also permit UDP to the port \
             of the control connection"
                .to_owned()
        }
        Operation::Warmup => format!("netperf: {}: nothing was measured", error.operation),
        Operation::Bind
        | Operation::DataPorts
        | Operation::Listen
        | Operation::Probe
        | Operation::Accept
        | Operation::Receive
        | Operation::Buffers
        | Operation::Timer
        | Operation::Thread
        | Operation::Cpu => format!("netperf: {}: {text}", error.operation),
    };
    Failure::stderr(FAILED, line)
}

/// There is no data socket: in the original's words, where it knows the transport or the
/// kernel does.
fn not_created(transport: TransportId, family: Family, number: i32, text: &str) -> Failure {
    let original = || Failure::stdout(FAILED, cannot_create(transport, family, number, text));
    match (is_lacking(number), transport.row().stock) {
        (false, _) => original(),
        (true, true) => with_hint(original(), unsupported(transport, None), text),
        (true, false) => unsupported(transport, None),
    }
}

fn cannot_create(transport: TransportId, family: Family, number: i32, text: &str) -> String {
    let kind = transport.row().kind.constant();
    let protocol = protocol_constant(transport.row().protocol);
    format!(
        "netperf: create_data_socket: socket: errno {number} fam {} type {kind} prot {protocol} \
         errmsg {text}",
        family.label()
    )
}

/// The name of a protocol's constant, as the original prints it.
fn protocol_constant(protocol: u16) -> String {
    match protocol {
        6 => "IPPROTO_TCP".to_owned(),
        17 => "IPPROTO_UDP".to_owned(),
        33 => "IPPROTO_DCCP".to_owned(),
        132 => "IPPROTO_SCTP".to_owned(),
        136 => "IPPROTO_UDPLITE".to_owned(),
        other => format!("IPPROTO_UNKNOWN({other})"),
    }
}

/// A requirement of the test that this host, or netserver on `host`, lacks.
fn cannot_do(host: Option<&str>, what: &str, remedy: &str) -> Failure {
    let whose = host.map_or_else(
        || "this host".to_owned(),
        |host| format!("netserver on {host}"),
    );
    let remedy = match remedy {
        "" => String::new(),
        remedy => format!(": {remedy}"),
    };
    Failure::unsupported(format_args!("{whose} cannot do {what}{remedy}"))
}

/// An option for what this build does not contain.
pub(super) fn not_built(option: &str, error: &io::Error) -> Failure {
    Failure::unsupported(format_args!("{option}: {error}"))
}

fn it_takes(needs: &str) -> String {
    if needs.is_empty() {
        return String::new();
    }
    format!("it takes {needs}")
}

/// An option that this host, or netserver's, cannot do.
pub(super) fn unable(feature: Feature, host: Option<&str>) -> Failure {
    let remedy = match feature.needs() {
        "" => feature.instead().to_owned(),
        needs => it_takes(needs),
    };
    cannot_do(host, feature.option(), &remedy)
}

/// A feature that netserver does not give to this client.
pub(super) fn not_for_strangers(feature: Feature) -> Failure {
    match GuardedFeature::of(feature) {
        Some(guarded) => session(&SessionError::Denied(Denied::Feature(guarded).to_string())),
        None => unable(feature, None),
    }
}

/// The device of this host that is to stamp cannot.
pub(super) fn does_not_stamp(lacking: &Lacking) -> Failure {
    Failure::unsupported(format_args!("--timestamps hardware: {lacking}"))
}

/// A device said that it stamps and did not.
pub(super) fn did_not_stamp(end: &str) -> Failure {
    Failure::unsupported(format_args!(
        "--timestamps hardware: the device at {end}'s end supports timestamps but \
         delivered none"
    ))
}

/// netserver refused a test over this transport, or the conversation failed.
pub(super) fn refused(error: &SessionError, plan: &TestPlan, host: &str) -> Failure {
    let (plain, transport) = (session(error), plan.transport);
    let places = |many: &Many| !many.remote.cpus.is_empty() || many.remote.place.is_some();
    let not_placed = matches!(error, SessionError::Remote(errno) if NOT_PLACED.contains(errno));
    if not_placed && plan.many.as_ref().is_some_and(places) {
        return Failure::unsupported(format_args!(
            "netserver on {host} cannot place threads as requested by --remote-cpus or --place: \
             use CPUs of its host"
        ));
    }
    if !matches!(error, SessionError::Remote(errno) if is_lacking(errno.0)) {
        return plain;
    }
    let particular = |feature: &Feature| !feature.needs().is_empty();
    let hint = match plan.remote.features().into_iter().find(particular) {
        Some(feature) => unable(feature, Some(host)),
        None if transport.row().needs.is_empty() => return plain,
        None => unsupported(transport, Some(host)),
    };
    let why = plain.stderr.trim_end().to_owned();
    with_hint(plain, hint, &why)
}

/// netserver's error numbers for a CPU list or rule that its host cannot follow
/// (docs/spec/extension.md, Many flows).
const NOT_PLACED: [RemoteErrno; 2] = [RemoteErrno::EINVAL, RemoteErrno::ENODEV];

/// The original's message, with a hint.
fn with_hint(original: Failure, hint: Failure, why: &str) -> Failure {
    Failure {
        stderr: original.stderr + &hint.stderr,
        in_short: Some(because(&hint, why)),
        exit: hint.exit,
        ..original
    }
}

/// The line of a failure with the system's reason behind it.
fn because(failure: &Failure, why: &str) -> String {
    failure.stderr.replace('\n', &format!(": {why}\n"))
}

/// A connection test over a transport that has no connections.
pub(super) fn no_connections(transport: TransportId) -> Failure {
    let label = transport.row().label;
    Failure::unsupported(format_args!(
        "{label} has no connections to open and close: leave out -c"
    ))
}

/// Remedy if a server answers otherwise than netserver.
const NO_NETSERVER: &str =
    "this is not a response of netserver: another program is there: give netserver's port with -p";

/// A selection of output that cannot be read.
pub(super) fn selection(error: SelectionError) -> Failure {
    Failure::stdout(SelectionError::EXIT, error)
}

/// The control conversation failed.
pub(super) fn session(error: &SessionError) -> Failure {
    match error {
        SessionError::Remote(errno) => {
            let text = match errno.private_meaning() {
                Some(meaning) => meaning.to_string(),
                None => system_text(&io::Error::from_raw_os_error(errno.0)),
            };
            Failure {
                stdout: format!("netperf: remote error {}", errno.0),
                stderr: format!("{text}\n"),
                exit: REFUSED,
                ..Failure::default()
            }
        }
        SessionError::Denied(_) => Failure::refused(error),
        SessionError::Closed { got } => {
            let failure = Failure::stderr(FAILED, format_args!("recv_response: {error}"));
            failure.hint(match got {
                0 => {
                    "netserver closed the control connection: it may need another passphrase (-Z), \
                     a key (--key-file), or serve other clients first; its log says why"
                }
                _ => NO_NETSERVER,
            })
        }
        SessionError::Unsupported(_)
        | SessionError::Unable(_)
        | SessionError::CpuMethod(_)
        | SessionError::Coordination(_)
        | SessionError::NoRoom(_)
        | SessionError::NotConfirmed => Failure::unsupported(error),
        SessionError::NoNetserver(program) => {
            Failure::failed(format_args!("{error}: {}", program.way_out())).without_netserver()
        }
        SessionError::NoAnswer(_) => Failure::failed(format_args!(
            "{error}: the port accepts connections, and a netserver would answer: check host and \
             port, or whether the other program there, such as an iperf 2 server, is meant"
        ))
        .without_netserver(),
        SessionError::Incomplete { .. } => {
            Failure::failed(format_args!("{error}: {NO_NETSERVER}")).without_netserver()
        }
        SessionError::Broken(_)
        | SessionError::Malformed(_)
        | SessionError::Interrupted
        | SessionError::Repeated
        | SessionError::OutOfTurn { .. } => Failure::failed(error),
    }
}

/// A transport that this host, or netserver's, cannot do.
pub(super) fn unsupported(transport: TransportId, host: Option<&str>) -> Failure {
    let row = transport.row();
    if let (None, Err(error)) = (host, netperf_transport::built::check_transport(transport)) {
        return not_built(&format!("-T {}", row.option), &error);
    }
    let what = format!("{} (-T {})", row.label, row.option);
    cannot_do(host, &what, &it_takes(row.needs))
}

/// A host that is reached by vsock(7), and a transport that is one of IP.
pub(super) fn only_vsock(host: &str, transport: TransportId) -> Failure {
    let label = transport.row().label;
    Failure::unsupported(format_args!(
        "{label} does not lead to {host}: run -t OMNI -- -T vsock, or name a host for \
         the data with --data-host"
    ))
}

/// The peer was lost during the test.
pub(super) fn lost(lost: &Lost, host: &str) -> Failure {
    Failure::failed(format_args!("lost netserver on {host}: {lost}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::planned::plan;

    #[test]
    fn a_server_that_answers_with_a_part_of_a_message_may_be_one_of_iperf3() {
        let waited = Duration::from_secs(20);
        let failure = session(&SessionError::Incomplete { got: 1, waited });
        let text = failure.on_stderr().stderr;
        assert!(text.contains("within 20 s"), "{text}");
        assert!(text.contains("another program is there"), "{text}");
        let silent = session(&SessionError::NoAnswer(waited)).on_stderr().stderr;
        assert!(!silent.contains("iperf3"), "{silent}");
    }

    #[test]
    fn transports_that_a_host_lacks_are_one_line_beside_json() {
        let error = EngineError {
            operation: Operation::Create,
            error: io::Error::from_raw_os_error(RemoteErrno::EPROTONOSUPPORT.0),
        };
        let here = engine(&error, TransportId::Sctp, Family::V4);
        assert!(here.stdout.contains("create_data_socket: socket: errno 93"));
        assert_eq!(
            here.on_stderr(),
            Failure::unsupported(
                "this host cannot do SCTP (-T sctp): it takes the kernel module sctp \
                 (modprobe sctp): Protocol not supported"
            )
        );

        let plan = plan("netperf -t SCTP_STREAM");
        let error = SessionError::Remote(RemoteErrno::EPROTONOSUPPORT);
        let there = refused(&error, &plan, "there");
        assert_eq!(there.stdout, "netperf: remote error 93");
        assert_eq!(
            there.on_stderr(),
            Failure::unsupported(
                "netserver on there cannot do SCTP (-T sctp): it takes the kernel \
                 module sctp (modprobe sctp): Protocol not supported"
            )
        );
    }
}
