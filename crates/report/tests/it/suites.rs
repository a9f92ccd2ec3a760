//! The layouts of suites that no transcript shows with rows, written out from the
//! description of the output.

use crate::common::{hosts, outcome, run};
use netperf_model::{Confidence, EndSetup, Latency, Tally};
use netperf_report::{banner, final_report};

/// Banner and report of a run with one second and round counts.
fn printed(words: &str) -> String {
    let run = run(words);
    let mut outcome = outcome(&run, 1.0);
    let setup = EndSetup {
        send_buffer: Some(16384),
        recv_buffer: Some(131_072),
        send_size: Some(1000),
        ..EndSetup::default()
    };
    outcome.agreed.local = setup;
    outcome.agreed.remote = Some(setup);
    let one = &mut outcome.iterations[0];
    one.segment_size = Some(1452);
    one.local.tally = Tally {
        bytes_sent: 125_000_000,
        bytes_received: 125_000_000,
        send_calls: 125_000,
        recv_calls: 125_000,
        transactions: 80_000,
        failed_sends: 0,
        unanswered: 0,
    };
    if let Some(remote) = &mut one.remote {
        remote.tally = one.local.tally;
        for (end, other) in [(&mut one.local, false), (remote, true)] {
            let sends = if other {
                run.plan.flow.receives
            } else {
                run.plan.flow.sends
            };
            let receives = if other {
                run.plan.flow.sends
            } else {
                run.plan.flow.receives
            };
            end.tally.bytes_sent *= u64::from(sends);
            end.tally.bytes_received *= u64::from(receives);
        }
    }
    let banner = banner(&run.plan, &run.report, &hosts()).unwrap_or_default();
    banner + &final_report(&outcome, &run.report).expect("a report")
}

/// The lines of `text`, in which `$` marks where a line ends.
fn lines(text: &str) -> String {
    text.lines()
        .map(|line| line.strip_suffix('$').expect("a mark").to_owned() + "\n")
        .collect()
}

#[track_caller]
fn prints(words: &str, expected: &str) {
    let ours = printed(words);
    assert_eq!(ours, lines(expected), "{words}\n{ours}");
}

const FROM: &str = "from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 AF_INET";

#[test]
fn sctp_prints_like_tcp_without_a_brand() {
    prints(
        "netperf -t SCTP_STREAM -P 0 -B tag",
        "131072  16384   1000    1.00     1000.00   $",
    );
    prints(
        "netperf -t SCTP_STREAM_MANY -c -C",
        &format!(
            "SCTP 1-TO-MANY STREAM TEST {FROM} : histogram : interval : dirty data : demo$
Recv   Send    Send                          Utilization       Service Demand$
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv$
Size   Size    Size     Time     Throughput  local    remote   local   remote$
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB$
$
131072  16384   1000    1.00       1000.00   1.00     1.00     0.164   0.164 $
"
        ),
    );
    prints("netperf -t SCTP_RR -v 0 -P 0 -B tag", "80000.00$");
    prints("netperf -t SCTP_RR -v 0 -P 0 -c", " 0.250 S$");
    prints(
        "netperf -t SCTP_RR -f m -c -C -P 0",
        "16384  131072 1       1      1.00    2000.00  1.00   1.00   0.082   0.082 $
16384  131072$",
    );
    prints(
        "netperf -t SCTP_RR -P 0 -v 2 -O 5",
        "16384  131072 1        1       1.00     80000.00   $
16384  131072$
Alignment      Offset$
Local  Remote  Local  Remote$
Send   Recv    Send   Recv$
    8      5       0      5$",
    );
    prints(
        "netperf -t SCTP_STREAM -v 3",
        &format!(
            "SCTP STREAM TEST {FROM} : histogram : interval : dirty data : demo$
$
Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs$
Local  Remote  Local  Remote  Xfered   Per                 Per$
Send   Recv    Send   Recv             Send (avg)          Recv (avg)$
    8       8      0       0 1.25e+08  1000.00    125000   1000.00 125000$
$
Maximum$
Segment$
Size (bytes)$
  1452$
"
        ),
    );
}

#[test]
fn sctp_banners_count_the_burst_and_their_titles_follow_the_run() {
    prints(
        "netperf -t SCTP_RR_MANY -- -D",
        &format!(
            "SCTP 1-TO-MANY REQUEST/RESPONSE TEST {FROM} : nodelay : histogram : interval : dirty data : demo : first burst 0$
Local /Remote$
Socket Size   Request  Resp.   Elapsed  Trans.$
Send   Recv   Size     Size    Time     Rate         $
bytes  Bytes  bytes    bytes   secs.    per sec   $
$
16384  131072 1        1       1.00     80000.00   $
16384  131072$
"
        ),
    );
}

#[test]
fn sdp_prints_like_tcp_with_a_brand_that_slips_once() {
    prints(
        "netperf -t SDP_STREAM -P 0 -B tag",
        "131072  16384   1000    1.00     1000.00   tag$",
    );
    prints(
        "netperf -t SDP_RR -P 0 -B tag",
        "16384  131072 1        1       1.00     80000.00   tag$
16384  131072$",
    );
    // No newline behind the brand.
    assert_eq!(
        printed("netperf -t SDP_MAERTS -P 0 -B tag"),
        "131072  16384   1000    1.00     1000.00   \n tag"
    );
    prints(
        "netperf -t SDP_MAERTS -P 0 -B tag -c -C",
        "131072  16384   1000    1.00       1000.00   1.00     1.00     0.164   0.164  tag$",
    );
    prints("netperf -t SDP_CC -P 0 -v 0", "80000.00$");
}

#[test]
fn xti_banners_name_a_host_and_say_what_was_measured() {
    let features = ": histogram : interval : dirty data : XTI over sockets";
    let first = |words: &str| printed(words).lines().next().unwrap_or_default().to_owned();
    assert_eq!(
        first("netperf -t XTI_TCP_STREAM -i 3 -I 99,5 -- -D -V"),
        format!(
            "XTI TCP STREAM TEST to 192.0.2.1 : +/-2.5% @ 99% conf. : nodelay : copy avoidance {features}"
        )
    );
    assert_eq!(
        first("netperf -t XTI_UDP_RR -- -D"),
        format!("XTI UDP REQUEST/RESPONSE TEST to 192.0.2.1 {features}")
    );
    assert_eq!(
        first("netperf -t XTI_UDP_STREAM"),
        format!("UDP UNIDIRECTIONAL SEND TEST to 192.0.2.1 {features}")
    );
    let selected = run("netperf -t OMNI -- -T xti-tcp -d rr -k PROTOCOL");
    let text = final_report(&outcome(&selected, 1.0), &selected.report).expect("a report");
    assert_eq!(text, "PROTOCOL=TCP (XTI over sockets)\n");
}

#[test]
fn xti_datagrams_print_like_udp_and_their_responses_like_sctp() {
    prints(
        "netperf -t XTI_UDP_STREAM -P 0",
        " 16384    1000   1.00       125000      0    1000.00$
131072           1.00       125000           1000.00$
$",
    );
    prints(
        "netperf -t XTI_UDP_RR -P 0 -v 2",
        "16384  131072 1        1       1.00     80000.00   $
16384  131072$",
    );
    let run = run("netperf -t XTI_UDP_RR -P 0 -v 3");
    let mut outcome = outcome(&run, 1.0);
    outcome.latency = Some(Latency::default());
    let text = final_report(&outcome, &run.report).expect("a report");
    assert!(text.starts_with("\nHistogram of request/reponse times.\n"));
}

#[test]
fn connections_of_the_link_level_show_windows_below_their_titles() {
    prints(
        "netperf -t DLCO_STREAM -- -w 7 -W 9,11",
        "DLPI CO STREAM TEST$
Recv   Send    Send                          $
Window Window  Message  Elapsed              $
Size   Size    Size     Time     Throughput  $
frames frames  bytes    secs.    10^6bits/sec  $
$
   11      7    1000    1.00     1000.00   $",
    );
    prints(
        "netperf -t DLCO_RR -- -w 7,8 -W 9,11",
        "DLPI CO REQUEST/RESPONSE TEST$
 Local /Remote$
 Window Size   Request  Resp.   Elapsed  Trans.$
 Send   Recv   Size     Size    Time     Rate         $
 frames frames bytes    bytes   secs.    per sec   $
$
 7      8      100      200     1.00     80000.00   $
 9      11    $",
    );
    prints(
        "netperf -t DLCO_RR -P 0 -v 2 -o 3",
        " -1     -1     100      200     1.00     80000.00   $
 -1     -1    $
 Alignment      Offset$
 Local  Remote  Local  Remote$
 Send   Recv    Send   Recv$
     8      8       3      0$",
    );
}

#[test]
fn frames_without_a_connection_print_like_datagrams() {
    // Windows that were not requested are unknown.
    prints(
        "netperf -t DLCL_STREAM -c -C",
        "DLPI CL UNIDIRECTIONAL SEND TEST$
Window  Message  Elapsed      Messages                   CPU     Service$
Size    Size     Time         Okay Errors   Throughput   Util    Demand$
frames  bytes    secs            #      #   10^6bits/sec   %       us/KB$
$
   -1    1000    1.00       125000      0     1000.0      1.00    0.164 $
   -1            1.00       125000            1000.0      1.00    0.164 $
$",
    );
    prints(
        "netperf -t DLCL_RR -v 2 -c -C",
        "DLPI CL REQUEST/RESPONSE TEST$
Local /Remote$
Window Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem$
Send   Recv   Size    Size   Time    Rate     local  remote local   remote$
frames frames bytes   bytes  secs.   per sec  %      %      us/Tr   us/Tr$
$
-1     -1     100     200    1.00    80000.00   1.00   1.00   0.250   0.250 $
-1     -1    $
Average response time 12 usecs$",
    );
    prints("netperf -t DLCL_STREAM -P 0 -v 2", "");
    for test in ["FORE", "HIPPI"] {
        prints(
            &format!("netperf -t {test}_STREAM -v 2"),
            &format!(
                "{test} STREAM TEST$
Socket  Message  Elapsed      Messages                $
Size    Size     Time         Okay Errors   Throughput$
bytes   bytes    secs            #      #   10^6bits/sec$
$
16384    1000    1.00       125000      0    1000.00$
131072            1.00       125000           1000.00$
$"
            ),
        );
    }
    prints(
        "netperf -t FORE_RR -P 0",
        "16384  131072 1        1       1.00     80000.00   $
16384  131072$",
    );
}

#[test]
fn a_confidence_that_was_missed_is_told_of_by_the_suites_that_repeat() {
    let text = |test: &str| {
        let run = run(&format!("netperf -t {test} -i 3 -P 0"));
        let mut outcome = outcome(&run, 1.0);
        outcome.confidence = run.plan.confidence.map(|_| Confidence {
            met: false,
            result: 9.0,
            local_cpu: 0.0,
            remote_cpu: 0.0,
        });
        final_report(&outcome, &run.report).expect("a report")
    };
    for test in ["SCTP_RR", "SDP_STREAM", "XTI_TCP_RR"] {
        assert!(text(test).starts_with("!!! WARNING\n"), "{test}");
    }
    for test in ["STREAM_RR", "DLCL_RR", "FORE_RR", "HIPPI_STREAM", "TCP_MSS"] {
        assert!(!text(test).contains("WARNING"), "{test}");
    }
}
