//! Both programs parse any words as a command line without a panic, and report an invalid
//! long option in one line.

#![no_main]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use netperf_cli::{CliEnvironment, CliError, Notice, netperf, netserver};

fuzz_target!(|bytes: &[u8]| {
    let words = bytes.split(|byte| *byte == 0);
    let argv: Vec<OsString> = words
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect();
    let around = CliEnvironment {
        read_file: &|_: &Path| Ok("THROUGHPUT,ELAPSED_TIME\n".to_owned()),
        is_selector: &|word| word == "THROUGHPUT",
        selectors: &["THROUGHPUT", "ELAPSED_TIME"],
        is_host: &|_| false,
        dump_tcp_info: false,
    };
    let client = netperf(&argv, &around);
    check(&client.notices, client.command.as_ref().err());
    assert_eq!(client, netperf(&argv, &around));
    let server = netserver(&argv, &|_| Ok("port = 5555\n".to_owned()));
    check(&server.notices, server.command.as_ref().err());
});

fn check(notices: &[Notice], error: Option<&CliError>) {
    assert!(notices.iter().all(|notice| notice.text.ends_with('\n')));
    let Some(error) = error else { return };
    assert!(error.exit() > 0);
    if let CliError::LongOption(misuse) = error {
        // The program's name is printed as given.
        let text = error.to_string();
        let text = text
            .strip_prefix(&misuse.program)
            .expect("the program's name");
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}
