//! The selector table: everything that `-k`, `-o` and `-O` can print.
//!
//! One row per selector, in the order in which `?` lists them. Parsing of
//! selections, `all`, the CSV header and the columns all come from here. A new
//! selector is a new row; a new value is a function in [`crate::values`].

use crate::latency::{LatencyColumn, Statistic, micros};
use crate::one_way::ONE_WAY;
use crate::paths::PATHS;
use crate::quality::QUALITY;
use crate::rate::RATE;
use crate::series::OVER_TIME;
use crate::until::UNTIL;
use crate::values::*;
use crate::view::View;

/// One selector.
#[derive(Debug)]
pub struct Selector {
    /// Its name, upper case.
    pub name: &'static str,
    /// Its header lines, empty where it has fewer than four.
    pub header: [&'static str; 4],
    /// The unit of its value.
    pub unit: &'static str,
    /// The printf format of its value.
    pub format: &'static str,
    /// The block it belongs to in `all`, 1 to 4; 0 when `all` leaves it out.
    pub block: u8,
    /// What must be measured for it, beyond what every run measures.
    pub need: Need,
    /// Its value.
    pub value: fn(&View<'_>) -> Value,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// What a selector needs beyond what every run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Times of single operations.
    Latency,
    /// The congestion control in force.
    Congestion,
    /// Facts about the hosts.
    Hosts,
}

/// The filler column.
pub const OUTPUT_NONE: &str = "OUTPUT_NONE";
/// The name that ends a block.
pub const OUTPUT_END: &str = "OUTPUT_END";

impl Selector {
    /// The header lines that are not empty, joined by single blanks.
    #[must_use]
    pub fn heading(&self) -> String {
        let lines: Vec<&str> = self
            .header
            .into_iter()
            .filter(|line| !line.is_empty())
            .collect();
        lines.join(" ")
    }

    /// The value of this selector as printed; `None` when it is to be left out.
    #[must_use]
    pub fn print(&self, view: &View<'_>) -> Option<String> {
        (self.value)(view).print(self.format)
    }
}

/// Whether `name` is a selector's, in any case: one of the table's, or one of
/// the family of latencies.
#[must_use]
pub fn is_selector(name: &str) -> bool {
    by_name(name).is_some() || LatencyColumn::named(name).is_some()
}

/// The names of the table, in order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    SELECTORS.iter().map(|row| row.name).collect()
}

/// The selector called `name`, in any case, of the original's table or beyond it.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Selector> {
    SELECTORS
        .iter()
        .chain(FURTHER)
        .chain(PATHS)
        .chain(OVER_TIME)
        .chain(ONE_WAY)
        .chain(RATE)
        .chain(QUALITY)
        .chain(UNTIL)
        .find(|row| row.name.eq_ignore_ascii_case(name))
}

#[expect(
    clippy::too_many_arguments,
    reason = "one argument per column of the table"
)]
pub(crate) const fn row(
    name: &'static str,
    header: [&'static str; 4],
    unit: &'static str,
    format: &'static str,
    block: u8,
    need: Need,
    value: fn(&View<'_>) -> Value,
    meaning: &'static str,
) -> Selector {
    Selector {
        name,
        header,
        unit,
        format,
        block,
        need,
        value,
        meaning,
    }
}

/// Selectors that the original does not have: neither `all` nor `?` shows them.
#[rustfmt::skip]
pub static FURTHER: &[Selector] = &[
    row("FLOWS", ["Flows", "", "", ""], "count", "%d", 0, Need::Nothing,
        |v| Value::Count(v.last.many.as_ref().map_or(1, |many| many.each.len() as u64)),
        "data connections at the same time"),
    row("LOCAL_THREADS", ["Local", "Threads", "", ""], "count", "%d", 0, Need::Nothing,
        |v| optional(v.last.local.crew.as_ref().map(|crew| crew.threads)),
        "threads that served them at netperf"),
    row("REMOTE_THREADS", ["Remote", "Threads", "", ""], "count", "%d", 0, Need::Nothing,
        |v| optional(v.last.remote.as_ref().and_then(|end| end.crew.as_ref()).map(|crew| crew.threads)),
        "threads that served them at netserver"),
    row("LOCAL_THREAD_CPUS", ["Local", "Thread", "CPUs", ""], "", "%s", 0, Need::Nothing,
        |v| thread_cpus(Some(&v.last.local)),
        "CPUs that netperf's threads were put on, with blanks between them"),
    row("REMOTE_THREAD_CPUS", ["Remote", "Thread", "CPUs", ""], "", "%s", 0, Need::Nothing,
        |v| thread_cpus(v.last.remote.as_ref()),
        "CPUs that netserver's threads were put on, with blanks between them"),
    row("FAIRNESS", ["Fairness", "Index", "", ""], "1/n to 1", "%.4f", 0, Need::Nothing,
        |v| many(v, |flows| flows.fairness(v.plan().flow)),
        "how evenly the flows shared: Jain's index, 1 when all did the same"),
    row("REMOTE_FAIRNESS", ["Remote", "Fairness", "Index", ""], "1/n to 1", "%.4f", 0, Need::Nothing,
        |v| many(v, |flows| flows.fairness_there),
        "the same as netserver counted: at the end that receives what netperf sends"),
    row("START_SKEW_USEC", ["Start", "Skew", "Microseconds", ""], "microseconds", "%.0f", 0, Need::Nothing,
        |v| many(v, |flows| flows.skew.map(|seconds| seconds * 1e6)),
        "time from the first operation of the first flow to the first one of the last"),
    row("SETUP_USEC", ["Set-up", "Time", "Microseconds", ""], "microseconds", "%.0f", 0, Need::Nothing,
        |v| many(v, |flows| Some(flows.setup * 1e6)),
        "time in which all data connections were opened"),
];

/// Every selector of the original, in order.
#[rustfmt::skip]
pub static SELECTORS: &[Selector] = &[
    row("OUTPUT_NONE", [" ", "", "", ""], "", "%s", 0, Need::Nothing,
        |_| Value::Text(" ".to_owned()),
        "filler column holding one blank"),
    row("SOCKET_TYPE", ["Socket", "Type", "", ""], "text", "%s", 1, Need::Nothing,
        |v| text(socket_type(v)),
        "kind of data socket: Stream, Datagram, DCCP, Seqpacket or Unknown"),
    row("PROTOCOL", ["Protocol", "", "", ""], "text", "%s", 1, Need::Nothing,
        |v| text(v.plan().transport.row().label),
        "transport: TCP, UDP, UDPLite, SCTP, DCCP, SDP, \"IP Default\" or \"Unknown Protocol\""),
    row("DIRECTION", ["Direction", "", "", ""], "text", "%s", 1, Need::Nothing,
        |v| text(v.plan().flow.label()),
        "flow as seen by netperf: Send, Receive, Send|Recv, Connection, Connect|Send|Recv"),
    row("ELAPSED_TIME", ["Elapsed", "Time", "(sec)", ""], "seconds", "%.2f", 1, Need::Nothing,
        |v| Value::Real(v.mean.elapsed),
        "length of the measured run, mean over iterations"),
    row("THROUGHPUT", ["Throughput", "", "", ""], "see THROUGHPUT_UNITS", "%.2f", 1, Need::Nothing,
        |v| Value::Real(v.mean.throughput),
        "headline result, mean over iterations"),
    row("THROUGHPUT_UNITS", ["Throughput", "Units", "", ""], "text", "%s/s", 1, Need::Nothing,
        |v| text(v.unit.label()),
        "name of the unit of THROUGHPUT; value already ends in /s"),
    row("LSS_SIZE_REQ", ["Local", "Send Socket", "Size", "Requested"], "bytes", "%d", 1, Need::Nothing,
        |v| optional(v.local().plan.socket.send_buffer),
        "socket buffer asked for, netperf send side"),
    row("LSS_SIZE", ["Local", "Send Socket", "Size", "Initial"], "bytes", "%d", 1, Need::Nothing,
        |v| Value::Int(v.local().send_buffer()),
        "socket buffer right after the data socket is made, netperf send side"),
    row("LSS_SIZE_END", ["Local", "Send Socket", "Size", "Final"], "bytes", "%d", 1, Need::Nothing,
        |v| final_size(v.local(), v.local().send_buffer(), |end| end.send_buffer_end),
        "socket buffer just before the data socket is closed, netperf send side; equals the initial value when the size was set by option or the socket was never connected"),
    row("LSR_SIZE_REQ", ["Local", "Recv Socket", "Size", "Requested"], "bytes", "%d", 1, Need::Nothing,
        |v| optional(v.local().plan.socket.recv_buffer),
        "socket buffer asked for, netperf receive side"),
    row("LSR_SIZE", ["Local", "Recv Socket", "Size", "Initial"], "bytes", "%d", 1, Need::Nothing,
        |v| Value::Int(v.local().recv_buffer()),
        "socket buffer right after the data socket is made, netperf receive side"),
    row("LSR_SIZE_END", ["Local", "Recv Socket", "Size", "Final"], "bytes", "%d", 1, Need::Nothing,
        |v| final_size(v.local(), v.local().recv_buffer(), |end| end.recv_buffer_end),
        "socket buffer just before the data socket is closed, netperf receive side; equals the initial value when the size was set by option or the socket was never connected"),
    row("RSS_SIZE_REQ", ["Remote", "Send Socket", "Size", "Requested"], "bytes", "%d", 1, Need::Nothing,
        |v| optional(v.remote().plan.socket.send_buffer),
        "socket buffer asked for, netserver send side"),
    row("RSS_SIZE", ["Remote", "Send Socket", "Size", "Initial"], "bytes", "%d", 1, Need::Nothing,
        |v| Value::Int(v.remote().send_buffer()),
        "socket buffer right after the data socket is made, netserver send side"),
    row("RSS_SIZE_END", ["Remote", "Send Socket", "Size", "Final"], "bytes", "%d", 1, Need::Nothing,
        |v| final_size(v.remote(), v.remote().send_buffer(), |end| end.send_buffer_end),
        "socket buffer just before the data socket is closed, netserver send side; equals the initial value when the size was set by option or the socket was never connected"),
    row("RSR_SIZE_REQ", ["Remote", "Recv Socket", "Size", "Requested"], "bytes", "%d", 1, Need::Nothing,
        |v| optional(v.remote().plan.socket.recv_buffer),
        "socket buffer asked for, netserver receive side"),
    row("RSR_SIZE", ["Remote", "Recv Socket", "Size", "Initial"], "bytes", "%d", 1, Need::Nothing,
        |v| Value::Int(v.remote().recv_buffer()),
        "socket buffer right after the data socket is made, netserver receive side"),
    row("RSR_SIZE_END", ["Remote", "Recv Socket", "Size", "Final"], "bytes", "%d", 1, Need::Nothing,
        |v| final_size(v.remote(), v.remote().recv_buffer(), |end| end.recv_buffer_end),
        "socket buffer just before the data socket is closed, netserver receive side; equals the initial value when the size was set by option or the socket was never connected"),
    row("LOCAL_SEND_SIZE", ["Local", "Send", "Size", ""], "bytes", "%d", 1, Need::Nothing,
        |v| local_size(v, v.plan().flow.sends, |setup| setup.send_size),
        "bytes handed to each send by netperf"),
    row("LOCAL_RECV_SIZE", ["Local", "Recv", "Size", ""], "bytes", "%d", 1, Need::Nothing,
        |v| local_size(v, v.plan().flow.receives, |setup| setup.recv_size),
        "bytes asked of each receive by netperf"),
    row("REMOTE_SEND_SIZE", ["Remote", "Send", "Size", ""], "bytes", "%d", 1, Need::Nothing,
        |v| remote_size(v, v.plan().flow.receives, |setup| setup.send_size),
        "bytes handed to each send by netserver"),
    row("REMOTE_RECV_SIZE", ["Remote", "Recv", "Size", ""], "bytes", "%d", 1, Need::Nothing,
        |v| remote_size(v, v.plan().flow.sends, |setup| setup.recv_size),
        "bytes asked of each receive by netserver"),
    row("REQUEST_SIZE", ["Request", "Size", "Bytes", ""], "bytes", "%d", 1, Need::Nothing,
        |v| optional(v.plan().request),
        "request size in force"),
    row("RESPONSE_SIZE", ["Response", "Size", "Bytes", ""], "bytes", "%d", 1, Need::Nothing,
        |v| optional(v.plan().response),
        "response size in force"),
    row("LOCAL_CPU_UTIL", ["Local", "CPU", "Util", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| Value::Real(v.mean.local_cpu),
        "CPU busy on the netperf host, mean over iterations"),
    row("LOCAL_CPU_PERCENT_USER", ["Local", "CPU", "User", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.local(), |shares| shares.user),
        "share of CPU time in user mode on the netperf host, last iteration"),
    row("LOCAL_CPU_PERCENT_SYSTEM", ["Local", "CPU", "System", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.local(), |shares| shares.system),
        "share of CPU time in kernel mode on the netperf host, last iteration"),
    row("LOCAL_CPU_PERCENT_IOWAIT", ["Local", "CPU", "I/O", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.local(), |shares| shares.iowait),
        "share of CPU time in waiting for I/O on the netperf host, last iteration"),
    row("LOCAL_CPU_PERCENT_IRQ", ["Local", "CPU", "IRQ", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.local(), |shares| shares.irq),
        "share of CPU time in hard interrupts on the netperf host, last iteration"),
    row("LOCAL_CPU_PERCENT_SWINTR", ["Local", "CPU", "swintr", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.local(), |shares| shares.softirq),
        "share of CPU time in soft interrupts on the netperf host, last iteration"),
    row("LOCAL_CPU_METHOD", ["Local", "CPU", "Util", "Method"], "letter", "%c", 2, Need::Nothing,
        |v| method(v.local()),
        "how the netperf host measured CPU (U unknown, S /proc/stat, ...)"),
    row("LOCAL_SD", ["Local", "Service", "Demand", ""], "see SD_UNITS", "%.3f", 2, Need::Nothing,
        |v| Value::Real(v.mean.local_demand),
        "service demand: CPU time spent per unit of work on the netperf host, mean over iterations"),
    row("REMOTE_CPU_UTIL", ["Remote", "CPU", "Util", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| Value::Real(v.mean.remote_cpu),
        "CPU busy on the netserver host, mean over iterations"),
    row("REMOTE_CPU_PERCENT_USER", ["Remote", "CPU", "User", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.remote(), |shares| shares.user),
        "share of CPU time in user mode on the netserver host, last iteration"),
    row("REMOTE_CPU_PERCENT_SYSTEM", ["Remote", "CPU", "System", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.remote(), |shares| shares.system),
        "share of CPU time in kernel mode on the netserver host, last iteration"),
    row("REMOTE_CPU_PERCENT_IOWAIT", ["Remote", "CPU", "I/O", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.remote(), |shares| shares.iowait),
        "share of CPU time in waiting for I/O on the netserver host, last iteration"),
    row("REMOTE_CPU_PERCENT_IRQ", ["Remote", "CPU", "IRQ", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.remote(), |shares| shares.irq),
        "share of CPU time in hard interrupts on the netserver host, last iteration"),
    row("REMOTE_CPU_PERCENT_SWINTR", ["Remote", "CPU", "swintr", "%"], "percent", "%.2f", 2, Need::Nothing,
        |v| share(v.remote(), |shares| shares.softirq),
        "share of CPU time in soft interrupts on the netserver host, last iteration"),
    row("REMOTE_CPU_METHOD", ["Remote", "CPU", "Util", "Method"], "letter", "%c", 2, Need::Nothing,
        |v| method(v.remote()),
        "how the netserver host measured CPU (U unknown, S /proc/stat, ...)"),
    row("REMOTE_SD", ["Remote", "Service", "Demand", ""], "see SD_UNITS", "%.3f", 2, Need::Nothing,
        |v| Value::Real(v.mean.remote_demand),
        "service demand: CPU time spent per unit of work on the netserver host, mean over iterations"),
    row("SD_UNITS", ["Service", "Demand", "Units", ""], "text", "%s", 2, Need::Nothing,
        |v| text(demand_unit(v)),
        "unit of both service demands: usec/Tran when the unit letter is x, else usec/KB"),
    row("CONFIDENCE_LEVEL", ["Confidence", "Level", "Percent", ""], "percent", "%d", 2, Need::Nothing,
        |v| Value::Int(v.plan().confidence.map_or(0, |asked| i64::from(asked.level))),
        "requested confidence level, 95 or 99"),
    row("CONFIDENCE_INTERVAL", ["Confidence", "Width", "Target", ""], "percent", "%f", 2, Need::Nothing,
        asked_width,
        "requested full width of the interval"),
    row("CONFIDENCE_ITERATION", ["Confidence", "Iterations", "Run", ""], "count", "%d", 2, Need::Nothing,
        |v| Value::Count(v.outcome.iterations.len() as u64),
        "iterations actually run"),
    row("THROUGHPUT_CONFID", ["Throughput", "Confidence", "Width (%)", ""], "percent", "%.3f", 2, Need::Nothing,
        |v| confidence(v, |reached| reached.result),
        "full width reached for the result"),
    row("LOCAL_CPU_CONFID", ["Local", "CPU", "Confidence", "Width (%)"], "percent", "%.3f", 2, Need::Nothing,
        |v| confidence(v, |reached| reached.local_cpu),
        "full width reached for CPU busy on the netperf host"),
    row("REMOTE_CPU_CONFID", ["Remote", "CPU", "Confidence", "Width (%)"], "percent", "%.3f", 2, Need::Nothing,
        |v| confidence(v, |reached| reached.remote_cpu),
        "full width reached for CPU busy on the netserver host"),
    row("TRANSACTION_RATE", ["Transaction", "Rate", "Tran/s", ""], "transactions/s", "%.3f", 2, Need::Nothing,
        transaction_rate,
        "transaction rate of the last iteration whatever -f says"),
    row("RT_LATENCY", ["Round", "Trip", "Latency", "usec/tran"], "microseconds", "%.3f", 2, Need::Nothing,
        round_trip,
        "mean round trip: 1e6/rate, times (1 + burst) when not a connection test; time spent pausing for -b/-w removed"),
    row("BURST_SIZE", ["Initial", "Burst", "Requests", ""], "count", "%d", 2, Need::Nothing,
        |v| Value::Int(i64::from(v.plan().burst)),
        "extra requests kept in flight"),
    row("LOCAL_TRANSPORT_RETRANS", ["Local", "Transport", "Retransmissions", ""], "count", "%d", 2, Need::Nothing,
        |v| retransmissions(v.local()),
        "TCP retransmissions on the data connection as counted by netperf, last iteration"),
    row("REMOTE_TRANSPORT_RETRANS", ["Remote", "Transport", "Retransmissions", ""], "count", "%d", 2, Need::Nothing,
        |v| retransmissions(v.remote()),
        "TCP retransmissions on the data connection as counted by netserver, last iteration"),
    row("TRANSPORT_MSS", ["Transport", "MSS", "bytes", ""], "bytes", "%d", 2, Need::Nothing,
        |v| optional(v.first.segment_size),
        "segment size read from the data socket the first time"),
    row("LOCAL_SEND_THROUGHPUT", ["Local", "Send", "Throughput", ""], "see THROUGHPUT_UNITS", "%.2f", 3, Need::Nothing,
        |v| Value::Real(v.directional(v.local()).0),
        "rate of bytes sent by netperf, last iteration"),
    row("LOCAL_RECV_THROUGHPUT", ["Local", "Recv", "Throughput", ""], "see THROUGHPUT_UNITS", "%.2f", 3, Need::Nothing,
        |v| Value::Real(v.directional(v.local()).1),
        "rate of bytes received by netperf, last iteration"),
    row("REMOTE_SEND_THROUGHPUT", ["Remote", "Send", "Throughput", ""], "see THROUGHPUT_UNITS", "%.2f", 3, Need::Nothing,
        |v| Value::Real(v.directional(v.remote()).0),
        "rate of bytes sent by netserver, last iteration"),
    row("REMOTE_RECV_THROUGHPUT", ["Remote", "Recv", "Throughput", ""], "see THROUGHPUT_UNITS", "%.2f", 3, Need::Nothing,
        |v| Value::Real(v.directional(v.remote()).1),
        "rate of bytes received by netserver, last iteration"),
    row("LOCAL_CPU_BIND", ["Local", "CPU", "Bind", ""], "CPU id", "%d", 3, Need::Nothing,
        |v| optional(v.local().plan.bind),
        "CPU netperf was bound to"),
    row("LOCAL_CPU_COUNT", ["Local", "CPU", "Count", ""], "count", "%d", 3, Need::Nothing,
        |v| Value::Int(v.local().cpu().map_or(0, |cpu| i64::from(cpu.cpus))),
        "CPUs seen by netperf"),
    row("LOCAL_CPU_PEAK_UTIL", ["Local", "Peak", "Per CPU", "Util %"], "percent", "%.2f", 3, Need::Nothing,
        |v| peak(v.local(), NOT_MEASURED, |cpu| Value::Real(cpu.peak_busy)),
        "busiest single CPU on the netperf host"),
    row("LOCAL_CPU_PEAK_ID", ["Local", "Peak", "Per CPU", "ID"], "CPU id", "%d", 3, Need::Nothing,
        |v| peak(v.local(), NOT_MEASURED, |cpu| Value::Int(i64::from(cpu.peak_id))),
        "which CPU that was"),
    row("LOCAL_CPU_MODEL", ["Local", "CPU", "Model", ""], "text", "%s", 3, Need::Hosts,
        |v| host_text(v.local(), |host| &host.cpu_model),
        "what the maker calls the CPU of the netperf host"),
    row("LOCAL_CPU_FREQUENCY", ["Local", "CPU", "Frequency", "MHz"], "MHz", "%d", 3, Need::Hosts,
        |v| host_frequency(v.local()),
        "clock frequency of the CPU of the netperf host, the highest it can have where that is known; 0 when it cannot be told"),
    row("REMOTE_CPU_BIND", ["Remote", "CPU", "Bind", ""], "CPU id", "%d", 3, Need::Nothing,
        |v| optional(v.remote().plan.bind),
        "CPU netserver was asked to bind to"),
    row("REMOTE_CPU_COUNT", ["Remote", "CPU", "Count", ""], "count", "%d", 3, Need::Nothing,
        |v| Value::Int(v.remote().cpu().map_or(0, |cpu| i64::from(cpu.cpus))),
        "CPUs seen by netserver"),
    row("REMOTE_CPU_PEAK_UTIL", ["Remote", "Peak", "Per CPU", "Util %"], "percent", "%.2f", 3, Need::Nothing,
        |v| peak(v.remote(), Value::Real(0.0), |cpu| Value::Real(cpu.peak_busy)),
        "busiest single CPU on the netserver host"),
    row("REMOTE_CPU_PEAK_ID", ["Remote", "Peak", "Per CPU", "ID"], "CPU id", "%d", 3, Need::Nothing,
        |v| peak(v.remote(), Value::Int(0), |cpu| Value::Int(i64::from(cpu.peak_id))),
        "which CPU that was"),
    row("REMOTE_CPU_MODEL", ["Remote", "CPU", "Model", ""], "text", "%s", 3, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.cpu_model),
        "what the maker calls the CPU of the netserver host"),
    row("REMOTE_CPU_FREQUENCY", ["Remote", "CPU", "Frequency", "MHz"], "MHz", "%d", 3, Need::Hosts,
        |v| host_frequency(v.remote()),
        "clock frequency of the CPU of the netserver host, the highest it can have where that is known; 0 when it cannot be told"),
    row("SOURCE_PORT", ["Source", "Port", "", ""], "text", "%s", 3, Need::Nothing,
        |v| text(&v.plan().local_data.port),
        "local data port exactly as given (service name or number)"),
    row("SOURCE_ADDR", ["Source", "Address", "", ""], "text", "%s", 3, Need::Nothing,
        |v| text(&v.plan().local_data.host),
        "local data host exactly as given"),
    row("SOURCE_FAMILY", ["Source", "Family", "", ""], "address family number", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.plan().local_data.family.number())),
        "local data family: 0 unspecified, 2 IPv4, 10 IPv6 on Linux"),
    row("DEST_PORT", ["Destination", "Port", "", ""], "text", "%s", 3, Need::Nothing,
        |v| text(&v.plan().remote_data.port),
        "remote data port exactly as given"),
    row("DEST_ADDR", ["Destination", "Address", "", ""], "text", "%s", 3, Need::Nothing,
        |v| text(&v.plan().remote_data.host),
        "remote data host exactly as given"),
    row("DEST_FAMILY", ["Destination", "Family", "", ""], "address family number", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(destination_family(v).number())),
        "remote data family"),
    row("LOCAL_SEND_CALLS", ["Local", "Send", "Calls", ""], "count", "%u", 3, Need::Nothing,
        |v| Value::Count(v.local().count(|end| end.tally.send_calls)),
        "successful sends by netperf, last iteration"),
    row("LOCAL_RECV_CALLS", ["Local", "Recv", "Calls", ""], "count", "%u", 3, Need::Nothing,
        |v| Value::Count(v.local().count(|end| end.tally.recv_calls)),
        "receives that returned data to netperf, last iteration"),
    row("LOCAL_BYTES_PER_RECV", ["Local", "Bytes", "Per", "Recv"], "bytes", "%.2f", 3, Need::Nothing,
        |v| per_recv(v.local()),
        "mean bytes per receive by netperf; 0.00 when there was none"),
    row("LOCAL_BYTES_PER_SEND", ["Local", "Bytes", "Per", "Send"], "bytes", "%.2f", 3, Need::Nothing,
        |v| per_send(v.local()),
        "mean bytes per send by netperf; 0.00 when there was none"),
    row("LOCAL_BYTES_SENT", ["Local", "Bytes", "Sent", ""], "bytes", "%u", 3, Need::Nothing,
        |v| Value::Count(v.local().count(|end| end.tally.bytes_sent)),
        "bytes sent by netperf, last iteration"),
    row("LOCAL_BYTES_RECVD", ["Local", "Bytes", "Received", ""], "bytes", "%u", 3, Need::Nothing,
        |v| Value::Count(v.local().count(|end| end.tally.bytes_received)),
        "bytes received by netperf, last iteration"),
    row("LOCAL_BYTES_XFERD", ["Local", "Bytes", "Xferred", ""], "bytes", "%.0f", 3, Need::Nothing,
        |v| transferred(v.local()),
        "sent plus received by netperf"),
    row("LOCAL_SEND_OFFSET", ["Local", "Send", "Offset", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.local().setting(|plan| plan.send.offset)),
        "offset of send buffers from their alignment, netperf"),
    row("LOCAL_RECV_OFFSET", ["Local", "Recv", "Offset", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.local().setting(|plan| plan.recv.offset)),
        "offset of receive buffers from their alignment, netperf"),
    row("LOCAL_SEND_ALIGN", ["Local", "Send", "Alignment", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.local().setting(|plan| plan.send.align)),
        "alignment of send buffers, netperf"),
    row("LOCAL_RECV_ALIGN", ["Local", "Recv", "Alignment", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.local().setting(|plan| plan.recv.align)),
        "alignment of receive buffers, netperf"),
    row("LOCAL_SEND_WIDTH", ["Local", "Send", "Width", ""], "count", "%d", 3, Need::Nothing,
        |v| width(v.local(), |setup| setup.send_width),
        "buffers in the send ring of netperf"),
    row("LOCAL_RECV_WIDTH", ["Local", "Recv", "Width", ""], "count", "%d", 3, Need::Nothing,
        |v| width(v.local(), |setup| setup.recv_width),
        "buffers in the receive ring of netperf"),
    row("LOCAL_SEND_DIRTY_COUNT", ["Local", "Send", "Dirty", "Count"], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.local().plan.touch.dirty)),
        "bytes written before each send by netperf"),
    row("LOCAL_RECV_DIRTY_COUNT", ["Local", "Recv", "Dirty", "Count"], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.local().plan.touch.dirty)),
        "same number as the send dirty count of netperf"),
    row("LOCAL_RECV_CLEAN_COUNT", ["Local", "Recv", "Clean", "Count"], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.local().plan.touch.clean)),
        "bytes read before each receive by netperf"),
    row("LOCAL_NODELAY", ["Local", "NODELAY", "", ""], "0/1", "%d", 3, Need::Nothing,
        |v| Value::Int(v.local().setting(|plan| u32::from(plan.socket.nodelay))),
        "no-delay option wanted on the netperf socket"),
    row("LOCAL_CORK", ["Local", "Cork", "", ""], "0/1", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.local().plan.socket.cork)),
        "cork option wanted (only the netperf socket really gets it)"),
    row("REMOTE_SEND_CALLS", ["Remote", "Send", "Calls", ""], "count", "%u", 3, Need::Nothing,
        |v| Value::Count(v.remote().count(|end| end.tally.send_calls)),
        "successful sends by netserver, last iteration"),
    row("REMOTE_RECV_CALLS", ["Remote", "Recv", "Calls", ""], "count", "%u", 3, Need::Nothing,
        |v| Value::Count(v.remote().count(|end| end.tally.recv_calls)),
        "receives that returned data to netserver, last iteration"),
    row("REMOTE_BYTES_PER_RECV", ["Remote", "Bytes", "Per", "Recv"], "bytes", "%.2f", 3, Need::Nothing,
        |v| per_recv(v.remote()),
        "mean bytes per receive by netserver; 0.00 when there was none"),
    row("REMOTE_BYTES_PER_SEND", ["Remote", "Bytes", "Per", "Send"], "bytes", "%.2f", 3, Need::Nothing,
        |v| per_send(v.remote()),
        "mean bytes per send by netserver; 0.00 when there was none"),
    row("REMOTE_BYTES_SENT", ["Remote", "Bytes", "Sent", ""], "bytes", "%u", 3, Need::Nothing,
        |v| Value::Count(v.remote().count(|end| end.tally.bytes_sent)),
        "bytes sent by netserver, last iteration"),
    row("REMOTE_BYTES_RECVD", ["Remote", "Bytes", "Received", ""], "bytes", "%u", 3, Need::Nothing,
        |v| Value::Count(v.remote().count(|end| end.tally.bytes_received)),
        "bytes received by netserver, last iteration"),
    row("REMOTE_BYTES_XFERD", ["Remote", "Bytes", "Xferred", ""], "bytes", "%.0f", 3, Need::Nothing,
        remote_transferred,
        "sent plus received by netserver"),
    row("REMOTE_SEND_OFFSET", ["Remote", "Send", "Offset", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.remote().setting(|plan| plan.send.offset)),
        "offset of send buffers from their alignment, netserver"),
    row("REMOTE_RECV_OFFSET", ["Remote", "Recv", "Offset", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.remote().setting(|plan| plan.recv.offset)),
        "offset of receive buffers from their alignment, netserver"),
    row("REMOTE_SEND_ALIGN", ["Remote", "Send", "Alignment", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.remote().setting(|plan| plan.send.align)),
        "alignment of send buffers, netserver"),
    row("REMOTE_RECV_ALIGN", ["Remote", "Recv", "Alignment", ""], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(v.remote().setting(|plan| plan.recv.align)),
        "alignment of receive buffers, netserver"),
    row("REMOTE_SEND_WIDTH", ["Remote", "Send", "Width", ""], "count", "%d", 3, Need::Nothing,
        |v| width(v.remote(), |setup| setup.send_width),
        "buffers in the send ring of netserver"),
    row("REMOTE_RECV_WIDTH", ["Remote", "Recv", "Width", ""], "count", "%d", 3, Need::Nothing,
        |v| width(v.remote(), |setup| setup.recv_width),
        "buffers in the receive ring of netserver"),
    row("REMOTE_SEND_DIRTY_COUNT", ["Remote", "Send", "Dirty", "Count"], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.remote().plan.touch.dirty)),
        "bytes written before each send by netserver"),
    row("REMOTE_RECV_DIRTY_COUNT", ["Remote", "Recv", "Dirty", "Count"], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.remote().plan.touch.dirty)),
        "same number as the send dirty count of netserver"),
    row("REMOTE_RECV_CLEAN_COUNT", ["Remote", "Recv", "Clean", "Count"], "bytes", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.remote().plan.touch.clean)),
        "bytes read before each receive by netserver"),
    row("REMOTE_NODELAY", ["Remote", "NODELAY", "", ""], "0/1", "%d", 3, Need::Nothing,
        |v| Value::Int(v.remote().setting(|plan| u32::from(plan.socket.nodelay))),
        "no-delay option wanted on the netserver socket"),
    row("REMOTE_CORK", ["Remote", "Cork", "", ""], "0/1", "%d", 3, Need::Nothing,
        |v| Value::Int(i64::from(v.remote().plan.socket.cork)),
        "cork option wanted (only the netperf socket really gets it)"),
    row("LOCAL_SYSNAME", ["Local", "Sysname", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.sysname),
        "operating system of the netperf host (uname)"),
    row("LOCAL_SYSTEM_MODEL", ["Local", "System", "Model", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.system_model),
        "what the maker calls the netperf host"),
    row("LOCAL_RELEASE", ["Local", "Release", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.release),
        "kernel release of the netperf host"),
    row("LOCAL_VERSION", ["Local", "Version", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.version),
        "kernel version of the netperf host: how and when it was built"),
    row("LOCAL_MACHINE", ["Local", "Machine", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.machine),
        "hardware of the netperf host, such as x86_64"),
    row("REMOTE_SYSNAME", ["Remote", "Sysname", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.sysname),
        "operating system of the netserver host (uname)"),
    row("REMOTE_SYSTEM_MODEL", ["Remote", "System", "Model", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.system_model),
        "what the maker calls the netserver host"),
    row("REMOTE_RELEASE", ["Remote", "Release", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.release),
        "kernel release of the netserver host"),
    row("REMOTE_VERSION", ["Remote", "Version", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.version),
        "kernel version of the netserver host: how and when it was built"),
    row("REMOTE_MACHINE", ["Remote", "Machine", "", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.machine),
        "hardware of the netserver host, such as x86_64"),
    row("LOCAL_INTERFACE_NAME", ["Local", "Interface", "Name", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.interface.name),
        "interface that data leaves the netperf host through"),
    row("LOCAL_INTERFACE_VENDOR", ["Local", "Interface", "Vendor", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.local(), |ids| ids.vendor),
        "PCI vendor of that interface of the netperf host; 0 when it is not a PCI device, 0xfffffffe when it cannot be told"),
    row("LOCAL_INTERFACE_DEVICE", ["Local", "Interface", "Device", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.local(), |ids| ids.device),
        "PCI device id of that interface of the netperf host, as for the vendor"),
    row("LOCAL_INTERFACE_SUBVENDOR", ["Local", "Interface", "Subvendor", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.local(), |ids| ids.subvendor),
        "PCI subsystem vendor of that interface of the netperf host, as for the vendor"),
    row("LOCAL_INTERFACE_SUBDEVICE", ["Local", "Interface", "Subdevice", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.local(), |ids| ids.subdevice),
        "PCI subsystem device id of that interface of the netperf host, as for the vendor"),
    row("LOCAL_DRIVER_NAME", ["Local", "Driver", "Name", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.interface.driver),
        "driver of that interface of the netperf host; none where it has none"),
    row("LOCAL_DRIVER_VERSION", ["Local", "Driver", "Version", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.interface.driver_version),
        "version of that driver of the netperf host"),
    row("LOCAL_DRIVER_FIRMWARE", ["Local", "Driver", "Firmware", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.interface.firmware),
        "version of the firmware of that interface of the netperf host"),
    row("LOCAL_DRIVER_BUS", ["Local", "Driver", "Bus", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.interface.bus),
        "bus address of that interface of the netperf host"),
    row("LOCAL_INTERFACE_SLOT", ["Local", "Interface", "Slot", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.interface.slot),
        "slot of that interface of the netperf host: its number, or else the PCI address"),
    row("REMOTE_INTERFACE_NAME", ["Remote", "Interface", "Name", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.interface.name),
        "interface that data leaves the netserver host through"),
    row("REMOTE_INTERFACE_VENDOR", ["Remote", "Interface", "Vendor", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.remote(), |ids| ids.vendor),
        "PCI vendor of that interface of the netserver host; 0 when it is not a PCI device, 0xfffffffe when it cannot be told"),
    row("REMOTE_INTERFACE_DEVICE", ["Remote", "Interface", "Device", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.remote(), |ids| ids.device),
        "PCI device id of that interface of the netserver host, as for the vendor"),
    row("REMOTE_INTERFACE_SUBVENDOR", ["Remote", "Interface", "Subvendor", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.remote(), |ids| ids.subvendor),
        "PCI subsystem vendor of that interface of the netserver host, as for the vendor"),
    row("REMOTE_INTERFACE_SUBDEVICE", ["Remote", "Interface", "Subdevice", ""], "hex id", "0x%.4x", 4, Need::Hosts,
        |v| host_id(v.remote(), |ids| ids.subdevice),
        "PCI subsystem device id of that interface of the netserver host, as for the vendor"),
    row("REMOTE_DRIVER_NAME", ["Remote", "Driver", "Name", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.interface.driver),
        "driver of that interface of the netserver host; none where it has none"),
    row("REMOTE_DRIVER_VERSION", ["Remote", "Driver", "Version", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.interface.driver_version),
        "version of that driver of the netserver host"),
    row("REMOTE_DRIVER_FIRMWARE", ["Remote", "Driver", "Firmware", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.interface.firmware),
        "version of the firmware of that interface of the netserver host"),
    row("REMOTE_DRIVER_BUS", ["Remote", "Driver", "Bus", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.interface.bus),
        "bus address of that interface of the netserver host"),
    row("REMOTE_INTERFACE_SLOT", ["Remote", "Interface", "Slot", ""], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.interface.slot),
        "slot of that interface of the netserver host: its number, or else the PCI address"),
    row("LOCAL_INTERVAL_USECS", ["Local", "Interval", "Usecs", ""], "microseconds", "%d", 4, Need::Nothing,
        |v| interval(v.local()),
        "pause interval asked for, netperf side"),
    row("LOCAL_INTERVAL_BURST", ["Local", "Interval", "Burst", ""], "count", "%d", 4, Need::Nothing,
        |v| Value::Int(v.local().plan.pace.map_or(0, |pace| i64::from(pace.burst))),
        "operations per interval, netperf side"),
    row("REMOTE_INTERVAL_USECS", ["Remote", "Interval", "Usecs", ""], "microseconds", "%d", 4, Need::Nothing,
        |v| interval(v.remote()),
        "pause interval asked for, netserver side"),
    row("REMOTE_INTERVAL_BURST", ["Remote", "Interval", "Burst", ""], "count", "%d", 4, Need::Nothing,
        |v| Value::Int(v.remote().plan.pace.map_or(0, |pace| i64::from(pace.burst))),
        "operations per interval, netserver side"),
    row("LOCAL_SECURITY_TYPE_ID", ["Local", "OS", "Security", "Type ID"], "number", "%d", 4, Need::Hosts,
        |v| security_type_id(v.local()),
        "number of the security framework of the netperf host: 1 none, 2 SELinux, 3 AppArmor, 4 Smack, 5 TOMOYO; 0 when it cannot be told"),
    row("LOCAL_SECURITY_TYPE", ["Local", "OS", "Security", "Type"], "text", "%s", 4, Need::Hosts,
        |v| security_type(v.local()),
        "security framework of the netperf host"),
    row("LOCAL_SECURITY_ENABLED_NUM", ["Local", "OS", "Security", "Enabled Num"], "number", "%d", 4, Need::Hosts,
        |v| security_mode_id(v.local()),
        "whether it is in force on the netperf host: 1 disabled, 2 permissive, 3 enforcing; 0 when it cannot be told"),
    row("LOCAL_SECURITY_ENABLED", ["Local", "OS", "Security", "Enabled"], "text", "%s", 4, Need::Hosts,
        |v| security_mode(v.local()),
        "whether it is in force on the netperf host: Disabled, Permissive or Enforcing"),
    row("LOCAL_SECURITY_SPECIFIC", ["Local", "OS", "Security", "Specific"], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.local(), |host| &host.security.specific),
        "policy (SELinux) or confinement of the program (others) on the netperf host"),
    row("REMOTE_SECURITY_TYPE_ID", ["Remote", "OS", "Security", "Type"], "number", "%d", 4, Need::Hosts,
        |v| security_type_id(v.remote()),
        "number of the security framework of the netserver host: 1 none, 2 SELinux, 3 AppArmor, 4 Smack, 5 TOMOYO; 0 when it cannot be told"),
    row("REMOTE_SECURITY_TYPE", ["Remote", "OS", "Security", "Type"], "text", "%s", 4, Need::Hosts,
        |v| security_type(v.remote()),
        "security framework of the netserver host"),
    row("REMOTE_SECURITY_ENABLED_NUM", ["Remote", "OS", "Security", "Enabled"], "number", "%d", 4, Need::Hosts,
        |v| security_mode_id(v.remote()),
        "whether it is in force on the netserver host: 1 disabled, 2 permissive, 3 enforcing; 0 when it cannot be told"),
    row("REMOTE_SECURITY_ENABLED", ["Remote", "OS", "Security", "Enabled"], "text", "%s", 4, Need::Hosts,
        |v| security_mode(v.remote()),
        "whether it is in force on the netserver host: Disabled, Permissive or Enforcing"),
    row("REMOTE_SECURITY_SPECIFIC", ["Remote", "OS", "Security", "Specific"], "text", "%s", 4, Need::Hosts,
        |v| host_text(v.remote(), |host| &host.security.specific),
        "policy (SELinux) or confinement of the program (others) on the netserver host"),
    row("RESULT_BRAND", ["Result", "Tag", "", ""], "text", "\"%s\"", 4, Need::Nothing,
        brand,
        "tag given by the user, printed inside double quotes"),
    row("UUID", ["Test", "UUID", "", ""], "text", "%s", 4, Need::Nothing,
        |v| text(&v.outcome.uuid),
        "identifier of this run"),
    row("MIN_LATENCY", ["Minimum", "Latency", "Microseconds", ""], "microseconds", "%d", 4, Need::Latency,
        |v| micros(v, Statistic::Minimum),
        "shortest operation time (transaction, send call or receive call)"),
    row("MAX_LATENCY", ["Maximum", "Latency", "Microseconds", ""], "microseconds", "%d", 4, Need::Latency,
        |v| micros(v, Statistic::Maximum),
        "longest operation time (transaction, send call or receive call)"),
    row("P50_LATENCY", ["50th", "Percentile", "Latency", "Microseconds"], "microseconds", "%d", 4, Need::Latency,
        |v| micros(v, Statistic::Quantile(0.5)),
        "median operation time (transaction, send call or receive call)"),
    row("P90_LATENCY", ["90th", "Percentile", "Latency", "Microseconds"], "microseconds", "%d", 4, Need::Latency,
        |v| micros(v, Statistic::Quantile(0.9)),
        "90th percentile operation time (transaction, send call or receive call)"),
    row("P99_LATENCY", ["99th", "Percentile", "Latency", "Microseconds"], "microseconds", "%d", 4, Need::Latency,
        |v| micros(v, Statistic::Quantile(0.99)),
        "99th percentile operation time (transaction, send call or receive call)"),
    row("MEAN_LATENCY", ["Mean", "Latency", "Microseconds", ""], "microseconds", "%.2f", 4, Need::Latency,
        |v| micros(v, Statistic::Mean),
        "mean operation time (transaction, send call or receive call)"),
    row("STDDEV_LATENCY", ["Stddev", "Latency", "Microseconds", ""], "microseconds", "%.2f", 4, Need::Latency,
        |v| micros(v, Statistic::Deviation),
        "standard deviation of operation time (transaction, send call or receive call)"),
    row("LOCAL_SOCKET_PRIO", ["Local", "Socket", "Priority", ""], "number", "%d", 4, Need::Nothing,
        |v| socket_option(v.local(), |setup| setup.priority),
        "socket priority on the netperf side"),
    row("REMOTE_SOCKET_PRIO", ["Remote", "Socket", "Priority", ""], "number", "%d", 4, Need::Nothing,
        |v| socket_option(v.remote(), |setup| setup.priority),
        "socket priority on the netserver side"),
    row("LOCAL_SOCKET_TOS", ["Local", "Socket", "TOS", ""], "hex", "0x%.2x", 4, Need::Nothing,
        |v| tos(v.local()),
        "type-of-service byte on the netperf side"),
    row("REMOTE_SOCKET_TOS", ["Remote", "Socket", "TOS", ""], "hex", "0x%.2x", 4, Need::Nothing,
        |v| tos(v.remote()),
        "type-of-service byte on the netserver side"),
    row("LOCAL_CONG_CONTROL", ["Local", "Congestion", "Control", "Algorithm"], "text", "%s", 4, Need::Congestion,
        |v| congestion(v.local()),
        "congestion control in use on the netperf side; \"TCP Only\" for a connected non-TCP socket; empty when the socket was not connected at the end (UDP, connection tests)"),
    row("REMOTE_CONG_CONTROL", ["Remote", "Congestion", "Control", "Algorithm"], "text", "%s", 4, Need::Congestion,
        |v| congestion(v.remote()),
        "congestion control in use on the netserver side; \"TCP Only\" for a connected non-TCP socket; empty when the socket was not connected at the end (UDP, connection tests)"),
    row("LOCAL_FILL_FILE", ["Local", "Fill", "File", ""], "text", "%s", 4, Need::Nothing,
        |v| fill_file(v.local()),
        "file used to fill buffers, netperf side"),
    row("REMOTE_FILL_FILE", ["Remote", "Fill", "File", ""], "text", "%s", 4, Need::Nothing,
        |v| fill_file(v.remote()),
        "file used to fill buffers, netserver side"),
    row("COMMAND_LINE", ["Command", "Line", "", ""], "text", "\"%s\"", 4, Need::Nothing,
        |v| text(&v.report.command_line),
        "all arguments including argv[0], joined by single blanks, inside double quotes"),
    row("OUTPUT_END", ["This", "Is", "The", "End"], "", "%s", 0, Need::Nothing,
        |_| Value::Text(String::new()),
        "ends the block it appears in; listed but never printed"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmt::{Piece, pieces};

    #[test]
    fn names_are_upper_case_and_each_is_found_in_any_case() {
        for row in SELECTORS {
            assert_eq!(row.name, row.name.to_uppercase());
            let found = by_name(&row.name.to_lowercase()).expect("the selector");
            assert!(std::ptr::eq(found, row), "{} twice", row.name);
        }
    }

    #[test]
    fn the_filler_comes_first_and_the_end_last() {
        assert_eq!(SELECTORS.len(), 175);
        assert_eq!(SELECTORS.first().map(|row| row.name), Some(OUTPUT_NONE));
        assert_eq!(SELECTORS.last().map(|row| row.name), Some(OUTPUT_END));
    }

    #[test]
    fn the_blocks_of_all_follow_one_another() {
        let numbers: Vec<u8> = SELECTORS.iter().map(|row| row.block).collect();
        let inner = &numbers[1..numbers.len() - 1];
        assert!(inner.is_sorted());
        assert_eq!((inner.first(), inner.last()), (Some(&1), Some(&4)));
        assert_eq!((numbers[0], numbers[174]), (0, 0));
    }

    #[test]
    fn every_format_has_exactly_one_conversion() {
        for row in SELECTORS {
            let fields = pieces(row.format);
            let fields = fields
                .iter()
                .filter(|piece| matches!(piece, Piece::Field(_)));
            assert_eq!(fields.count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn header_lines_have_no_gaps() {
        for row in SELECTORS {
            let used = row.header.iter().position(|line| line.is_empty());
            let rest = &row.header[used.unwrap_or(4)..];
            assert!(rest.iter().all(|line| line.is_empty()), "{}", row.name);
            assert!(!row.meaning.is_empty(), "{}", row.name);
        }
    }
}
