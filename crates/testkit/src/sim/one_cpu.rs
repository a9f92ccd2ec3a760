//! One processor for each simulation.
//!
//! Shadow and its processes run in turn: each system call hands over to the other. Between
//! processors that costs an interrupt and a wake-up, half of all processor time of a simulation.

use std::sync::Mutex;

use netperf_os::process;

/// Simulations of this process on each processor, by its number.
static BUSY: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Keeps this thread, and what it starts, on the processor that has the fewest simulations, until
/// it is dropped.
pub(super) struct OneCpu {
    cpu: u32,
    allowed: Vec<u32>,
}

impl OneCpu {
    pub(super) fn take() -> Self {
        let allowed = process::allowed_cpus().expect("the processors of this thread");
        let mut busy = BUSY.lock().expect("a count");
        let most = allowed.iter().max().map_or(0, |cpu| index(*cpu) + 1);
        if busy.len() < most {
            busy.resize(most, 0);
        }
        let idlest = allowed.iter().min_by_key(|cpu| busy[index(**cpu)]);
        let cpu = *idlest.expect("a processor");
        busy[index(cpu)] += 1;
        process::bind_to_cpu(cpu).expect("a processor of its own");
        Self { cpu, allowed }
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        if let Ok(mut busy) = BUSY.lock() {
            busy[index(self.cpu)] -= 1;
        }
        // It was on these before.
        let _restored = process::bind_to_cpus(&self.allowed);
    }
}

fn index(cpu: u32) -> usize {
    usize::try_from(cpu).expect("a small number")
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
