//! Campaigns with Slurm and mpirun, as the manual describes them, between hosts that this test
//! makes (`just lab-slurm`).

use std::fs;

use netperf_testkit::{Cluster, ClusterHost, Lab, Running, Stopwatch, eventually, note, process};

use crate::engine_pages::{
    PATIENCE, document, expect_all_pairs, follow, long_manifest, names, on_head, wait_for_loads,
};
use crate::ssh_lab::{SshHosts, on_host};

const NEEDED: [(&str, &str); 5] = [
    ("slurmctld", "slurm-wlm"),
    ("slurmd", "slurm-wlm"),
    ("sbatch", "slurm-wlm"),
    ("munged", "munge"),
    ("mpirun", "openmpi-bin"),
];
/// Open MPI refuses to run as root, which is the only user of these hosts, without these.
const ROOT: [(&str, &str); 2] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
];

/// Settings of Slurm, without its nodes. Processes are not in control groups, which the hosts
/// share.
const SLURM: &str = "\
ClusterName=lab
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/lab/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
StateSaveLocation=/run/slurm
SlurmdSpoolDir=/run/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmctldPidFile=/run/slurmctld.pid
";

/// Hosts with Slurm: the controller on the head, a slurmd on each member.
struct SlurmHosts {
    hosts: SshHosts,
    daemons: Vec<(String, Running)>,
}

fn start(host: &ClusterHost, command: &str) -> (String, Running) {
    let name = format!("{}: {command}", host.name);
    (name, host.shell(command).patience(10 * PATIENCE).spawn())
}

impl SlurmHosts {
    fn new() -> Self {
        let hosts = SshHosts::new(&NEEDED);
        let cluster = &hosts.cluster;
        let mut config = format!("{SLURM}SlurmctldHost=head({})\n", cluster.head().address);
        for host in cluster.members() {
            let (name, address) = (&host.name, &host.address);
            config += &format!("NodeName={name} NodeHostname={name} NodeAddr={address} CPUs=2\n");
        }
        config += "PartitionName=lab Nodes=ALL Default=YES State=UP\n";
        cluster.file("slurm/slurm.conf", config.as_bytes());
        cluster.file("slurm/cgroup.conf", b"CgroupPlugin=cgroup/v1\n");
        let mut key = [0; 128];
        let mut random = fs::File::open("/dev/urandom").expect("random numbers");
        std::io::Read::read_exact(&mut random, &mut key).expect("random numbers");
        cluster.file("munge/key", &key);
        let munged = "exec munged --foreground --force --socket=/run/lab/munge/socket \
             --key-file=/run/lab/munge/key --pid-file=/run/munged.pid \
             --seed-file=/run/munged.seed --log-file=/run/munged.log";
        let mut daemons = vec![start(cluster.head(), munged)];
        let ready = eventually(PATIENCE, || {
            let printed = daemons.iter().map(|(_, daemon)| daemon.stderr());
            printed.collect::<String>().contains("work threads")
        });
        assert!(ready, "no munged: {daemons:?}");
        daemons.push(start(cluster.head(), "mkdir /run/slurm; exec slurmctld -D"));
        for host in cluster.members() {
            daemons.push(start(host, &format!("exec slurmd -D -N {}", host.name)));
        }
        let slurm = Self { hosts, daemons };
        slurm.wait_for("sinfo -h -o %D-%T", "4-idle");
        slurm
    }

    fn cluster(&self) -> &Cluster {
        &self.hosts.cluster
    }

    /// Waits until a command on the head prints this.
    fn wait_for(&self, command: &str, expected: &str) {
        let mut printed = String::new();
        // The programs of Slurm are not cheap.
        let slowly = format!("sleep 0.2; {command}");
        let came = eventually(PATIENCE, || {
            let finished = self.cluster().head().shell(&slowly).run();
            let succeeded = finished.status.success();
            printed = finished.stdout.trim_end().to_owned() + &finished.stderr;
            succeeded && printed == expected
        });
        let daemons = self.daemons.iter();
        let said = daemons.map(|(name, daemon)| format!("{name}\n{}", daemon.stderr()));
        assert!(came, "{command}: {printed}\n{}", said.collect::<String>());
    }

    /// Waits until all jobs are over.
    fn wait_for_jobs(&self) {
        self.wait_for("squeue -h", "");
    }
}

#[test]
fn four_nodes_are_measured_with_slurm_and_mpirun_as_the_manual_says() {
    if !Lab::Slurm.is_here() {
        return;
    }
    let slurm = SlurmHosts::new();
    let cluster = slurm.cluster();
    let before = cluster.state();
    follow(cluster, "campaign-slurm.md", &ROOT, |command| {
        if command.starts_with("sbatch ") {
            slurm.wait_for_jobs();
        }
    });
    slurm.wait_for_jobs();
    cluster.assert_no_process_left(&before);
    let documents = ["srun.json", "mpirun.json", "mpi.json"].map(|name| document(cluster, name));
    for document in &documents {
        expect_all_pairs(document);
    }
    // One round over ssh, to compare the form of the result.
    let ring = "plan.toml >ring.toml && netperf campaign manifest ssh --plan ring.toml >ring-ssh";
    on_head(cluster, &format!("sed s/pairs/ring/ {ring}"));
    on_head(
        cluster,
        "printf '%s\\n' h1 h2 h3 h4 >hosts && bash ring-ssh hosts -o ssh.json",
    );
    let ssh = document(cluster, "ssh.json");
    assert_eq!(ssh["complete"], true, "{ssh:#}");
    for document in &documents {
        assert_eq!(names(document), names(&ssh));
        assert_eq!(document["plan"], documents[0]["plan"]);
    }
    cluster.assert_no_process_left(&before);
}

#[test]
fn cancelled_jobs_leave_nothing_running() {
    if !Lab::Slurm.is_here() {
        return;
    }
    let slurm = SlurmHosts::new();
    let cluster = slurm.cluster();
    long_manifest(cluster, "slurm");
    let before = cluster.state();
    on_head(
        cluster,
        "sbatch --parsable --nodes=4 -o long.out long-slurm >job",
    );
    let out = || fs::read_to_string(cluster.shared().join("long.out")).unwrap_or_default();
    wait_for_loads(cluster, out);
    on_head(cluster, "scancel $(cat job)");
    let waited = Stopwatch::start();
    slurm.wait_for_jobs();
    cluster.assert_no_process_left(&before);
    note(&format!("over after {:?}: {}", waited.elapsed(), out()));
}

#[test]
fn a_script_ends_with_its_agents_and_they_with_it() {
    if !Lab::Slurm.is_here() {
        return;
    }
    let hosts = SshHosts::new(&NEEDED);
    let cluster = &hosts.cluster;
    long_manifest(cluster, "mpi");
    let before = cluster.state();
    // mpirun refuses to run as root.
    let command = "printf '%s slots=1\\n' h1 h2 h3 h4 >hostfile && bash long-mpi hostfile";
    let finished = cluster.head().shell(command).patience(PATIENCE).run();
    let finished = finished.expect_exit(2);
    let said = &finished.stderr;
    assert!(said.contains("long-mpi: the agents have ended\n"), "{said}");
    // It waits two minutes for agents that may come.
    assert!(!said.contains("joined within"), "{said}");
    cluster.assert_no_process_left(&before);
    let script = cluster
        .head()
        .shell_with(&ROOT, "exec bash long-mpi hostfile");
    let mut script = script.patience(PATIENCE).spawn();
    wait_for_loads(cluster, || script.stdout() + &script.stderr());
    process::signal(on_host(&script), "KILL");
    assert!(eventually(PATIENCE, || script.ended()));
    cluster.assert_no_process_left(&before);
}
