//! A case from a seed: programs, their words, a link and a fault.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use netperf_stats::random::SplitMix64;
use netperf_testkit::{Programs, SimLink, SimProcess, Simulation};

use crate::late::faulty_peer;
use crate::links::{linked, stock};

/// Random choices.
pub(super) struct Dice(SplitMix64);

impl Dice {
    pub(super) const fn of(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A moment before a test of so many seconds is over or just after.
    pub(super) fn moment_around(&mut self, length: u32) -> Duration {
        START + Duration::from_millis(1 + self.0.roll() % (u64::from(length) * 1200))
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.roll() % u64::try_from(end).expect("a length")).expect("an index")
    }

    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
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

/// A peer in between that breaks one message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FaultyPeer {
    process: SimProcess,
    /// `client` or `server`.
    towards: &'static str,
    pub(super) fault: &'static str,
}

/// A run, as it was drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) seed: u32,
    pub(super) tool: Tool,
    pub(super) pairing: Pairing,
    pub(super) link: SimLink,
    /// The client's host has [`WIDER`] times the rate of the server's, which loses the rest.
    pub(super) is_wide: bool,
    /// Seconds that the test is to last.
    pub(super) length: u32,
    /// The test by netperf's name.
    pub(super) test: &'static str,
    pub(super) flows: u32,
    pub(super) server: SimProcess,
    pub(super) client: SimProcess,
    pub(super) peer: Option<FaultyPeer>,
}

/// Times by which the rate of one host is above that of the other, in some cases.
const WIDER: u64 = 4;
/// When the client starts.
pub(super) const START: Duration = Duration::from_secs(1);
/// A run ends within its length and this time.
const PATIENCE: Duration = Duration::from_secs(70);
/// The same where the server may never answer: a stock netserver may calibrate its CPUs first.
const PATIENCE_WITH_PEER: Duration = Duration::from_secs(170);

/// Words that select what is judged.
const KEYS: &str = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD,\
                    REMOTE_BYTES_SENT,REMOTE_BYTES_RECVD,TRANSACTION_RATE";

impl Case {
    /// The case of a seed.
    pub(super) fn draw(seed: u32, ours: &Programs) -> Self {
        let mut dice = Dice::of(seed.into());
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
        let link = link(&mut dice, tool);
        let length = dice.one_of(&[1, 2, 4]);
        let (test, flows, words) = match tool {
            Tool::Netperf => netperf_words(&mut dice, pairing, length),
            Tool::Iperf3 => iperf3_words(&mut dice, length),
            Tool::Iperf2 => iperf2_words(&mut dice, length),
        };
        let is_judged = tool == Tool::Netperf && pairing == Pairing::Ours;
        let is_wide = is_judged && test == "UDP_STREAM" && dice.below(3) > 0;
        let (server, client) = programs(tool, pairing, ours, test);
        let client = SimProcess::new(&client, &words);
        let (server, client) = with_fault(&mut dice, length, server, client);
        let (server, peer) = with_peer(&mut dice, (tool, test), pairing, server);
        Self {
            seed,
            tool,
            pairing,
            link,
            is_wide,
            length,
            test,
            flows,
            server,
            client,
            peer,
        }
    }

    /// Returns true if the client has this word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.client.words.iter().any(|one| one == word)
    }

    /// The client's word behind this one.
    pub(super) fn after(&self, word: &str) -> Option<&str> {
        let place = self.client.words.iter().position(|one| one == word)?;
        self.client.words.get(place + 1).map(String::as_str)
    }

    /// Returns true if no program gets a signal, and no message is broken.
    pub(super) const fn is_undisturbed(&self) -> bool {
        self.client.signal.is_none() && self.server.signal.is_none() && self.peer.is_none()
    }

    /// A run ends within its length and this time.
    pub(super) const fn patience(&self) -> Duration {
        if self.peer.is_some() {
            PATIENCE_WITH_PEER
        } else {
            PATIENCE
        }
    }

    /// Returns true if nothing that the server started may be left at the end: something ends its
    /// client or the connection, and tells the server.
    pub(super) fn leaves_nothing(&self) -> bool {
        let is_own = self.pairing != Pairing::OurClient && self.tool == Tool::Netperf;
        let tells = |peer: &FaultyPeer| peer.towards == "client";
        is_own && self.client.signal.is_some() && self.peer.iter().all(tells)
    }

    /// Returns true if a peer breaks a message for good.
    pub(super) fn breaks_a_message(&self) -> bool {
        let peer = self.peer.as_ref();
        peer.is_some_and(|peer| !["late", "dribble"].contains(&peer.fault))
    }

    /// The simulation of the case.
    pub(super) fn simulation(&self) -> Simulation {
        let (server, client) = (self.server.clone(), self.client.clone());
        let mut simulation = Simulation::of_two(self.link, server, client).seeded(self.seed);
        let peer = self.peer.as_ref().map(|peer| peer.process.clone());
        simulation.hosts[1].processes.extend(peer);
        let wide = self.link.bits_per_second * WIDER;
        simulation.hosts[0].bits_per_second = self.is_wide.then_some(wide);
        simulation.counts_bytes = true;
        simulation.notes_left = self.leaves_nothing();
        let length = Duration::from_secs(self.length.into());
        simulation.length = START + length + self.patience() + START;
        simulation
    }

    /// The same with the original at both ends.
    pub(super) fn of_originals(&self) -> Option<Simulation> {
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
            "seed {}: {:?} {:?}: {} {} | {} Mbit/s{}, {:?}, loss {}{}{}",
            self.seed,
            self.tool,
            self.pairing,
            self.client.program.display(),
            self.client.words.join(" "),
            self.link.bits_per_second / 1_000_000,
            if self.is_wide {
                " behind a wider one"
            } else {
                ""
            },
            self.link.delay,
            self.link.loss,
            match (self.client.signal, self.server.signal) {
                (Some((at, signal)), _) => format!(" | {signal} at {at:?}"),
                (_, Some((at, signal))) => format!(" | server: {signal} at {at:?}"),
                (None, None) => String::new(),
            },
            match &self.peer {
                Some(peer) => format!(" | {}", peer.process.words.join(" ")),
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
    let (flows, option) = match pairing {
        Pairing::Ours => own_option(dice, test),
        // The original does not know them.
        Pairing::OurClient | Pairing::OurServer => (1, String::new()),
    };
    let sizes = match test {
        // Each datagram takes processor time of this machine.
        "UDP_STREAM" => dice.one_of(&["-m 1400 ", "-m 400 "]),
        "TCP_RR" => dice.one_of(&["", "", "-r 100,1000 "]),
        "UDP_RR" => dice.one_of(&["", "", "-r 100,1000 "]),
        _ => "",
    };
    let words = format!("-4 -H server -l {length} -t {test} -P 0 {option} -- {sizes}-k {KEYS}");
    (test, flows, words)
}

/// Flows, and an option that goes with a test.
fn own_option(dice: &mut Dice, test: &str) -> (u32, String) {
    let stream = test.ends_with("STREAM");
    let single = matches!(test, "TCP_RR" | "UDP_RR");
    // Lost datagrams make the received amount differ from the sent one.
    let drawn = if test == "UDP_STREAM" {
        dice.one_of(&[0, 1, 1, 1, 2, 3, 4, 5, 6, 7])
    } else {
        dice.below(9)
    };
    match drawn {
        0 => {
            let flows = dice.one_of(&[2, 4]);
            (flows, format!("--flows {flows}"))
        }
        1 => (1, "--warmup 0.5".to_owned()),
        2 if single => (1, "--rate 20".to_owned()),
        2 if stream => (1, "--rate 500K".to_owned()),
        3 if stream => (1, "--warmup 0.5 --rate 500K --flows 2".to_owned()),
        4 if stream => (1, "--until 20%".to_owned()),
        5 => (1, "-I 95,20 -i 4,3".to_owned()),
        6 => (1, "-D 0.5".to_owned()),
        _ => (1, String::new()),
    }
}

fn iperf3_words(dice: &mut Dice, length: u32) -> DrawnTest {
    let flows = dice.one_of(&[1, 1, 2]);
    let direction = dice.one_of(&["", "", "-R", "--bidir"]);
    let amount = match dice.below(6) {
        0 => "-n 200K".to_owned(),
        1 => format!("-t {length} -O 1"),
        2 => format!("-t {length} -b 2M"),
        5 => format!("-t {length} -b 300K -l 8K"),
        3 => format!("-t {length} -i 0.3"),
        _ => format!("-t {length}"),
    };
    let words = format!("-4 -J -c server {amount} -P {flows} {direction}");
    ("TCP_STREAM", flows, words)
}

fn iperf2_words(dice: &mut Dice, length: u32) -> DrawnTest {
    let flows = dice.one_of(&[1, 1, 2]);
    let (test, rate) = match dice.below(2) {
        0 => ("UDP_STREAM", "-u -b 500k "),
        _ => ("TCP_STREAM", ""),
    };
    let words = format!("-c server -y C -t {length} {rate}-P {flows}");
    (test, flows, words)
}

/// Rate of a link whose queues are soon empty, bits per second.
const QUICK: u64 = 10_000_000;

fn link(dice: &mut Dice, tool: Tool) -> SimLink {
    let link = SimLink {
        bits_per_second: dice.one_of(&[1, 10, 25]) * 1_000_000,
        delay: Duration::from_millis(dice.one_of(&[1, 20, 100])),
        loss: dice.one_of(&[0.0, 0.0, 0.005, 0.02]),
    };
    match tool {
        // There a connection that is half closed may not send lost data again.
        // Data in flight is no part of SIOCOUTQ there, so that a stream in the queue of a slow link
        // seems to stand still.
        Tool::Iperf2 => SimLink {
            loss: 0.0,
            bits_per_second: link.bits_per_second.max(QUICK),
            ..link
        },
        // There queues of a slow link hold a minute of data, and answers of the server behind it.
        Tool::Iperf3 => SimLink {
            bits_per_second: link.bits_per_second.max(QUICK),
            ..link
        },
        Tool::Netperf => link,
    }
}

/// A signal for one of the programs, in some cases, before the test is over or just after.
fn with_fault(
    dice: &mut Dice,
    length: u32,
    server: SimProcess,
    client: SimProcess,
) -> (SimProcess, SimProcess) {
    let at = dice.moment_around(length);
    match dice.below(16) {
        0 | 1 => (server, client.signalled(at, "SIGINT")),
        2 => (server, client.signalled(at, "SIGTERM")),
        3 => (server, client.signalled(at, "SIGKILL")),
        4 => (server.signalled(at, "SIGKILL"), client),
        _ => (server, client),
    }
}

/// Faults of a peer. What is late is to be waited for, and drawn more often.
const FAULTS: [&str; 10] = [
    "stall",
    "late",
    "late",
    "late",
    "half-close",
    "reset",
    "dribble",
    "garbage",
    "short",
    "twice",
];
/// Seconds by which a late message is late.
const LATE: [u32; 3] = [2, 12, 12];
/// The same of the first: the time of a stock netserver has begun.
const LATE_FIRST: u32 = 2;

/// A peer that breaks a message of the control connection, in some cases without a signal. The
/// server then listens at the next port.
fn with_peer(
    dice: &mut Dice,
    (tool, test): (Tool, &str),
    pairing: Pairing,
    server: SimProcess,
) -> (SimProcess, Option<FaultyPeer>) {
    let drawn = dice.below(4) == 0;
    // An original client is not judged, and iperf 2 has no control connection.
    let is_judged = pairing != Pairing::OurServer && tool != Tool::Iperf2;
    // A stock netserver takes datagrams of the control connection's host alone, which is its own.
    let is_judged = is_judged && !(pairing == Pairing::OurClient && test.starts_with("UDP"));
    if !drawn || !is_judged || server.signal.is_some() {
        return (server, None);
    }
    let (port, size, words, numbers) = match tool {
        // Data comes from the client's host, and control messages from the peer on this one.
        Tool::Netperf if pairing == Pairing::Ours => (12865, 656, "--data-peers any", [1, 2, 2, 3]),
        Tool::Netperf => (12865, 656, "", [1, 2, 2, 2]),
        Tool::Iperf3 | Tool::Iperf2 => (5201, 0, "", [1, 2, 3, 5]),
    };
    let fault = dice.one_of(&FAULTS);
    let towards = dice.one_of(&["client", "client", "server"]);
    let number = dice.one_of(&numbers);
    let late = dice.one_of(&LATE);
    // The simulator shows the first byte alone to our server, which looks at a first message before
    // it is read.
    let is_seen = pairing == Pairing::OurClient || towards == "client" || number > 1;
    let fault = if is_seen || fault != "dribble" {
        fault
    } else {
        "late"
    };
    // An iperf3 server waits ten seconds for a message.
    let late = if number == 1 || tool == Tool::Iperf3 {
        LATE_FIRST
    } else {
        late
    };
    let process = faulty_peer(&format!(
        "{port} {} {size} {towards} {number} {fault} {late}",
        port + 1
    ));
    let mut server = server;
    let more = format!("-p {} {words}", port + 1);
    server
        .words
        .extend(more.split_whitespace().map(str::to_owned));
    let peer = FaultyPeer {
        process,
        towards,
        fault,
    };
    (server, Some(peer))
}

/// The server, and the file of the client.
fn programs(tool: Tool, pairing: Pairing, ours: &Programs, test: &str) -> (SimProcess, PathBuf) {
    let linked = |name: &str| linked(&ours.netperf, name);
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

#[test]
fn every_fault_of_a_peer_is_drawn() {
    let programs = netperf_testkit::ours!();
    let cases: Vec<Case> = (1..600).map(|seed| Case::draw(seed, &programs)).collect();
    let peers = || cases.iter().filter_map(|case| case.peer.as_ref());
    for fault in FAULTS {
        let drawn = peers().filter(|peer| peer.fault == fault).count();
        assert!(drawn > 0, "{fault} in none of {}", peers().count());
    }
}
