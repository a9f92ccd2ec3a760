use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;

const KINDS: [ManifestKind; 7] = [
    ManifestKind::Ssh,
    ManifestKind::Ansible,
    ManifestKind::Slurm(StepLauncher::Srun),
    ManifestKind::Slurm(StepLauncher::Mpirun),
    ManifestKind::Mpi,
    ManifestKind::Kubernetes(AgentWorkload::Job),
    ManifestKind::Kubernetes(AgentWorkload::DaemonSet),
];
const KEY: &str = "campaign agent 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn manifest(kind: ManifestKind) -> Manifest {
    Manifest {
        kind,
        agents: Some(6),
        port: 12865,
        minutes: 30,
        plan: "plan.toml".to_owned(),
        plan_text: None,
        group: "agents".to_owned(),
        image: "netperf:0.1.0".to_owned(),
        namespace: "netperf".to_owned(),
        key: format!("{KEY}\n"),
    }
}

fn text(kind: ManifestKind) -> String {
    manifest(kind).text().unwrap()
}

fn is_script(kind: ManifestKind) -> bool {
    match kind {
        ManifestKind::Ssh | ManifestKind::Slurm(_) | ManifestKind::Mpi => true,
        ManifestKind::Ansible | ManifestKind::Kubernetes(_) => false,
    }
}

/// Gives a text to a program; `None` if the program is not installed.
fn checked(program: &str, options: &[&str], text: &str) -> Option<Result<(), String>> {
    let mut child = Command::new(program)
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let done = child.wait_with_output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Some(if done.status.success() {
        Ok(())
    } else {
        Err(said)
    })
}

#[test]
fn scripts_are_accepted_by_the_shell_and_by_shellcheck() {
    for kind in KINDS.into_iter().filter(|kind| is_script(*kind)) {
        for plan in ["plan.toml", "my plan's.toml", "$(reboot).toml"] {
            let plan = plan.to_owned();
            let text = Manifest {
                plan,
                ..manifest(kind)
            }
            .text()
            .unwrap();
            let shell = checked("bash", &["-n"], &text).expect("bash: install it");
            shell.unwrap_or_else(|said| panic!("{kind:?}: {said}\n{text}"));
            // SC2317: commands of traps are reached.
            let options = ["-s", "bash", "-e", "SC2016,SC2317", "-"];
            if let Some(Err(said)) = checked("shellcheck", &options, &text) {
                panic!("{kind:?}: {said}");
            }
        }
    }
}

/// The words of every line `plan=...` as the shell reads them.
#[test]
fn the_name_of_a_plan_is_one_word_of_the_script() {
    for name in ["plan.toml", "my plan's.toml", "$(reboot).toml", "a;b"] {
        let text = format!("plan={}\nprintf %s \"$plan\"\n", shell_word(name));
        let done = Command::new("bash").args(["-c", &text]).output().unwrap();
        assert_eq!(String::from_utf8(done.stdout).unwrap(), name);
    }
}

#[test]
fn no_placeholder_remains_and_no_line_is_wider_than_a_page() {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase());
    for kind in KINDS {
        let text = text(kind);
        let mut names = text.split('@').skip(1);
        assert!(!names.any(is_name), "{kind:?}: {text}");
        assert!(text.ends_with('\n') && !text.contains('\t'), "{kind:?}");
        assert!(!text.lines().any(|line| line.ends_with(' ')), "{kind:?}");
    }
}

#[test]
fn each_manifest_starts_agents_with_a_key_and_runs_the_plan() {
    for kind in KINDS {
        let text = text(kind);
        let flat = text.replace(", ", " ").replace('\\', " ");
        assert!(flat.contains("netserver --agent"), "{kind:?}: {text}");
        assert!(flat.contains("--key-file"), "{kind:?}: {text}");
        assert!(flat.contains("netperf campaign run"), "{kind:?}: {text}");
        assert!(flat.contains("NETPERF_KEY_FILE"), "{kind:?}: {text}");
        let joins = flat.contains("--join-listen") && flat.contains("--expect");
        let dials = flat.contains("--inventory");
        assert!(joins != dials, "{kind:?}: {text}");
        assert_eq!(flat.contains("--join "), joins, "{kind:?}: {text}");
    }
}

#[test]
fn a_key_is_in_no_environment_and_on_no_command_line() {
    for kind in KINDS {
        let text = text(kind);
        let is_kubernetes = matches!(kind, ManifestKind::Kubernetes(_));
        assert_eq!(
            text.matches(KEY).count(),
            usize::from(is_kubernetes),
            "{kind:?}"
        );
        assert!(!text.contains("NETPERF_KEY=") && !text.contains("name: NETPERF_KEY,"));
    }
}

#[test]
fn a_batch_script_has_the_number_of_nodes_or_says_where_it_is_given() {
    let kind = ManifestKind::Slurm(StepLauncher::Srun);
    let with = text(kind);
    assert!(with.contains("\n#SBATCH --nodes=6\n"), "{with}");
    assert!(with.contains("sbatch campaign-slurm ["), "{with}");
    assert!(with.contains("--time=30\n"), "{with}");
    let without = Manifest {
        agents: None,
        ..manifest(kind)
    };
    let without = without.text().unwrap();
    assert!(!without.contains("#SBATCH --nodes"), "{without}");
    assert!(
        without.contains("sbatch --nodes=N campaign-slurm ["),
        "{without}"
    );
    assert!(
        with.contains("\nsrun --overlap --ntasks-per-node=1 --kill-on-bad-exit=1"),
        "{with}"
    );
    let by_mpi = text(ManifestKind::Slurm(StepLauncher::Mpirun));
    assert!(by_mpi.contains("\nmpirun --map-by ppr:1:node"), "{by_mpi}");
}

/// Kinds and names of the objects of a manifest.
fn objects(text: &str) -> Vec<String> {
    let value = |document: &str, key: &str| {
        let line = document.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key} in {document}"))
            .to_owned()
    };
    let objects = text.split("\n---\n");
    objects
        .map(|object| {
            let _version = value(object, "apiVersion: ");
            format!("{} {}", value(object, "kind: "), value(object, "  name: "))
        })
        .collect()
}

/// Checks what can be said about YAML by its lines: depths that grow by two, or by four below a
/// list, and brackets and quotes that end in their line.
fn assert_shape(text: &str) {
    let mut before = 0;
    for line in text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
    {
        if line.trim().is_empty() {
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        assert!(depth % 2 == 0 && depth <= before + 4, "{line}");
        before = depth;
        let count = |letter: char| line.matches(letter).count();
        assert_eq!(count('{'), count('}'), "{line}");
        assert_eq!(count('['), count(']'), "{line}");
        assert_eq!(count('"') % 2, 0, "{line}");
    }
}

#[test]
fn objects_of_kubernetes_are_complete_and_restricted() {
    for (workload, kind) in [
        (AgentWorkload::Job, "Job"),
        (AgentWorkload::DaemonSet, "DaemonSet"),
    ] {
        let manifest = Manifest {
            plan_text: Some("pattern = \"pairs\"\n\n[load]\ntest = \"TCP_STREAM\"\n".to_owned()),
            ..manifest(ManifestKind::Kubernetes(workload))
        };
        let text = manifest.text().unwrap();
        let agents = format!("{kind} netperf-agent");
        assert_eq!(
            objects(&text),
            [
                "Namespace netperf",
                "Secret netperf-campaign-key",
                "ConfigMap netperf-plan",
                "NetworkPolicy netperf-campaign",
                "Service netperf-coordinator",
                "Job netperf-coordinator",
                &agents,
            ]
        );
        assert_shape(&text);
        assert!(text.contains("pod-security.kubernetes.io/enforce: restricted\n"));
        // Both kinds of pods have what Pod Security asks for.
        for line in [
            "runAsNonRoot: true",
            "seccompProfile: {type: RuntimeDefault}",
            "allowPrivilegeEscalation: false",
            "readOnlyRootFilesystem: true",
            "capabilities: {drop: [ALL]}",
            "automountServiceAccountToken: false",
            "enableServiceLinks: false",
            "fsGroup: 65532",
            "secret: {secretName: netperf-campaign-key, defaultMode: 0440}",
            "image: netperf:0.1.0",
        ] {
            assert_eq!(text.matches(line).count(), 2, "{line}");
        }
        assert!(
            text.contains("  plan.toml: |2\n    pattern = \"pairs\"\n\n    [load]\n"),
            "{text}"
        );
        assert_eq!(
            text.contains("completionMode: Indexed\n"),
            workload == AgentWorkload::Job
        );
        assert!(
            text.contains("--join-listen, \":12866\", --expect, \"6\"]"),
            "{text}"
        );
        assert!(!text.contains("create configmap"));
    }
    let without = text(ManifestKind::Kubernetes(AgentWorkload::Job));
    assert!(!without.contains("kind: ConfigMap"));
    let command =
        "kubectl -n netperf create configmap netperf-plan --from-file=plan.toml=plan.toml\n";
    assert!(without.contains(command), "{without}");
}

#[test]
fn a_playbook_stops_the_agents_and_removes_the_keys_in_any_case() {
    let text = text(ManifestKind::Ansible);
    assert_shape(text.split("cmd: >-").next().unwrap());
    let (_, always) = text.split_once("      always:\n").unwrap();
    assert!(
        always.contains("kill ") && always.matches("state: absent").count() == 2,
        "{always}"
    );
    assert!(text.contains("  hosts: \"agents\"\n"), "{text}");
    assert!(text.contains("    seconds: 1800\n"), "{text}");
}

#[test]
fn values_that_a_manifest_cannot_contain_are_refused() {
    let kubernetes = ManifestKind::Kubernetes(AgentWorkload::Job);
    let change = |kind, change: fn(&mut Manifest)| {
        let mut manifest = manifest(kind);
        change(&mut manifest);
        manifest.text()
    };
    let all: [(_, fn(&mut Manifest), _); 14] = [
        (kubernetes, |one| one.agents = None, ManifestError::Agents),
        (
            ManifestKind::Ssh,
            |one| one.port = 65_535,
            ManifestError::Port,
        ),
        (
            kubernetes,
            |one| one.namespace = "A".to_owned(),
            ManifestError::Namespace,
        ),
        (
            kubernetes,
            |one| one.namespace = "a\nb".to_owned(),
            ManifestError::Namespace,
        ),
        (
            kubernetes,
            |one| one.image = "a b".to_owned(),
            ManifestError::Image,
        ),
        (
            kubernetes,
            |one| one.image = String::new(),
            ManifestError::Image,
        ),
        (
            ManifestKind::Ansible,
            |one| one.group = "a\"".to_owned(),
            ManifestError::Group,
        ),
        (
            ManifestKind::Ansible,
            |one| one.plan = "{{ x }}".to_owned(),
            ManifestError::PlanName,
        ),
        (
            ManifestKind::Ssh,
            |one| one.plan = "-x".to_owned(),
            ManifestError::PlanName,
        ),
        (
            kubernetes,
            |one| one.plan_text = Some("\u{1b}".to_owned()),
            ManifestError::Plan,
        ),
        // Both end a line of YAML 1.1; the last begins a comment of Ansible's templates.
        (
            kubernetes,
            |one| one.plan_text = Some("# a\u{2028}b: c".to_owned()),
            ManifestError::Plan,
        ),
        (
            kubernetes,
            |one| (one.plan_text, one.plan) = (None, "a\u{2029}b".to_owned()),
            ManifestError::PlanName,
        ),
        (
            ManifestKind::Ansible,
            |one| one.plan = "a{#b".to_owned(),
            ManifestError::PlanName,
        ),
        (
            kubernetes,
            |one| one.key = "a\nb".to_owned(),
            ManifestError::Key,
        ),
    ];
    for (kind, with, error) in all {
        assert_eq!(change(kind, with), Err(error));
    }
}

/// Lines of a text below the one with these words, as far as they are further in.
fn below<'t>(text: &'t str, words: &str) -> Vec<&'t str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip_while(|line| line.trim() != words);
    let first = lines.next().map(indent).expect("the words");
    lines.take_while(|line| indent(line) > first).collect()
}

#[test]
fn network_policy_leads_out_to_members_and_name_servers_alone() {
    let text = text(ManifestKind::Kubernetes(AgentWorkload::Job));
    let rules = below(&text, "egress:").join("\n");
    for rule in rules.split("    - to:").skip(1) {
        assert!(rule.trim_start().starts_with("- "), "{rule}");
    }
    let (before, dns) = rules.rsplit_once("    - to:").unwrap();
    assert!(!before.contains("port: 53"), "{rules}");
    assert!(dns.contains("kubernetes.io/metadata.name: kube-system"));
    assert!(dns.contains("port: 53"));
    // A rule without hosts is for all of them.
    assert!(!rules.contains("    - ports:"), "{rules}");
}

#[test]
fn files_of_scripts_have_names_that_nobody_can_foresee() {
    for kind in KINDS.into_iter().filter(|kind| is_script(*kind)) {
        let text = text(kind);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let named = line.contains("/tmp/");
            assert!(!named || line.ends_with("${work##*/}"), "{kind:?}: {line}");
        }
        assert!(text.contains("work=$(mktemp -d)"), "{kind:?}");
    }
}
