//! The limit of a run, as far as both ends know it.

use netperf_report::document::MeasuredEnd;
use netperf_text::unit::{NO_BREAK, Unit, quantity};

use super::RunSummary;

/// Utilisation from which on a CPU is a limit, percent.
const BUSY: f64 = 95.0;
/// Share of a requested rate from which on the rate is the limit.
const REACHED: f64 = 0.98;
/// Share of a socket buffer that data in flight fills where the buffer is the limit.
const FILLED: f64 = 0.8;

impl RunSummary<'_> {
    /// The limit of the rate; `None` of a run without one, and where nothing was looked at.
    pub(super) fn limit(self) -> Option<String> {
        if self.rates().is_empty() {
            return None;
        }
        let run = self.first()?;
        let ends = [
            ("client", Some(&run.local)),
            ("server", run.remote.as_ref()),
        ];
        let known = ends.iter().filter_map(|(_, end)| *end);
        let looked = known.filter(|end| end.cpu.is_some()).count() > 0;
        let cpus = ends.iter().filter_map(|(name, end)| busy(name, (*end)?));
        if let Some(rate) = self.requested_rate() {
            return Some(rate);
        }
        let found: Vec<String> = cpus.chain(self.window()).collect();
        match found.is_empty() {
            true => looked.then(|| "nothing found on the hosts".to_owned()),
            false => Some(found.join("; ")),
        }
    }

    /// The rate asked for, if it was reached.
    fn requested_rate(self) -> Option<String> {
        let rate = self.document.rate.as_ref()?;
        let sent = rate.sent_per_second.0?;
        (sent >= REACHED * rate.asked_per_second).then(|| {
            let unit = match rate.unit.as_str() {
                "bits" => Unit::BitsPerSecond,
                "packets" => Unit::Count("packets/s"),
                _ => Unit::TransactionsPerSecond,
            };
            let asked = quantity(rate.asked_per_second, unit);
            format!("the rate asked for ({asked})")
        })
    }

    /// The socket buffer of the sender or of the receiver, if data in flight fills it.
    fn window(self) -> Option<String> {
        let (run, test) = (self.first()?, &self.document.test);
        let one_way = !self.counts_transactions() && test.bidirectional.is_none();
        let bits = self
            .document
            .result
            .as_ref()?
            .throughput
            .throughput_bits_per_second;
        let round_trip = f64::from(run.tcp.filter(|_| one_way)?.round_trip_micros) / 1e6;
        let in_flight = bits.0? / 8.0 * round_trip;
        let remote = run.remote.as_ref()?;
        let (sender, receiver) = if test.sends {
            (&run.local, remote)
        } else {
            (remote, &run.local)
        };
        let buffers = [
            ("send", sender.final_send_buffer_bytes),
            ("receive", receiver.final_recv_buffer_bytes),
        ];
        let known = buffers
            .into_iter()
            .filter_map(|(name, bytes)| Some((name, bytes?)));
        let (name, bytes) = known.min_by_key(|(_, bytes)| *bytes)?;
        (bytes > 0 && in_flight >= FILLED * f64::from(bytes)).then(|| {
            let size = quantity(f64::from(bytes), Unit::Bytes);
            let time = quantity(round_trip, Unit::Seconds);
            format!("the {name} buffer ({size} at a round trip of {time})")
        })
    }
}

/// The busiest CPU of an end, if it is a limit.
fn busy(name: &str, end: &MeasuredEnd) -> Option<String> {
    let cpu = end.cpu.as_ref()?;
    let is_full = cpu.peak_id >= 0 && cpu.peak_busy >= BUSY;
    is_full.then(|| {
        format!(
            "CPU {} of the {name} ({:.0}{NO_BREAK}% busy)",
            cpu.peak_id, cpu.peak_busy
        )
    })
}
