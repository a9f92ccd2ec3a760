//! Times and CPU shares of a server that cannot be.

use netperf_text::unit::short;

use crate::messages::{Results, StreamResults};

/// Highest CPU utilisation: that of more CPUs than a host has, percent.
const MOST_CPU: f64 = 100.0 * 8192.0;
/// Bytes of a second that no stream carries.
const FASTEST: f64 = 1e12;

/// Leaves out the CPU utilisation if it is impossible, and says so. The clock of CPU time of iperf3
/// is not exact everywhere, so that its other results may be right.
pub fn without_impossible_cpu(peer: &mut Results) -> Option<String> {
    let possible = 0.0..=MOST_CPU;
    let share = peer
        .cpu
        .into_iter()
        .find(|share| !possible.contains(share))?;
    peer.cpu = [0.0; 3];
    let share = short(share);
    Some(format!(
        "the server reports a CPU utilisation of {share} %, which cannot be right: it is left out"
    ))
}

/// Description of the first time that is impossible, in a test of so many seconds at this end. The
/// server's test may be so much longer.
#[must_use]
pub fn doubt(peer: &Results, seconds: f64, longer: f64) -> Option<String> {
    let of_time = |stream: &StreamResults| {
        let there = stream.end_time.map(|_| stream.seconds())?;
        #[expect(clippy::cast_precision_loss, reason = "a limit by far")]
        let is_too_short = there < stream.bytes as f64 / FASTEST;
        let is_backward = there < 0.0 || stream.start_time < 0.0;
        let is_impossible = is_backward || is_too_short || there > seconds + longer;
        is_impossible.then(|| format!("a test of {} seconds in {seconds:.1}", short(there)))
    };
    peer.streams.iter().find_map(of_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(start_time: f64, end_time: Option<f64>) -> Option<String> {
        let stream = StreamResults {
            id: 1,
            bytes: 100_000,
            start_time,
            end_time,
            ..StreamResults::default()
        };
        let results = Results {
            streams: vec![stream],
            ..Results::default()
        };
        doubt(&results, 1.0, 30.0)
    }

    #[test]
    fn times_that_cannot_be_are_told_briefly() {
        for end in [None, Some(0.0001), Some(1.0), Some(31.0)] {
            assert_eq!(of(0.0, end), None, "{end:?}");
        }
        for (start, end) in [
            (0.0, 0.0),
            (0.0, -3.0),
            (0.0, 1e-300),
            (0.0, 1e300),
            (0.0, 31.5),
            (9.0, 1.0),
            (-5.0, 1.0),
        ] {
            let told = of(start, Some(end)).expect("a reason");
            assert!(told.len() < 60, "{told}");
        }
    }

    #[test]
    fn cpu_shares_that_cannot_be_are_left_out_and_told_briefly() {
        let mut results = Results {
            cpu: [6400.0, 6399.0, 1.0],
            ..Results::default()
        };
        assert_eq!(without_impossible_cpu(&mut results), None);
        assert_eq!(results.cpu, [6400.0, 6399.0, 1.0]);
        for share in [-50.0, 1e308] {
            results.cpu = [1.0, 0.5, share];
            let told = without_impossible_cpu(&mut results).expect("a reason");
            assert!(told.len() < 100, "{told}");
            assert_eq!(results.cpu, [0.0; 3]);
        }
    }

    #[test]
    fn a_stream_without_data_takes_no_time() {
        let results = Results {
            streams: vec![StreamResults {
                end_time: Some(0.0),
                ..StreamResults::default()
            }],
            ..Results::default()
        };
        assert_eq!(doubt(&results, 1.0, 30.0), None);
    }
}
