//! What netserver's command lines come to.

mod common;

use netperf_cli::{Parsed, ServerArgs, ServerCommand};
use netperf_model::Family;

fn netserver(line: &str) -> Parsed<ServerCommand> {
    let mut words = vec!["netserver"];
    words.extend(line.split_whitespace());
    netperf_cli::netserver(&common::argv(&words))
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
    assert_eq!(args.passphrase.as_deref(), Some("sesame"));
    assert_eq!((args.debug, args.verbosity, args.quiet), (2, 2, false));
}

#[test]
fn big_n_silences_debugging_asked_for_before_it() {
    let args = serve("-d -N");
    assert!(args.quiet);
    assert_eq!(args.debug, 0);
}

#[test]
fn the_last_family_wins() {
    assert_eq!(serve("-L x,4 -6").family(), Family::V6);
    assert_eq!(serve("-6 -L x,4").family(), Family::V4);
    assert_eq!(serve("-6 -- -g").family(), Family::V6);
}
