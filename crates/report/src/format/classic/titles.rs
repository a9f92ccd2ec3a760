//! The titles of the classic layouts. Blanks at line ends are part of them.
//!
//! `%s` takes the unit, `%c` the letter of a CPU method.

/// One-way TCP.
pub(super) const STREAM: &str = concat!(
    "Recv   Send    Send                          \n",
    "Socket Socket  Message  Elapsed              \n",
    "Size   Size    Size     Time     Throughput  \n",
    "bytes  bytes   bytes    secs.    %s/sec  \n",
    "\n"
);

/// TCP_STREAM and TCP_SENDFILE with CPU.
pub(super) const STREAM_CPU: &str = concat!(
    "Recv   Send    Send                          Utilization       Service Demand\n",
    "Socket Socket  Message  Elapsed              Send     Recv     Send    Recv\n",
    "Size   Size    Size     Time     Throughput  local    remote   local   remote\n",
    "bytes  bytes   bytes    secs.    %-8.8s/s  %% %c      %% %c      us/KB   us/KB\n",
    "\n"
);

/// TCP_MAERTS with CPU.
pub(super) const MAERTS_CPU: &str = concat!(
    "Recv   Send    Send                          Utilization       Service Demand\n",
    "Socket Socket  Message  Elapsed              Recv     Send     Recv    Send\n",
    "Size   Size    Size     Time     Throughput  local    remote   local   remote\n",
    "bytes  bytes   bytes    secs.    %-8.8s/s  %% %c      %% %c      us/KB   us/KB\n",
    "\n"
);

/// Above S2 for TCP_STREAM and TCP_SENDFILE.
pub(super) const STREAM_CALLS: &str = concat!(
    "\n",
    "Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs\n",
    "Local  Remote  Local  Remote  Xfered   Per                 Per\n",
    "Send   Recv    Send   Recv             Send (avg)          Recv (avg)\n"
);

/// Above S2 for TCP_MAERTS.
pub(super) const MAERTS_CALLS: &str = concat!(
    "\n",
    "Alignment      Offset         Bytes    Bytes       Recvs   Bytes    Sends\n",
    "Local  Remote  Local  Remote  Xfered   Per                 Per\n",
    "Recv   Send    Recv   Send             Recv (avg)          Send (avg)\n"
);

/// Above the segment size.
pub(super) const SEGMENT: &str = concat!("\n", "Maximum\n", "Segment\n", "Size (bytes)\n");

/// TCP_MSS.
pub(super) const MSS: &str = concat!("Maximum\n", "Segment\n", "Size (bytes)\n", "\n");

/// Request/response in transactions per second.
pub(super) const RR: &str = concat!(
    "Local /Remote\n",
    "Socket Size   Request  Resp.   Elapsed  Trans.\n",
    "Send   Recv   Size     Size    Time     Rate         \n",
    "bytes  Bytes  bytes    bytes   secs.    per sec   \n",
    "\n"
);

/// Request/response in any other unit.
pub(super) const RR_UNIT: &str = concat!(
    "Local /Remote\n",
    "Socket Size   Request  Resp.   Elapsed  \n",
    "Send   Recv   Size     Size    Time     Throughput \n",
    "bytes  Bytes  bytes    bytes   secs.    %s/sec   \n",
    "\n"
);

/// Request/response in transactions per second with CPU.
pub(super) const RR_CPU: &str = concat!(
    "Local /Remote\n",
    "Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem\n",
    "Send   Recv   Size    Size   Time    Rate     local  remote local   remote\n",
    "bytes  bytes  bytes   bytes  secs.   per sec  %% %c    %% %c    us/Tr   us/Tr\n",
    "\n"
);

/// Request/response in any other unit with CPU.
pub(super) const RR_UNIT_CPU: &str = concat!(
    "Local /Remote\n",
    "Socket Size   Request Resp.  Elapsed Tput     CPU    CPU    S.dem   S.dem\n",
    "Send   Recv   Size    Size   Time    %-8.8s local  remote local   remote\n",
    "bytes  bytes  bytes   bytes  secs.   per sec  %% %c    %% %c    us/KB   us/KB\n",
    "\n"
);

/// Connection tests with CPU: no method letters.
pub(super) const CONNECT_CPU: &str = concat!(
    "Local /Remote\n",
    "Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem\n",
    "Send   Recv   Size    Size   Time    Rate     local  remote local   remote\n",
    "bytes  bytes  bytes   bytes  secs.   per sec  %%      %%      us/Tr   us/Tr\n",
    "\n"
);

/// Above R3.
pub(super) const RR_DETAIL: &str = concat!(
    "Alignment      Offset         RoundTrip  Trans    Throughput\n",
    "Local  Remote  Local  Remote  Latency    Rate     %-8.8s/s\n",
    "Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n"
);

/// Printed twice above R3 when the letter of `-f` is not a unit.
pub(super) const UNKNOWN_UNIT: &str = "WARNING calc_throughput_internal_omni: unknown units %c\n";

/// Above C3.
pub(super) const CONNECT_DETAIL: &str = concat!(
    "\n",
    "Alignment      Offset\n",
    "Local  Remote  Local  Remote\n",
    "Send   Recv    Send   Recv\n"
);

/// UDP_STREAM.
pub(super) const UDP_STREAM: &str = concat!(
    "Socket  Message  Elapsed      Messages                \n",
    "Size    Size     Time         Okay Errors   Throughput\n",
    "bytes   bytes    secs            #      #   %s/sec\n",
    "\n"
);

/// UDP_STREAM with CPU.
pub(super) const UDP_STREAM_CPU: &str = concat!(
    "Socket  Message  Elapsed      Messages                   CPU      Service\n",
    "Size    Size     Time         Okay Errors   Throughput   Util     Demand\n",
    "bytes   bytes    secs            #      #   %s/sec %% %c%c     us/KB\n",
    "\n"
);

/// Above the widths reached when the confidence asked for was missed.
pub(super) const CONFIDENCE_MISSED: &str = concat!(
    "!!! WARNING\n",
    "!!! Desired confidence was not achieved within the specified iterations.\n",
    "!!! This implies that there was variability in the test environment that\n",
    "!!! must be investigated before going further.\n"
);

/// Above the histogram of TCP_STREAM and TCP_SENDFILE.
pub(super) const SEND_TIMES: &str = "\n\nHistogram of time spent in send() call.";

/// Above the histogram of TCP_MAERTS.
pub(super) const RECV_TIMES: &str = "\n\nHistogram of time spent in recv() call.";

/// Above the histogram of TCP_RR and of the connection tests.
pub(super) const TRANSACTION_TIMES: &str = "\nHistogram of request/response times";

/// Above the histogram of UDP_RR, in the spelling that scripts have seen.
pub(super) const DATAGRAM_TRANSACTION_TIMES: &str = "\nHistogram of request/reponse times.";

/// Above the histogram of UDP_STREAM.
pub(super) const DATAGRAM_TIMES: &str = "\nHistogram of time spent in send() call";

/// STREAM_STREAM with CPU: no method letters.
pub(super) const UNIX_STREAM_CPU: &str = concat!(
    "Recv   Send    Send                          Utilization    Service Demand\n",
    "Socket Socket  Message  Elapsed              Send   Recv    Send    Recv\n",
    "Size   Size    Size     Time     Throughput  local  remote  local   remote\n",
    "bytes  bytes   bytes    secs.    %-8.8s/s  %%      %%       us/KB   us/KB\n",
    "\n"
);

/// DG_STREAM with CPU: no method letters.
pub(super) const DATAGRAM_STREAM_CPU: &str = concat!(
    "Socket  Message  Elapsed      Messages                   CPU     Service\n",
    "Size    Size     Time         Okay Errors   Throughput   Util    Demand\n",
    "bytes   bytes    secs            #      #   %s/sec   %%       us/KB\n",
    "\n"
);

/// Above alignments and offsets where no empty line comes first.
pub(super) const ALIGNMENT: &str = concat!(
    "Alignment      Offset\n",
    "Local  Remote  Local  Remote\n",
    "Send   Recv    Send   Recv\n"
);

/// `titles` of sockets as those of windows of the link level, which count frames.
pub(super) fn windows(titles: &str) -> String {
    titles
        .replace("Socket Socket", "Window Window")
        .replace("Socket ", "Window ")
        .replace("bytes  bytes  ", "frames frames ")
        .replace("bytes  Bytes ", "frames frames")
        .replace("bytes   bytes    secs", "frames  bytes    secs")
}
