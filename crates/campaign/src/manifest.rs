//! Manifests: scripts and objects that make an engine start the agents of a campaign and run its
//! plan. They are printed, and never applied.

use netperf_text::escape::is_unprintable;
use thiserror::Error;

const SSH: &str = include_str!("manifest/ssh.sh");
const ANSIBLE: &str = include_str!("manifest/ansible.yml");
const SLURM: &str = include_str!("manifest/slurm.sh");
const MPI: &str = include_str!("manifest/mpi.sh");
const KUBERNETES: &str = include_str!("manifest/kubernetes.yaml");
const AGENTS_JOB: &str = include_str!("manifest/agents-job.yaml");
const AGENTS_DAEMON_SET: &str = include_str!("manifest/agents-daemonset.yaml");

/// Placement of the agents of a job.
const SPREAD: &str = "      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels: *agent
";
/// Placement of the agents of a DaemonSet.
const EVERY_NODE: &str = "      tolerations:
        - {operator: Exists, effect: NoSchedule}
";

/// The engine of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestKind {
    /// A script for a list of hosts.
    Ssh,
    /// A playbook.
    Ansible,
    /// A batch script.
    Slurm(StepLauncher),
    /// A script for a hostfile.
    Mpi,
    /// Objects for kubectl.
    Kubernetes(AgentWorkload),
}

/// The program that starts the agents of a job of Slurm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepLauncher {
    /// srun.
    Srun,
    /// mpirun of Open MPI.
    Mpirun,
}

/// The object of Kubernetes that starts the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentWorkload {
    /// An indexed job: so many agents, spread over the nodes.
    Job,
    /// One agent on each node.
    DaemonSet,
}

/// Inputs of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The engine.
    pub kind: ManifestKind,
    /// Number of agents; required for Kubernetes, without effect for a list of hosts.
    pub agents: Option<u32>,
    /// Port of the agents. The coordinator listens on the next one.
    pub port: u16,
    /// Time limit of the jobs, minutes.
    pub minutes: u32,
    /// Name of the plan's file.
    pub plan: String,
    /// Text of the plan, for Kubernetes; a separate object without it.
    pub plan_text: Option<String>,
    /// Group of hosts, for Ansible.
    pub group: String,
    /// Image with both programs, for Kubernetes.
    pub image: String,
    /// Namespace, for Kubernetes.
    pub namespace: String,
    /// A line of a key file, for Kubernetes.
    pub key: String,
}

/// A value that a manifest cannot contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// The number of agents is missing.
    #[error(
        "the number of agents is required: --agents N; with --daemonset, that of the nodes \
         (kubectl get nodes)"
    )]
    Agents,
    /// There is no port behind that of the agents.
    #[error("--port: the coordinator uses the next port, and 65535 has none")]
    Port,
    /// A namespace that is no label of DNS.
    #[error("--namespace: expected lower-case letters, digits and -, at most 63")]
    Namespace,
    /// An image that is no reference.
    #[error("--image: expected a reference such as registry.example/netperf:1")]
    Image,
    /// A group that is no name.
    #[error("--group: expected letters, digits and _")]
    Group,
    /// A name of a file that cannot be written into a script.
    #[error("--plan: the name has characters that a manifest cannot contain")]
    PlanName,
    /// A plan with control characters.
    #[error("--plan: the file contains control characters or invisible ones")]
    Plan,
    /// A key that is no line of a key file.
    #[error("the key file does not contain exactly one key with name and role")]
    Key,
}

impl Manifest {
    /// The manifest.
    ///
    /// # Errors
    /// A value that it cannot contain.
    pub fn text(&self) -> Result<String, ManifestError> {
        let join = self.port.checked_add(1).ok_or(ManifestError::Port)?;
        if !is_plain_text(&self.plan) {
            return Err(ManifestError::PlanName);
        }
        let (port, join) = (self.port.to_string(), join.to_string());
        let minutes = self.minutes.to_string();
        let seconds = u64::from(self.minutes).saturating_mul(60).to_string();
        let quoted = shell_word(&self.plan);
        let common = [
            ("PORT", port.as_str()),
            ("JOIN", &join),
            ("MINUTES", &minutes),
            ("SECONDS", &seconds),
        ];
        let with = |template: &str, own: &[(&str, &str)]| {
            let all: Vec<_> = common.iter().chain(own).copied().collect();
            filled(template, &all)
        };
        Ok(match self.kind {
            ManifestKind::Ssh => with(SSH, &[("PLAN", &quoted)]),
            ManifestKind::Mpi => with(MPI, &[("PLAN", &quoted)]),
            ManifestKind::Slurm(launcher) => {
                let nodes = self
                    .agents
                    .map(|agents| format!("#SBATCH --nodes={agents}\n"));
                let usage = if nodes.is_some() { "" } else { "--nodes=N " };
                let own = [
                    ("PLAN", quoted.as_str()),
                    ("NODES", nodes.as_deref().unwrap_or_default()),
                    ("USAGE", usage),
                    ("LAUNCH", launcher.command()),
                ];
                with(SLURM, &own)
            }
            ManifestKind::Ansible => {
                if !is_group(&self.group) {
                    return Err(ManifestError::Group);
                }
                let plan = yaml_text(&self.plan);
                with(ANSIBLE, &[("PLAN", &plan), ("GROUP", &self.group)])
            }
            ManifestKind::Kubernetes(workload) => {
                let agents = self.agents.ok_or(ManifestError::Agents)?.to_string();
                self.check_kubernetes()?;
                let (map, help) = self.plan_map()?;
                let text = workload.with_agents(KUBERNETES);
                let own = [
                    ("AGENTS", agents.as_str()),
                    ("NAMESPACE", &self.namespace),
                    ("IMAGE", &self.image),
                    ("KEY", self.key.trim_end()),
                    ("PLAN_MAP", &map),
                    ("PLAN_HELP", &help),
                ];
                with(&text, &own)
            }
        })
    }

    fn check_kubernetes(&self) -> Result<(), ManifestError> {
        if !is_namespace(&self.namespace) {
            return Err(ManifestError::Namespace);
        }
        if !is_image(&self.image) {
            return Err(ManifestError::Image);
        }
        let is_key_letter = |letter: char| letter.is_ascii_graphic() || letter == ' ';
        let key = self.key.trim_end();
        if !key.chars().all(is_key_letter) || key.contains(['"', '\\']) || key.is_empty() {
            return Err(ManifestError::Key);
        }
        Ok(())
    }

    /// The object with the plan, and the command that makes it if there is no text.
    fn plan_map(&self) -> Result<(String, String), ManifestError> {
        let Some(plan) = &self.plan_text else {
            let (namespace, plan) = (&self.namespace, shell_word(&self.plan));
            let help = format!(
                "#   kubectl -n {namespace} create configmap netperf-plan --from-file=plan.toml={plan}\n"
            );
            return Ok((String::new(), help));
        };
        // Some of these end a line of YAML 1.1.
        if plan.contains(|letter| is_unprintable(letter) && !"\n\t".contains(letter)) {
            return Err(ManifestError::Plan);
        }
        let namespace = &self.namespace;
        let mut map = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: netperf-plan\n  \
             namespace: {namespace}\ndata:\n  plan.toml: |2\n"
        );
        for line in plan.lines() {
            map.push_str(format!("    {line}").trim_end());
            map.push('\n');
        }
        map.push_str("---\n");
        Ok((map, String::new()))
    }
}

impl StepLauncher {
    /// The command that starts a program on each node.
    const fn command(self) -> &'static str {
        match self {
            Self::Srun => "srun --overlap --ntasks-per-node=1 --kill-on-bad-exit=1 --label",
            Self::Mpirun => "mpirun --map-by ppr:1:node --tag-output --stdin all",
        }
    }
}

impl AgentWorkload {
    /// The template with the part for the agents.
    fn with_agents(self, template: &str) -> String {
        let (head, restart, placement) = match self {
            Self::Job => (AGENTS_JOB, "Never", SPREAD),
            Self::DaemonSet => (AGENTS_DAEMON_SET, "Always", EVERY_NODE),
        };
        let parts = [
            ("AGENT_HEAD", head),
            ("RESTART", restart),
            ("PLACEMENT", placement),
        ];
        filled(template, &parts)
    }
}

/// A template with its values, each in place of its name between `@`.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    // One pass: a value is never taken for a name.
    while let Some((before, behind)) = rest.split_once('@') {
        text.push_str(before);
        let value = behind.split_once('@').and_then(|(name, after)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((*value, after))
        });
        if let Some((value, after)) = value {
            text.push_str(value);
            rest = after;
        } else {
            text.push('@');
            rest = behind;
        }
    }
    text + rest
}

/// A word of a shell's command line.
fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./+=:,".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The inside of a YAML text in double quotes. Ansible expands no template in it.
fn yaml_text(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"")
}

/// Returns true for the name of a file that scripts can contain: no unprintable characters, some of
/// which end a line of YAML 1.1, no option, no template of Ansible.
fn is_plain_text(text: &str) -> bool {
    let is_template = ["{{", "{%", "{#"].iter().any(|begin| text.contains(begin));
    !text.is_empty() && !text.starts_with('-') && !is_template && !text.contains(is_unprintable)
}

fn is_group(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !text.is_empty() && text.chars().all(plain)
}

/// Returns true for a label of RFC 1123.
fn is_namespace(text: &str) -> bool {
    let plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    (1..=63).contains(&text.len())
        && text.chars().all(plain)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_image(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@".contains(letter);
    let ends = |letter: char| letter.is_ascii_alphanumeric();
    text.starts_with(ends) && text.ends_with(ends) && text.chars().all(plain)
}

#[cfg(test)]
mod tests;
