//! The programs that are compared: how each is started, told, and read.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use netperf_testkit::peers::Make;
use netperf_testkit::{Finished, Invocation, Running, eventually, procfs, server};
use serde_json::Value;

use crate::options::{Options, pin};

/// Another program that measures networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Iperf3,
    Iperf,
    Sockperf,
}

impl Tool {
    pub(crate) const ALL: [Self; 3] = [Self::Iperf3, Self::Iperf, Self::Sockperf];

    /// The program, and Debian's package.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Iperf3 => "iperf3",
            Self::Iperf => "iperf",
            Self::Sockperf => "sockperf",
        }
    }

    pub(crate) fn program(self) -> PathBuf {
        Path::new("/usr/bin").join(self.name())
    }
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub(crate) enum Side {
    /// netperf and netserver.
    Netperf {
        client: Make,
        server: Make,
        /// In front of `--`.
        words: Vec<&'static str>,
        /// Behind it.
        sizes: Vec<&'static str>,
        /// Its figure can be asked for by name; otherwise it is read off the table.
        by_name: bool,
    },
    /// Client and server of another program, or ours under its name.
    Peer {
        tool: Tool,
        client: Make,
        server: Make,
        udp: bool,
        /// Bytes of a message.
        size: u32,
        flows: u32,
    },
    /// This many at the same time; the sum is what counts.
    Crowd(u32, Box<Self>),
}

impl Side {
    pub(crate) fn netperf(
        client: Make,
        server: Make,
        words: &[&'static str],
        sizes: &[&'static str],
        by_name: bool,
    ) -> Self {
        Self::Netperf {
            client,
            server,
            words: words.to_vec(),
            sizes: sizes.to_vec(),
            by_name,
        }
    }

    /// Another program's client and server.
    pub(crate) const fn peer(tool: Tool, udp: bool, size: u32, flows: u32) -> Self {
        Self::Peer {
            tool,
            client: Make::Stock,
            server: Make::Stock,
            udp,
            size,
            flows,
        }
    }

    /// Name in the table.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Netperf {
                client,
                server,
                words,
                ..
            } => {
                let name = match (client, server) {
                    (Make::Ours, Make::Ours) => "ours",
                    (Make::Stock, Make::Stock) => "netperf 2.7.0",
                    (Make::Ours, Make::Stock) => "ours to 2.7.0",
                    (Make::Stock, Make::Ours) => "2.7.0 to ours",
                };
                if words.contains(&"-j") {
                    format!("{name}, -j")
                } else {
                    name.to_owned()
                }
            }
            Self::Peer { tool, flows, .. } => {
                let name = tool.name();
                let flows = match flows {
                    1 => String::new(),
                    _ => format!(" -P {flows}"),
                };
                format!("{name}{flows}")
            }
            Self::Crowd(number, one) => format!("{number} × {}", one.shown()),
        }
    }

    /// The other programs it takes.
    pub(crate) fn tool(&self) -> Option<Tool> {
        match self {
            Self::Netperf { .. } => None,
            Self::Peer { tool, .. } => Some(*tool),
            Self::Crowd(_, one) => one.tool(),
        }
    }

    /// True if it needs the original.
    pub(crate) fn is_stock(&self) -> bool {
        match self {
            Self::Netperf { client, server, .. } => {
                *client == Make::Stock || *server == Make::Stock
            }
            Self::Peer { .. } => false,
            Self::Crowd(_, one) => one.is_stock(),
        }
    }

    /// True if it draws on a terminal.
    fn is_live(&self) -> bool {
        match self {
            Self::Netperf { words, .. } => words.contains(&"--live"),
            Self::Peer { .. } | Self::Crowd(..) => false,
        }
    }

    fn service(&self) -> Service {
        match self {
            Self::Netperf { server, .. } => Service::Netserver(*server),
            Self::Peer {
                tool, udp, server, ..
            } => Service::Peer(*tool, *udp, *server),
            Self::Crowd(_, one) => one.service(),
        }
    }
}

/// File for the result of a client that draws on a terminal.
const RESULT: &str = "result";

/// The command line for a terminal, of script(1) of Debian's package bsdutils.
fn in_terminal(program: &Path, words: &[String], cpu: Option<u32>) -> String {
    let pinned = cpu.map_or(String::new(), |cpu| format!("taskset -c {cpu} "));
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    format!(
        "{pinned}'{}' {} >{RESULT}",
        program.display(),
        words.join(" ")
    )
}

/// A server that a side takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    Netserver(Make),
    Peer(Tool, bool, Make),
}

/// A server that is up.
#[derive(Debug)]
struct Up {
    service: Service,
    pinned: bool,
    port: u16,
    _running: Running,
}

/// Runs sides; a server is started when the first needs it, and stays.
#[derive(Debug)]
pub(crate) struct Arena<'a> {
    options: &'a Options,
    folder: &'a Path,
    up: Vec<Up>,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) figure: f64,
    /// The figure that was asked for besides.
    pub(crate) besides: Option<f64>,
}

impl<'a> Arena<'a> {
    pub(crate) fn new(options: &'a Options, folder: &'a Path) -> Self {
        Self {
            options,
            folder,
            up: Vec::new(),
        }
    }

    /// One run.
    pub(crate) fn run(
        &mut self,
        side: &Side,
        pinned: bool,
        besides: Option<&str>,
    ) -> Result<Came, String> {
        let port = self.port(side.service(), pinned)?;
        match side {
            Side::Crowd(number, one) => {
                let start = |_| Ok(self.invocation(one, port, pinned, None)?.spawn());
                let running: Vec<Running> =
                    (0..*number).map(start).collect::<Result<_, String>>()?;
                let mut figure = 0.0;
                for member in running {
                    figure += read(one, &member.finish())?;
                }
                Ok(Came {
                    figure,
                    besides: None,
                })
            }
            Side::Netperf { .. } | Side::Peer { .. } => {
                let mut finished = self.invocation(side, port, pinned, besides)?.run();
                if side.is_live() {
                    let result = std::fs::read_to_string(self.folder.join(RESULT));
                    finished.stdout = result.map_err(|error| format!("{RESULT}: {error}"))?;
                }
                let figure = read(side, &finished)?;
                let besides = besides.map(|name| finished.values().number(name));
                Ok(Came { figure, besides })
            }
        }
    }

    /// The port of a server, which is started if it is not up.
    fn port(&mut self, service: Service, pinned: bool) -> Result<u16, String> {
        let same = |up: &&Up| up.service == service && up.pinned == pinned;
        if let Some(up) = self.up.iter().find(same) {
            return Ok(up.port);
        }
        let port = server::free_port();
        let running = self.server(service, port)?.spawn();
        if pinned {
            pin(running.pid(), self.options.server_cpu)?;
        }
        let udp = matches!(
            service,
            Service::Peer(Tool::Iperf | Tool::Sockperf, true, _)
        );
        if !eventually(Duration::from_secs(10), || procfs::is_bound(port, udp)) {
            return Err(format!("{service:?} did not start: {}", running.stderr()));
        }
        self.up.push(Up {
            service,
            pinned,
            port,
            _running: running,
        });
        Ok(port)
    }

    fn server(&self, service: Service, port: u16) -> Result<Invocation, String> {
        let port = port.to_string();
        let words: &[&str] = match service {
            Service::Netserver(Make::Ours) => &["-D", "--features", "io-uring", "-p", &port],
            Service::Netserver(Make::Stock) => &["-D", "-p", &port],
            Service::Peer(Tool::Iperf3, ..) => &["-s", "-p", &port],
            Service::Peer(Tool::Iperf, false, _) => &["-s", "-p", &port],
            Service::Peer(Tool::Iperf, true, _) => &["-s", "-u", "-l", "64", "-p", &port],
            Service::Peer(Tool::Sockperf, false, _) => {
                &["sr", "--tcp", "-i", "127.0.0.1", "-p", &port]
            }
            Service::Peer(Tool::Sockperf, true, _) => &["sr", "-i", "127.0.0.1", "-p", &port],
        };
        let program = match service {
            Service::Netserver(make) => self.options.programs(make)?.netserver,
            Service::Peer(tool, _, make) => self.peer_program(tool, make)?,
        };
        // As long as the whole benchmark.
        Ok(Invocation::new(&program)
            .args(words)
            .patience(Duration::MAX))
    }

    /// Another program, or a link of its name to our netperf.
    fn peer_program(&self, tool: Tool, make: Make) -> Result<PathBuf, String> {
        if make == Make::Stock {
            return Ok(tool.program());
        }
        let link = self.folder.join(tool.name());
        if !link.exists() {
            let netperf = self.options.programs(make)?.netperf;
            symlink(&netperf, &link).map_err(|error| format!("{}: {error}", link.display()))?;
        }
        Ok(link)
    }

    /// A client, ready to start.
    fn invocation(
        &self,
        side: &Side,
        port: u16,
        pinned: bool,
        besides: Option<&str>,
    ) -> Result<Invocation, String> {
        let (program, words) = match side {
            Side::Netperf {
                client,
                words,
                sizes,
                by_name,
                ..
            } => (
                self.options.programs(*client)?.netperf,
                self.netperf(
                    port,
                    words,
                    sizes,
                    by_name.then(|| besides.unwrap_or("THROUGHPUT")),
                ),
            ),
            Side::Peer {
                tool,
                client,
                udp,
                size,
                flows,
                ..
            } => (
                self.peer_program(*tool, *client)?,
                self.peer(*tool, port, *udp, *size, *flows),
            ),
            Side::Crowd(_, one) => return self.invocation(one, port, pinned, besides),
        };
        let patience = Duration::from_secs(u64::from(self.options.seconds) + 60);
        if side.is_live() {
            let cpu = self.options.client_cpu;
            let command = in_terminal(&program, &words, pinned.then_some(cpu));
            return Ok(Invocation::new(Path::new("script"))
                .args(["-q", "-e", "-c", &command, "/dev/null"])
                .env("TERM", "xterm-256color")
                .env("LC_ALL", "C.UTF-8")
                .folder(self.folder)
                .patience(patience));
        }
        let invocation = if pinned {
            let cpu = self.options.client_cpu.to_string();
            Invocation::new(Path::new("taskset"))
                .args(["-c", &cpu])
                .arg(program)
        } else {
            Invocation::new(&program)
        };
        Ok(invocation
            .args(words)
            .folder(self.folder)
            .patience(patience))
    }

    fn netperf(
        &self,
        port: u16,
        words: &[&str],
        sizes: &[&str],
        selector: Option<&str>,
    ) -> Vec<String> {
        let (port, seconds) = (port.to_string(), self.options.seconds.to_string());
        let common = ["-4", "-H", "127.0.0.1", "-p", &port, "-l", &seconds];
        let selection = selector.map(|name| format!("THROUGHPUT,{name}"));
        let chosen = match &selection {
            Some(selection) => vec!["-k", selection],
            None => Vec::new(),
        };
        [&common, words, &["--"], &chosen, sizes]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    fn peer(&self, tool: Tool, port: u16, udp: bool, size: u32, flows: u32) -> Vec<String> {
        let (port, size) = (port.to_string(), size.to_string());
        let (seconds, flows) = (self.options.seconds.to_string(), flows.to_string());
        let to = ["127.0.0.1", "-p", &port, "-t", &seconds];
        let words = match (tool, udp) {
            (Tool::Iperf3, false) => {
                [&["-c"], &to[..], &["-J", "-l", &size, "-P", &flows]].concat()
            }
            (Tool::Iperf3, true) => {
                [&["-c"], &to[..], &["-J", "-l", &size, "-u", "-b", "0"]].concat()
            }
            (Tool::Iperf, false) => {
                [&["-c"], &to[..], &["-y", "C", "-l", &size, "-P", &flows]].concat()
            }
            // A rate beyond any machine's: as fast as it can.
            (Tool::Iperf, true) => [&["-c"], &to[..], &["-u", "-b", "1000g", "-l", &size]].concat(),
            (Tool::Sockperf, false) => [&["pp", "--tcp", "-i"], &to[..], &["-m", &size]].concat(),
            (Tool::Sockperf, true) => [&["pp", "-i"], &to[..], &["-m", &size]].concat(),
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

/// The figure of a run.
fn read(side: &Side, finished: &Finished) -> Result<f64, String> {
    let figure = match side {
        Side::Netperf { by_name, .. } => {
            finished.clean()?;
            if *by_name {
                Some(finished.values().number("THROUGHPUT"))
            } else {
                last_column(&finished.stdout)
            }
        }
        Side::Peer { .. } if !finished.status.success() => None,
        Side::Peer {
            tool, udp, size, ..
        } => match tool {
            Tool::Iperf3 => iperf3(&finished.stdout, *udp, *size),
            Tool::Iperf if *udp => iperf_datagrams(&finished.stdout, *size),
            Tool::Iperf => iperf(&finished.stdout),
            Tool::Sockperf => sockperf(&finished.stdout),
        },
        Side::Crowd(_, one) => return read(one, finished),
    };
    figure.ok_or_else(|| format!("no figure in:\n{}", finished.account()))
}

/// The last column of the first row of a classic table.
fn last_column(stdout: &str) -> Option<f64> {
    stdout
        .lines()
        .nth(6)?
        .split_whitespace()
        .last()?
        .parse()
        .ok()
}

/// Throughput that iperf3 received, in 10^6 bits per second.
fn iperf3(stdout: &str, udp: bool, size: u32) -> Option<f64> {
    let document: Value = serde_json::from_str(stdout).ok()?;
    let end = document.get("end")?;
    if !udp {
        return Some(end.get("sum_received")?.get("bits_per_second")?.as_f64()? / 1e6);
    }
    let sum = end.get("sum")?;
    let number = |key: &str| sum.get(key).and_then(Value::as_f64);
    let datagrams = number("packets")? - number("lost_packets")?;
    Some(datagrams * f64::from(size) * 8.0 / number("seconds")? / 1e6)
}

/// Throughput that iperf sent over all connections, in 10^6 bits per second.
fn iperf(stdout: &str) -> Option<f64> {
    let rates: Option<Vec<f64>> = stdout
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.rsplit(',').next()?.parse::<f64>().ok())
        .collect();
    rates
        .filter(|rates| !rates.is_empty())
        .map(|rates| rates.iter().sum::<f64>() / 1e6)
}

/// Report of iperf's server, 10^6 bits per second: its last line has the time, as
/// `0.0000-1.1097 sec`, and the datagrams, as `10699/13340` lost.
fn iperf_datagrams(stdout: &str, size: u32) -> Option<f64> {
    let (_, report) = stdout.split_once("Server Report:")?;
    let line = report
        .lines()
        .rfind(|line| line.contains(" sec ") && line.contains('/'))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "sec")?;
    let (from, to) = words.get(at.checked_sub(1)?)?.split_once('-')?;
    let seconds = to.parse::<f64>().ok()? - from.parse::<f64>().ok()?;
    let (lost, all) = line.rsplit_once('/')?;
    let lost: f64 = lost.split_whitespace().last()?.parse().ok()?;
    let all: f64 = all.split_whitespace().next()?.parse().ok()?;
    Some((all - lost) * f64::from(size) * 8.0 / seconds / 1e6)
}

/// Transactions per second of sockperf's ping-pong, outside its warm-up.
fn sockperf(stdout: &str) -> Option<f64> {
    let line = stdout
        .lines()
        .find(|line| line.contains("[Valid Duration]"))?;
    let after = |key: &str| {
        let (_, rest) = line.split_once(key)?;
        let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit());
        rest.get(..end.unwrap_or(rest.len()))?.parse::<f64>().ok()
    };
    Some(after("ReceivedMessages=")? / after("RunTime=")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_peers_is_read() {
        let close = |found: Option<f64>, wanted: f64| {
            assert!(
                found.is_some_and(|found| (found - wanted).abs() < wanted * 1e-6),
                "{found:?}"
            );
        };
        close(
            iperf(
                "19700101000000,127.0.0.1,47098,127.0.0.1,24002,3,0.0-0.5,221773884,3000000\n\
                   19700101000000,127.0.0.1,47112,127.0.0.1,24002,2,0.0-0.9,151975235,1000000\n",
            ),
            4.0,
        );
        close(
            iperf_datagrams(
                "[  1] Sent 13341 datagrams\n[  1] Server Report:\n\
                 [ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n\
                 [  1] 0.0000-2.0000 sec   165 KBytes  1219 Kbits/sec   0.001 ms 10699/30699 (80%)\n",
                64,
            ),
            5.12,
        );
        close(
            sockperf(
                "sockperf: [Total Run] RunTime=1.1 sec; Warm up time=400 msec; ReceivedMessages=9\n\
                 sockperf: [Valid Duration] RunTime=0.500 sec; SentMessages=17665; ReceivedMessages=17664\n",
            ),
            35_328.0,
        );
        close(
            iperf3(
                r#"{"end":{"sum":{"packets":300,"lost_packets":100,"seconds":0.5}}}"#,
                true,
                64,
            ),
            0.2048,
        );
        close(
            iperf3(
                r#"{"end":{"sum_received":{"bits_per_second":5e9}}}"#,
                false,
                64,
            ),
            5000.0,
        );
        assert_eq!(iperf3("{}", false, 1), None);
        assert_eq!(iperf(""), None);
        assert_eq!(sockperf("no valid observations"), None);
    }
}
