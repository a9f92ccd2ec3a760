//! The chapters of the manual about engines, whose commands the labs of ssh and Slurm run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use netperf_testkit::{Cluster, Finished, Invocation, eventually, note, procfs};
use serde_json::Value;

/// Time for a campaign of six rounds, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);
/// The mark of a block whose commands a lab runs, alone behind the fence.
const LAB: &str = "```console lab";
/// Members of the labs.
pub(crate) const MEMBERS: usize = 4;

/// A command of a chapter, and the lines that the chapter shows of it.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    command: String,
    lines: Vec<String>,
}

/// The commands of a chapter: `$ ` begins one, `> ` continues it, `...` stands for lines that are
/// not shown.
fn shown(chapter: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in chapter.lines() {
        if line.starts_with("```") {
            inside = line == LAB;
        } else if !inside {
            continue;
        } else if let Some(command) = line.strip_prefix("$ ") {
            all.push(Shown {
                command: command.to_owned(),
                lines: Vec::new(),
            });
        } else if let Some(last) = all.last_mut() {
            match line.strip_prefix("> ") {
                Some(more) => last.command += &format!("\n{more}"),
                None if line == "..." => {}
                None => last.lines.push(line.to_owned()),
            }
        }
    }
    all
}

/// The words of a line without those that differ between two runs: numbers, names of jobs and
/// campaigns, and rules of dots and asterisks.
fn fixed(line: &str) -> String {
    let words = line.split_whitespace();
    let varies = |word: &&str| word.contains(|letter: char| "0123456789*".contains(letter));
    let fixed: Vec<_> = words.filter(|word| !varies(word)).collect();
    fixed.join(" ")
}

/// Runs the commands of a chapter on the head, with variables that its text takes for granted,
/// and `after` each command what a reader would wait for. All lines that it shows must come.
pub(crate) fn follow(
    cluster: &Cluster,
    chapter: &str,
    variables: &[(&str, &str)],
    after: impl Fn(&str),
) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/src");
    let text = fs::read_to_string(path.join(chapter)).expect(chapter);
    let all = shown(&text);
    assert!(all.len() > 2, "{chapter}: {all:?}: has the mark changed?");
    for Shown { command, lines } in all {
        let run = cluster.head().shell_with(variables, &command);
        let finished = run.patience(PATIENCE).run().expect_exit(0);
        note(&finished.account());
        after(&command);
        let printed = finished.stdout.lines().chain(finished.stderr.lines());
        let printed: BTreeSet<String> = printed.map(fixed).collect();
        for line in lines {
            let is_there = printed.contains(&fixed(&line));
            assert!(is_there, "{chapter}: no '{line}'\n{}", finished.account());
        }
    }
}

/// The document in the shared folder.
pub(crate) fn document(cluster: &Cluster, name: &str) -> Value {
    let text = fs::read_to_string(cluster.shared().join(name)).expect(name);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
}

/// Checks that all members measured to all others, and that nothing is missing.
pub(crate) fn expect_all_pairs(document: &Value) {
    assert_eq!(document["complete"], true, "{document:#}");
    assert!(document["ended"].is_null(), "{document:#}");
    let members = document["members"].as_array().expect("members");
    let names: Vec<_> = members.iter().map(|member| &member["name"]).collect();
    let sorted: BTreeSet<_> = names.iter().filter_map(|name| name.as_str()).collect();
    let expected: BTreeSet<_> = (1..=MEMBERS).map(|number| format!("h{number}")).collect();
    assert!(sorted.iter().eq(&expected), "{names:?}");
    let cells = document["cells"].as_array().expect("cells");
    let pairs: BTreeSet<_> = cells
        .iter()
        .map(|cell| (cell["from"].as_u64(), cell["to"].as_u64()))
        .collect();
    assert_eq!((cells.len(), pairs.len()), (12, 12), "{document:#}");
    for cell in cells {
        assert_ne!(cell["from"], cell["to"], "{cell}");
        assert!(cell["missing"].is_null(), "{cell}");
        let rate = cell["metrics"]["transactions_per_second"].as_f64();
        assert!(rate.is_some_and(|rate| rate > 0.0), "{cell}");
        let error = cell["window"]["cut_error_seconds"].as_f64();
        assert!(error.is_some_and(|error| error > 0.0), "{cell}");
    }
    for member in members {
        assert!(member["lost"].is_null(), "{member}");
        let bound = member["clock"]["bound_after_seconds"].as_f64();
        assert!(bound.is_some_and(|bound| bound > 0.0), "{member}");
    }
}

/// The names of all values of a document: `.cells[].from`. Lists of plain values and the labels of
/// a host count as one value, however many there are, and so do outliers.
pub(crate) fn names(value: &Value) -> BTreeSet<String> {
    fn collect(value: &Value, path: &str, names: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) if !path.ends_with(".labels") => members
                .iter()
                .for_each(|(name, value)| collect(value, &format!("{path}.{name}"), names)),
            Value::Array(values)
                if values.iter().any(Value::is_object)
                    && !matches!(path, ".outliers" | ".cells_again") =>
            {
                values
                    .iter()
                    .for_each(|value| collect(value, &format!("{path}[]"), names))
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                names.insert(path.to_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    collect(value, "", &mut found);
    found
}

/// Writes a plan that lasts until it is ended, and the manifest of an engine for it: `long-ssh`.
pub(crate) fn long_manifest(cluster: &Cluster, engine: &str) {
    let plan =
        "pattern = \"mesh\"\ntest = \"TCP_RR\"\noptions = [\"--rate\", \"100\"]\nwindow = 600\n";
    fs::write(cluster.shared().join("long.toml"), plan).expect("a plan");
    let command = format!("netperf campaign manifest {engine} --plan long.toml >long-{engine}");
    cluster.head().shell(&command).run().expect_clean();
}

/// Waits until each member sends to all others.
pub(crate) fn wait_for_loads(cluster: &Cluster, account: impl Fn() -> String) {
    let loads = |pid: &u32| procfs::words(*pid).iter().any(|word| word == "--begin-at");
    let running = eventually(PATIENCE, || {
        let members = cluster.members().iter();
        let mut loads =
            members.map(|host| host.processes().iter().filter(|&pid| loads(pid)).count());
        loads.all(|count| count >= MEMBERS - 1)
    });
    assert!(running, "no loads\n{}", account());
}

/// Runs a command on the head that must succeed.
pub(crate) fn on_head(cluster: &Cluster, command: &str) -> Finished {
    let run: Invocation = cluster.head().shell(command);
    run.patience(PATIENCE).run().expect_exit(0)
}

#[test]
fn commands_and_lines_of_a_chapter_are_told_apart() {
    let text = "```console lab\n$ cat >a <<END\n> x = 1\n> END\n$ b\none 2\n...\n```\n$ no\n";
    let step = |command: &str, lines: &[&str]| Shown {
        command: command.to_owned(),
        lines: lines.iter().map(|&line| line.to_owned()).collect(),
    };
    let expected = [step("cat >a <<END\nx = 1\nEND", &[]), step("b", &["one 2"])];
    assert_eq!(shown(text), expected);
    assert_eq!(
        fixed("Campaign 8a2f: pairs of 4 members"),
        "Campaign pairs of members"
    );
}

#[test]
fn names_of_values_do_not_depend_on_their_number() {
    let value = serde_json::json!({"a": [{"b": 1}, {"b": null}], "c": ["d"], "labels": {"e": 1}});
    let expected = [".a[].b", ".c", ".labels"].map(str::to_owned);
    assert!(names(&value).into_iter().eq(expected));
}
