//! Inventories, manifests and keys: what netperf campaign does without agents.

use std::fmt::Display;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use netperf_campaign::inventory::{
    self, EngineName, InventoryError, InventoryMember, InventoryOptions,
};
use netperf_campaign::manifest::{AgentWorkload, Manifest, ManifestKind, StepLauncher};
use netperf_cli::{CampaignArgs, OutputStream};
use netperf_model::{KeyRing, KeyRole};
use netperf_program::key;
use netperf_program::output::{self, FAILED, Failure, INVALID, out, system_text};
use zeroize::Zeroizing;

use crate::files;

/// Standard input or standard output, in place of a file.
const STANDARD: &str = "-";
/// Name of a key without `--name`.
const KEY_NAME: &str = "campaign";
/// Plan of a manifest without `--plan`.
const PLAN: &str = "plan.toml";
/// Group of a playbook without `--group`.
const GROUP: &str = "all";
/// Namespace of a manifest without `--namespace`.
const NAMESPACE: &str = "netperf";
/// Time limit of a manifest without `--minutes`.
const MINUTES: u32 = 60;
/// Bytes of a new key.
const KEY_BYTES: usize = 32;

/// A failure of a verb: a line on standard error for each line of the problem.
fn failure(exit: u8, verb: &str, problem: impl Display) -> Failure {
    let problem = problem.to_string();
    let line = |line: &str| {
        format!(
            "netperf campaign {verb}: {}",
            netperf_web::escape::line(line)
        )
    };
    let lines: Vec<String> = problem.lines().map(line).collect();
    Failure::stderr(exit, lines.join("\n"))
}

/// Prints the members of an inventory.
pub(super) fn inventory(args: &CampaignArgs) -> Result<(), Failure> {
    let name = args.words.first().map_or(STANDARD, String::as_str);
    let members = members(args, "inventory", name)?;
    let for_person = !args.json && output::is_terminal(OutputStream::Stdout);
    out(&if for_person {
        inventory::table(&members)
    } else {
        inventory::json_lines(&members)
    });
    Ok(())
}

/// The members of the inventory in a file, for a verb.
pub(super) fn members(
    args: &CampaignArgs,
    verb: &str,
    name: &str,
) -> Result<Vec<InventoryMember>, Failure> {
    let invalid = |problem: &dyn Display| failure(INVALID, verb, problem);
    if name == STANDARD && args.topology.as_deref() == Some(STANDARD) {
        let line = "standard input is either the inventory or the topology: name a file for one";
        return Err(invalid(&line));
    }
    let read = |name: &str| files::read(name).map_err(|line| invalid(&line));
    let options = InventoryOptions {
        from: args.from.as_deref().and_then(EngineName::named),
        port: args.port.unwrap_or(inventory::DEFAULT_PORT),
        group: args.group.clone(),
        topology: args.topology.as_deref().map(read).transpose()?,
        allow_restarted: args.allow_restarted,
        allow_shared_nodes: args.allow_shared_nodes,
    };
    inventory::read(&read(name)?, &options).map_err(|error| match error {
        InventoryError::Members(_) | InventoryError::Topology(_) | InventoryError::Group => {
            invalid(&error)
        }
        InventoryError::NotText
        | InventoryError::Empty
        | InventoryError::Json(_)
        | InventoryError::Shape(..)
        | InventoryError::Other(_)
        | InventoryError::Line(..)
        | InventoryError::NoGroup(..)
        | InventoryError::Hostlist(..) => {
            let name = if name == STANDARD {
                "standard input"
            } else {
                name
            };
            invalid(&format_args!("{name}: {error}"))
        }
    })
}

/// Prints a manifest.
pub(super) fn manifest(args: &CampaignArgs) -> Result<(), Failure> {
    let invalid = |problem: &dyn Display| failure(INVALID, "manifest", problem);
    let kind = kind(args);
    let is_kubernetes = matches!(kind, ManifestKind::Kubernetes(_));
    let plan = args.plan.clone().unwrap_or_else(|| PLAN.to_owned());
    let plan_text = if is_kubernetes && args.plan.is_some() {
        let bytes = files::read(&plan).map_err(|line| invalid(&line))?;
        let text = String::from_utf8(bytes);
        Some(text.map_err(|_| invalid(&format_args!("{plan}: not text (UTF-8)")))?)
    } else {
        None
    };
    let key = match &args.key_file {
        Some(file) => existing_key(file).map_err(|line| invalid(&line))?,
        None if is_kubernetes => new_key(KEY_NAME).map_err(|line| invalid(&line))?,
        None => Zeroizing::default(),
    };
    let or =
        |value: &Option<String>, default: &str| value.clone().unwrap_or_else(|| default.to_owned());
    let manifest = Manifest {
        kind,
        agents: args.agents,
        port: args.port.unwrap_or(inventory::DEFAULT_PORT),
        minutes: args.minutes.unwrap_or(MINUTES),
        plan,
        plan_text,
        group: or(&args.group, GROUP),
        image: or(&args.image, concat!("netperf:", env!("CARGO_PKG_VERSION"))),
        namespace: or(&args.namespace, NAMESPACE),
        key: key.to_string(),
    };
    out(&manifest.text().map_err(|error| invalid(&error))?);
    Ok(())
}

/// The kind of a manifest; the command line has only these engines.
fn kind(args: &CampaignArgs) -> ManifestKind {
    match args.words.first().map_or("", String::as_str) {
        "ansible" => ManifestKind::Ansible,
        "slurm" if args.launcher.as_deref() == Some("mpirun") => {
            ManifestKind::Slurm(StepLauncher::Mpirun)
        }
        "slurm" => ManifestKind::Slurm(StepLauncher::Srun),
        "mpi" => ManifestKind::Mpi,
        "k8s" if args.daemonset => ManifestKind::Kubernetes(AgentWorkload::DaemonSet),
        "k8s" => ManifestKind::Kubernetes(AgentWorkload::Job),
        _ => ManifestKind::Ssh,
    }
}

/// Makes a key, and prints it or writes it into a new private file.
pub(super) fn make_key(args: &CampaignArgs) -> Result<(), Failure> {
    let name = args.name.as_deref().unwrap_or(KEY_NAME);
    let line = new_key(name).map_err(|line| failure(INVALID, "key", line))?;
    match args
        .output
        .as_deref()
        .filter(|path| *path != Path::new(STANDARD))
    {
        None => out(&line),
        Some(path) => {
            let mut options = File::options();
            options.write(true).create_new(true).mode(0o600);
            let written = options.open(path).and_then(|mut file| {
                file.write_all(line.as_bytes())?;
                file.sync_all()
            });
            written.map_err(|error| {
                let name = path.display();
                if error.kind() == ErrorKind::AlreadyExists {
                    let line = format!("{name}: exists: give another name, or remove it");
                    failure(INVALID, "key", line)
                } else {
                    failure(
                        FAILED,
                        "key",
                        format_args!("{name}: {}", system_text(&error)),
                    )
                }
            })?;
        }
    }
    Ok(())
}

/// A line of a key file with a new random key for agents.
fn new_key(name: &str) -> Result<Zeroizing<String>, String> {
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(bytes.as_mut_slice()))
        .map_err(|error| format!("/dev/urandom: {}", system_text(&error)))?;
    // A line that grew would leave copies behind.
    let length = name.len() + " agent \n".len() + 2 * KEY_BYTES;
    let mut line = Zeroizing::new(String::with_capacity(length));
    line.push_str(name);
    line.push_str(" agent ");
    for byte in bytes.iter() {
        for half in [byte >> 4, byte & 15] {
            line.extend(char::from_digit(u32::from(half), 16));
        }
    }
    line.push('\n');
    let is_one = KeyRing::parse(line.as_bytes())
        .is_ok_and(|ring| matches!(ring.keys(), [key] if key.role == KeyRole::Agent));
    if is_one {
        Ok(line)
    } else {
        Err("--name: expected at most 64 letters, digits and -_.@".to_owned())
    }
}

/// The line of the key for agents in a key file.
fn existing_key(file: &Path) -> Result<Zeroizing<String>, String> {
    let ring = key::load(Some(file))?;
    let keys = ring.iter().flat_map(|ring| ring.keys());
    let mut agents = keys.filter(|key| key.role == KeyRole::Agent);
    let (Some(key), None) = (agents.next(), agents.next()) else {
        return Err(format!(
            "the key file {}: it takes exactly one key with the role agent: make one with \
             netperf campaign key",
            file.display()
        ));
    };
    let text = std::str::from_utf8(key.secret.bytes());
    let text = text.map_err(|_| format!("the key file {}: the key is not text", file.display()))?;
    Ok(Zeroizing::new(format!("{} agent {text}\n", key.name)))
}
