//! `netperf campaign inventory`, `manifest` and `key` as they are typed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use netperf_testkit::{Finished, Invocation, Scratch, ours};

/// A saved output of an engine.
fn saved(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../campaign/tests/data/inventory");
    folder.join(name)
}

fn campaign(folder: &Scratch, words: &str) -> Invocation {
    Invocation::new(&ours!().netperf)
        .arg("campaign")
        .args(words.split_whitespace())
        .folder(folder.path())
}

/// The same with this text on standard input.
fn reading(folder: &Scratch, words: &str, text: &str) -> Invocation {
    let path = folder.path().join("standard-input");
    fs::write(&path, text).expect("a file");
    campaign(folder, words).stdin(File::open(path).expect("a file"))
}

/// Runs a command line that is refused with status 2, without output.
fn refused(run: Invocation) -> String {
    let finished = run.run().expect_exit(2);
    assert_eq!(finished.stdout, "", "{}", finished.account());
    finished.stderr
}

/// Runs a script with the program as `$0` and a file as `$1`.
fn shell(folder: &Scratch, script: &str, file: &Path) -> Finished {
    Invocation::new(Path::new("bash"))
        .args(["-c", script])
        .arg(&ours!().netperf)
        .arg(file)
        .folder(folder.path())
        .run()
}

fn lines(finished: &Finished) -> Vec<serde_json::Value> {
    let lines = finished.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[test]
fn every_saved_inventory_is_recognised_and_printed_as_json_lines() {
    let folder = Scratch::new();
    for (name, engine, members) in [
        ("pods.json", "kubernetes", 3),
        ("lab-pods.json", "kubernetes", 3),
        ("ansible.json", "ansible", 5),
        ("scontrol-nodes", "slurm", 2),
        ("scontrol-nodes-long", "slurm", 1),
        ("scontrol-hostnames", "lines", 3),
        ("hostfile", "mpi", 3),
        ("hosts", "lines", 4),
    ] {
        let file = saved(name);
        let words = format!("inventory {}", file.display());
        let by_name = campaign(&folder, &words).run().expect_clean();
        let printed = lines(&by_name);
        assert_eq!(printed.len(), members, "{name}");
        for member in &printed {
            assert_eq!(member["source"]["engine"], engine, "{name}");
            for key in ["name", "control", "data", "labels"] {
                assert!(!member[key].is_null(), "{name}: {member}");
            }
        }
        // Through a pipe, and once more in the normal form.
        let piped = shell(&folder, "cat \"$1\" | \"$0\" campaign inventory -", &file);
        let piped = piped.expect_clean();
        assert_eq!(piped.stdout, by_name.stdout, "{name}");
        let again = reading(&folder, "inventory --json -", &piped.stdout);
        assert_eq!(again.run().expect_clean().stdout, piped.stdout, "{name}");
    }
}

#[test]
fn options_of_an_inventory_have_an_effect() {
    let folder = Scratch::new();
    let pods = saved("pods.json").display().to_string();
    let nodes = saved("nodes.json").display().to_string();
    let words = format!("inventory {pods} --topology {nodes} --port 4000");
    let printed = lines(&campaign(&folder, &words).run().expect_clean());
    assert_eq!(printed[0]["labels"]["zone"], "z1");
    assert_eq!(printed[0]["control"], "10.78.1.7:4000");
    let pods = saved("lab-pods.json").display().to_string();
    let nodes = saved("lab-nodes.json").display().to_string();
    let words = format!("inventory {pods} --topology {nodes}");
    let printed = lines(&campaign(&folder, &words).run().expect_clean());
    let labels = serde_json::json!({"network": "pod", "node": "node-2", "zone": "lab"});
    assert_eq!(printed[0]["labels"], labels);
    assert_eq!(printed[0]["control"], "10.202.2.2:12865");
    let ansible = saved("ansible.json").display().to_string();
    let words = format!("inventory --group rack1 {ansible}");
    let printed = lines(&campaign(&folder, &words).run().expect_clean());
    assert_eq!(printed.len(), 2);
    let hosts = saved("scontrol-hostnames").display().to_string();
    let words = format!("inventory --from slurm {hosts}");
    let printed = lines(&campaign(&folder, &words).run().expect_clean());
    assert_eq!(printed[0]["source"]["engine"], "slurm");
}

#[test]
fn every_member_that_is_refused_has_a_line_with_its_name() {
    let folder = Scratch::new();
    let pods = fs::read_to_string(saved("pods.json")).expect("a file");
    let again = pods.replace("\"restartCount\": 0", "\"restartCount\": 3");
    let said = refused(reading(&folder, "inventory -", &again));
    let names = [
        "netperf-agent-0-x7k20",
        "netperf-agent-1-x7k21",
        "netperf-agent-2-x7k22",
    ];
    assert_eq!(said.lines().count(), names.len(), "{said}");
    for (line, name) in said.lines().zip(names) {
        let begin = format!("netperf campaign inventory: {name}: restarted 3 times: ");
        assert!(line.starts_with(&begin), "{line}");
        assert!(line.ends_with("--allow-restarted"), "{line}");
    }
    let accepted = reading(&folder, "inventory --allow-restarted -", &again);
    assert_eq!(lines(&accepted.run().expect_clean()).len(), 3);
}

/// As `just lab-k8s cluster` saved them: one pod was restarted, one cut off, one deleted.
#[test]
fn bad_pods_of_a_cluster_are_refused_by_name_before_anything_is_measured() {
    let folder = Scratch::new();
    campaign(&folder, "key -o key").run().expect_clean();
    fs::write(
        folder.path().join("plan.toml"),
        "pattern = \"pairs\"\ntest = \"TCP_RR\"\n",
    )
    .expect("a plan");
    let pods = saved("lab-pods-refused.json").display().to_string();
    let nodes = saved("lab-nodes.json").display().to_string();
    let with_key = format!("--inventory {pods} --topology {nodes} --key-file key");
    for (verb, words) in [
        ("inventory", format!("inventory {pods} --topology {nodes}")),
        ("check", format!("check {with_key}")),
        ("run", format!("run plan.toml {with_key}")),
    ] {
        let said = refused(campaign(&folder, &words));
        let begins = [
            "netperf-agent-hczzf: not ready (ContainersNotReady): ",
            "netperf-agent-r457m: terminating: ",
            "netperf-agent-rxjt8: restarted once: ",
        ];
        assert_eq!(said.lines().count(), begins.len(), "{said}");
        for (line, begin) in said.lines().zip(begins) {
            let begin = format!("netperf campaign {verb}: {begin}");
            assert!(line.starts_with(&begin), "{line}");
        }
        let said = refused(campaign(&folder, &format!("{words} --allow-restarted")));
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}

#[test]
fn bad_input_is_one_line_with_the_file_and_the_reason() {
    let folder = Scratch::new();
    for (text, said) in [
        (
            "h1\nh2:x\n",
            "standard input: line 2: the port is not a number from 1 to 65535",
        ),
        ("", "standard input: no member: the list is empty"),
        (
            "NAME READY STATUS\n",
            "standard input: this is the table of kubectl: add -o json",
        ),
        (
            "h1\nh1\n",
            "h1: occurs twice: leave one out, or give each its own name",
        ),
    ] {
        let line = refused(reading(&folder, "inventory -", text));
        assert_eq!(line, format!("netperf campaign inventory: {said}\n"));
    }
    let line = refused(campaign(&folder, "inventory nowhere"));
    assert_eq!(
        line,
        "netperf campaign inventory: nowhere: No such file or directory\n"
    );
    let line = refused(reading(&folder, "inventory - --topology -", "h1\n"));
    assert!(line.contains("name a file for one"), "{line}");
    fs::write(folder.path().join("bad"), "h1 rack\n").expect("a file");
    let line = refused(campaign(&folder, "inventory bad"));
    assert!(
        line.starts_with("netperf campaign inventory: bad: line 1: rack: "),
        "{line}"
    );
}

#[test]
fn wrong_command_lines_are_answered_with_what_is_needed() {
    let folder = Scratch::new();
    for (words, said) in [
        ("", "missing command"),
        ("start", "'start' is unknown"),
        ("inventory", "one file is needed"),
        ("inventory --from kubectl -", "--from"),
        ("inventory --port 0 -", "--port"),
        ("manifest", "one engine is needed"),
        ("manifest nomad", "the engine is one of"),
        ("manifest k8s", "--agents N"),
        ("manifest k8s --agents 1", "--agents"),
        ("manifest k8s --agents 2 --namespace A", "--namespace"),
        (
            "manifest k8s --agents 2 --plan nowhere",
            "nowhere: No such file",
        ),
        ("manifest ssh --plan -x", "--plan"),
        ("key --name a/b", "--name"),
        ("key more", "--output names the file"),
        ("--nosuch", "--nosuch"),
    ] {
        let line = refused(campaign(&folder, words));
        assert!(line.contains(said), "{words}: {line}");
    }
}

#[test]
fn each_engine_has_a_manifest() {
    let folder = Scratch::new();
    fs::write(folder.path().join("p.toml"), "pattern = \"pairs\"\n").expect("a file");
    for (words, begin, part) in [
        (
            "ssh --plan p.toml",
            "#!/usr/bin/env bash\n",
            "\nplan=p.toml\n",
        ),
        (
            "ansible --group racks",
            "# A campaign with Ansible",
            "hosts: \"racks\"\n",
        ),
        (
            "slurm --agents 64 --minutes 20",
            "#!/usr/bin/env bash\n",
            "#SBATCH --nodes=64\n",
        ),
        (
            "slurm --launcher mpirun",
            "#!/usr/bin/env bash\n",
            "\nmpirun ",
        ),
        ("mpi --port 4000", "#!/usr/bin/env bash\n", "\njoin=4001\n"),
        (
            "k8s --agents 6 --plan p.toml",
            "# A campaign in Kubernetes",
            "    pattern = \"pairs\"\n",
        ),
        (
            "k8s --agents 3 --daemonset",
            "# A campaign in Kubernetes",
            "kind: DaemonSet\n",
        ),
    ] {
        let finished = campaign(&folder, &format!("manifest {words}"))
            .run()
            .expect_clean();
        assert!(
            finished.stdout.starts_with(begin),
            "{words}: {}",
            finished.stdout
        );
        assert!(
            finished.stdout.contains(part),
            "{words}: {}",
            finished.stdout
        );
    }
}

#[test]
fn a_key_is_new_each_time_private_and_never_replaced() {
    let folder = Scratch::new();
    let print = || campaign(&folder, "key").run().expect_clean().stdout;
    let (first, second) = (print(), print());
    assert_ne!(first, second);
    let words: Vec<&str> = first.split_whitespace().collect();
    assert_eq!(words[..2], ["campaign", "agent"]);
    assert!(words[2].len() == 64 && words[2].bytes().all(|byte| byte.is_ascii_hexdigit()));
    let made = campaign(&folder, "key --output k --name fleet").run();
    assert_eq!(made.expect_clean().stdout, "");
    let path = folder.path().join("k");
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.starts_with("fleet agent "), "{text}");
    let line = refused(campaign(&folder, "key --output k"));
    assert!(line.contains("k: exists"), "{line}");
    assert_eq!(fs::read_to_string(&path).expect("a file"), text);
    let finished = campaign(&folder, "key --output nowhere/k")
        .run()
        .expect_exit(1);
    assert!(
        finished.stderr.contains("nowhere/k: No such file"),
        "{}",
        finished.account()
    );
    // A manifest has this key, or a new one.
    let with = |words: &str| {
        let words = format!("manifest k8s --agents 2 {words}");
        campaign(&folder, &words).run()
    };
    let manifest = with("--key-file k").expect_clean().stdout;
    assert!(
        manifest.contains(&format!("  key: \"{}\"\n", text.trim_end())),
        "{manifest}"
    );
    let manifest = with("").expect_clean().stdout;
    assert!(manifest.contains("  key: \"campaign agent "), "{manifest}");
    assert!(!manifest.contains(text.trim_end()));
    fs::write(&path, "ci measure 00112233445566778899aabbccddeeff\n").expect("a file");
    let line = refused(campaign(&folder, "manifest k8s --agents 2 --key-file k"));
    assert!(
        line.contains("exactly one key with the role agent"),
        "{line}"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
    let line = refused(campaign(&folder, "manifest k8s --agents 2 --key-file k"));
    assert!(line.contains("chmod 600 k"), "{line}");
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_none() {
    let folder = Scratch::new();
    let hosts = saved("hosts");
    let script = "\"$0\" campaign inventory \"$1\" >/dev/full";
    let full = shell(&folder, script, &hosts).expect_exit(1);
    let said = "standard output: No space left";
    assert!(full.stderr.contains(said), "{}", full.account());
    let script = "\"$0\" campaign inventory \"$1\" | true; exit \"${PIPESTATUS[0]}\"";
    let closed = shell(&folder, script, &hosts);
    // As SIGPIPE ends a program, unless all was written before.
    assert!(
        matches!(closed.status.code(), Some(0 | 141)) && closed.stderr.is_empty(),
        "{}",
        closed.account()
    );
}
