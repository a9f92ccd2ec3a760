//! Many flows in one process, on a few threads (docs/decisions/0011-flows.md).
//!
//! Each thread has its own flows, poller, buffers and counters, and runs one of the
//! loops in [`loops`] over them. The main thread conducts: it opens the gate that releases
//! all of them together, says which stage of the run it is, and watches the control
//! connection meanwhile. A stage is one byte that every thread looks at in every round.

mod accept;
mod amount;
mod both_ways;
mod close;
mod connect;
mod coordinator;
mod cpu_meter;
mod ends;
mod finished;
mod flow;
mod loops;
mod meet;
mod open;
mod poller;
mod run;
mod shared;
mod transactions;
mod worker;
mod workers;

pub(crate) use accept::further;
pub(crate) use run::run;
