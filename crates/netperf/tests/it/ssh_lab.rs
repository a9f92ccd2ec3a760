//! Campaigns over ssh and with Ansible, as the manual describes them, between hosts that this
//! test makes (`just lab-ssh`).

use netperf_testkit::{Cluster, Lab, Running, eventually, ours, process, procfs};

use crate::engine_pages::{
    MEMBERS, PATIENCE, document, expect_all_pairs, follow, long_manifest, names, wait_for_loads,
};

const NEEDED: [(&str, &str); 3] = [
    ("sshd", "openssh-server"),
    ("ssh", "openssh-client"),
    ("ansible-playbook", "ansible-core"),
];
/// Settings of Ansible: it keeps connections of ssh, but not for a minute, its default.
const ANSIBLE: [(&str, &str); 2] = [
    (
        "ANSIBLE_SSH_ARGS",
        "-o ControlMaster=auto -o ControlPersist=5s",
    ),
    ("ANSIBLE_PIPELINING", "True"),
];

/// Hosts with an sshd each.
pub(crate) struct SshHosts {
    pub(crate) cluster: Cluster,
    _daemons: Vec<Running>,
}

impl SshHosts {
    pub(crate) fn new(needed: &[(&str, &str)]) -> Self {
        let cluster = Cluster::new(MEMBERS, &ours!(), &[&NEEDED[..2], needed].concat());
        let config = cluster.file(
            "sshd_config",
            b"HostKey /run/lab/ssh/host_key\nUsePAM no\nPidFile none\nMaxStartups 64\n\
              Subsystem sftp internal-sftp\n",
        );
        let command = format!("exec /usr/sbin/sshd -D -e -f {config}");
        let members = cluster.members().iter();
        let mut daemons: Vec<_> = members
            .map(|host| host.shell(&command).patience(10 * PATIENCE).spawn())
            .collect();
        for daemon in &mut daemons {
            let listens = eventually(PATIENCE, || daemon.stderr().contains("Server listening"));
            assert!(listens, "sshd: {}", daemon.stderr());
        }
        Self {
            cluster,
            _daemons: daemons,
        }
    }
}

/// The process on a host that `exec` began: the child of the process that waits for it here.
pub(crate) fn on_host(waiting: &Running) -> u32 {
    let children = procfs::children(waiting.pid());
    *children.first().expect("a process on the host")
}

#[test]
fn four_hosts_are_measured_over_ssh_and_with_ansible_as_the_manual_says() {
    if !Lab::Ssh.is_here() {
        return;
    }
    let SshHosts { cluster, _daemons } = SshHosts::new(&NEEDED);
    let before = cluster.state();
    follow(&cluster, "campaign-ssh.md", &ANSIBLE, |_| ());
    cluster.assert_no_process_left(&before);
    let (ssh, ansible) = (
        document(&cluster, "ssh.json"),
        document(&cluster, "ansible.json"),
    );
    for document in [&ssh, &ansible] {
        expect_all_pairs(document);
    }
    assert_eq!(names(&ssh), names(&ansible));
    assert_eq!(ssh["plan"], ansible["plan"]);
}

#[test]
fn scripts_that_are_killed_or_end_leave_nothing_running() {
    if !Lab::Ssh.is_here() {
        return;
    }
    let SshHosts { cluster, _daemons } = SshHosts::new(&[]);
    std::fs::write(cluster.shared().join("hosts"), "h1\nh2\nh3\nh4\n").expect("hosts");
    long_manifest(&cluster, "ssh");
    let before = cluster.state();
    for signal in ["KILL", "TERM"] {
        let mut script = cluster.head().shell("exec bash long-ssh hosts").spawn();
        wait_for_loads(&cluster, || script.stdout() + &script.stderr());
        process::signal(on_host(&script), signal);
        assert!(
            eventually(PATIENCE, || script.ended()),
            "{signal}: {}",
            script.stderr()
        );
        cluster.assert_no_process_left(&before);
    }
}
