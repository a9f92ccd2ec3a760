//! Help of the program called as iperf3.

/// Lines of options begin with two spaces and the letter, or six spaces and the name.
pub(super) const HELP: &str = "\
Usage: iperf3 -c HOST [options]
       iperf3 -s [options]

A client or a server of iperf3, with the command line of version 3.12.
Amounts may end in K, M, G or T: powers of 1024 for bytes, of 1000 for rates.

Client or server:
  -p, --port N              port of the server (default 5201)
  -f, --format [kmgtKMGT]   unit of the figures: bits, or bytes (capital)
  -i, --interval SECONDS    rows of intervals (default 1; 0: none)
  -I, --pidfile FILE        write the process id to this file
  -A, --affinity N[,M]      CPU of this end, and of the server
  -B, --bind HOST           local address
  -V, --verbose             more lines
  -J, --json                one JSON document at the end
      --json-stream         a JSON line for each event, while the test runs
      --logfile FILE        write the output to this file
      --forceflush          write each line at once
      --timestamps[=FORMAT] the time before each line, as for strftime(3)
  -v, --version             print the version
  -h, --help                print this text

Server:
  -s, --server              serve
  -D, --daemon              in the background
  -1, --one-off             end after one test
      --server-bitrate-limit RATE[/SECONDS]  end tests with a higher rate
      --server-max-duration SECONDS          refuse longer tests

Client:
  -c, --client HOST         the server
  -u, --udp                 datagrams instead of connections
  -b, --bitrate RATE[/N]    bit/s of each stream, in bursts of N blocks
      --bandwidth RATE      the same
                            (default: no limit; 1M for datagrams; 0: no limit)
  -t, --time SECONDS        time (default 10)
  -n, --bytes BYTES         bytes instead of a time
  -k, --blockcount N        blocks instead of a time
  -l, --length BYTES        size of a block (default 128K) or a datagram
  -P, --parallel N          streams (default 1)
  -R, --reverse             the server sends
      --bidir               both ends send at once
  -O, --omit SECONDS        time at the beginning that does not count
  -w, --window BYTES        socket buffers
  -M, --set-mss BYTES       segment size of TCP
  -N, --no-delay            no delay of small segments
  -C, --congestion NAME     congestion control
      --linux-congestion NAME  the same
  -S, --tos N               type of service, also 0x hexadecimal or 0 octal
      --dscp N              code point (RFC 2474): a number or a name
  -Z, --zerocopy            send with sendfile(2)
      --cport N             local port of the first stream
      --connect-timeout MS  longest time of a connect, milliseconds
      --fq-rate RATE        rate that the kernel enforces, bit/s
      --pacing-timer US     accepted; the rate does not depend on it
  -4, --version4            IPv4 only
  -6, --version6            IPv6 only
  -T, --title TEXT          text before each line
      --extra-data TEXT     text for the JSON document
      --get-server-output   print the output of the server, too
      --udp-counters-64bit  numbers of datagrams have 64 bits
      --repeating-payload   digits instead of random bytes
";
