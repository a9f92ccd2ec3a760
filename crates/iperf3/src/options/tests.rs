use super::table::Iperf3OptionOf::Server;
use super::table::Iperf3OptionSets::{Command, Flag, NotServed, Optional, Value};
use super::table::TABLE;
use super::*;
use crate::messages::TokenPadding;

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
    assert_eq!((letters.parameters.tos, letters.length), (16, Some(1024)));
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
            "-c h -t abc",
            "parameter error - -t abc: a number is expected",
        ),
        (
            "-c h --cport 70000",
            "parameter error - port number must be between 1 and 65535 inclusive",
        ),
        (
            "-s -p x",
            "parameter error - port number must be between 1 and 65535 inclusive",
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
            "parameter error - some option you are trying to set is client only: -u",
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
    ] {
        assert_eq!(read(line).unwrap_err(), text, "{line}");
    }
}

#[test]
fn options_that_cannot_be_read_are_named() {
    for (line, text) in [
        ("-c h --bogus", "unrecognized option '--bogus'"),
        ("-c h -y", "invalid option -- 'y'"),
        ("-c h -t", "option requires an argument -- 't'"),
        (
            "-c h --sctp",
            "parameter error - --sctp is not served by this program",
        ),
        (
            "-c h --ver",
            "option '--ver' is ambiguous; possibilities: '--verbose' '--version' '--version4' \
             '--version6'",
        ),
        (
            "-c h --rcv-timeout 1000",
            "parameter error - client receive timeout is valid only in receiving mode",
        ),
        (
            "-s --idle-timeout 0",
            "parameter error - idle timeout parameter is not positive or larger than allowed limit",
        ),
    ] {
        assert_eq!(read(line).unwrap_err(), text, "{line}");
    }
}

#[test]
fn help_has_every_option_that_is_served_in_80_columns() {
    for row in TABLE {
        let begin = row.letter.map_or_else(
            || format!("\n      --{}", row.long),
            |letter| format!("\n  -{letter}, --{}", row.long),
        );
        let described = iperf3_help().match_indices(&begin).any(|(at, _)| {
            let rest = &iperf3_help()[at + begin.len()..];
            rest.starts_with([' ', '['])
        });
        assert_eq!(described, !row.help.is_empty(), "{}", row.long);
        let refused = matches!(row.sets, NotServed(_));
        assert!(!(described && refused), "{}", row.long);
    }
    assert!(iperf3_help().lines().all(|line| line.len() <= 80));
}

#[test]
fn options_are_served_or_refused_by_name() {
    for row in TABLE {
        let value = match row.long {
            "format" => "k",
            "client" => "h",
            "rcv-timeout" => "5",
            _ => "1",
        };
        // They belong together.
        let pair: &[&str] = match row.long {
            "rsa-private-key-path" => &["--authorized-users-path", "users"],
            "authorized-users-path" => &["--rsa-private-key-path", "key"],
            "username" => &["--rsa-public-key-path", "key"],
            "rsa-public-key-path" => &["--username", "user"],
            _ => &[],
        };
        let words = match row.sets {
            Value(..) => vec![format!("--{}", row.long), value.to_owned()],
            NotServed(name) if !name.is_empty() => {
                vec![format!("--{}", row.long), value.to_owned()]
            }
            Flag(_) | Optional(..) | Command(_) | NotServed(_) => vec![format!("--{}", row.long)],
        };
        let end: &[&str] = match (row.long, row.of) {
            ("server" | "client", _) => &[],
            (_, Server) => &["-s"],
            ("rcv-timeout", _) => &["-c", "h", "-R"],
            _ => &["-c", "h"],
        };
        let mut all: Vec<String> = end
            .iter()
            .chain(pair)
            .map(|word| (*word).to_owned())
            .collect();
        all.extend(words);
        let read = iperf3(&all);
        let refused = matches!(row.sets, NotServed(_));
        let said = read.as_ref().err().cloned().unwrap_or_default();
        assert_eq!(
            said.contains("is not served"),
            refused,
            "{}: {said}",
            row.long
        );
        assert!(refused || read.is_ok(), "{}: {said}", row.long);
    }
}

/// Command lines of the original that are read in part, and what they mean there.
#[test]
fn values_are_read_as_the_original_reads_them() {
    let quiet = client(
        "-c h --par 2 --rev -l 1KB -b 50Mbps/4 -i 1s --le=64k --fq-rate 5Mbit/s --omi 0 -t 12s \
         --connect-timeout 1000ms -6",
    );
    assert_eq!(quiet.common.warnings, Vec::<String>::new());
    assert_eq!((quiet.parameters.parallel, quiet.reverse), (2, true));
    assert_eq!(quiet.rate, Some((50_000_000, 4)));
    assert_eq!(
        (quiet.length, quiet.parameters.fqrate),
        (Some(65_536), 5_000_000)
    );
    assert_eq!((quiet.time, quiet.common.interval), (Some(12.0), Some(1.0)));
    let warned = client("-c h -b 5x -P 2x -A 0/0 -p 5x -t 1m stray -- -x");
    assert_eq!(warned.rate, Some((5, 0)));
    assert_eq!((warned.parameters.parallel, warned.time), (2, Some(1.0)));
    assert_eq!(warned.common.affinity, (Some(0), None));
    insta::assert_snapshot!(warned.common.warnings.join("\n"), @r"
    -b 5x: read as 5
    -P 2x: read as 2
    -A 0/0: read as 0
    -p 5x: read as 5
    -t 1m: read as 1
    'stray' is not an option, and has no effect
    '-x' is not an option, and has no effect
    ");
}

#[test]
fn an_amount_of_0_is_none() {
    for line in ["-c h -n 0 -t 3", "-c h -t 3 -k 0", "-c h -k 0 -n 0 -t 3"] {
        let read = client(line);
        assert_eq!(
            (read.bytes, read.blocks, read.time),
            (None, None, Some(3.0)),
            "{line}"
        );
    }
    assert_eq!(client("-c h -n 0 -k 10").blocks, Some(10));
    assert_eq!(parameters(&client("-c h -n 0")).time, 10.0);
}

#[test]
fn the_last_option_about_the_rate_of_the_kernel_counts() {
    let rate = |line: &str| client(line).parameters.fqrate;
    assert_eq!(rate("-c h --fq-rate 5M"), 5_000_000);
    assert_eq!(rate("-c h --fq-rate 5M --no-fq-socket-pacing"), 0);
    assert_eq!(rate("-c h --no-fq --fq-rate 5M"), 5_000_000);
    let text = read("-c h --no").unwrap_err();
    assert!(
        text.contains("'--no-fq-socket-pacing' '--no-delay'"),
        "{text}"
    );
}

#[test]
fn hosts_may_name_an_interface() {
    let device = client("-c 127.0.0.1%lo -B 127.0.0.2%eth0");
    assert_eq!(device.host, "127.0.0.1");
    assert_eq!(device.common.bind.as_deref(), Some("127.0.0.2"));
    assert_eq!(device.common.device.as_deref(), Some("eth0"));
    assert_eq!(client("-c fe80::1%eth0").host, "fe80::1%eth0");
    assert_eq!(
        client("-c h --bind-dev lo").common.device.as_deref(),
        Some("lo")
    );
}

#[test]
fn server_takes_options_of_clients_that_the_original_takes() {
    let line = "-s --udp-counters-64bit --cport 5 --rcv-timeout 5 --snd-timeout 5 -d";
    let Ok(Iperf3Command::Server(server)) = read(line) else {
        panic!("a server");
    };
    assert!(server.common.debug);
    assert_eq!(
        server.common.receive_timeout,
        Some(Duration::from_millis(5))
    );
    insta::assert_snapshot!(server.common.warnings.join("\n"), @r"
    --udp-counters-64bit is an option of clients, and has no effect
    --cport is an option of clients, and has no effect
    ");
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
        assert_eq!(client.parameters.tos, tos, "{word}");
    }
    for word in ["64", "af44", "cs8", "af5", "x"] {
        assert!(read(&format!("-c h --dscp {word}")).is_err(), "{word}");
    }
}

#[test]
fn users_of_both_ends_are_read() {
    let user = client("-c h --username me --rsa-public-key-path public.pem");
    let login = user.login.expect("a user");
    assert_eq!((&*login.user, &*login.public_key), ("me", "public.pem"));
    assert_eq!(login.padding, TokenPadding::Pkcs1);
    let later = client("-c h --username me --rsa-public-key-path p --use-oaep-padding");
    assert_eq!(later.login.expect("a user").padding, TokenPadding::Oaep);
    let server = |more: &str| {
        let line = "-s --rsa-private-key-path private.pem --authorized-users-path users.csv";
        match read(&format!("{line} {more}")) {
            Ok(Iperf3Command::Server(server)) => server.accounts.expect("users"),
            other => panic!("{other:?}"),
        }
    };
    let accounts = server("");
    assert_eq!(
        (&*accounts.private_key, &*accounts.users),
        ("private.pem", "users.csv")
    );
    assert_eq!((accounts.skew.as_secs(), accounts.padding), (10, None));
    let strict = server("--time-skew-threshold 3 --use-pkcs1-padding");
    assert_eq!(strict.skew.as_secs(), 3);
    assert_eq!(strict.padding, Some(TokenPadding::Pkcs1));
    assert_eq!(
        (client("-c h").login, client("-c h").common.warnings.len()),
        (None, 0)
    );
}

#[test]
fn users_without_their_other_options_are_refused_with_what_is_missing() {
    for (line, text) in [
        (
            "-c h --username me",
            "RSA public key: --rsa-public-key-path is missing",
        ),
        (
            "-c h --rsa-public-key-path p",
            "RSA public key: --username is missing",
        ),
        (
            "-s --rsa-private-key-path p",
            "user credential file: --authorized-users-path is missing",
        ),
        (
            "-s --authorized-users-path u",
            "user credential file: --rsa-private-key-path is missing",
        ),
        (
            "-s --time-skew-threshold 0",
            "skew threshold must be a positive number",
        ),
        (
            "-s --time-skew-threshold x",
            "skew threshold must be a positive number",
        ),
        ("-s --username me", "client only: --username"),
        (
            "-c h --rsa-private-key-path p",
            "server only: --rsa-private-key-path",
        ),
        (
            "-c h --use-pkcs1-padding --use-oaep-padding",
            "only one padding",
        ),
    ] {
        let error = read(line).unwrap_err();
        assert!(error.contains(text), "{line}: {error}");
    }
    let warned = client("-c h --use-oaep-padding").common.warnings;
    assert_eq!(
        warned,
        ["--use-oaep-padding has no effect without an RSA key"]
    );
}
