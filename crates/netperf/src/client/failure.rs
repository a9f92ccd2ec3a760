//! Error messages, in the words that scripts know (cli.md, error catalogue).

use std::io;

use netperf_engine::{EngineError, Lost, Operation};
use netperf_measure::device_stamps::Lacking;
use netperf_model::{Family, Feature, Refusal, TestPlan, TransportId, Workers};
use netperf_session::SessionError;

use crate::output::{Failure, system_text};

/// Exit status of most run-time failures.
const FAILED: u8 = 1;
/// Exit status when netserver refuses the test.
const REFUSED: u8 = 255;

/// Exit status when a host lacks what a test needs.
const UNSUPPORTED: u8 = 3;

/// `ENODEV`: an address family without anything behind it.
const NO_DEVICE: i32 = 19;

/// Returns true if this error number of bind(2) or connect(2) means that a socket family has no
/// device: `ENODEV`, and `ESOCKTNOSUPPORT` of vsock.
const fn is_empty_family(number: i32) -> bool {
    matches!(number, NO_DEVICE | 94)
}

/// Returns true if this error number means that the kernel lacks the transport or denies
/// access: `EPERM`, `EACCES`, `ENOPROTOOPT`, `EPROTONOSUPPORT`, `ESOCKTNOSUPPORT`,
/// `EAFNOSUPPORT` and `ENODEV`.
const fn is_lacking(number: i32) -> bool {
    matches!(number, 1 | 13 | NO_DEVICE | 92 | 93 | 94 | 97)
}

/// The engine failed.
pub(super) fn engine(error: &EngineError, transport: TransportId, family: Family) -> Failure {
    let text = system_text(&error.error);
    let number = error.error.raw_os_error().unwrap_or(0);
    match &error.operation {
        Operation::Extra(feature) => {
            let hint = unable(*feature, None);
            Failure {
                stderr: because(&hint, &text),
                ..hint
            }
        }
        Operation::Create => not_created(transport, family, number, &text),
        Operation::Bind | Operation::Connect if is_empty_family(number) => {
            unsupported(transport, None)
        }
        Operation::Connect => Failure::stderr(
            FAILED,
            &format!("netperf: send_omni: connect_data_socket failed: {text}"),
        ),
        Operation::Send => Failure {
            stdout: format!("send_data: data send error: {text} (errno {number})\n"),
            stderr: format!("netperf: send_omni: send_data failed: {text}\n"),
            exit: FAILED,
            ..Failure::default()
        },
        Operation::SendFile(_) if error.error.kind() == io::ErrorKind::UnexpectedEof => {
            Failure::stderr(
                FAILED,
                "alloc_sendfile_buf_ring: specified file too small.\n\
                 file must be larger than send_width * send_size",
            )
        }
        Operation::SendFile(_) => Failure::stderr(
            FAILED,
            &format!("alloc_sendfile_buf_ring: Could not open requested file: {text}"),
        ),
        Operation::Fill(_) => Failure::stdout(
            FAILED,
            &format!("Could not open requested fill file: {text}"),
        ),
        Operation::Probe if error.error.kind() == io::ErrorKind::TimedOut => Failure::stderr(
            FAILED,
            "netperf: --one-port: no datagram arrives: the path must also permit UDP to the port \
             of the control connection",
        ),
        Operation::Warmup => Failure::stderr(
            FAILED,
            &format!("netperf: {}: nothing was measured", error.operation),
        ),
        Operation::Bind
        | Operation::Listen
        | Operation::Probe
        | Operation::Accept
        | Operation::Receive
        | Operation::Buffers
        | Operation::Timer
        | Operation::Thread
        | Operation::Cpu => {
            Failure::stderr(FAILED, &format!("netperf: {}: {text}", error.operation))
        }
    }
}

/// There is no data socket: in the original's words, where it knows the transport or the
/// kernel does.
fn not_created(transport: TransportId, family: Family, number: i32, text: &str) -> Failure {
    let original = || Failure::stdout(FAILED, &cannot_create(transport, family, number, text));
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

/// Something that this host, or netserver's, cannot do.
pub(super) fn unable(feature: Feature, host: Option<&str>) -> Failure {
    let whose = host.map_or_else(
        || "this host".to_owned(),
        |host| format!("netserver on {host}"),
    );
    let needs = match (feature.needs(), feature.instead()) {
        ("", "") => String::new(),
        ("", instead) => format!(": {instead}"),
        (needs, _) => format!(": it takes {needs}"),
    };
    let option = feature.option();
    let line = format!("netperf: {whose} cannot do {option}{needs}");
    Failure::stderr(UNSUPPORTED, &line)
}

/// An option for what this build does not contain.
pub(super) fn not_built(option: &str, error: &io::Error) -> Failure {
    Failure::stderr(UNSUPPORTED, &format!("netperf: {option}: {error}"))
}

/// Something that a test has no place for.
pub(super) fn out_of_place(refusal: &Refusal) -> Failure {
    Failure::stderr(UNSUPPORTED, &format!("netperf: {refusal}"))
}

/// The device of this host that is to stamp cannot.
pub(super) fn does_not_stamp(lacking: &Lacking) -> Failure {
    let line = format!("netperf: --timestamps hardware: {lacking}");
    Failure::stderr(UNSUPPORTED, &line)
}

/// A device said that it stamps and did not.
pub(super) fn did_not_stamp(end: &str) -> Failure {
    let line = format!(
        "netperf: --timestamps hardware: the device at {end}'s end supports timestamps but \
         delivered none"
    );
    Failure::stderr(UNSUPPORTED, &line)
}

/// netserver refused a test over this transport, or the conversation failed.
pub(super) fn refused(error: &SessionError, plan: &TestPlan, host: &str) -> Failure {
    let (plain, transport) = (session(error), plan.transport);
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

/// netserver refused many flows: where their threads were to be placed, that is why.
pub(super) fn flows_refused(
    error: &SessionError,
    plan: &TestPlan,
    workers: &Workers,
    host: &str,
) -> Failure {
    let placed = !workers.cpus.is_empty() || workers.place.is_some();
    let not_placed = matches!(error, SessionError::Remote(errno) if NOT_PLACED.contains(&errno.0));
    if !(placed && not_placed) {
        return refused(error, plan, host);
    }
    Failure::stderr(
        UNSUPPORTED,
        &format!(
            "netperf: netserver on {host} cannot place threads as requested by --remote-cpus or \
             --place: use CPUs of its host"
        ),
    )
}

/// netserver's error numbers for a CPU list or rule that its host cannot follow: EINVAL and
/// ENODEV (docs/spec/extension.md, Many flows).
const NOT_PLACED: [i32; 2] = [22, 19];

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
    let line = format!("netperf: {label} has no connections to open and close: leave out -c");
    Failure::stderr(UNSUPPORTED, &line)
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
        SessionError::Denied(_) => Failure::stderr(REFUSED, &format!("netperf: {error}")),
        SessionError::Closed { .. } => Failure::stderr(FAILED, &format!("recv_response: {error}")),
        SessionError::Unsupported(_)
        | SessionError::Unable(_)
        | SessionError::CpuMethod(_)
        | SessionError::Coordination(_)
        | SessionError::NoRoom(_)
        | SessionError::NotConfirmed => Failure::stderr(UNSUPPORTED, &format!("netperf: {error}")),
        SessionError::NoAnswer(_)
        | SessionError::Broken(_)
        | SessionError::Malformed(_)
        | SessionError::OutOfTurn { .. } => Failure::stderr(FAILED, &format!("netperf: {error}")),
    }
}

/// A transport that this host, or netserver's, cannot do.
pub(super) fn unsupported(transport: TransportId, host: Option<&str>) -> Failure {
    let row = transport.row();
    if let (None, Err(error)) = (host, netperf_transport::registry::check_built(transport)) {
        return not_built(&format!("-T {}", row.option), &error);
    }
    let whose = host.map_or_else(
        || "this host".to_owned(),
        |host| format!("netserver on {host}"),
    );
    let needs = if row.needs.is_empty() {
        String::new()
    } else {
        format!(": it takes {}", row.needs)
    };
    let line = format!(
        "netperf: {whose} cannot do {} (-T {}){needs}",
        row.label, row.option
    );
    Failure::stderr(UNSUPPORTED, &line)
}

/// A host that is reached by vsock(7), and a transport that is one of IP.
pub(super) fn only_vsock(host: &str, transport: TransportId) -> Failure {
    let label = transport.row().label;
    let line = format!(
        "netperf: {label} does not lead to {host}: run -t OMNI -- -T vsock, or name a host for \
         the data with --data-host"
    );
    Failure::stderr(UNSUPPORTED, &line)
}

/// The peer was lost during the test.
pub(super) fn lost(lost: &Lost, host: &str) -> Failure {
    Failure::stderr(
        FAILED,
        &format!("netperf: lost netserver on {host}: {lost}"),
    )
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use netperf_cli::Command;
    use netperf_wire::RemoteErrno;

    use super::*;

    /// `EPROTONOSUPPORT`.
    const UNKNOWN: i32 = 93;

    #[test]
    fn where_standard_output_is_for_json_a_transport_that_a_host_lacks_is_one_line() {
        let error = EngineError {
            operation: Operation::Create,
            error: io::Error::from_raw_os_error(UNKNOWN),
        };
        let here = engine(&error, TransportId::Sctp, Family::V4);
        assert!(here.stdout.contains("create_data_socket: socket: errno 93"));
        assert_eq!(
            here.on_stderr(),
            Failure::stderr(
                UNSUPPORTED,
                "netperf: this host cannot do SCTP (-T sctp): it takes the kernel module sctp \
                 (modprobe sctp): Protocol not supported"
            )
        );

        let argv = ["netperf", "-t", "SCTP_STREAM"].map(OsString::from);
        let around = netperf_cli::CliEnvironment {
            read_file: &|_| Ok(String::new()),
            is_selector: &|_| false,
            selectors: &[],
            dump_tcp_info: false,
        };
        let Ok(Command::Run(run)) = netperf_cli::netperf(&argv, &around).command else {
            panic!("no run");
        };
        let error = SessionError::Remote(RemoteErrno(UNKNOWN));
        let there = refused(&error, &run.plan, "there");
        assert_eq!(there.stdout, "netperf: remote error 93");
        assert_eq!(
            there.on_stderr(),
            Failure::stderr(
                UNSUPPORTED,
                "netperf: netserver on there cannot do SCTP (-T sctp): it takes the kernel \
                 module sctp (modprobe sctp): Protocol not supported"
            )
        );
    }
}
