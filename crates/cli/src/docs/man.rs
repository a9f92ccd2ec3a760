//! The man pages, in the man(7) macros.

use std::fmt::Write as _;

use netperf_model::catalog::tests::TESTS;

use super::{MADE_BY, about};
use crate::entry::{self, OptionEntry};
use crate::group::Group;
use crate::help;

/// Columns of a line of the source.
const LINE: usize = 78;

/// `netperf.1`.
pub(super) fn netperf() -> String {
    let mut page = Man::new("NETPERF", "netperf", "measure the performance of a network");
    page.synopsis(".B netperf\n.RI [ options ]\n.RB [ \\-\\-\n.RI [ \"test options\" ]]\n");
    page.section("DESCRIPTION");
    page.text(
        "netperf runs a test between this host and one where netserver(1) waits, and \
         prints what came of it: how fast data went, or how many requests were answered.",
    );
    page.text(
        "Options of one letter are read as getopt(3) reads them: letters may be \
         clustered, a value may be attached or be the next word. Letters behind -- \
         belong to the test, and many mean something else there. Options also have \
         names, which may stand on either side of -- because no two are the same, as \
         `--name value` or `--name=value`. Names cannot be shortened.",
    );
    page.text(
        "A value that makes no sense is 0 behind a letter, as scripts have always seen \
         it; behind a name it is an error.",
    );
    values(&mut page);
    page.section("OPTIONS");
    page.options(&entry::global());
    for suite in super::suites() {
        let title = format!("OPTIONS OF {}", suite.tests);
        page.section(&title.to_uppercase());
        page.text(if suite.alike.is_empty() {
            "Behind -- the letters, anywhere the names."
        } else {
            "Instead of those above."
        });
        page.options(&without_about(suite.own));
        page.alike(&suite.alike);
    }
    tests(&mut page);
    meanings(&mut page);
    ending(&mut page);
    page.text
}

/// `netperf-report.1`.
pub(super) fn report() -> String {
    let mut page = Man::new(
        "NETPERF\\-REPORT",
        "netperf\\-report",
        "make a page of results of network benchmarks",
    );
    page.synopsis(".B netperf report\n.IR file \" ...\"\n.RI [ options ]\n");
    page.section("DESCRIPTION");
    page.text(
        "netperf report reads results and writes one page of them, in which several are \
         drawn one over the other: a summary in words, throughput over time, the \
         distribution of latency, flows, CPU utilisation, what TCP knew, and facts about \
         the hosts. The page has everything in itself, for day and night, for a desk and \
         a hand. What a file does not tell is said to be missing.",
    );
    page.text(
        "A file is what netperf(1) printed with --json or --json-stream, what iperf3(1) \
         printed with -J, or what flent(1) wrote, with gzip or without. Options and files \
         may stand in any order; behind -- all words are files.",
    );
    page.section("OPTIONS");
    page.options(&entry::report());
    page.section("EXIT STATUS");
    page.item("0", "Everything was written.");
    page.item("1", "Something could not be written.");
    page.item(
        "2",
        "The command line was wrong, or a file cannot be read or is no result; one line \
         on standard error says which and why. Nothing is written then.",
    );
    page.section("EXAMPLES");
    page.example("netperf -H server -D 0.1 -c -C -j --json > result.json");
    page.example("netperf report result.json -o report.html");
    page.example("netperf report before.json after.json --svg charts --markdown result.md");
    page.section("SEE ALSO");
    page.text("netperf(1)");
    page.text
}

/// `netperf-history.1`.
pub(super) fn history() -> String {
    let mut page = Man::new(
        "NETPERF\\-HISTORY",
        "netperf\\-history",
        "keep results of network benchmarks, and ask what changed",
    );
    page.synopsis(
        ".B netperf history\n.RB { add | list | show | trend | change | forget | export | check }\n\
         .RI [ file \" ...\" | result \" ...\" ]\n.RI [ options ]\n",
    );
    page.section("DESCRIPTION");
    page.text(
        "netperf history keeps results in an embedded database: every document byte for \
         byte, its figures, and what it was measured under. It lists them, shows a figure \
         over time, and finds when it changed its level and which facts about hosts, \
         programs and options differ between before and after.",
    );
    page.text(
        "A file to add is what netperf(1) printed with --json or --json-stream, what \
         iperf3(1) printed with -J, or what flent(1) wrote; a folder stands for all its \
         results, and - for standard input. The same bytes are one result, however often \
         they are added. A result is called by its number, or by six or more digits of its \
         digest. What is reported as saved is on the disk.",
    );
    page.section("OPTIONS");
    page.options(&entry::history());
    page.section("EXIT STATUS");
    page.item("0", "It is done.");
    page.item(
        "1",
        "The store failed or is damaged, or something could not be written.",
    );
    page.item(
        "2",
        "The command line was wrong, a file cannot be read or is no result, or there is no \
         such history or result; one line on standard error says which and why. Other \
         files are added all the same.",
    );
    page.section("EXAMPLES");
    page.example("netperf -H db1 -t TCP_RR --json | netperf history add -");
    page.example("netperf history trend --test TCP_RR --host db1");
    page.example("netperf history change --since 90d");
    page.example("netperf history forget --older-than 2y --dry-run");
    page.section("SEE ALSO");
    page.text("netperf(1), netperf-report(1)");
    page.text
}

/// `netserver.1`.
pub(super) fn netserver() -> String {
    let mut page = Man::new(
        "NETSERVER",
        "netserver",
        "do the other half of netperf's tests",
    );
    page.synopsis(".B netserver\n.RI [ options ]\n");
    page.section("DESCRIPTION");
    page.text(
        "netserver waits for netperf(1) to connect, and sends and receives for it. It \
         says where it listens, goes to the background, and serves every netperf in a \
         process of its own. With a socket as standard input it serves that one \
         connection, as inetd starts it.",
    );
    page.section("OPTIONS");
    page.options(&entry::server());
    page.section("EXIT STATUS");
    page.item("0", "It listens, or has served.");
    page.item("1", "It could not listen, or a letter was wrong.");
    page.item(
        "2",
        "An option given by name was wrong; one line on standard error says how.",
    );
    page.section("SEE ALSO");
    page.text("netperf(1)");
    page.text
}

fn values(page: &mut Man) {
    page.section("VALUES");
    page.item(
        "sizes",
        "A whole number, perhaps with K, M or G (powers of 1024) or k, m or g (powers \
         of 1000) behind it.",
    );
    page.item(
        "pairs",
        "Two values with a comma between them. Either may be left out and then stays \
         what it was. One value without a comma is for both, unless the option says \
         otherwise.",
    );
    page.item(
        "times",
        "By name: a number of seconds, or numbers with h, m, s, ms, us or ns behind \
         them, such as 1m30s.",
    );
    page.item(
        "hosts",
        "A name or an address, perhaps with a comma and a family behind it: 4, 6, \
         inet, inet6 or unspec.",
    );
}

fn without_about(entries: Vec<OptionEntry>) -> Vec<OptionEntry> {
    let own = |entry: &OptionEntry| entry.group != Group::About;
    entries.into_iter().filter(own).collect()
}

fn tests(page: &mut Man) {
    page.section("TESTS");
    for row in TESTS {
        page.item(row.name, &super::sentence(&help::sentence(row)));
    }
}

fn meanings(page: &mut Man) {
    page.section("LETTERS THAT MEAN TWO THINGS");
    for twice in entry::twice() {
        let (front, behind) = (twice.front.long, twice.behind.long);
        let text = format!("--{front} in front of --, --{behind} behind it.");
        page.item(&format!("-{}", twice.letter), &text);
    }
}

fn ending(page: &mut Man) {
    page.section("EXIT STATUS");
    page.item("0", "The test ran, also when a signal ended it early.");
    page.item(
        "1",
        "A letter was wrong, the test is unknown, or it failed.",
    );
    page.item(
        "2",
        "An option given by name was wrong; one line on standard error says how.",
    );
    page.item(
        "255",
        "A host was not found, or netserver could not be reached.",
    );
    page.section("SIGNALS");
    page.text(
        "SIGINT and SIGALRM end a test that runs for a time: it prints its result as if \
         the time were over.",
    );
    page.section("ENVIRONMENT");
    page.item(
        "DUMP_TCP_INFO",
        "If set, what the system knows of the data connection is printed on standard \
         error when a TCP test ends.",
    );
    page.section("EXAMPLES");
    page.example("netperf --host server --time 5s");
    page.example("netperf --host server --test tcp_rr --request-size 1,64K");
    page.example("netperf -H server -t TCP_RR -l 5 -- -r 1,64K -k THROUGHPUT,P99_LATENCY");
    page.section("SEE ALSO");
    page.text("netserver(1), netperf-report(1), netperf-history(1)");
}

/// A page as it grows.
struct Man {
    text: String,
}

impl Man {
    fn new(title: &str, name: &str, purpose: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let text = format!(
            ".\\\" {MADE_BY}\n.TH {title} 1 \"\" \"netperf {version}\" \"User Commands\"\n\
             .SH NAME\n{name} \\- {purpose}\n"
        );
        Self { text }
    }

    fn synopsis(&mut self, roff: &str) {
        self.section("SYNOPSIS");
        self.text.push_str(roff);
    }

    fn section(&mut self, title: &str) {
        _ = writeln!(self.text, ".SH {title}");
    }

    fn text(&mut self, words: &str) {
        if !self.after_heading() {
            self.text.push_str(".PP\n");
        }
        _ = writeln!(self.text, "{}", escaped(words));
    }

    /// Returns true if the last line is a heading, after which a paragraph begins by itself.
    fn after_heading(&self) -> bool {
        let last = self.text.lines().next_back().unwrap_or_default();
        last.starts_with(".SH") || last.starts_with(".SS")
    }

    fn item(&mut self, head: &str, words: &str) {
        _ = writeln!(self.text, ".TP\n.B {}\n{}", escaped(head), escaped(words));
    }

    fn example(&mut self, line: &str) {
        if !self.after_heading() {
            self.text.push_str(".PP\n");
        }
        _ = writeln!(self.text, ".nf\n.RS\n{}\n.RE\n.fi", escaped(line));
    }

    /// Options that are word for word those of a suite above.
    fn alike(&mut self, entries: &[OptionEntry]) {
        let form = |entry: &OptionEntry| match entry.letter {
            Some(letter) => format!("-{letter}, --{}", entry.long),
            None => format!("--{}", entry.long),
        };
        let forms: Vec<String> = entries.iter().map(form).collect();
        if !forms.is_empty() {
            _ = writeln!(
                self.text,
                ".SS As above\n{}",
                escaped(&(forms.join("; ") + "."))
            );
        }
    }

    fn options(&mut self, entries: &[OptionEntry]) {
        for (group, entries) in entry::by_group(entries) {
            _ = writeln!(self.text, ".SS {}", group.title());
            for entry in entries {
                _ = writeln!(
                    self.text,
                    ".TP\n{}\n{}",
                    head(&entry),
                    escaped(&about(&entry))
                );
            }
        }
    }
}

/// Forms of an option: literal text in bold, placeholders in italics.
fn head(entry: &OptionEntry) -> String {
    let value = match (entry.value.strip_prefix('['), entry.value) {
        (_, "") => String::new(),
        (Some(inside), _) => format!(" [\\fI{}\\fR]", escaped(inside.trim_end_matches(']'))),
        (None, value) => format!(" \\fI{}\\fR", escaped(value)),
    };
    let long = format!("\\fB{}\\fR{value}", escaped(&format!("--{}", entry.long)));
    match entry.letter {
        Some(letter) => format!("\\fB{}\\fR{value}, {long}", escaped(&format!("-{letter}"))),
        None => long,
    }
}

/// Text in which nothing is a request or an escape, in lines that are easy to compare.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = help::wrapped(&text, LINE).into_iter().map(|line| {
        if line.starts_with(['.', '\'']) {
            format!("\\&{line}")
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
