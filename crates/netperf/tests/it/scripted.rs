//! Agents that measure nothing: their results are what a test says.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use netperf_campaign::protocol::{HostPlace, LoadResult, Order, Reply, VERSION};
use netperf_testkit::{Invocation, Running, Scratch, Stopwatch, eventually, ours, server};
use serde_json::{Value, json};

use crate::campaign_line::{CampaignLine, secret};

const PATIENCE: Duration = Duration::from_secs(100);

/// The rate that a sender has to a receiver in the first, second, ... preparation.
pub(crate) type Rate = dyn Fn(usize, usize, usize) -> f64 + Sync;

/// A campaign of agents that join a coordinator.
pub(crate) struct ScriptedCampaign {
    pub(crate) folder: Scratch,
    count: usize,
}

/// Orders that the agents received.
#[derive(Debug, Default)]
pub(crate) struct ScriptedTimes {
    greeted: AtomicUsize,
    committed: AtomicUsize,
}

/// An agent: the number in its name is its index in plans of members sorted by name.
struct ScriptedAgent<'a> {
    number: usize,
    count: usize,
    rate: &'a Rate,
    preparations: usize,
    /// Its loads: number, target and whether it is a probe.
    loads: Vec<(u32, usize, bool)>,
    /// The numbers of all agents in the order of the roster.
    roster: Vec<usize>,
    begins: BTreeMap<u32, u64>,
}

/// The number of an agent by its name.
fn number(name: &str) -> usize {
    let digits = name.trim_start_matches('h');
    digits.parse().unwrap_or_else(|_| panic!("{name}"))
}

impl ScriptedAgent<'_> {
    fn document(&self, to: usize, is_probe: bool, begin: u64) -> Value {
        let rate = (self.rate)(self.number, to, self.preparations);
        let result = if is_probe {
            json!({"transactions_per_second": 100.0})
        } else {
            json!({"throughput_bits_per_second": rate})
        };
        let percentiles = json!([
            {"percent": 50.0, "nanoseconds": 1e15 / rate},
            {"percent": 99.0, "nanoseconds": 2e15 / rate},
        ]);
        json!({
            "result": result,
            "iterations": [{
                "tcp": {},
                "flows": {"window_begin_nanoseconds": begin, "counted_seconds": 1.0},
            }],
            "latency": is_probe.then(|| json!({"percentiles": percentiles})),
        })
    }

    fn obey(&mut self, line: &mut CampaignLine<Order>, order: Order, now: u64) -> bool {
        match order {
            Order::Hello { .. } => line.tell(&Reply::Hello {
                version: VERSION,
                program: "test".to_owned(),
                host: format!("h{}", self.number),
                port: (20_000 + self.number).to_string(),
                cpus: 1,
                place: HostPlace::default(),
            }),
            Order::Clock => line.tell(&Reply::Clock {
                received: now,
                sent: now,
            }),
            Order::Prepare(preparation) => {
                self.preparations += 1;
                let names = preparation.roster.iter().map(|entry| number(&entry.name));
                self.roster = names.collect();
                let loads = preparation.loads.iter();
                let is_probe = |words: &[String]| words.iter().any(|word| word == "TCP_RR");
                let load = loads.map(|load| (load.id, load.to, is_probe(&load.words)));
                self.loads = load.collect();
                line.tell(&Reply::Prepared);
            }
            Order::Commit { starts } => {
                self.begins = starts.iter().map(|start| (start.id, start.at)).collect();
                line.tell(&Reply::Committed { margin: 1 });
                return true;
            }
            Order::Alive => line.tell(&Reply::Alive {
                running: 0,
                done: 0,
                stepped: 0,
            }),
            Order::Abort => line.tell(&Reply::Stopped),
            Order::Collect | Order::Without { .. } | Order::Bye => {}
        }
        false
    }

    /// Sends all results.
    fn send(&mut self, line: &mut CampaignLine<Order>) {
        for (id, to, is_probe) in std::mem::take(&mut self.loads) {
            let begin = self.begins.get(&id).copied().unwrap_or_default();
            let result = LoadResult {
                id,
                document: Some(self.document(self.roster[to], is_probe, begin)),
                error: None,
            };
            line.tell(&Reply::Result(Box::new(result)));
        }
    }

    /// Takes part until the connection ends. Results go out once all agents have agreed.
    fn take_part(mut self, line: &mut CampaignLine<Order>, since: Stopwatch, seen: &ScriptedTimes) {
        let mut agreed = 0;
        while let Some(order) = line.hear() {
            let now = u64::try_from(since.elapsed().as_nanos()).expect("a time");
            if matches!(order, Order::Bye) {
                return;
            }
            if matches!(order, Order::Hello { .. }) {
                seen.greeted.fetch_add(1, Ordering::SeqCst);
            }
            if self.obey(line, order, now) {
                seen.committed.fetch_add(1, Ordering::SeqCst);
                agreed += 1;
            }
            // Those without loads agree to nothing; in the first preparation all have some.
            let all = seen.committed.load(Ordering::SeqCst) >= self.count;
            if !self.loads.is_empty() && all && agreed == self.preparations {
                self.send(line);
            }
        }
    }
}

impl ScriptedCampaign {
    /// A folder with a key and this plan, for as many agents.
    pub(crate) fn new(count: usize, plan: &str) -> Self {
        let folder = Scratch::new();
        let made = Invocation::new(&ours!().netperf)
            .folder(folder.path())
            .args(["campaign", "key", "-o", "key"])
            .run();
        made.expect_clean();
        let plan = format!("{plan}silence = 60\n");
        std::fs::write(folder.path().join("plan.toml"), plan).expect("a file");
        Self { folder, count }
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the plan with these options, and gives the coordinator to `watch` meanwhile.
    pub(crate) fn run<T>(
        &self,
        options: &[&str],
        rate: &Rate,
        watch: impl FnOnce(Running, &ScriptedTimes) -> T,
    ) -> T {
        let port = server::free_port();
        let at = format!("127.0.0.1:{port}");
        let secret = secret(&Path::new(self.folder.path()).join("key"));
        let running = Invocation::new(&ours!().netperf)
            .folder(self.folder.path())
            .args(["campaign", "run", "plan.toml", "--key-file", "key"])
            .args(["--join-listen", &at, "--expect", &self.count.to_string()])
            .args(options)
            .patience(Duration::from_secs(300))
            .spawn();
        let (since, seen) = (Stopwatch::start(), ScriptedTimes::default());
        std::thread::scope(|scope| {
            for number in 0..self.count {
                let (secret, seen) = (&secret, &seen);
                scope.spawn(move || {
                    let mut line = None;
                    eventually(PATIENCE, || {
                        line = CampaignLine::to_coordinator(port, secret).ok();
                        line.is_some()
                    });
                    let agent = ScriptedAgent {
                        number,
                        count: self.count,
                        rate,
                        preparations: 0,
                        loads: Vec::new(),
                        roster: Vec::new(),
                        begins: BTreeMap::new(),
                    };
                    agent.take_part(&mut line.expect("a coordinator"), since, seen);
                });
            }
            watch(running, &seen)
        })
    }
}
