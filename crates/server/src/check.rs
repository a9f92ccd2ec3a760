//! `--check-config`: looks at everything that a start of netserver needs on this host.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use netperf_cli::ServerArgs;
use netperf_daemon::own_user::UserChange;
use netperf_program::output::{FAILED, Failure, out, system_text};

use super::host_limits::{HostLimits, ShownLimits};
use super::{iperf2, listen, with_credentials};

/// Failures of a start with these settings. Ports that are in use, as by a running netserver,
/// are none. Changes no file.
pub(super) fn failures(args: ServerArgs) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut look = |found: Result<(), Failure>| failures.extend(found.err());
    look(listen::checked(&args));
    look(UserChange::planned(&args, false).map(drop));
    look(
        listen::metrics_server(&args)
            .map(drop)
            .or_else(unless_in_use),
    );
    look(log_file(&args));
    look(data_ports(&args));
    look(listeners(&args));
    look(
        listen::iperf3_sockets(&args)
            .map(drop)
            .or_else(unless_in_use),
    );
    match with_credentials(args, (None, None)) {
        Ok(args) => look(iperf2::listen(&args).map(drop).or_else(unless_in_use)),
        Err(failure) => look(Err(failure)),
    }
    failures
}

/// Prints the limits of a netserver with these settings on this host.
pub(super) fn show_limits(argv: &[OsString], read: &dyn Fn(&Path) -> io::Result<String>) {
    if let Some(mut args) = netperf_cli::settings_to_check(argv, read) {
        let host = HostLimits::find();
        host.complete(&mut args);
        let limits = args.policy().limits;
        out(&format!("limits: {}\n", ShownLimits(&limits, &host)));
    }
}

/// Ignores the failure of an address in use.
fn unless_in_use(failure: Failure) -> Result<(), Failure> {
    let in_use = io::Error::from_raw_os_error(IN_USE);
    let text = system_text(&in_use);
    if failure.stderr.contains(&text) || failure.hint.contains(&text) {
        return Ok(());
    }
    Err(failure)
}

/// `EADDRINUSE`.
const IN_USE: i32 = 98;

fn listeners(args: &ServerArgs) -> Result<(), Failure> {
    let (opened, reasons) = listen::listeners(args);
    match reasons.into_iter().next() {
        Some(reason) if opened.is_empty() => unless_in_use(Failure::stderr(FAILED, reason)),
        Some(_) | None => Ok(()),
    }
}

/// Checks that the log file can be written, without creating it.
fn log_file(args: &ServerArgs) -> Result<(), Failure> {
    let Some(path) = args.operations.log_file.as_deref() else {
        return Ok(());
    };
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let opened = match OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            folder.map_or(Ok(()), |folder| folder.metadata().map(drop))
        }
        opened => opened.map(drop),
    };
    opened.map_err(|error| listen::no_log(args, &error))
}

/// Checks that the first port of `--data-ports` can be had.
fn data_ports(args: &ServerArgs) -> Result<(), Failure> {
    let Some(ports) = args.access.data_ports else {
        return Ok(());
    };
    match TcpListener::bind((Ipv4Addr::UNSPECIFIED, ports.first())) {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
            let text = system_text(&error);
            let first = ports.first();
            Err(Failure::netserver(
                FAILED,
                format_args!("--data-ports: port {first}: {text}"),
            ))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}
