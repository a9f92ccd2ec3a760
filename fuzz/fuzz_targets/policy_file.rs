//! Any text is parsed as a settings file without a panic, every error is one line, and valid
//! settings have the same meaning in the process of a session.

#![no_main]

use std::ffi::OsString;

use libfuzzer_sys::fuzz_target;
use netperf_cli::{ServerArgs, ServerCommand, check_config, netserver};

fuzz_target!(|text: &str| {
    for fault in check_config("netserver.toml", text) {
        let line = fault.to_string();
        assert!(!line.contains(char::is_control), "{line:?}");
    }
    let argv = ["netserver", "--config", "netserver.toml"].map(OsString::from);
    if let Some(args) = served(&argv, text) {
        let mut argv = vec![OsString::from("netserver")];
        argv.extend(args.session_words().into_iter().map(OsString::from));
        let session = served(&argv, "").expect("words that netserver understands");
        assert_eq!(
            session.policy().limits.idle_time,
            args.policy().limits.idle_time
        );
        assert_eq!(session.policy().data_peers, args.policy().data_peers);
        assert_eq!(session.session_words(), args.session_words());
    }
});

fn served(argv: &[OsString], text: &str) -> Option<ServerArgs> {
    match netserver(argv, &|_| Ok(text.to_owned())).command {
        Ok(ServerCommand::Serve(args)) => Some(*args),
        Ok(_) | Err(_) => None,
    }
}
