//! From a transcript's lines and cells to figures.

use netperf_model::{HostFacts, TestId, TestPlan};
use netperf_report::format::classic::rows::{ClassicRow, ROWS};

use super::cells::Cells;
use super::figures::{EndFigures, Figures};
use super::scan::{Read, scan};
use super::times::histogram;

/// The rows that a test can print.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most tests have no transcript with rows"
)]
fn rows_of(test: TestId) -> &'static [&'static str] {
    match test {
        TestId::TcpStream | TestId::TcpMaerts => &["S1c", "S1", "S2", "MSS", "V0cb", "V0b"],
        TestId::TcpSendfile => &["S1c", "S1", "S2g", "MSS", "V0cb", "V0b"],
        TestId::TcpRr => &["R1c", "R1", "R2", "R3", "V0cb", "V0b"],
        TestId::UdpRr => &["R1cu", "R1", "R2", "V0cb", "V0b"],
        TestId::TcpCrr | TestId::TcpCc => &["C1c", "R1", "R2", "C3", "V0c", "V0"],
        TestId::TcpMss => &["MSSb"],
        TestId::UdpStream => &["U1c", "U1", "U2c", "U2", "V0u", "V0"],
        TestId::StreamStream => &["X1c", "X1", "X2", "V0c", "V0"],
        TestId::StreamRr | TestId::DgRr => &["C1c", "R1", "R2", "UA", "V0c", "V0"],
        TestId::DgStream => &["D1c", "D1", "D2c", "D2", "V0x", "V0"],
        // Selections, or runs that came to nothing.
        _ => &[],
    }
}

/// Figures of a classic layout.
pub(crate) fn classic(plan: &TestPlan, text: &str) -> Figures {
    let mut figures = Figures {
        iterations: 1,
        ..Figures::default()
    };
    figures.times.histogram = histogram(text);
    let warnings = ["W1", "W2", "W3"];
    let wanted: Vec<&ClassicRow> = rows_of(plan.test)
        .iter()
        .chain(&warnings)
        .filter_map(|id| ROWS.iter().find(|row| row.id == *id))
        .collect();
    for line in text.lines() {
        let found = wanted
            .iter()
            .find_map(|row| Some((row.id, scan(row.template, line)?)));
        if let Some((id, read)) = found {
            take(plan, id, &read, &mut figures);
        }
    }
    figures
}

fn size(read: &Read) -> Option<u32> {
    u32::try_from(read.int()).ok()
}

fn cpu(figures: &mut Figures, plan: &TestPlan, read: &[Read]) {
    let asked = [plan.local.cpu.is_some(), plan.remote.cpu.is_some()];
    let ends = [&mut figures.local, &mut figures.remote];
    for (at, (end, asked)) in ends.into_iter().zip(asked).enumerate() {
        if asked && read[at].float() >= 0.0 {
            end.busy = Some(read[at].float());
            end.demand = Some(read[at + 2].float());
        }
    }
}

fn take(plan: &TestPlan, id: &str, read: &[Read], figures: &mut Figures) {
    match id {
        "S1" | "S1c" | "X1" | "X1c" => take_stream(plan, id, read, figures),
        "S2" | "S2g" | "X2" => take_calls(plan, id, read, figures),
        "MSS" | "MSSb" => figures.segment_size = size(&read[0]),
        "R1" | "R1c" | "R1cu" | "C1c" => {
            figures.local.setup.send_buffer = size(&read[0]);
            figures.local.setup.recv_buffer = size(&read[1]);
            figures.elapsed = Some(read[4].float());
            figures.throughput = Some(read[5].float());
            if id != "R1" {
                cpu(figures, plan, &read[6..]);
            }
        }
        "R2" => {
            figures.remote.setup.send_buffer = size(&read[0]);
            figures.remote.setup.recv_buffer = size(&read[1]);
        }
        // A whole number of microseconds says less than the rate above it.
        "UA" => {}
        "R3" => figures.transaction_rate = Some(read[5].float()),
        // Settings, which must come out of the plan.
        "C3" => {}
        "U1" | "U1c" | "U2" | "U2c" | "D1" | "D1c" | "D2" | "D2c" => {
            take_datagrams(plan, id, read, figures)
        }
        "V0" | "V0b" if matches!(plan.test, TestId::UdpStream | TestId::DgStream) => {
            figures.local.send_rate = Some(read[0].float());
        }
        "V0" | "V0b" => figures.throughput = Some(read[0].float()),
        "V0c" | "V0cb" | "V0u" | "V0x" => take_demand(plan, id, read, figures),
        "W1" | "W2" | "W3" => {
            let at = usize::from(id.as_bytes()[1] - b'1');
            figures.widths[at] = Some(read[0].float());
            figures.warned = true;
        }
        other => panic!("nobody reads {other}"),
    }
}

fn take_stream(plan: &TestPlan, id: &str, read: &[Read], figures: &mut Figures) {
    let (local, remote) = (&mut figures.local.setup, &mut figures.remote.setup);
    let maerts = plan.test == TestId::TcpMaerts;
    if maerts && id == "S1" {
        local.recv_buffer = size(&read[0]);
        remote.send_buffer = size(&read[1]);
    } else {
        remote.recv_buffer = size(&read[0]);
        local.send_buffer = size(&read[1]);
    }
    let sender = if maerts { remote } else { local };
    sender.send_size = size(&read[2]);
    figures.elapsed = Some(read[3].float());
    figures.throughput = Some(read[4].float());
    if id.ends_with('c') {
        cpu(figures, plan, &read[5..]);
    }
}

fn take_calls(plan: &TestPlan, id: &str, read: &[Read], figures: &mut Figures) {
    let (local, remote) = (&mut figures.local, &mut figures.remote);
    if plan.test == TestId::TcpMaerts {
        local.bytes_received = Some(read[4].float());
        local.recv_calls = Some(read[6].float());
        remote.bytes_per_send = Some(read[7].float());
        remote.send_calls = Some(read[8].float());
        return;
    }
    local.send_calls = Some(read[6].float());
    if id == "S2" {
        local.bytes_sent = Some(read[4].float());
    } else {
        local.bytes_per_send = Some(read[5].float());
    }
    remote.recv_calls = Some(read[8].float());
}

fn take_datagrams(plan: &TestPlan, id: &str, read: &[Read], figures: &mut Figures) {
    let first = id.as_bytes()[1] == b'1';
    if first {
        figures.elapsed = Some(read[2].float());
        let local = &mut figures.local;
        local.setup.send_buffer = size(&read[0]);
        local.setup.send_size = size(&read[1]);
        local.send_calls = Some(read[3].float());
        local.failed_sends = u64::try_from(read[4].int()).expect("a count");
        local.send_rate = Some(read[5].float());
    } else {
        figures.throughput = Some(read[3].float());
        let remote = &mut figures.remote;
        remote.setup.recv_buffer = size(&read[0]);
        remote.recv_calls = Some(read[2].float());
        remote.recv_rate = Some(read[3].float());
    }
    let (end, asked) = if first {
        (&mut figures.local, plan.local.cpu.is_some())
    } else {
        (&mut figures.remote, plan.remote.cpu.is_some())
    };
    if let (true, true, [.., busy, demand]) = (asked, id.ends_with('c'), read) {
        end.busy = Some(busy.float());
        end.demand = Some(demand.float());
    }
}

fn take_demand(plan: &TestPlan, id: &str, read: &[Read], figures: &mut Figures) {
    if matches!(id, "V0cb" | "V0u") {
        assert!(matches!(read[1].char(), 'S' | 'U'), "a method letter");
    }
    let end = if plan.local.cpu.is_some() {
        &mut figures.local
    } else {
        &mut figures.remote
    };
    end.demand = Some(read[0].float());
}

/// Figures of selector output.
pub(crate) fn selected(plan: &TestPlan, cells: &mut Cells) -> Figures {
    let mut figures = Figures {
        iterations: 1,
        ..Figures::default()
    };
    // What was not asked for was not opened, or not looked at.
    for setup in [&mut figures.local.setup, &mut figures.remote.setup] {
        setup.priority = -1;
        setup.tos = -1;
    }
    for cell in cells.all() {
        if let (Some(row), Some(value)) = (cell.row, &cell.value) {
            take_value(plan, &row.name, value, &mut figures);
        }
    }
    figures
}

fn take_value(plan: &TestPlan, name: &str, value: &str, figures: &mut Figures) {
    let real = || value.parse::<f64>().ok().filter(|value| *value >= 0.0);
    match name {
        "ELAPSED_TIME" => figures.elapsed = real(),
        "THROUGHPUT" => figures.throughput = real(),
        "TRANSACTION_RATE" if plan.flow.is_request_response() => figures.transaction_rate = real(),
        "RT_LATENCY" => figures.round_trip = real(),
        _ if name.ends_with("_LATENCY") => figures.times.take(name, value),
        "TRANSPORT_MSS" => figures.segment_size = value.parse().ok(),
        "UUID" => value.clone_into(&mut figures.uuid),
        "CONFIDENCE_ITERATION" => figures.iterations = value.parse().expect("a count"),
        "THROUGHPUT_CONFID" => figures.widths[0] = real(),
        "LOCAL_CPU_CONFID" => figures.widths[1] = real(),
        "REMOTE_CPU_CONFID" => figures.widths[2] = real(),
        "LSS_SIZE" => figures.local.setup.send_buffer = value.parse().ok(),
        "LSR_SIZE" => figures.local.setup.recv_buffer = value.parse().ok(),
        "RSS_SIZE" => figures.remote.setup.send_buffer = value.parse().ok(),
        "RSR_SIZE" => figures.remote.setup.recv_buffer = value.parse().ok(),
        "LSS_SIZE_END" => figures.local.send_buffer_end = value.parse().ok(),
        "LSR_SIZE_END" => figures.local.recv_buffer_end = value.parse().ok(),
        "RSS_SIZE_END" => figures.remote.send_buffer_end = value.parse().ok(),
        "RSR_SIZE_END" => figures.remote.recv_buffer_end = value.parse().ok(),
        _ => {
            if let Some(name) = name.strip_prefix("LOCAL_") {
                take_end(plan.local.cpu.is_some(), name, value, &mut figures.local);
            } else if let Some(name) = name.strip_prefix("REMOTE_") {
                take_end(plan.remote.cpu.is_some(), name, value, &mut figures.remote);
            }
        }
    }
}

fn take_end(cpu: bool, name: &str, value: &str, end: &mut EndFigures) {
    let real = || value.parse::<f64>().ok().filter(|value| *value >= 0.0);
    let setup = &mut end.setup;
    match name {
        // Cut off together with the rest of its line; its column is as wide as this.
        "SEND_SIZE" if value.is_empty() => setup.send_size = Some(16384),
        "SEND_SIZE" => setup.send_size = value.parse().ok(),
        "RECV_SIZE" => setup.recv_size = value.parse().ok(),
        "SEND_WIDTH" => setup.send_width = value.parse().expect("a width"),
        "RECV_WIDTH" => setup.recv_width = value.parse().expect("a width"),
        "SOCKET_PRIO" => setup.priority = value.parse().expect("a priority"),
        "SOCKET_TOS" => {
            let bits = u32::from_str_radix(value.trim_start_matches("0x"), 16).expect("bits");
            setup.tos = i32::from_ne_bytes(bits.to_ne_bytes());
        }
        "SEND_THROUGHPUT" => end.send_rate = real(),
        "RECV_THROUGHPUT" => end.recv_rate = real(),
        "SEND_CALLS" => end.send_calls = real(),
        "RECV_CALLS" => end.recv_calls = real(),
        "BYTES_PER_SEND" => end.bytes_per_send = real(),
        "BYTES_PER_RECV" => end.bytes_per_recv = real(),
        "BYTES_SENT" => end.bytes_sent = real(),
        "BYTES_RECVD" => end.bytes_received = real(),
        "TRANSPORT_RETRANS" => end.retransmissions = value.parse().ok(),
        "CONG_CONTROL" => end.congestion = (!value.is_empty()).then(|| value.to_owned()),
        _ => {
            take_fact(name, value, &mut end.host);
            if cpu {
                take_cpu(name, real(), end);
            }
        }
    }
}

/// `Deprecated` is as good a name as any.
fn take_fact(name: &str, value: &str, host: &mut HostFacts) {
    let interface = &mut host.interface;
    let fact = match name {
        "SYSNAME" => &mut host.sysname,
        "RELEASE" => &mut host.release,
        "VERSION" => &mut host.version,
        "MACHINE" => &mut host.machine,
        "SYSTEM_MODEL" => &mut host.system_model,
        "CPU_MODEL" => &mut host.cpu_model,
        "INTERFACE_NAME" => &mut interface.name,
        "INTERFACE_SLOT" => &mut interface.slot,
        "DRIVER_NAME" => &mut interface.driver,
        "DRIVER_VERSION" => &mut interface.driver_version,
        "DRIVER_FIRMWARE" => &mut interface.firmware,
        "DRIVER_BUS" => &mut interface.bus,
        "SECURITY_SPECIFIC" => &mut host.security.specific,
        _ => return,
    };
    *fact = Some(value.to_owned());
}

fn take_cpu(name: &str, value: Option<f64>, end: &mut EndFigures) {
    let Some(value) = value else { return };
    match name {
        "CPU_UTIL" => end.busy = Some(value),
        "SD" => end.demand = Some(value),
        "CPU_PERCENT_USER" => end.shares.user = value,
        "CPU_PERCENT_SYSTEM" => end.shares.system = value,
        "CPU_PERCENT_IOWAIT" => end.shares.iowait = value,
        "CPU_PERCENT_IRQ" => end.shares.irq = value,
        "CPU_PERCENT_SWINTR" => end.shares.softirq = value,
        "CPU_PEAK_UTIL" => end.peak_busy = value,
        "CPU_PEAK_ID" => end.peak_id = format!("{value:.0}").parse().expect("an id"),
        _ => {}
    }
}
