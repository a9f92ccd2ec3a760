//! The help texts, as snapshots.

mod common;

use netperf_cli::{Command, ServerCommand};

fn help(line: &str) -> String {
    match common::netperf(line).command {
        Ok(Command::Usage(usage)) => usage.text,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn global_help_lists_every_option_and_test() {
    insta::assert_snapshot!("global", help("-h"));
}

#[test]
fn omni_help_lists_the_options_behind_the_dashes() {
    insta::assert_snapshot!("omni", help("-- -h"));
}

#[test]
fn sockets_help_lists_the_options_behind_the_dashes() {
    insta::assert_snapshot!("sockets", help("-t TCP_CC -- -h"));
}

#[test]
fn netserver_help_lists_every_option() {
    let Ok(ServerCommand::Usage(usage)) =
        netperf_cli::netserver(&common::argv(&["netserver", "-h"])).command
    else {
        panic!("no help");
    };
    insta::assert_snapshot!("netserver", usage.text);
}
