//! Settings of netserver's command lines.

use crate::common;
use netperf_cli::{Parsed, ServerArgs, ServerCommand};
use netperf_model::Family;

fn netserver(line: &str) -> Parsed<ServerCommand> {
    let mut words = vec!["netserver"];
    words.extend(line.split_whitespace());
    netperf_cli::netserver(&common::argv(&words), &|_| Ok(String::new()))
}

#[track_caller]
fn serve(line: &str) -> ServerArgs {
    match netserver(line).command {
        Ok(ServerCommand::Serve(args)) => *args,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn by_default_every_address_is_listened_on_and_stdin_may_be_inetd() {
    let args = serve("");
    assert_eq!(args, ServerArgs::default());
    assert_eq!((args.port(), args.family()), ("12865", Family::Unspecified));
    assert!(!args.standalone);
}

#[test]
fn a_port_a_host_or_a_way_of_running_rules_out_inetd() {
    for line in ["-D", "-f", "-L x", "-p 1"] {
        assert!(serve(line).standalone, "{line}");
    }
    for line in ["-4", "-d", "-N", "-n 4", "-v 2", "-Z x", "-- -g", "word"] {
        assert!(!serve(line).standalone, "{line}");
    }
}

#[test]
fn options_are_recorded() {
    let args = serve("-Df -L 127.0.0.1,4 -p telnet -Z sesame -dd -v 2 -n 99999");
    assert!(args.foreground && args.no_fork);
    assert_eq!(args.listen.host.as_deref(), Some("127.0.0.1"));
    assert_eq!((args.port(), args.family()), ("telnet", Family::V4));
    assert_eq!(args.passphrase, Some("sesame".into()));
    assert_eq!(args.debug, 2);
}

#[test]
fn big_n_silences_debugging_asked_for_before_it() {
    let args = serve("-d -N");
    assert_eq!(args.debug, 0);
}

#[test]
fn the_last_family_wins() {
    assert_eq!(serve("-L x,4 -6").family(), Family::V6);
    assert_eq!(serve("-6 -L x,4").family(), Family::V4);
    assert_eq!(serve("-6 -- -g").family(), Family::V6);
}

/// A command line with a file of settings.
fn with_file(line: &str, text: &str) -> Result<ServerCommand, netperf_cli::CliError> {
    let mut words = vec!["netserver"];
    words.extend(line.split_whitespace());
    let read = |path: &std::path::Path| match path.to_str() {
        Some("n.toml") => Ok(text.to_owned()),
        _ => Err(std::io::Error::from_raw_os_error(2)),
    };
    netperf_cli::netserver(&common::argv(&words), &read).command
}

fn served(line: &str, text: &str) -> ServerArgs {
    match with_file(line, text) {
        Ok(ServerCommand::Serve(args)) => *args,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn typed_options_win_over_the_file_in_either_order() {
    let text = "port = 1\nallow = '10.0.0.0/8'\nmax-sessions = 3\nforeground = true\n";
    for line in [
        "--config n.toml -p 2 --allow 192.0.2.0/24 --allow 198.51.100.0/24",
        "-p 2 --allow 192.0.2.0/24 --allow 198.51.100.0/24 --config n.toml",
    ] {
        let args = served(line, text);
        assert_eq!(args.port(), "2");
        assert!(args.foreground);
        let policy = args.policy();
        assert_eq!(policy.limits.sessions, Some(3));
        let allowed: Vec<String> = policy.allow.iter().map(ToString::to_string).collect();
        assert_eq!(allowed, ["192.0.2.0/24", "198.51.100.0/24"]);
    }
}

#[test]
fn options_that_exclude_each_other_are_named_as_they_are_written() {
    let typed = |line: &str| with_file(line, "").unwrap_err().to_string();
    for (line, told) in [
        (
            "--join h:1",
            "--join is for agents of campaigns: add --agent",
        ),
        (
            "--exit-on-eof",
            "--exit-on-eof is for agents of campaigns: add --agent",
        ),
        (
            "--require passphrase",
            "--require is passphrase, and there is none: give one with --passphrase (-Z)",
        ),
        (
            "-Z secret --iperf3",
            "iperf3 clients have neither key nor passphrase: leave out --iperf3, or admit clients \
             without (--require none)",
        ),
    ] {
        assert_eq!(typed(line), format!("netserver: {told}"));
    }
    let told = with_file("--config n.toml", "join = 'h:1'\n").unwrap_err();
    let in_file = "n.toml: join is for agents of campaigns: add agent";
    assert_eq!(told.to_string(), format!("netserver: {in_file}"));
    let faults = netperf_cli::check_config("n.toml", "join = 'h:1'\n");
    assert_eq!(
        faults.first().map(ToString::to_string).as_deref(),
        Some(in_file)
    );
}

#[test]
fn a_file_with_errors_is_not_served_from() {
    let error = with_file("--config n.toml", "prot = 1\nidle-time = true\n").unwrap_err();
    assert_eq!(error.exit(), 1);
    assert_eq!(
        error.to_string(),
        "netserver: n.toml:1: prot: there is no such setting; did you mean port?\n\
         netserver: n.toml:2: idle-time: needs a text in quotes: a time above 0 such as 1, 0.5 or 200ms"
    );
    let error = with_file("--config m.toml", "").unwrap_err();
    assert_eq!(
        error.to_string(),
        "netserver: m.toml: cannot be read: No such file or directory"
    );
}

#[test]
fn a_file_is_checked_without_serving() {
    let usage = |text| match with_file("--check-config n.toml", text) {
        Ok(ServerCommand::Usage(usage)) => (usage.exit, usage.text),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        usage("port = 1\n"),
        (0, "n.toml: nothing is wrong\n".into())
    );
    let (exit, text) = usage("deny = '10.1.1.1/8'\n");
    assert_eq!(exit, 1);
    assert!(text.starts_with("netserver: n.toml:1: deny: "), "{text}");
    let (exit, text) = usage("port = 1\nallow = []\ndeny = []\n");
    assert_eq!(exit, 1, "it would be open to everybody");
    assert!(
        text.starts_with("netserver: n.toml:2: allow: an empty list"),
        "{text}"
    );
    let (exit, text) = usage("health = '127.0.0.1:1'\n");
    assert_eq!(exit, 1);
    assert!(text.contains("of the command line alone"), "{text}");
    let (exit, text) = usage("require = 'passphrase'\n");
    assert_eq!(exit, 1);
    assert!(text.contains("give one with passphrase"), "{text}");
}

#[test]
fn a_session_is_told_all_that_it_has_to_know_and_nothing_about_other_connections() {
    let line = "-Z sesame --cpu-method looper --require passphrase --data-peers 10.0.0.0/8,::1 \
                --transports tcp,link --features mark --max-test-time 90.5 --max-send-rate 2.5G --idle-time 10";
    let whole = format!("{line} --allow 10.0.0.0/8 --deny 10.1.0.0/16 --max-sessions 3 -p 5 -D");
    let words = serve(&whole).session_words();
    let mut told = serve(&words.join(" "));
    // A session refuses more than its share in a line that names the limits of all.
    assert_eq!(told.access.sessions.take(), Some(3));
    assert!(told.access.memory.take().is_some() && told.access.ports.take().is_some());
    // The passphrase itself is in no word.
    assert_eq!(told.passphrase, Some("***".into()));
    told.passphrase = Some("sesame".into());
    assert_eq!(told, serve(line));
    let mut usual = serve(&serve("").session_words().join(" "));
    assert!(usual.access.memory.take().is_some() && usual.access.ports.take().is_some());
    assert_eq!(usual, serve(""));
}
