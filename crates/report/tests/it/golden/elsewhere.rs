//! Transcripts that hold no report. All but those of other tests run again in
//! `netperf/tests/it/golden_said`, which compares both streams and the exit status.

use Elsewhere::{CommandLine, Connection, Crash, DebugText, Netserver};

/// Why a transcript is not among those compared here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// Help, versions, refusals and unknown tests: the command line's own tests
    /// compare them, too.
    CommandLine,
    /// No control or data connection comes about; the program names the cause.
    Connection,
    /// What netserver prints.
    Netserver,
    /// Free text for the original's own developers, in no fixed form.
    DebugText,
    /// The original ends by a signal before it prints anything.
    Crash,
}

/// Every such transcript.
#[rustfmt::skip]
pub(crate) static ELSEWHERE: &[(Elsewhere, &[&str])] = &[
    (CommandLine, &[
        "N-cc-no-default-port--git",
        "N-mss-no-default-port--git",
        "N-sctp--git",
        "N-unix--git",
        "conf-I-width-only--git",
        "conf-bad-level--git",
        "cpu-rate-argument-attached--git",
        "err-l-omni-usage-exit--git",
        "err-long-option--git",
        "err-missing-argument--git",
        "err-number-garbage-l--git",
        "err-sctp-T--git",
        "err-unknown-option--deb",
        "err-unknown-option--git",
        "err-unknown-test--deb",
        "err-unknown-test--git",
        "err-unknown-test-with-test-options--git",
        "fill-F-remote-name-too-long--git",
        "host-comma-family--git",
        "missing-double-dash-m--git",
        "omni-file-name-too-long--git",
        "omni-list-spaces-only-is-file--git",
        "omni-unknown-single-is-file--deb",
        "omni-unknown-single-is-file--git",
        "test-not-compiled-dlcl_rr--git",
        "test-not-compiled-dlco_stream--git",
        "test-not-compiled-dns_rr--git",
        "test-not-compiled-sctp_stream--deb",
        "test-not-compiled-sdp_stream--git",
        "test-not-compiled-stream_stream--deb",
        "test-not-compiled-tcp_trr--git",
        "test-not-compiled-xti_tcp_stream--git",
        "test-not-compiled-xti_udp_rr--git",
        "unix-bad-option--git",
        "usage-global--deb",
        "usage-global--git",
        "usage-omni--deb",
        "usage-omni--git",
        "usage-sctp--git",
        "usage-sockets--deb",
        "usage-sockets--git",
        "usage-unix--git",
        "version--deb",
        "version--git",
    ]),
    (Connection, &[
        "N-rem-cpu--git",
        "err-bad-port-name--git",
        "err-connection-refused--deb",
        "err-connection-refused--git",
        "err-connection-refused-rr-P0--git",
        "err-network-unreachable--git",
        "err-no-route-P0--git",
        "err-unknown-test-no-server--git",
        "err-unresolvable-host--deb",
        "err-unresolvable-host--git",
        "host-L-unresolvable--git",
        "ipv6-family-mismatch--git",
        "opt-H-unresolvable--git",
        "opt-P-service-name--git",
        "opt-data-family-mismatch--git",
    ]),
    (Netserver, &[
        "netserver-L--git",
        "netserver-L-family--git",
        "netserver-L-unresolvable--deb",
        "netserver-L-unresolvable--git",
        "netserver-any--deb",
        "netserver-any--git",
        "netserver-any-default-port--git",
        "netserver-bad-option--git",
        "netserver-bad-port--git",
        "netserver-d--git",
        "netserver-daemonize--git",
        "netserver-f--git",
        "netserver-family-unknown--git",
        "netserver-help--deb",
        "netserver-help--git",
        "netserver-missing-argument--git",
        "netserver-n-too-many--git",
        "netserver-port-in-use--git",
        "netserver-v-N--git",
        "netserver-v4--git",
        "netserver-v6--git",
        "netserver-version--deb",
        "netserver-version--git",
    ]),
    (DebugText, &[
        "debug-d-omni-k--git",
        "debug-d-rr--deb",
        "debug-d-rr--git",
        "debug-d-sendfile--git",
        "debug-d-stream--git",
    ]),
    (Crash, &[
        "intervals-remote-receiver-defect--git",
    ]),
];
