//! The man pages, in the man(7) macros.

use std::fmt::Write as _;

use netperf_model::catalog::tests::TESTS;

use super::{MADE_BY, about, sentence};
use netperf_cli::catalog::{self, CommandEntry, Group, OptionEntry};

/// Columns of a line of the source.
const LINE: usize = 78;

/// `netperf.1`.
pub(super) fn netperf() -> String {
    let mut page = Man::new("NETPERF", "netperf", "measure the performance of a network");
    page.synopsis(".B netperf\n.RI [ options ]\n.RB [ \\-\\-\n.RI [ \"test options\" ]]\n.br\n.B netperf check\n.I host\n.RI [ options ]\n\
         .br\n.B netperf\n.RB { run | compare | sweep | campaign | report | history }\n.I \"...\"\n");
    page.section("DESCRIPTION");
    page.text(
        "netperf runs a test between this host and a host with netserver(1), and prints the \
         result: throughput, transaction rate, latency and CPU utilisation.",
    );
    page.text(
        "Option letters follow getopt(3): letters can be combined, and a value can be attached \
         or be the next word. Letters after -- belong to the test, and many have a different \
         meaning there. Options also have unique long names, valid on either side of --, as \
         `--name value` or `--name=value`. Names cannot be abbreviated.",
    );
    page.text(
        "An invalid value of a letter counts as 0, as in netperf 2.7; an invalid value of a name \
         is an error.",
    );
    page.section("COMMANDS");
    let about = catalog::about().map(|(word, about)| {
        let about = sentence(about);
        format!("netperf {word}: {about} See netperf-{word}(1).")
    });
    page.items(&about.collect::<Vec<_>>().join("\n"));
    values(&mut page);
    let (today, classic): (Vec<_>, Vec<_>) = catalog::global()
        .into_iter()
        .partition(catalog::is_of_today);
    let suites = super::suites();
    let (first, others) = suites.split_at(1);
    page.section("OPTIONS");
    page.options(&today);
    for suite in first {
        page.section("TEST OPTIONS");
        page.text("Letters are valid only after --, names on either side.");
        let own = without_about(suite.own.clone());
        page.options(
            &own.into_iter()
                .filter(catalog::is_of_today)
                .collect::<Vec<_>>(),
        );
    }
    tests(&mut page);
    ending(&mut page);
    page.section("CLASSIC OPTIONS");
    page.text("Options of old scripts and of rare networks.");
    page.options(&classic);
    for suite in first {
        page.section(&format!(
            "CLASSIC OPTIONS OF {}",
            suite.tests.to_uppercase()
        ));
        page.text("Letters are valid only after --, names on either side.");
        let own = without_about(suite.own.clone());
        let classic = own.into_iter().filter(|entry| !catalog::is_of_today(entry));
        page.options(&classic.collect::<Vec<_>>());
    }
    for suite in others {
        let title = format!("OPTIONS OF {}", suite.tests);
        page.section(&title.to_uppercase());
        page.text("These options replace the test options above.");
        page.options(&without_about(suite.own.clone()));
        page.alike(&suite.alike);
    }
    meanings(&mut page);
    page.text
}

/// The page of a subcommand.
pub(super) fn subcommand(command: &CommandEntry) -> String {
    match command.word {
        "report" => report(command),
        "history" => history(command),
        _ => from_help(command),
    }
}

/// `netperf-report.1`.
fn report(command: &CommandEntry) -> String {
    let mut page = Man::new(
        "NETPERF\\-REPORT",
        "netperf\\-report",
        "create a report from results of network benchmarks",
    );
    page.synopsis(".B netperf report\n.IR file \" ...\"\n.RI [ options ]\n");
    page.section("DESCRIPTION");
    page.text(
        "netperf report creates a self-contained HTML report from results, light and dark, \
         desktop and mobile. It contains a summary in words, throughput over time, the \
         distribution of latency, flows, CPU utilisation, the TCP state, and facts about the \
         hosts. Several results are drawn in the same charts. Data that a file does not contain \
         is listed as missing.",
    );
    page.text(
        "A file is the output of netperf(1) with --json or --json-stream, of iperf3(1) with -J, \
         or of flent(1), optionally compressed with gzip. Options and files can have any order; \
         after -- all words are files.",
    );
    page.section("OPTIONS");
    page.options(&command.entries);
    page.section("EXIT STATUS");
    page.items(
        "0: Everything was written.\n\
         1: An output could not be written.\n\
         2: The command line is invalid, or a file cannot be read or is not a result; a line on \
         standard error gives the file and the reason. Nothing is written.",
    );
    page.section("EXAMPLES");
    page.example("netperf -H server -D 0.1 -c -C -j --json > result.json");
    page.example("netperf report result.json -o report.html");
    page.example("netperf report before.json after.json --svg charts --markdown result.md");
    page.section("SEE ALSO");
    page.text("netperf(1)");
    page.text
}

/// A page of a subcommand whose help has everything: its usage, paragraphs, examples and exit
/// statuses.
fn from_help(spec: &CommandEntry) -> String {
    let name = format!("netperf\\-{}", spec.word);
    let mut page = Man::new(&name.to_uppercase(), &name, spec.about);
    let mut paragraphs = spec.usage.split("\n\n").map(str::trim_end);
    let usage = paragraphs.next().unwrap_or_default();
    page.synopsis("");
    for line in usage.lines() {
        let line = line.trim_start_matches("Usage:").trim_start();
        _ = writeln!(page.text, ".nf\n{}\n.fi", literal(line));
    }
    page.section("DESCRIPTION");
    let mut exit = None;
    let mut examples = Vec::new();
    for paragraph in paragraphs {
        if let Some(status) = paragraph.strip_prefix("Exit status: ") {
            exit = Some(status.replace('\n', " "));
        } else if paragraph.starts_with("  ") {
            examples.push(paragraph);
        } else {
            page.text(&paragraph.replace('\n', " "));
        }
    }
    if !spec.verbs.is_empty() {
        page.section("COMMANDS");
        spec.verbs.iter().for_each(|verb| page.verb(verb));
    }
    page.section("OPTIONS");
    page.options(&spec.entries);
    if let Some(status) = exit {
        page.section("EXIT STATUS");
        page.text(&sentence(&status));
    }
    page.section("EXAMPLES");
    for line in examples.iter().flat_map(|lines| lines.lines()) {
        page.example(line.trim_start());
    }
    page.section("SEE ALSO");
    page.text("netperf(1)");
    page.text
}

/// `netperf-history.1`.
fn history(command: &CommandEntry) -> String {
    let mut page = Man::new(
        "NETPERF\\-HISTORY",
        "netperf\\-history",
        "store results of network benchmarks and find changes",
    );
    page.synopsis(
        ".B netperf history\n.RB { add | list | show | trend | change | forget | export | check }\n\
         .RI [ file \" ...\" | result \" ...\" ]\n.RI [ options ]\n",
    );
    page.section("DESCRIPTION");
    page.text(
        "netperf history stores results in a database: every document byte for byte, its \
         values, and facts about the measurement. It lists results, shows a metric over time, \
         and finds when its level changed and which facts about hosts, programs and options \
         changed at the same time.",
    );
    page.text(
        "A file to add is the output of netperf(1) with --json or --json-stream, of iperf3(1) with \
         -J, or of flent(1); a folder stands for all results in it, and - for standard input. \
         Files with identical bytes are one result. The number of a result, or six or more digits \
         of its digest, identifies it. When netperf reports a result as saved, it is on disk.",
    );
    page.section("OPTIONS");
    page.options(&command.entries);
    page.section("EXIT STATUS");
    page.items(
        "0: Success.\n\
         1: The store failed or is damaged, or an output could not be written.\n\
         2: The command line is invalid, a file cannot be read or is not a result, or the \
         history or result does not exist; a line on standard error gives the reason. Other \
         files are added nevertheless.",
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
    let mut page = Man::new("NETSERVER", "netserver", "remote end of netperf tests");
    page.synopsis(".B netserver\n.RI [ options ]\n");
    page.section("DESCRIPTION");
    page.text(
        "netserver waits for netperf(1) to connect, and sends and receives data for its tests. \
         It prints its address, continues in the background, and serves each netperf in a \
         separate process. If standard input is a socket, it serves only that connection, as \
         under inetd.",
    );
    page.section("OPTIONS");
    page.options(&catalog::server());
    page.section("EXIT STATUS");
    page.items(
        "0: netserver listens, or has served a connection.\n\
         1: netserver cannot listen, or an option letter or the settings file is invalid.\n\
         2: A long option is invalid; a line on standard error gives the reason.\n\
         3: --sandbox require is given, and the kernel lacks a part of the sandbox.",
    );
    page.section("ENVIRONMENT");
    page.items(
        "NETPERF_KEY_FILE: File with the key, without --key-file.\n\
         NETPERF_KEY: The key itself, if no file is given.",
    );
    page.section("SEE ALSO");
    page.text("netperf(1)");
    page.text
}

fn values(page: &mut Man) {
    page.section("VALUES");
    page.items(
        "sizes: A whole number, optionally with K, M or G (powers of 1024) or k, m or g (powers \
         of 1000).\n\
         pairs: Two comma-separated values. If one is omitted, its value does not change. A \
         single value is for both, unless the option states otherwise.\n\
         times: By name: a number of seconds, or numbers with the units h, m, s, ms, us or ns, \
         such as 1m30s.\n\
         hosts: A name or an address, optionally with a comma and an address family: 4, 6, \
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
        page.item(row.name, &super::sentence(&catalog::test_description(row)));
    }
}

fn meanings(page: &mut Man) {
    page.section("LETTERS WITH TWO MEANINGS");
    for twice in catalog::twice() {
        let (front, behind) = (twice.front.long, twice.behind.long);
        let text = format!("--{front} before --, --{behind} after it.");
        page.item(&format!("-{}", twice.letter), &text);
    }
}

fn ending(page: &mut Man) {
    page.section("EXIT STATUS");
    page.items(
        "0: The test ran, also if a signal ended it early; no metric is worse, with compare and \
         run.\n\
         1: An option letter is invalid, the test is unknown, nothing arrived, the test failed, \
         or a run of a sweep failed.\n\
         2: A long option, a subcommand line, a file or a plan is invalid; a line on standard \
         error gives the reason.\n\
         3: A host does not support the test or a setting that was asked for by its name, this \
         build lacks a part, or netserver does not have the key; with run, also if a run lacks a \
         setting that was asked for by its letter.\n\
         4: A metric is worse, with compare and run.\n\
         5: The result of compare or run is inconclusive, and no metric is worse.\n\
         255: A host was not found, netserver could not be reached or refused the test, or a \
         selection or a confidence level is invalid.",
    );
    page.section("SIGNALS");
    page.text(
        "SIGINT, SIGTERM and SIGALRM end a timed test; netperf prints the result as if the time were \
         over.",
    );
    page.section("ENVIRONMENT");
    page.items(
        "DUMP_TCP_INFO: If set, TCP tests print the kernel's values about the data connection \
         on standard error when they end.\n\
         NETPERF_KEY_FILE: File with netserver's key, without --key-file.\n\
         NETPERF_KEY: The key itself, if no file is given.\n\
         NETPERF_HISTORY: Location of the history, without a value of --history.\n\
         NO_COLOR: If set, --live has no colours.",
    );
    page.section("EXAMPLES");
    page.example("netperf --host server --time 5s");
    page.example("netperf --host server --test tcp_rr --request-size 1,64K");
    page.example("netperf -H server -t TCP_RR -l 5 -- -r 1,64K -k THROUGHPUT,P99_LATENCY");
    page.section("SEE ALSO");
    page.text(
        "netserver(1), netperf-check(1), netperf-report(1), netperf-compare(1), netperf-run(1), \
         netperf-sweep(1), netperf-campaign(1), netperf-history(1)",
    );
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

    /// A list of lines, each with a head and its explanation behind a colon.
    fn items(&mut self, lines: &str) {
        for line in lines.lines() {
            let (head, words) = line.split_once(": ").unwrap_or((line, ""));
            self.item(head, words);
        }
    }

    fn example(&mut self, line: &str) {
        if !self.after_heading() {
            self.text.push_str(".PP\n");
        }
        _ = writeln!(self.text, ".nf\n.RS\n{}\n.RE\n.fi", literal(line));
    }

    /// A verb of a subcommand: its help, and the names of its options.
    fn verb(&mut self, verb: &CommandEntry) {
        _ = writeln!(self.text, ".SS {}", escaped(verb.word));
        for paragraph in verb.usage.split("\n\n").map(str::trim_end) {
            if paragraph.starts_with("Usage:") {
                let lines = paragraph.replacen("Usage:", "      ", 1);
                let lines = lines.lines().map(|line| line.get(7..).unwrap_or_default());
                self.block(lines);
            } else if paragraph.starts_with("  ") {
                self.text.push_str(".PP\n.RS\n");
                self.block(paragraph.lines().map(str::trim_start));
                self.text.push_str(".RE\n");
            } else {
                self.text(&paragraph.replace('\n', " "));
            }
        }
        let names = verb.entries.iter();
        let names: Vec<String> = names.map(|one| format!("--{}", one.long)).collect();
        self.text(&format!("Options, described below: {}.", names.join(", ")));
    }

    /// Lines as they are.
    fn block<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        self.text.push_str(".nf\n");
        for line in lines {
            _ = writeln!(self.text, "{}", literal(line));
        }
        self.text.push_str(".fi\n");
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
                ".SS Described above\n{}",
                escaped(&(forms.join("; ") + "."))
            );
        }
    }

    fn options(&mut self, entries: &[OptionEntry]) {
        for (group, entries) in catalog::by_group(entries) {
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
    let value = |text: &str| match (text.strip_prefix('['), text) {
        (_, "") => String::new(),
        (Some(inside), _) => format!(" [\\fI{}\\fR]", escaped(inside.trim_end_matches(']'))),
        (None, value) => format!(" \\fI{}\\fR", escaped(value)),
    };
    let name = escaped(&format!("--{}", entry.long));
    let long = format!("\\fB{name}\\fR{}", value(entry.value));
    match entry.letter {
        Some(letter) => {
            let letter = escaped(&format!("-{letter}"));
            format!("\\fB{letter}\\fR{}, {long}", value(entry.letter_value()))
        }
        None => long,
    }
}

/// Text in which nothing is a request or an escape, in lines that are easy to compare.
fn escaped(text: &str) -> String {
    let text = without_escapes(text);
    let lines = catalog::wrapped(&text, LINE)
        .into_iter()
        .map(without_requests);
    lines.collect::<Vec<_>>().join("\n")
}

/// The same for a line that must not be broken.
fn literal(line: &str) -> String {
    without_requests(without_escapes(line))
}

fn without_escapes(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

fn without_requests(line: String) -> String {
    if line.starts_with(['.', '\'']) {
        format!("\\&{line}")
    } else {
        line
    }
}
