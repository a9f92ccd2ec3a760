//! Checks that data and reports of a server of iperf 2 are possible.

use std::time::Duration;

use netperf_engine::iperf2::TransferEnd;

use crate::iperf2::session::Iperf2StreamResult;
use netperf_measure::contradiction::{DatagramClaims, WayClaims};

/// The reason for which the result of a stream is none.
pub fn contradiction(result: &Iperf2StreamResult) -> Option<String> {
    if let Some(program) = result.foreign {
        return Some(format!("{program} answers, not iperf 2"));
    }
    let ends = [&result.sent, &result.received].into_iter().flatten();
    let unfinished = ends.map(|one| one.end).find_map(|end| match end {
        TransferEnd::Overrun => Some("the server still sends after the time of the test"),
        TransferEnd::Stalled => Some("the server takes or sends no data, or does not end"),
        TransferEnd::Complete | TransferEnd::Stopped | TransferEnd::Closed => None,
    });
    if let Some(unfinished) = unfinished {
        return Some(unfinished.to_owned());
    }
    let contradiction = of_report(result).or_else(|| of_account(result))?;
    Some(format!(
        "the server reports {contradiction}: its result cannot be right"
    ))
}

/// Contradiction in the report about data of the client.
fn of_report(result: &Iperf2StreamResult) -> Option<String> {
    let (report, sent) = (result.report.as_ref()?, result.sent?);
    let way = WayClaims {
        sent: sent.bytes,
        received: report.bytes,
        datagrams: Some(DatagramClaims {
            sent: sent.calls,
            expected: report.datagrams,
            lost: report.lost,
        }),
        // Small amounts lie below final datagrams.
        is_whole: sent.calls > 2,
        seconds: [
            sent.elapsed,
            Duration::from_micros(report.duration.micros()),
        ]
        .map(|time| time.as_secs_f64()),
        ..WayClaims::default()
    };
    way.contradiction()
}

/// Contradiction in the numbers of the datagrams that the client received.
fn of_account(result: &Iperf2StreamResult) -> Option<String> {
    let (account, total) = result.account.as_ref()?;
    let seconds = Duration::from_micros(account.duration()).as_secs_f64();
    let way = WayClaims {
        datagrams: Some(DatagramClaims {
            sent: 0,
            expected: *total,
            lost: account.order.lost,
        }),
        seconds: [seconds; 2],
        ..WayClaims::default()
    };
    way.contradiction()
}
