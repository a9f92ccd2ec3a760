//! Every transport does every kind of test, or says in one line what is missing.
//!
//! Runs in two private hosts here, and in the virtual machine of `just lab-vm`, where
//! the kernel has every transport and nothing may be missing.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use netperf_model::catalog::tests::{Suite, TESTS, TestRow};
use netperf_model::catalog::transports::{Domain, TRANSPORTS, TransportRow};
use netperf_model::{Flow, Meeting, TransportId};
use netperf_testkit::{
    Finished, Invocation, Lab, Netserver, Place, TwoHosts, Values, environment, machine, note,
    ours, require,
};

/// The virtual machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// Counts are judged, not speeds, so cells can run side by side.
const AT_ONCE: usize = 3;
/// Exit status when a host lacks what a test needs (the manual's table of them).
const UNSUPPORTED: i32 = 3;
const SELECTION: &str = "PROTOCOL,ELAPSED_TIME,TRANSACTION_RATE,THROUGHPUT,\
    LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT";

/// The kinds of test, by their names, their flows and the OMNI options that mean them.
const KINDS: [(&str, Flow, &str); 5] = [
    ("STREAM", Flow::SEND, "-d send"),
    ("MAERTS", Flow::RECEIVE, "-d recv"),
    ("RR", Flow::RR, "-d send|recv -r 64,64"),
    ("CRR", Flow::CRR, "-c -d send|recv -r 64,64"),
    ("CC", Flow::CC, "-c -d 0"),
];

/// End of the tests of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Transactions, or bytes that fit into buffers of sockets.
    Amount,
    Time,
}

/// Result of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    /// It ran, and the counts are right.
    Works,
    /// It was refused, with the reason that stands in the catalogue.
    Unsupported,
    /// Anything else.
    Wrong(String),
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Works => "works",
            Self::Unsupported => "unsupported",
            Self::Wrong(_) => "WRONG",
        })
    }
}

/// Place of the matrix.
struct Bench {
    client: Place,
    server: Netserver,
    address: &'static str,
    /// Devices of the link level, netperf's and netserver's.
    link: String,
    /// ATM interfaces, netperf's and netserver's.
    atm: [String; 2],
    /// True if the kernel has everything.
    complete: bool,
    _hosts: Option<TwoHosts>,
}

impl Bench {
    fn new() -> Option<Self> {
        if environment("NETPERF_LAB").as_deref() == Some("vm") && Lab::Vm.is_here() {
            return Some(Self::in_the_virtual_machine());
        }
        if !require::root() {
            return None;
        }
        let hosts = TwoHosts::new();
        // Two hosts that share their files: what a netserver keeps from strangers.
        let options = ["-D", "--data-peers", "any", "--transports", "all"];
        Some(Self {
            client: hosts.client(),
            server: Netserver::start_with(&ours!(), &hosts.server(), &options, &[]),
            address: TwoHosts::SERVER_V4,
            link: format!("{0},{0}", TwoHosts::CABLE),
            atm: ["0".to_owned(), "1".to_owned()],
            complete: false,
            _hosts: Some(hosts),
        })
    }

    fn in_the_virtual_machine() -> Self {
        let told = |name: &str| environment(name).unwrap_or_else(|| panic!("{name} is not set"));
        let atm: Vec<String> = told("LAB_ATM").split(',').map(str::to_owned).collect();
        Self {
            client: Place::Here,
            server: Netserver::start_with(
                &ours!(),
                &Place::Here,
                &["-D", "--transports", "all"],
                &[],
            ),
            address: "127.0.0.1",
            link: told("LAB_LLC"),
            atm: atm.try_into().expect("two interfaces"),
            complete: true,
            _hosts: None,
        }
    }

    fn run(&self, length: &str, options: &str, own: &str) -> Finished {
        Invocation::new(&ours!().netperf)
            .args(["-H", self.address, "-p", &self.server.port().to_string()])
            .args(["-l", length])
            .args(options.split_whitespace())
            .arg("--")
            .args(own.split_whitespace())
            .within(&self.client)
            .patience(PATIENCE)
            .run()
    }

    /// A separate access point for every cell: sockets with the same one on an interface receive
    /// the same frames. netperf uses the next one.
    fn access_point(cell: usize) -> usize {
        4 + cell * 4 % 152
    }

    /// A separate circuit for every cell.
    fn circuits(&self, cell: usize) -> String {
        let [near, far] = &self.atm;
        let channel = 100 + cell;
        format!("{near}.0.{channel},{far}.0.{channel}")
    }

    /// The options that tell a transport where its sockets are.
    fn place(&self, domain: Domain, cell: usize) -> String {
        match domain {
            Domain::Link => {
                let sap = Self::access_point(cell);
                format!("--device {} --sap {sap}", self.link)
            }
            Domain::Atm => format!("--device {}", self.circuits(cell)),
            Domain::Inet | Domain::Unix | Domain::Vsock => String::new(),
        }
    }

    fn cell(
        &self,
        cell: usize,
        transport: &TransportRow,
        (flow, options): (Flow, &str),
        end: End,
    ) -> Cell {
        let handshakes = matches!(transport.id, TransportId::Tls | TransportId::Ktls);
        let length = match (end, flow) {
            (End::Amount, _) if flow.counts_transactions() => "-50",
            (End::Amount, _) => "-50000",
            // An emulated machine takes most of a second for the cryptography.
            _ if self.complete && handshakes => "3",
            // netserver, when it sends, is told whole seconds.
            (End::Time, Flow::RECEIVE) => "1",
            (End::Time, _) => "0.4",
        };
        let options = format!(
            "-T {} {options} -k {SELECTION} {}",
            transport.option,
            self.place(transport.domain, cell)
        );
        let finished = self.run(length, "-t OMNI", &options);
        self.judge(transport, flow, &finished)
    }

    fn judge(&self, transport: &TransportRow, flow: Flow, finished: &Finished) -> Cell {
        let wrong = |why: &str| Cell::Wrong(format!("{why}\n{}", finished.account()));
        if finished.status.code() == Some(UNSUPPORTED) {
            let no_connections = flow.connects && transport.meeting != Meeting::Connection;
            let explained = if no_connections {
                finished.stderr.contains("has no connections")
            } else {
                !self.must_work(transport) && finished.stderr.contains(transport.needs)
            };
            let one_line = finished.stderr.lines().count() == 1;
            return if explained && one_line {
                Cell::Unsupported
            } else {
                wrong("refused without the right reason")
            };
        }
        match self.ended_well(finished) {
            false => wrong("did not end well"),
            true => counted(transport, flow, &finished.values())
                .map_or_else(|why| wrong(&why), |()| Cell::Works),
        }
    }

    /// True if the test ended without a word. An emulated machine may be too slow for the last
    /// connection to end within the grace period.
    fn ended_well(&self, finished: &Finished) -> bool {
        let is_late = |line: &str| line.ends_with(": latencies include the time until then");
        let only_late = finished.stderr.lines().all(is_late);
        finished.clean().is_ok() || (self.complete && finished.status.success() && only_late)
    }

    /// True if nothing may be missing for this transport here.
    fn must_work(&self, transport: &TransportRow) -> bool {
        // The real one no longer exists: tested with a library of ours.
        let possible = transport.id != TransportId::Sdp;
        let at_hand = transport.needs.is_empty() || self.has_rights(transport);
        possible && (self.complete || at_hand)
    }

    /// Packet sockets take a right and nothing else.
    fn has_rights(&self, transport: &TransportRow) -> bool {
        matches!(transport.id, TransportId::Llc1 | TransportId::Packet)
    }
}

/// Both ends counted, and agree as far as the transport promises.
fn counted(transport: &TransportRow, flow: Flow, values: &Values) -> Result<(), String> {
    if values.text("PROTOCOL") != transport.label {
        return Err(format!("ran over {}", values.text("PROTOCOL")));
    }
    if flow.counts_transactions() && values.number("TRANSACTION_RATE") <= 0.0 {
        return Err("no transactions".to_owned());
    }
    for (used, sent, received) in [
        (flow.sends, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
        (flow.receives, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD"),
    ] {
        let (there, here) = (values.count(sent), values.count(received));
        // Data queued at the end of the time is drained for a short time, and then discarded.
        let discards = flow.receives && !flow.sends;
        let agree = if !used {
            there <= 0 && here <= 0
        } else if transport.reliable && !discards {
            there > 0 && there == here
        } else {
            there > 0 && here > 0 && here <= there
        };
        if !agree {
            return Err(format!("{sent} is {there} and {received} is {here}"));
        }
    }
    Ok(())
}

#[test]
fn every_transport_does_every_kind_of_test_or_says_what_is_missing() {
    run_matrix(End::Amount);
}

#[test]
#[ignore = "nightly: a hundred tests that end by time, at full speed"]
fn every_transport_ends_every_kind_of_test_when_its_time_is_over() {
    run_matrix(End::Time);
}

fn run_matrix(end: End) {
    let Some(bench) = Bench::new() else {
        return;
    };
    let cells: Vec<(usize, usize)> = (0..TRANSPORTS.len())
        .flat_map(|row| (0..KINDS.len()).map(move |kind| (row, kind)))
        .collect();
    let found = side_by_side(&cells, |(row, kind)| {
        let (_, flow, options) = KINDS[*kind];
        let cell = row * KINDS.len() + kind;
        bench.cell(cell, &TRANSPORTS[*row], (flow, options), end)
    });
    note(&table(&found));
    let wrong: Vec<String> = cells
        .iter()
        .zip(&found)
        .filter_map(|((row, kind), cell)| match cell {
            Cell::Wrong(why) => Some(format!(
                "{} {}: {why}",
                TRANSPORTS[*row].option, KINDS[*kind].0
            )),
            Cell::Works | Cell::Unsupported => None,
        })
        .collect();
    assert!(bench.server.alive(), "{:?}", bench.server.said());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn table(cells: &[Cell]) -> String {
    let mut text = format!("{:<16}", "");
    for (name, _, _) in KINDS {
        text += &format!(" {name:<11}");
    }
    for (row, cells) in TRANSPORTS.iter().zip(cells.chunks(KINDS.len())) {
        text += &format!("\n{:<16}", row.option);
        for cell in cells {
            text += &format!(" {cell:<11}");
        }
    }
    text
}

/// Special options that a test name needs to run here.
fn own_options(bench: &Bench, test: &TestRow) -> String {
    let cell = test.id as usize;
    match test.suite {
        Suite::Dlpi | Suite::Hippi => {
            let sap = Bench::access_point(cell);
            format!("-D {} -s {sap}", bench.link)
        }
        Suite::Fore => format!("-d {}", bench.circuits(cell)),
        Suite::Unix
        | Suite::Sctp
        | Suite::Sdp
        | Suite::Xti
        | Suite::Omni
        | Suite::Sockets
        | Suite::Control => String::new(),
    }
}

#[test]
fn every_test_name_prints_a_figure_or_says_what_is_missing() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let tests: Vec<&TestRow> = TESTS.iter().filter(|test| test.id.moves_data()).collect();
    let wrong = side_by_side(&tests, |test| {
        let transport = test.transport.row();
        let is_stream = test.transport == TransportId::Tcp && !test.flow.counts_transactions();
        let length = if test.flow == Flow::RECEIVE || is_stream {
            "-50000"
        } else if test.flow.counts_transactions() {
            "-50"
        } else {
            "0.1"
        };
        let options = format!("-t {} -P 0 -v 0", test.name);
        let finished = bench.run(length, &options, &own_options(&bench, test));
        let refused = finished.status.code() == Some(UNSUPPORTED)
            && !bench.must_work(transport)
            && finished.stderr.contains(transport.needs);
        let figure = finished
            .stdout
            .split_whitespace()
            .next()
            .and_then(|figure| figure.parse::<f64>().ok());
        let works = finished.clean().is_ok() && figure.is_some_and(|figure| figure > 0.0);
        let cell = match (works, refused) {
            (true, _) => "works",
            (false, true) => "unsupported",
            (false, false) => "WRONG",
        };
        note(&format!("{:<16} {cell}", test.name));
        (cell == "WRONG").then(|| finished.account())
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Does the work for every item, a few at a time; results in the order of the items.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let _slot = machine::slot();
    let next = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let item = next.lock().expect("the list").next();
                    let Some((index, item)) = item else { return };
                    let result = work(item);
                    done.lock().expect("the results").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("the results");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[test]
fn many_flows_run_over_every_transport_whose_sockets_can_be_waited_for() {
    let Some(bench) = Bench::new() else { return };
    for transport in [
        "sctp",
        "dccp",
        "udplite",
        "mptcp",
        "tls",
        "ktls",
        "vsock",
        "vsock-seqpacket",
    ] {
        // Counts of a lossy transport need not agree.
        let agrees = !matches!(transport, "dccp" | "udplite");
        for (amount, direction, sent, received) in [
            ("-40000", "send", "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
            (
                "-100",
                "rr -r 20,30",
                "REMOTE_BYTES_SENT",
                "LOCAL_BYTES_RECVD",
            ),
        ] {
            if (transport, direction) == ("vsock-seqpacket", "send") {
                // Data that a full queue cut short is not reported.
                continue;
            }
            let own = format!("-T {transport} -d {direction} -k FLOWS,{sent},{received}");
            let finished = bench.run(amount, "-t OMNI --flows 4", &own);
            if !bench.complete && finished.status.code() == Some(UNSUPPORTED) {
                continue;
            }
            let finished = finished.expect_clean();
            let (values, account) = (finished.values(), finished.account());
            assert_eq!(values.count("FLOWS"), 4, "{account}");
            let (sent, received) = (values.count(sent), values.count(received));
            assert!(received > 0 && received <= sent, "{account}");
            assert!(!agrees || received == sent, "{account}");
        }
    }
}
