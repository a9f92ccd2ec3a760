//! Clients of iperf 2: the protocol of a listener, and the processes that serve datagrams.

use netperf_daemon::poller::PollToken;
use netperf_measure::clock::{self, Moment};

use super::AcceptLoop;
use crate::iperf2::DatagramWorker;

impl AcceptLoop {
    /// When the next process has to be started or ended.
    pub(super) fn next_worker(&self) -> Option<Moment> {
        let next = self
            .datagram_workers
            .iter()
            .filter_map(DatagramWorker::next);
        next.min()
    }

    /// Starts the processes that are due, and ends those that have had their time.
    pub(super) fn start_workers(&mut self) {
        let now = clock::now();
        let mut failed = None;
        for (number, worker) in (0..).zip(&mut self.datagram_workers) {
            worker.expire(now);
            if !worker.is_due(now) || self.draining.is_some() {
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
        for log in worker.read() {
            let end = log.end_of_flow();
            log.write(end, &mut self.log);
            self.metrics.enter(&log, end);
        }
    }

    /// Has the processes end their flows. Others are started, which know the new settings, unless
    /// netserver ends.
    pub(super) fn end_workers(&mut self) {
        for worker in &mut self.datagram_workers {
            worker.end();
        }
    }

    /// True while a process runs.
    pub(super) fn has_workers(&self) -> bool {
        self.datagram_workers.iter().any(DatagramWorker::runs)
    }
}
