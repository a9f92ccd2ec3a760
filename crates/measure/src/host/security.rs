//! Which security framework decides about accesses (sysfs, "kernel/security").

use std::path::Path;

use netperf_model::host::{NONE, SecurityFacts, SecurityKind, SecurityMode};

use super::{contents, text};

pub(super) fn facts(root: &Path) -> SecurityFacts {
    let kind = kind(root);
    let (mode, specific) = match kind {
        None => (None, None),
        Some(SecurityKind::None) => (Some(SecurityMode::Disabled), Some(NONE.to_owned())),
        Some(SecurityKind::SeLinux) => (selinux_mode(root), selinux_policy(root)),
        Some(SecurityKind::AppArmor) => (Some(apparmor_mode(root)), profile(root)),
        Some(SecurityKind::Smack | SecurityKind::Tomoyo) => {
            (Some(SecurityMode::Enforcing), profile(root))
        }
    };
    SecurityFacts {
        kind,
        mode,
        specific,
    }
}

/// From the kernel's list of frameworks; where that cannot be read, as in most
/// containers, from what each of them leaves in sysfs.
fn kind(root: &Path) -> Option<SecurityKind> {
    if let Some(list) = text(root, "sys/kernel/security/lsm") {
        let decides = list.split(',').find_map(by_name);
        return Some(decides.unwrap_or(SecurityKind::None));
    }
    let has = |path: &str| root.join(path).exists();
    let traces = [
        ("sys/fs/selinux", SecurityKind::SeLinux),
        ("sys/fs/smackfs", SecurityKind::Smack),
        ("sys/kernel/security/tomoyo", SecurityKind::Tomoyo),
    ];
    if text(root, "sys/module/apparmor/parameters/enabled").as_deref() == Some("Y") {
        return Some(SecurityKind::AppArmor);
    }
    let found = traces.into_iter().find(|(path, _)| has(path));
    match found {
        Some((_, kind)) => Some(kind),
        None => has("sys/kernel").then_some(SecurityKind::None),
    }
}

fn by_name(name: &str) -> Option<SecurityKind> {
    match name {
        "selinux" => Some(SecurityKind::SeLinux),
        "apparmor" => Some(SecurityKind::AppArmor),
        "smack" => Some(SecurityKind::Smack),
        "tomoyo" => Some(SecurityKind::Tomoyo),
        _ => None,
    }
}

fn selinux_mode(root: &Path) -> Option<SecurityMode> {
    match text(root, "sys/fs/selinux/enforce")?.as_str() {
        "1" => Some(SecurityMode::Enforcing),
        "0" => Some(SecurityMode::Permissive),
        _ => None,
    }
}

fn selinux_policy(root: &Path) -> Option<String> {
    let config = contents(root, "etc/selinux/config")?;
    let policy = config
        .lines()
        .find_map(|line| line.trim().strip_prefix("SELINUXTYPE="))?;
    netperf_model::host::tidy(policy)
}

/// The mode can be read by root alone; a framework that is on enforces by default.
fn apparmor_mode(root: &Path) -> SecurityMode {
    let parameter = |name: &str| text(root, &format!("sys/module/apparmor/parameters/{name}"));
    if parameter("enabled").as_deref() == Some("N") {
        return SecurityMode::Disabled;
    }
    match parameter("mode").as_deref() {
        Some("complain") => SecurityMode::Permissive,
        Some("unconfined") => SecurityMode::Disabled,
        _ => SecurityMode::Enforcing,
    }
}

/// Confinement of this process: `unconfined`, or a profile without its mode.
fn profile(root: &Path) -> Option<String> {
    let current = text(root, "proc/self/attr/current")?;
    let name = current.split(" (").next().unwrap_or(&current);
    Some(name.to_owned())
}
