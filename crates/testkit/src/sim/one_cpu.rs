//! One processor for each simulation.
//!
//! Shadow and its processes run in turn: each system call hands over to the other. Between
//! processors that costs an interrupt and a wake-up, half of all processor time of a simulation.

use std::sync::{Condvar, Mutex};

use netperf_os::process;

/// Processors on which this process runs a simulation, by their numbers.
static BUSY: Mutex<Vec<u32>> = Mutex::new(Vec::new());
static FREE: Condvar = Condvar::new();

/// Keeps this thread, and what it starts, on a processor that no other thread has, until it is
/// dropped. Simulations that share a processor take a quarter more of its time.
pub(super) struct OneCpu {
    cpu: u32,
    allowed: Vec<u32>,
}

impl OneCpu {
    /// Waits until a processor is free.
    pub(super) fn take() -> Self {
        let allowed = process::allowed_cpus().expect("the processors of this thread");
        let mut busy = BUSY.lock().expect("the processors");
        let cpu = loop {
            if let Some(free) = allowed.iter().find(|cpu| !busy.contains(cpu)) {
                break *free;
            }
            busy = FREE.wait(busy).expect("the processors");
        };
        busy.push(cpu);
        process::bind_to_cpu(cpu).expect("a processor of its own");
        Self { cpu, allowed }
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        if let Ok(mut busy) = BUSY.lock() {
            busy.retain(|cpu| *cpu != self.cpu);
            FREE.notify_all();
        }
        // It was on these before.
        let _restored = process::bind_to_cpus(&self.allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_processor_until_the_end_of_its_simulation() {
        let allowed = process::allowed_cpus().unwrap();
        let taken = OneCpu::take();
        assert_eq!(process::allowed_cpus().unwrap(), [taken.cpu]);
        drop(taken);
        assert_eq!(process::allowed_cpus().unwrap(), allowed);
    }
}
