//! Messages of a client that are returned (`--bounceback`).

use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_daemon::record::SessionRecord;
use netperf_engine::iperf2::{PATIENCE, Transfer, return_messages};
use netperf_iperf2::messages::{Bounceback, stamp_bounceback};
use netperf_iperf2::states::connection::ConnectionInput;
use netperf_measure::clock;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::sleep;
use netperf_os::without::set_patience;
use netperf_program::iperf2::now;

use super::super::limits::longest;
use super::{ServedConnection, TransferFailure, set_type_of_service};

impl ServedConnection<'_> {
    /// Returns messages like this one, which begins with these bytes, until the client ends.
    pub(super) fn bounce(&mut self, first: &[u8], message: &Bounceback) -> ConnectionInput {
        let done = self.return_all(first, message);
        self.outcome(done)
    }

    fn return_all(&mut self, first: &[u8], message: &Bounceback) -> Result<(), TransferFailure> {
        self.claim(message.size)?;
        self.records.tell(SessionRecord::Runs(0.0));
        let control = &self.control;
        // Without them the times are those of a host that waits for more data.
        for (option, asked) in [
            (IntOption::NoDelay, true),
            (IntOption::QuickAck, message.quick_ack),
        ] {
            if asked {
                let _without = sockopt::set(control.as_fd(), option, 1);
            }
        }
        if let Some(tos) = message.tos {
            set_type_of_service(control, tos);
        }
        set_patience(control.as_fd(), Some(PATIENCE))?;
        let never = AtomicBool::new(false);
        let stop = self.shown.as_ref().map_or(&never, |shown| shown.stop);
        let mut shown = self.shown.as_mut();
        let counts = shown.as_mut().map(|shown| {
            shown.remarks = message.remarks();
            shown.begin(control, &self.header, (true, false), None)
        });
        let counts = counts.unwrap_or_default();
        let mut buf = first.to_vec();
        buf.resize(message.size, 0);
        let turn = |message_bytes: &mut [u8]| {
            let received = now();
            hold(message.held(), stop);
            stamp_bounceback(message_bytes, received, now());
        };
        let limit = (first.len(), longest(&self.policy));
        let (fd, moved) = (control.as_fd(), &counts.received.moved);
        let run = return_messages(fd, &mut buf, limit, moved, stop, turn);
        if let Some(shown) = shown {
            shown.end(&counts, [None, run.as_ref().ok().copied()]);
        }
        let both = run?;
        let one = Transfer {
            bytes: both.bytes / 2,
            ..both
        };
        self.tell(Some(one), Some(one));
        Ok(())
    }
}

/// Waits so long before the answer, or until the server is stopped.
fn hold(time: Duration, stop: &AtomicBool) {
    let until = clock::now().plus(time);
    while !until.left().is_zero() && !stop.load(Ordering::Relaxed) {
        sleep(until.left().min(PATIENCE));
    }
}
