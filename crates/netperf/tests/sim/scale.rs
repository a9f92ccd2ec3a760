//! More hosts than a machine has: campaigns of agents in twenty cities, and clients of one
//! netserver.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use netperf_testkit::sim::{self, SimRun};
use netperf_testkit::{
    Invocation, Scratch, SimHost, SimLink, SimProcess, Simulation, environment, note, ours, procfs,
};
use serde_json::Value;

/// Cities, with latitude and longitude in degrees.
const CITIES: [(&str, f64, f64); 20] = [
    ("London", 51.5, -0.1),
    ("Frankfurt", 50.1, 8.7),
    ("Paris", 48.9, 2.4),
    ("Madrid", 40.4, -3.7),
    ("Warsaw", 52.2, 21.0),
    ("Stockholm", 59.3, 18.1),
    ("Istanbul", 41.0, 29.0),
    ("Dubai", 25.2, 55.3),
    ("Mumbai", 19.1, 72.9),
    ("Singapore", 1.4, 103.8),
    ("Hong Kong", 22.3, 114.2),
    ("Tokyo", 35.7, 139.7),
    ("Seoul", 37.6, 127.0),
    ("Sydney", -33.9, 151.2),
    ("Los Angeles", 34.1, -118.2),
    ("Chicago", 41.9, -87.6),
    ("New York", 40.7, -74.0),
    ("Toronto", 43.7, -79.4),
    ("Sao Paulo", -23.6, -46.6),
    ("Johannesburg", -26.2, 28.0),
];
/// Kilometres that light travels in a fibre in a millisecond.
const FIBRE: f64 = 200.0;
/// Fibres are longer than the way.
const DETOUR: f64 = 1.3;
const EARTH_RADIUS: f64 = 6371.0;
/// Delay within a city, and of the way to a fibre, milliseconds: the shortest that is simulated.
const LOCAL: f64 = 1.0;

/// Delay in one direction between two cities.
fn delay(from: usize, to: usize) -> Duration {
    let [
        (_, from_latitude, from_longitude),
        (_, to_latitude, to_longitude),
    ] = [CITIES[from], CITIES[to]]
        .map(|(name, one, other)| (name, one.to_radians(), other.to_radians()));
    let angle = (from_latitude.sin() * to_latitude.sin()
        + from_latitude.cos() * to_latitude.cos() * (from_longitude - to_longitude).cos())
    .clamp(-1.0, 1.0)
    .acos();
    let milliseconds = LOCAL + angle * EARTH_RADIUS * DETOUR / FIBRE;
    // Whole microseconds, as the simulator takes them.
    Duration::from_secs_f64((milliseconds * 1e3).round() / 1e6)
}

fn delays() -> Vec<Vec<Duration>> {
    let all = || 0..CITIES.len();
    all()
        .map(|from| all().map(|to| delay(from, to)).collect())
        .collect()
}

fn number(variable: &str, default: usize) -> usize {
    environment(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// A simulation that has run, and what it took of this machine.
struct Weighed {
    run: SimRun,
    /// By how much the available memory fell meanwhile, bytes; by other programs, too.
    memory: u64,
}

impl Weighed {
    fn of(simulation: &Simulation) -> Self {
        let before = procfs::available_memory();
        let (least, is_over) = (AtomicU64::new(before), AtomicBool::new(false));
        let run = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    least.fetch_min(procfs::available_memory(), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(200));
                }
            });
            let run = simulation.run();
            is_over.store(true, Ordering::Relaxed);
            run
        });
        let memory = before - least.into_inner();
        Self { run, memory }
    }

    /// Prints a row of the table in docs/manual/src/lab.md.
    fn note_row(&self, simulated: &str, values: &str) {
        let (seconds, mebibytes) = (self.run.took.as_secs(), self.memory >> 20);
        note(&format!(
            "| {simulated} | {seconds} s | {mebibytes} MiB | {values} |"
        ));
    }
}

/// A campaign of agents that join a coordinator in London, one city after the other. Some of them
/// are killed at a time.
fn campaign(agents: usize, folder: &Path, killed: &[(usize, Duration)]) -> Simulation {
    let programs = ours!();
    let netperf = || Invocation::new(&programs.netperf).folder(folder);
    netperf()
        .args(["campaign", "key", "-o", "key"])
        .run()
        .expect_clean();
    let plan = "pattern = \"ring\"\ntest = \"TCP_RR\"\nwindow = 2\nwarmup = 1\nsilence = 20\n";
    std::fs::write(folder.join("plan.toml"), plan).expect("a plan");
    let (plan, key) = (folder.join("plan.toml"), folder.join("key"));
    let (plan, key) = (plan.display(), key.display());
    let words = format!(
        "campaign run {plan} --key-file {key} --join-listen 11.0.0.1:9000 --expect {agents} --json"
    );
    let coordinator = SimProcess::new(&programs.netperf, &words).at(Duration::from_secs(1));
    let words = format!("-D -4 --agent --join 11.0.0.1:9000 --key-file {key}");
    let agent = |index: usize| {
        let start = Duration::from_millis(1500 + index as u64);
        let process = SimProcess::new(&programs.netserver, &words).at(start);
        match killed.iter().find(|(killed, _)| *killed == index) {
            Some((_, at)) => process.signalled(*at, "SIGKILL"),
            None => process,
        }
    };
    // The coordinator reads 128 clocks at the same time, each for some seconds.
    let length = Duration::from_secs(60 + agents as u64 / 20);
    let agents = (0..agents).map(|index| SimHost {
        place: index % CITIES.len(),
        ..SimHost::new(&format!("a{index}"), vec![agent(index)])
    });
    let coordinator = SimHost::new("coordinator", vec![coordinator]);
    let hosts = std::iter::once(coordinator).chain(agents).collect();
    Simulation {
        delays: delays(),
        length,
        ..Simulation::of_hosts(SimLink::lossless(1000, 1), hosts)
    }
}

fn document(run: &SimRun) -> Value {
    let coordinator = run.of("coordinator");
    serde_json::from_str(&coordinator.stdout).unwrap_or_else(|_| panic!("{coordinator:?}"))
}

/// The city of a member, by the name of its host.
fn city(member: &Value) -> usize {
    let name = member["name"].as_str().expect("a name");
    let index: usize = name[1..].parse().expect("a number");
    index % CITIES.len()
}

/// Runs a campaign; each figure is the one that the distance gives.
fn measures_distances(agents: usize) {
    let folder = Scratch::new();
    let weighed = Weighed::of(&campaign(agents, folder.path(), &[]));
    let document = document(&weighed.run);
    let coordinator = weighed.run.of("coordinator");
    assert_eq!(document["complete"], true, "{coordinator:?}");
    let members = document["members"].as_array().expect("members");
    assert_eq!(members.len(), agents);
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2 * agents);
    let mut worst: f64 = 0.0;
    for cell in cells {
        let end = |key: &str| {
            let index = cell[key]
                .as_u64()
                .and_then(|index| usize::try_from(index).ok());
            city(&members[index.expect("a member")])
        };
        let round_trip = delay(end("from"), end("to")) + delay(end("to"), end("from"));
        let expected = 1.0 / round_trip.as_secs_f64();
        let rate = cell["metrics"]["transactions_per_second"].as_f64();
        let rate = rate.unwrap_or_else(|| panic!("{cell}"));
        let error = (rate - expected).abs();
        // A transaction at each edge of the window.
        assert!(
            error < expected * 0.01 + 1.0,
            "{cell}: {rate}, not {expected}"
        );
        worst = worst.max(error / expected);
    }
    let simulated = format!("{agents} agents, {} cells", cells.len());
    let values = format!("worst error of a cell {:.2} %", worst * 100.0);
    weighed.note_row(&simulated, &values);
}

/// Runs a campaign in which agents are killed while it measures: it ends, and names one of them.
fn names_the_lost(agents: usize, lost: &[usize]) {
    let folder = Scratch::new();
    let at = Duration::from_secs(9);
    let killed: Vec<(usize, Duration)> = lost.iter().map(|index| (*index, at)).collect();
    let weighed = Weighed::of(&campaign(agents, folder.path(), &killed));
    let document = document(&weighed.run);
    assert_eq!(document["complete"], false, "{document}");
    let ended = document["ended"].as_str().expect("a reason");
    let is_named = |index: &usize| ended.starts_with(&format!("a{index} is lost"));
    assert!(lost.iter().any(is_named), "{ended}");
    assert_ne!(weighed.run.of("coordinator").end.status(), Some(0));
    let simulated = format!("{agents} agents, {} of them killed", lost.len());
    weighed.note_row(&simulated, &format!("the result ends with: {ended}"));
}

#[test]
fn a_campaign_of_agents_in_eight_cities_measures_their_distances() {
    if sim::available() {
        measures_distances(8);
    }
}

#[test]
#[ignore = "just lab-shadow scale: NETPERF_SIM_AGENTS agents"]
fn a_campaign_of_many_agents_measures_their_distances() {
    if sim::available() {
        measures_distances(number("NETPERF_SIM_AGENTS", 1000));
    }
}

#[test]
fn a_campaign_names_the_agent_that_is_lost_on_the_way() {
    if sim::available() {
        names_the_lost(10, &[5]);
    }
}

#[test]
#[ignore = "just lab-shadow scale: NETPERF_SIM_AGENTS agents"]
fn a_campaign_of_many_agents_names_one_that_is_lost_on_the_way() {
    if sim::available() {
        let agents = number("NETPERF_SIM_AGENTS", 1000);
        names_the_lost(agents, &[agents / 4, agents / 2, agents - 1]);
    }
}

/// Clients of one netserver, so many on a host, that begin within three seconds and measure for
/// four: all are served at the same time.
fn serves(clients: usize) {
    const ON_A_HOST: usize = 50;
    let programs = ours!();
    let limits = "--max-sessions 10000 --max-peer-sessions 10000 --max-session-rate 100000,100000 \
                  --max-startups 1000:10:1000";
    let server = SimProcess::new(&programs.netserver, &format!("-D -4 {limits}"));
    let words = "-4 -H server -t TCP_RR -l 4 -P 0 -v 0";
    let client = |index: usize| {
        let start = Duration::from_millis(1000 + 3_000 * index as u64 / clients as u64);
        SimProcess::new(&programs.netperf, words).at(start)
    };
    let mut hosts = vec![SimHost::new("server", vec![server])];
    hosts.extend((0..clients).step_by(ON_A_HOST).map(|first| {
        let own = (first..clients.min(first + ON_A_HOST)).map(client);
        SimHost::new(&format!("c{first}"), own.collect())
    }));
    let simulation = Simulation {
        length: Duration::from_secs(60),
        ..Simulation::of_hosts(SimLink::lossless(10_000, 20), hosts)
    };
    let weighed = Weighed::of(&simulation);
    let mut rates: BTreeMap<String, usize> = BTreeMap::new();
    for host in simulation.hosts.iter().skip(1) {
        for client in weighed.run.all_of(&host.name) {
            assert_eq!(client.end.status(), Some(0), "{client:?}");
            *rates.entry(client.stdout.trim().to_owned()).or_default() += 1;
        }
    }
    for (rate, count) in &rates {
        let rate: f64 = rate.parse().expect("a rate");
        assert!(
            (24.0..=25.0).contains(&rate),
            "{count} clients: {rate} transactions/s"
        );
    }
    let values = format!("transactions/s, and clients that had them: {rates:?}");
    weighed.note_row(&format!("{clients} clients"), &values);
}

#[test]
fn one_netserver_serves_forty_clients() {
    if sim::available() {
        serves(40);
    }
}

#[test]
#[ignore = "just lab-shadow scale: NETPERF_SIM_CLIENTS clients"]
fn one_netserver_serves_thousands_of_clients() {
    if sim::available() {
        serves(number("NETPERF_SIM_CLIENTS", 5000));
    }
}
