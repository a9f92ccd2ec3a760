//! Clients of iperf 2: the protocol of a listener, and the processes that serve datagrams.

use netperf_measure::clock::{self, Moment};

use super::AcceptLoop;
use crate::server::iperf2::ServedProtocol;
use crate::server::poller::PollToken;
use crate::server::session_log::ProcessEnd;

impl AcceptLoop {
    /// Protocol at the listener with this index.
    pub(super) const fn protocol_of(&self, index: usize) -> ServedProtocol {
        if index < self.of_netperf {
            ServedProtocol::Netperf
        } else {
            ServedProtocol::Iperf2
        }
    }

    /// When the next process has to be started.
    pub(super) fn next_worker(&self) -> Option<Moment> {
        let again = self.datagram_workers.iter().filter_map(|one| one.again);
        again.min()
    }

    /// Starts the processes that are due.
    pub(super) fn start_workers(&mut self) {
        let now = clock::now();
        let mut failed = None;
        for (number, worker) in (0..).zip(&mut self.datagram_workers) {
            if worker.again.is_none_or(|again| again > now) {
                continue;
            }
            let started = worker.start(&self.args).and_then(|()| match worker.fd() {
                Some(fd) => {
                    let token = PollToken::Iperf2Datagrams(number);
                    self.poller.watch(fd, token)
                }
                None => Ok(()),
            });
            failed = started.err().or(failed);
        }
        if let Some(error) = failed {
            self.complain("iperf2", &error);
        }
    }

    /// Reads the records of a process.
    pub(super) fn read_worker(&mut self, number: u64) {
        let index = usize::try_from(number).ok();
        let Some(worker) = index.and_then(|index| self.datagram_workers.get_mut(index)) else {
            return;
        };
        let end = ProcessEnd::Exit(0);
        for log in worker.read() {
            log.write(end, &mut self.log);
            self.metrics.enter(&log, end);
        }
    }

    /// Ends the processes and starts others, which know the new settings.
    pub(super) fn restart_workers(&mut self) {
        for worker in &mut self.datagram_workers {
            worker.stop();
            worker.again = Some(clock::now());
        }
        self.start_workers();
    }

    /// Ends the processes.
    pub(super) fn stop_workers(&mut self) {
        for worker in &mut self.datagram_workers {
            worker.stop();
        }
        self.datagram_workers.clear();
    }
}
