//! Whole programs in virtual time, under [Shadow](https://github.com/shadow/shadow).
//!
//! A [`Simulation`] is data: hosts, the programs on them, when these start and are ended, and a
//! link with a rate, a delay and loss. [`Simulation::run`] gives what each program printed, how it
//! ended and when, and what each host carried. The same data give the same run, to the byte.

mod capture;
mod ends;
mod one_cpu;
mod scenario;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use capture::Carried;
pub use ends::SimEnd;

use crate::process::Invocation;
use crate::{Scratch, require, watchdog};

/// Time limit of a simulation, by the clock of this machine, which may do much else, and for each of
/// its processes.
const PATIENCE: Duration = Duration::from_secs(600);
const PATIENCE_EACH: Duration = Duration::from_secs(5);
/// Time limit of the simulations that are waited for.
const QUEUE: Duration = Duration::from_secs(3_600);

/// The link between all hosts of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimLink {
    /// Rate of each host in each direction, bits per second.
    pub bits_per_second: u64,
    /// Delay in one direction.
    pub delay: Duration,
    /// Part of the packets that are lost, from 0 to 1.
    pub loss: f64,
}

impl SimLink {
    /// A link that loses nothing.
    pub const fn lossless(mbit_per_second: u64, delay_ms: u64) -> Self {
        Self {
            bits_per_second: mbit_per_second * 1_000_000,
            delay: Duration::from_millis(delay_ms),
            loss: 0.0,
        }
    }
}

/// A program on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimProcess {
    /// Its file.
    pub program: PathBuf,
    /// Its arguments. None contains a space.
    pub words: Vec<String>,
    /// When it starts.
    pub start: Duration,
    /// When it gets a signal, and which: `SIGINT`, `SIGTERM` or `SIGKILL`.
    pub signal: Option<(Duration, &'static str)>,
}

impl SimProcess {
    /// A program that starts at once, with arguments separated by spaces.
    pub fn new(program: &Path, words: &str) -> Self {
        Self {
            program: program.to_owned(),
            words: words.split_whitespace().map(str::to_owned).collect(),
            start: Duration::ZERO,
            signal: None,
        }
    }

    /// The same, started later.
    pub fn at(mut self, start: Duration) -> Self {
        self.start = start;
        self
    }

    /// The same, with a signal at a time.
    pub fn signalled(mut self, at: Duration, signal: &'static str) -> Self {
        self.signal = Some((at, signal));
        self
    }
}

/// A host and the programs on it. Other hosts know it by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimHost {
    /// Its name.
    pub name: String,
    /// Its place among those that [`Simulation::delays`] lies between.
    pub place: usize,
    /// Its rate in each direction, if that is not the one of the link.
    pub bits_per_second: Option<u64>,
    /// Programs in the order of their starts.
    pub processes: Vec<SimProcess>,
}

/// A simulation, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Everything random follows from it.
    pub seed: u32,
    /// The link.
    pub link: SimLink,
    /// Delay in one direction from each place to each; empty if all hosts are in one place, with
    /// the delay of the link.
    pub delays: Vec<Vec<Duration>>,
    /// At most this much virtual time.
    pub length: Duration,
    /// The hosts; their addresses are 11.0.0.1, 11.0.0.2 and so on, 250 with the same third
    /// number.
    pub hosts: Vec<SimHost>,
    /// True if the packets of hosts are counted, which takes real time.
    pub counts_bytes: bool,
    /// True if processes are noted that were started on a host and are left at the end, which takes
    /// real time.
    pub notes_left: bool,
}

impl Simulation {
    /// A server on the host `server`, and a client on the host `client` that starts after a second.
    pub fn of_two(link: SimLink, server: SimProcess, client: SimProcess) -> Self {
        let client = client.at(Duration::from_secs(1));
        let hosts = vec![
            SimHost::new("client", vec![client]),
            SimHost::new("server", vec![server]),
        ];
        Self::of_hosts(link, hosts)
    }

    /// Pairs of a server and a client that starts after a second. One simulation takes a third of the
    /// processor time of many. A client's word `server` means the server of its pair.
    pub fn of_pairs(link: SimLink, pairs: Vec<(SimProcess, SimProcess)>) -> Self {
        let hosts = pairs.into_iter().enumerate().flat_map(|(index, pair)| {
            let (server, mut client) = pair;
            let [client_name, server_name] = pair_names(index);
            for word in client.words.iter_mut().filter(|word| *word == "server") {
                word.clone_from(&server_name);
            }
            let client = client.at(Duration::from_secs(1));
            [
                SimHost::new(&client_name, vec![client]),
                SimHost::new(&server_name, vec![server]),
            ]
        });
        Self::of_hosts(link, hosts.collect())
    }

    /// Hosts in one place.
    pub fn of_hosts(link: SimLink, hosts: Vec<SimHost>) -> Self {
        Self {
            seed: 1,
            link,
            delays: Vec::new(),
            length: Duration::from_secs(300),
            hosts,
            counts_bytes: false,
            notes_left: false,
        }
    }

    /// The same with another seed.
    pub fn seeded(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }

    /// Runs it.
    ///
    /// # Panics
    /// If the simulator fails.
    pub fn run(&self) -> SimRun {
        let folder = Scratch::new();
        let scenario = folder.path().join("scenario.yaml");
        std::fs::write(&scenario, self.scenario()).expect("the scenario is written");
        let output = folder.path().join("out");
        let processes: usize = self.hosts.iter().map(|host| host.processes.len()).sum();
        let processes = u32::try_from(processes).expect("fewer processes");
        let patience = PATIENCE + PATIENCE_EACH * processes;
        watchdog::restart_with(QUEUE);
        let one_cpu = one_cpu::OneCpu::take();
        watchdog::restart_with(patience + PATIENCE);
        let simulator = Invocation::new(Path::new("shadow"))
            .args(["--parallelism", "1", "--log-level", "error"])
            .arg("--data-directory")
            .args([&output, &scenario])
            .patience(patience)
            .run();
        drop(one_cpu);
        let said = format!("{}{}", simulator.stdout, simulator.stderr);
        let ends = ends::of(&said);
        let ran = output.join("sim-stats.json").exists();
        assert!(ran, "the simulator did not finish: {said}");
        let host = |host: &SimHost| (host.name.clone(), host.outputs(&output, &ends));
        let left = |host: &SimHost| (host.name.clone(), host.left(&output, &said));
        SimRun {
            left: self.hosts.iter().map(left).collect(),
            outputs: self.hosts.iter().map(host).collect(),
            carried: self.carried(&output),
            took: simulator.took,
        }
    }

    fn carried(&self, output: &Path) -> BTreeMap<String, Carried> {
        let captured = self.hosts.iter().enumerate().filter(|_| self.counts_bytes);
        let one = |(index, host): (usize, &SimHost)| {
            let file = output.join("hosts").join(&host.name).join("eth0.pcap");
            let bytes = std::fs::read(file).expect("a capture");
            (host.name.clone(), capture::carried(&bytes, address(index)))
        };
        captured.map(one).collect()
    }
}

impl SimHost {
    /// A host with these processes, in the only place or the first.
    pub fn new(name: &str, processes: Vec<SimProcess>) -> Self {
        Self {
            name: name.to_owned(),
            place: 0,
            bits_per_second: None,
            processes,
        }
    }

    /// Numbers and names of the host's processes, in the order of their starts.
    fn stems(&self, output: &Path) -> Vec<(u32, String)> {
        let folder = output.join("hosts").join(&self.name);
        let entries = std::fs::read_dir(folder).expect("the folder of a host");
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut files: Vec<(u32, String)> = names
            .filter_map(|name| {
                let stem = name.strip_suffix(".stdout")?;
                Some((stem.rsplit_once('.')?.1.parse().ok()?, stem.to_owned()))
            })
            .collect();
        files.sort();
        assert_eq!(files.len(), self.processes.len(), "{files:?}");
        files
    }

    /// Processes that its own ones started, and that the end stopped.
    fn left(&self, output: &Path, log: &str) -> Vec<String> {
        let own = self.stems(output);
        let is_own = |name: &String| own.iter().any(|(_, stem)| stem == name);
        let mut left = ends::stopped(log, &self.name);
        left.retain(|name| !is_own(name));
        left
    }

    fn outputs(&self, output: &Path, ends: &[ends::FoundEnd]) -> Vec<SimFinished> {
        let folder = output.join("hosts").join(&self.name);
        let files = self.stems(output);
        let text = |name: String| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let one = |(_, stem): (u32, String)| SimFinished {
            end: ends::find(ends, &format!("{}.{stem}", self.name)),
            stdout: text(format!("{stem}.stdout")),
            stderr: text(format!("{stem}.stderr")),
        };
        files.into_iter().map(one).collect()
    }
}

/// Names of the hosts of a pair, the client's and the server's.
fn pair_names(index: usize) -> [String; 2] {
    ["client", "server"].map(|role| format!("{role}{index}"))
}

/// Address of the host with this index.
fn address(index: usize) -> [u8; 4] {
    let part = |number: usize| u8::try_from(number).expect("fewer hosts");
    [11, 0, part(index / 250), part(index % 250 + 1)]
}

/// Returns true if `shadow` is on the path; prints a line if it is not.
pub fn available() -> bool {
    let path = crate::environment("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("shadow").exists());
    let how = "build it as lab/shadow/README.md says, and put it on PATH";
    require::require(found, "shadow", how)
}

/// Output of a program, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimFinished {
    /// Exit status and time.
    pub end: SimEnd,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Outcome of a simulation.
#[derive(Clone, Debug)]
pub struct SimRun {
    outputs: BTreeMap<String, Vec<SimFinished>>,
    carried: BTreeMap<String, Carried>,
    left: BTreeMap<String, Vec<String>>,
    /// Real time that it took.
    pub took: Duration,
}

impl SimRun {
    /// The only, or the first, program of a host.
    pub fn of(&self, host: &str) -> &SimFinished {
        &self.outputs[host][0]
    }

    /// The client and the server of a pair.
    pub fn pair(&self, index: usize) -> [&SimFinished; 2] {
        pair_names(index).map(|host| self.of(&host))
    }

    /// All programs of a host.
    pub fn all_of(&self, host: &str) -> &[SimFinished] {
        &self.outputs[host]
    }

    /// Packets of a host, if they were counted.
    pub fn carried(&self, host: &str) -> Carried {
        self.carried[host]
    }

    /// Processes that those of a host started and that were left at the end, if they were noted.
    pub fn left_at(&self, host: &str) -> &[String] {
        &self.left[host]
    }

    /// All that programs printed, and their ends: the same for the same simulation.
    pub fn account(&self) -> String {
        format!("{:#?}", self.outputs)
    }
}
