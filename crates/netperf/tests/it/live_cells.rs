//! A matrix of tests between all pairs of ends, of which one at least is ours, for peers of iperf.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// A pair: whose the client is, and whose the server.
const PAIRS: [(bool, bool); 3] = [(false, true), (true, false), (true, true)];
/// Tests that run side by side.
const AT_ONCE: usize = 12;

/// One cell of the matrix.
#[derive(Clone, Debug)]
pub(crate) struct LiveCell {
    pub(crate) our_client: bool,
    pub(crate) our_server: bool,
    pub(crate) udp: bool,
    pub(crate) host: &'static str,
    pub(crate) streams: u64,
    pub(crate) direction: &'static str,
}

impl LiveCell {
    /// Each protocol, family and number of streams, in these directions.
    pub(crate) fn all(directions: &[&'static str]) -> Vec<Self> {
        let mut cells = Vec::new();
        for (our_client, our_server) in PAIRS {
            for udp in [false, true] {
                for host in ["127.0.0.1", "::1"] {
                    for streams in [1, 8] {
                        cells.extend(directions.iter().map(|&direction| Self {
                            our_client,
                            our_server,
                            udp,
                            host,
                            streams,
                            direction,
                        }));
                    }
                }
            }
        }
        cells
    }

    /// Some of these cells, which have each pair of values of two parameters that occurs in them.
    pub(crate) fn pairwise(mut cells: Vec<Self>) -> Vec<Self> {
        let mut missing: BTreeSet<[String; 2]> = cells.iter().flat_map(Self::pairs).collect();
        let mut kept = Vec::new();
        while !missing.is_empty() {
            let added = |cell: &Self| {
                let pairs = cell.pairs();
                pairs.iter().filter(|pair| missing.contains(*pair)).count()
            };
            let most = (0..cells.len()).max_by_key(|&at| added(&cells[at]));
            let cell = cells.swap_remove(most.expect("a cell"));
            for pair in cell.pairs() {
                missing.remove(&pair);
            }
            kept.push(cell);
        }
        kept
    }

    /// The pairs of values of two parameters.
    fn pairs(&self) -> Vec<[String; 2]> {
        let values = [
            format!("ends {} {}", self.our_client, self.our_server),
            format!("udp {}", self.udp),
            format!("host {}", self.host),
            format!("streams {}", self.streams),
            format!("direction {}", self.direction),
        ];
        let pair = |(at, one): (usize, &String)| {
            let others = values[at + 1..].iter();
            let pairs = others.map(|other| [one.clone(), other.clone()]);
            pairs.collect::<Vec<_>>()
        };
        values.iter().enumerate().flat_map(pair).collect()
    }

    /// One end is the original.
    pub(crate) fn with_stock(&self) -> bool {
        !(self.our_client && self.our_server)
    }

    /// Runs a test for each cell, some side by side.
    pub(crate) fn run_all(cells: Vec<Self>, test: impl Fn(&Self) + Sync) {
        let todo = Mutex::new(cells);
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(cell) = { todo.lock().expect("no panic").pop() } {
                        test(&cell);
                    }
                });
            }
        });
    }
}
