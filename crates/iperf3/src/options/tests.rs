use super::*;

fn read(line: &str) -> Result<Iperf3Command, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    iperf3(&words)
}

fn client(line: &str) -> Iperf3Client {
    let read = read(line).expect("options");
    let Iperf3Command::Client(client) = read else {
        panic!("{read:?}");
    };
    *client
}

#[test]
fn letters_and_names_mean_the_same() {
    let letters = client("-chost -p 7 -ul1K -P 3 -b 50M/4 -t2 -i.5 -R -S 0x10");
    let names = client(
        "--client=host --port 7 --udp --length 1024 --parallel=3 --bitrate 50000k/4 \
         --time 2 --interval 0.5 --reverse --tos 020",
    );
    assert_eq!(letters, names);
    assert_eq!(letters.rate, Some((50_000_000, 4)));
    assert_eq!((letters.tos, letters.length), (16, Some(1024)));
}

#[test]
fn wrong_options_are_answered_in_the_words_of_iperf3() {
    for (line, text) in [
        (
            "",
            "parameter error - must either be a client (-c) or server (-s)",
        ),
        (
            "-s -c h",
            "parameter error - cannot be both server and client",
        ),
        (
            "-c h -t 1 -n 5",
            "parameter error - only one test end condition (-t, -n, -k) may be specified",
        ),
        (
            "-c h -l 2M",
            "parameter error - block size too large (maximum = 1048576 bytes)",
        ),
        (
            "-c h -u -l 8",
            "parameter error - block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
        ),
        (
            "-c h -i 0.01",
            "parameter error - invalid report interval (min = 0.1, max = 60 seconds)",
        ),
        (
            "-c h -t 100000",
            "parameter error - test duration too long (maximum = 86400 seconds)",
        ),
        (
            "-c h -t 10s",
            "parameter error - --time 10s: a number is expected",
        ),
        ("-c h -O 1000", "parameter error - bogus value for --omit"),
        (
            "-c h -P 129",
            "parameter error - number of parallel streams too large (maximum = 128)",
        ),
        (
            "-c h -w 1G",
            "parameter error - socket buffer size too large (maximum = 536870912 bytes)",
        ),
        (
            "-c h -M 10000",
            "parameter error - TCP MSS too large (maximum = 9216 bytes)",
        ),
        (
            "-s -u",
            "parameter error - some option you are trying to set is client only",
        ),
        (
            "-c h -R --bidir",
            "parameter error - cannot be both reverse and bidirectional",
        ),
        (
            "-c h -f x",
            "parameter error - bad format specifier (valid formats are in the set [kmgtKMGT])",
        ),
        (
            "-c h -b 1M/2000",
            "parameter error - invalid burst count (maximum = 1000)",
        ),
        ("-c h --bogus", "unrecognized option '--bogus'"),
        ("-c h -y", "invalid option -- 'y'"),
        ("-c h -t", "option requires an argument -- 't'"),
        (
            "-c h --sctp",
            "parameter error - --sctp is not served by this program",
        ),
        (
            "-c h -L 5",
            "parameter error - -L, --flowlabel is not served by this program",
        ),
        ("-c h more", "parameter error - 'more' is not an option"),
    ] {
        assert_eq!(read(line).unwrap_err(), text, "{line}");
    }
}

#[test]
fn the_help_has_every_option_that_is_served_in_80_columns() {
    for Row(letter, name, takes) in TABLE {
        let begin = letter.map_or_else(
            || format!("\n      --{name}"),
            |letter| format!("\n  -{letter}, --{name}"),
        );
        let described = iperf3_help().match_indices(&begin).any(|(at, _)| {
            let rest = &iperf3_help()[at + begin.len()..];
            rest.starts_with([' ', '['])
        });
        let refused = matches!(takes, Refused | RefusedValue);
        assert_ne!(described, refused, "{name}");
    }
    assert!(iperf3_help().lines().all(|line| line.len() <= 80));
}

#[test]
fn every_option_is_served_or_refused() {
    for Row(_, name, takes) in TABLE {
        let value = match *name {
            "format" => "k",
            "client" => "h",
            _ => "1",
        };
        let words = match takes {
            Value | RefusedValue => vec![format!("--{name}"), value.to_owned()],
            Nothing | Optional | Refused => vec![format!("--{name}")],
        };
        let of_server = [
            "daemon",
            "one-off",
            "server-bitrate-limit",
            "server-max-duration",
        ];
        let end: &[&str] = match *name {
            "server" | "client" => &[],
            name if of_server.contains(&name) => &["-s"],
            _ => &["-c", "h"],
        };
        let mut all: Vec<String> = end.iter().map(|word| (*word).to_owned()).collect();
        all.extend(words);
        let read = iperf3(&all);
        let refused = matches!(takes, Refused | RefusedValue);
        let said = read.as_ref().err().cloned().unwrap_or_default();
        assert_eq!(said.contains("is not served"), refused, "{name}: {said}");
        assert!(refused || read.is_ok(), "{name}: {said}");
    }
}

#[test]
fn options_of_servers_are_read() {
    let Ok(Iperf3Command::Server(server)) = read(
        "-s -1D -I /run/pid --server-bitrate-limit 10M/2 --server-max-duration 60 \
         --timestamps=%T_ --logfile log",
    ) else {
        panic!("a server");
    };
    let limit = Iperf3RateLimit {
        bits: 10_000_000,
        over: Duration::from_secs(2),
    };
    assert_eq!(server.rate_limit, Some(limit));
    assert_eq!(server.longest, Some(Duration::from_secs(60)));
    assert!(server.one_off && server.daemon);
    assert_eq!(server.common.pid_file.as_deref(), Some("/run/pid"));
    assert_eq!(server.common.timestamps.as_deref(), Some("%T_"));
    let plain = read("-s --timestamps");
    let Ok(Iperf3Command::Server(plain)) = plain else {
        panic!("a server");
    };
    assert_eq!(plain.common.timestamps.as_deref(), Some("%c "));
    let only = read("-c h -1").unwrap_err();
    assert!(only.contains("server only"), "{only}");
}

#[test]
fn code_points_have_names() {
    for (word, tos) in [
        ("cs1", 0x20),
        ("AF21", 0x48),
        ("ef", 0xb8),
        ("0x3f", 0xfc),
        ("le", 4),
        ("0", 0),
    ] {
        let Ok(Iperf3Command::Client(client)) = read(&format!("-c h --dscp {word}")) else {
            panic!("{word}");
        };
        assert_eq!(client.tos, tos, "{word}");
    }
    for word in ["64", "af44", "cs8", "af5", "x"] {
        assert!(read(&format!("-c h --dscp {word}")).is_err(), "{word}");
    }
}
