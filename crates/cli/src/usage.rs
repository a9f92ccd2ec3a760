//! Output of `-h`, made from the option tables and the catalogues. Scripts rely on its first
//! lines, stream and exit status; `help` is for people.

use std::fmt::Write as _;

use netperf_arguments::getopt::Argument;
use netperf_arguments::table::OptionSpec;
use netperf_model::Suite;
use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;

use crate::options::{SuiteOptions, global, server};

/// First line of every netperf help text; scripts look for it, blanks included.
const NETPERF: &str = "\nUsage: netperf [global options] -- [test options] \n";
/// First line of netserver's help text.
const NETSERVER: &str = "\nUsage: netserver [options] \n";
/// Column at which explanations begin.
const INDENT: usize = 24;

/// Help for the options in front of `--`.
pub(crate) fn global() -> String {
    let mut text = format!("{NETPERF}\nGlobal options:\n");
    options(&mut text, global::table());
    text.push_str(
        "\n\
     Tests, after -t, not case sensitive:\n",
    );
    for names in TESTS.chunks(6) {
        let names: Vec<&str> = names.iter().map(|row| row.name).collect();
        _ = writeln!(text, "    {}", names.join(" "));
    }
    text.push_str(
        "\n\
         Sizes and counts accept the suffixes K, M and G (powers of 1024) and k, m and g\n\
         (powers of 1000). Of two comma-separated values either can be omitted.\n\
         `netperf -t TEST -- -h` explains the test options of TEST; `netperf --help` lists\n\
         the names of all options.\n",
    );
    text
}

/// Help for the options behind `--`.
pub(crate) fn suite(suite: &SuiteOptions) -> String {
    let tests = suite.tests;
    let mut text = format!(
        "{NETPERF}\n\
     Test options of {tests}, after `--`:\n"
    );
    options(&mut text, suite.table);
    if suite.suite == Suite::Omni {
        text.push_str("\nProtocols after -T:\n");
        for names in TRANSPORTS.chunks(8) {
            let names: Vec<&str> = names.iter().map(|row| row.option).collect();
            _ = writeln!(text, "    {}", names.join(" "));
        }
    }
    text
}

/// Help for netserver.
pub(crate) fn netserver() -> String {
    let mut text = format!("{NETSERVER}\n");
    options(&mut text, server::TABLE);
    text
}

fn options<A>(text: &mut String, table: &[OptionSpec<A>]) {
    for row in table {
        let Some(letter) = row.letter else { continue };
        let value = match row.action.argument() {
            Argument::Required => row.value.trim_matches(['[', ']']),
            Argument::Nothing | Argument::NextIfNumber | Argument::NextUnlessDash => row.value,
        };
        let head = format!("-{letter} {value}");
        line(text, &head, row.help);
    }
}

fn line(text: &mut String, head: &str, help: &str) {
    let head = head.trim_end();
    _ = writeln!(text, "    {head:INDENT$}{help}");
}
