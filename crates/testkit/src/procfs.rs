//! Facts about processes from Linux's `/proc`.

use std::fs::{self, File};
use std::io::Read as _;
use std::time::Duration;

/// Every process there is.
pub fn all() -> Vec<u32> {
    fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Fields of `/proc/<pid>/stat` behind the name, which may itself hold blanks:
/// state first, then the parent.
fn stat(pid: u32) -> Option<Vec<String>> {
    // One read(2): some tests look at all processes again and again.
    let mut bytes = [0; 1024];
    let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
    let length = file.read(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(bytes.get(..length)?);
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// True if the process exists and is more than an entry waiting to be reaped.
pub fn alive(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields.first().is_some_and(|state| state != "Z"))
}

/// Processor time that the threads of a process have used. Zero for a process that is gone.
/// Exact: the clock ticks in `/proc/<pid>/stat` miss a process that runs for short times.
pub fn processor_time(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().filter_map(Result::ok);
    let used = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(used.sum())
}

/// Context switches of the threads of a process that waited: how often it slept.
pub fn voluntary_switches(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().filter_map(Result::ok);
    let switches = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    });
    switches.sum()
}

/// Processor time of the children of a process that have ended, and of theirs; in steps of a clock
/// tick, 10 ms.
pub fn processor_time_of_ended(pid: u32) -> Duration {
    let fields = stat(pid).unwrap_or_default();
    // cutime and cstime of proc_pid_stat(5), fields 16 and 17.
    let ticks = fields.get(13..15).unwrap_or_default().iter();
    let ticks = ticks.filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// Memory that new programs can use without swapping (`MemAvailable`), bytes.
pub fn available_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").expect("facts about memory");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.expect("the available memory") * 1024
}

/// Packets that the queues of all processors have dropped (`net.core.netdev_max_backlog`), in all
/// network namespaces.
pub fn dropped_by_processors() -> u64 {
    let text = fs::read_to_string("/proc/net/softnet_stat").expect("statistics of the kernel");
    let second = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1));
    second
        .filter_map(|count| u64::from_str_radix(count, 16).ok())
        .sum()
}

/// Every process, and its parent.
fn parents() -> Vec<(u32, u32)> {
    let parent = |pid: u32| stat(pid)?.get(1)?.parse().ok();
    let pairs = all().into_iter();
    pairs.filter_map(|pid| Some((pid, parent(pid)?))).collect()
}

/// Direct children of a process, entries waiting to be reaped included.
pub fn children(pid: u32) -> Vec<u32> {
    children_in(&parents(), pid).collect()
}

fn children_in(parents: &[(u32, u32)], pid: u32) -> impl Iterator<Item = u32> {
    let own = parents.iter().filter(move |(_, parent)| *parent == pid);
    own.map(|(child, _)| *child)
}

/// Children, their children, and so on.
pub fn descendants(pid: u32) -> Vec<u32> {
    let parents = parents();
    let mut found: Vec<u32> = children_in(&parents, pid).collect();
    let mut next = 0;
    while let Some(&child) = found.get(next) {
        found.extend(children_in(&parents, child));
        next += 1;
    }
    found
}

/// Number of open descriptors.
pub fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// The short name a process goes by, as `ps -C`, `pidof` and `killall` see it.
pub fn name(pid: u32) -> Option<String> {
    Some(
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .ok()?
            .trim_end()
            .to_owned(),
    )
}

/// The words a process was started with.
pub fn words(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .split_terminator('\0')
        .map(str::to_owned)
        .collect()
}

/// Processes whose words end with exactly `tail`.
pub fn with_words(tail: &[&str]) -> Vec<u32> {
    all()
        .into_iter()
        .filter(|&pid| {
            let words = words(pid);
            words.len() > tail.len()
                && words
                    .iter()
                    .rev()
                    .zip(tail.iter().rev())
                    .all(|(a, b)| a == b)
        })
        .collect()
}

/// Bytes of datagrams that wait at the sockets of a port of this network which have no peer.
pub fn datagrams_queued(port: u16) -> u64 {
    let (local, unconnected) = (format!(":{port:04X}"), ":0000");
    let texts = ["udp", "udp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")));
    let lines = texts.iter().flatten().flat_map(|text| text.lines());
    let queued = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, own, peer, _, queues, ..] = fields[..] else {
            return None;
        };
        let is_here = own.ends_with(&local) && peer.ends_with(unconnected);
        let (_, received) = queues.split_once(':').filter(|_| is_here)?;
        u64::from_str_radix(received, 16).ok()
    };
    lines.filter_map(queued).sum()
}

/// True if a TCP socket listens at a port of this network, or a UDP socket is bound to it.
pub fn is_bound(port: u16, udp: bool) -> bool {
    let tables = if udp {
        ["udp", "udp6"]
    } else {
        ["tcp", "tcp6"]
    };
    let (wanted, state) = (format!(":{port:04X}"), if udp { "07" } else { "0A" });
    tables.iter().any(|table| {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        text.lines().any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            fields.next().is_some_and(|local| local.ends_with(&wanted))
                && fields.nth(1) == Some(state)
        })
    })
}
