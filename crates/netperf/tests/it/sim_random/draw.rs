//! A case from a seed: programs, their words, a link and a fault.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::{Programs, SimLink, SimProcess, Simulation};

/// A generator of random numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).expect("a length")).expect("an index")
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// The protocol between the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Netperf,
    Iperf3,
    Iperf2,
}

/// Whose programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairing {
    /// Ours at both ends.
    Ours,
    /// Our client, the original's server.
    OurClient,
    /// Our server, the original's client.
    OurServer,
}

/// A run, as it was drawn.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) seed: u32,
    pub(super) tool: Tool,
    pub(super) pairing: Pairing,
    pub(super) link: SimLink,
    /// Seconds that the test is to last.
    pub(super) length: u32,
    /// The test by netperf's name.
    pub(super) test: &'static str,
    pub(super) flows: u32,
    pub(super) server: SimProcess,
    pub(super) client: SimProcess,
}

/// When the client starts.
const START: Duration = Duration::from_secs(1);
/// A run ends within its length and this time.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);

/// Words that select what is judged.
const KEYS: &str = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD,\
                    REMOTE_BYTES_SENT,REMOTE_BYTES_RECVD,TRANSACTION_RATE";

impl Case {
    /// The case of a seed.
    pub(super) fn draw(seed: u32, ours: &Programs) -> Self {
        let mut dice = Dice(seed.into());
        let tool = dice.one_of(&[
            Tool::Netperf,
            Tool::Netperf,
            Tool::Netperf,
            Tool::Iperf3,
            Tool::Iperf2,
        ]);
        let pairing = dice.one_of(&[Pairing::Ours, Pairing::OurClient, Pairing::OurServer]);
        // iperf3 takes some real seconds for each virtual one there.
        let pairing = if tool == Tool::Iperf3 {
            Pairing::Ours
        } else {
            pairing
        };
        let mut link = SimLink {
            bits_per_second: dice.one_of(&[1, 10, 50]) * 1_000_000,
            delay: Duration::from_millis(dice.one_of(&[1, 20, 100])),
            loss: dice.one_of(&[0.0, 0.0, 0.005, 0.02]),
        };

        if tool == Tool::Iperf2 {
            // There a connection that is half closed may not send lost data again.
            link.loss = 0.0;
        }
        let length = dice.one_of(&[1, 2, 4]);
        let (test, flows, words) = match tool {
            Tool::Netperf => netperf_words(&mut dice, pairing, length),
            Tool::Iperf3 => iperf_words(&mut dice, "-4 -J", length),
            Tool::Iperf2 => iperf_words(&mut dice, "", length),
        };
        let (server, client) = programs(tool, pairing, ours, test);
        let client = SimProcess::new(&client, &words);
        let client = match dice.below(6) {
            0 => {
                let after = dice.next() % (u64::from(length) * 1200);
                client.signalled(START + Duration::from_millis(1 + after), "SIGINT")
            }
            _ => client,
        };
        Self {
            seed,
            tool,
            pairing,
            link,
            length,
            test,
            flows,
            server,
            client,
        }
    }

    /// The simulation of the case.
    pub(super) fn simulation(&self) -> Simulation {
        let (server, client) = (self.server.clone(), self.client.clone());
        let mut simulation = Simulation::of_two(self.link, server, client).seeded(self.seed);
        simulation.counts_bytes = true;
        let length = Duration::from_secs(self.length.into());
        simulation.length = START + length + PATIENCE + START;
        simulation
    }

    /// The same with the original at both ends.
    pub(super) fn of_originals(&self) -> Option<Simulation> {
        let stock = |name: &str| Path::new("/usr/bin").join(name);
        let (server, client) = match self.tool {
            Tool::Netperf => (stock("netserver"), stock("netperf")),
            Tool::Iperf2 => (stock("iperf"), stock("iperf")),
            Tool::Iperf3 => return None,
        };
        let mut case = self.clone();
        (case.server.program, case.client.program) = (server, client);
        Some(case.simulation())
    }
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "seed {}: {:?} {:?}: {} {} | {} Mbit/s, {:?}, loss {}{}",
            self.seed,
            self.tool,
            self.pairing,
            self.client.program.display(),
            self.client.words.join(" "),
            self.link.bits_per_second / 1_000_000,
            self.link.delay,
            self.link.loss,
            match self.client.signal {
                Some((at, signal)) => format!(" | {signal} at {at:?}"),
                None => String::new(),
            }
        )
    }
}

type DrawnTest = (&'static str, u32, String);

fn netperf_words(dice: &mut Dice, pairing: Pairing, length: u32) -> DrawnTest {
    let tests = [
        "TCP_STREAM",
        "TCP_MAERTS",
        "TCP_RR",
        "TCP_CRR",
        "UDP_RR",
        "UDP_STREAM",
    ];
    let mut test = dice.one_of(&tests);
    // The original's TCP_STREAM stops in the simulator after a moment.
    if pairing != Pairing::Ours && matches!(test, "TCP_STREAM" | "TCP_MAERTS") {
        test = "TCP_RR";
    }
    let mut options = Vec::new();
    let mut flows = 1;
    if pairing == Pairing::Ours {
        match dice.below(6) {
            0 => {
                flows = dice.one_of(&[2, 4]);
                options.push(format!("--flows {flows}"));
            }
            1 => options.push("--warmup 0.5".to_owned()),
            2 if matches!(test, "TCP_RR" | "UDP_RR") => options.push("--rate 20".to_owned()),
            3 if test.ends_with("STREAM") => options.push("--rate 500K".to_owned()),
            _ => {}
        }
    }
    let size = match test {
        "UDP_STREAM" => "-m 1400 ",
        _ => "",
    };
    let options = options.join(" ");
    let words = format!("-4 -H server -l {length} -t {test} -P 0 {options} -- {size}-k {KEYS}");
    (test, flows, words)
}

fn iperf_words(dice: &mut Dice, first: &str, length: u32) -> DrawnTest {
    let flows = dice.one_of(&[1, 1, 2]);
    let udp = !first.contains("-J") && dice.below(2) == 0;
    let (test, rate) = if udp {
        ("UDP_STREAM", "-u -b 500k ")
    } else {
        ("TCP_STREAM", "")
    };
    (
        test,
        flows,
        format!("{first} -c server -t {length} {rate}-P {flows}"),
    )
}

/// The server, and the file of the client.
fn programs(tool: Tool, pairing: Pairing, ours: &Programs, test: &str) -> (SimProcess, PathBuf) {
    let stock = |name: &str| Path::new("/usr/bin").join(name);
    // A link with the name makes netperf this program.
    let linked = |name: &str| {
        let link = ours.netperf.with_file_name(name);
        // Another thread may have made it.
        std::os::unix::fs::symlink("netperf", &link).ok();
        link
    };
    let (own_server, own_client, names, words) = match tool {
        Tool::Netperf => (
            ours.netserver.clone(),
            ours.netperf.clone(),
            ["netserver", "netperf"],
            "-D -4",
        ),
        Tool::Iperf3 => (linked("iperf3"), linked("iperf3"), ["iperf3"; 2], "-s -4"),
        Tool::Iperf2 if test == "UDP_STREAM" => {
            (linked("iperf"), linked("iperf"), ["iperf"; 2], "-s -u")
        }
        Tool::Iperf2 => (linked("iperf"), linked("iperf"), ["iperf"; 2], "-s"),
    };
    let [server_name, client_name] = names;
    let (server, client) = match pairing {
        Pairing::Ours => (own_server, own_client),
        Pairing::OurClient => (stock(server_name), own_client),
        Pairing::OurServer => (own_server, stock(client_name)),
    };
    (SimProcess::new(&server, words), client)
}
