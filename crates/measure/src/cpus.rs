//! Which CPUs threads run on, from how the machine is built (sysfs, procfs).

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use netperf_model::many::cpu_list;
use netperf_model::{Placement, Workers};

use crate::host;

/// The CPUs that a rule puts threads on, in the order in which threads take them.
///
/// `address` is the one that data comes to here. Only CPUs that this process may run on
/// are chosen.
///
/// # Errors
/// `NotFound`, with a text, where there are none: no such node, no interrupts of the
/// interface.
pub fn chosen(place: Placement, address: Option<IpAddr>) -> io::Result<Vec<u32>> {
    let allowed = netperf_os::process::allowed_cpus()?;
    let interface = address.and_then(host::interface_of);
    by_rule(Path::new("/"), place, &allowed, interface.as_deref())
}

/// Checks that this process may run on all these CPUs.
///
/// # Errors
/// `InvalidInput`, with a text, when it may not.
pub fn check(cpus: &[u32]) -> io::Result<()> {
    let allowed = netperf_os::process::allowed_cpus()?;
    let missing = cpus.iter().find(|cpu| !allowed.contains(cpu));
    missing.map_or(Ok(()), |cpu| {
        let text = format!("this host has no CPU {cpu} to run on");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    })
}

/// Threads with the CPUs that a list or a rule gives them. `address` is the one that data comes to
/// here.
///
/// # Errors
/// As [`chosen`] and [`check`].
pub fn placed(workers: &Workers, address: impl FnOnce() -> Option<IpAddr>) -> io::Result<Workers> {
    let mut placed = workers.clone();
    if let Some(rule) = workers.place {
        placed.cpus = chosen(rule, address())?;
    }
    check(&placed.cpus)?;
    Ok(placed)
}

fn by_rule(
    root: &Path,
    place: Placement,
    allowed: &[u32],
    interface: Option<&str>,
) -> io::Result<Vec<u32>> {
    match place {
        Placement::Spread => Ok(spread(root, allowed)),
        Placement::Pack => Ok(pack(root, allowed)),
        Placement::Node(node) => {
            let path = format!("sys/devices/system/node/node{node}/cpulist");
            let cpus = list(&root.join(path)).unwrap_or_default();
            only(cpus, allowed).ok_or_else(|| {
                let text = format!("this host has no NUMA node {node} with a CPU to run on");
                io::Error::new(io::ErrorKind::NotFound, text)
            })
        }
        Placement::NearIrq => {
            let name = interface.unwrap_or("unknown");
            only(interrupted(root, name), allowed).ok_or_else(|| {
                let text = format!("the interface {name} has no interrupts that a CPU here takes");
                io::Error::new(io::ErrorKind::NotFound, text)
            })
        }
    }
}

/// The permitted CPUs, without duplicates; `None` if there are none.
fn only(cpus: Vec<u32>, allowed: &[u32]) -> Option<Vec<u32>> {
    let mut chosen = Vec::new();
    for cpu in cpus {
        if allowed.contains(&cpu) && !chosen.contains(&cpu) {
            chosen.push(cpu);
        }
    }
    (!chosen.is_empty()).then_some(chosen)
}

/// Position of a CPU in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CpuPlace {
    package: u32,
    /// The first CPU of its core.
    core: u32,
    cpu: u32,
}

/// A CPU without topology information counts as a separate core.
fn places(root: &Path, allowed: &[u32]) -> Vec<CpuPlace> {
    let place = |cpu: &u32| {
        let topology = root.join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
        let siblings = list(&topology.join("thread_siblings_list")).unwrap_or_default();
        let package = text(&topology.join("physical_package_id"));
        CpuPlace {
            package: package.and_then(|id| id.parse().ok()).unwrap_or(0),
            core: siblings.into_iter().min().unwrap_or(*cpu),
            cpu: *cpu,
        }
    };
    let mut places: Vec<CpuPlace> = allowed.iter().map(place).collect();
    places.sort_unstable();
    places
}

fn pack(root: &Path, allowed: &[u32]) -> Vec<u32> {
    places(root, allowed)
        .iter()
        .map(|place| place.cpu)
        .collect()
}

fn spread(root: &Path, allowed: &[u32]) -> Vec<u32> {
    let places = places(root, allowed);
    let mut ranked: Vec<_> = places
        .iter()
        .map(|place| {
            let mut before: Vec<u32> = places
                .iter()
                .filter(|other| *other < place && other.package == place.package)
                .map(|other| other.core)
                .collect();
            let sibling = before.iter().filter(|core| **core == place.core).count();
            // In order, so that CPUs of a core follow each other.
            before.dedup();
            (sibling, before.len(), *place)
        })
        .collect();
    ranked.sort_unstable();
    ranked.iter().map(|(_, _, place)| place.cpu).collect()
}

/// The CPUs that take the interrupts of an interface, in the order of its interrupts: as
/// a PCI device, or as one that a PCI device carries.
fn interrupted(root: &Path, interface: &str) -> Vec<u32> {
    let device = root.join("sys/class/net").join(interface).join("device");
    let Ok(device) = fs::canonicalize(device) else {
        return Vec::new();
    };
    let carriers = [Some(device.as_path()), device.parent()];
    let mut numbers: Vec<u32> = carriers
        .into_iter()
        .flatten()
        .find_map(|carrier| fs::read_dir(carrier.join("msi_irqs")).ok())
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let takes = |number: &u32| {
        let folder = root.join(format!("proc/irq/{number}"));
        ["effective_affinity_list", "smp_affinity_list"]
            .into_iter()
            .filter_map(|name| list(&folder.join(name)))
            .find_map(|cpus| cpus.first().copied())
    };
    numbers.iter().filter_map(takes).collect()
}

fn list(path: &Path) -> Option<Vec<u32>> {
    cpu_list(&text(path)?)
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    use tempfile::TempDir;

    /// A machine as files, removed when dropped.
    struct Machine(TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Two packages of two cores of two threads, numbered as PCs do: all first
        /// threads, then all second ones.
        fn of_two_packages() -> Self {
            let machine = Self::new();
            for cpu in 0..8 {
                let (core, topology) =
                    (cpu % 4, format!("sys/devices/system/cpu/cpu{cpu}/topology"));
                let siblings = format!("{core},{}\n", core + 4);
                machine.file(&format!("{topology}/thread_siblings_list"), &siblings);
                let package = format!("{}\n", core / 2);
                machine.file(&format!("{topology}/physical_package_id"), &package);
            }
            machine.file("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
            machine
        }

        fn place(&self, place: Placement, allowed: &[u32]) -> io::Result<Vec<u32>> {
            by_rule(self.0.path(), place, allowed, Some("eth0"))
        }
    }

    const ALL: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

    #[test]
    fn spreading_takes_packages_in_turn_then_cores_then_siblings() {
        let machine = Machine::of_two_packages();
        let spread = machine.place(Placement::Spread, &ALL).unwrap();
        assert_eq!(spread, [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn spreading_takes_packages_in_turn_whichever_threads_of_a_core_are_allowed() {
        let machine = Machine::of_two_packages();
        let spread = |allowed: &[u32]| machine.place(Placement::Spread, allowed).unwrap();
        assert_eq!(spread(&[0, 1, 2, 3]), [0, 2, 1, 3]);
        assert_eq!(spread(&[4, 5, 6, 7]), [4, 6, 5, 7]);
        assert_eq!(spread(&[0, 3, 5, 6]), [0, 6, 5, 3]);
        assert_eq!(spread(&[0, 4, 5, 6]), [0, 6, 5, 4]);
    }

    #[test]
    fn packing_fills_a_core_and_then_its_package() {
        let machine = Machine::of_two_packages();
        let pack = machine.place(Placement::Pack, &ALL).unwrap();
        assert_eq!(pack, [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(machine.place(Placement::Pack, &[2, 4]).unwrap(), [4, 2]);
    }

    #[test]
    fn a_node_has_its_cpus_and_none_that_is_not_allowed() {
        let machine = Machine::of_two_packages();
        let node = |node, allowed: &[u32]| machine.place(Placement::Node(node), allowed);
        assert_eq!(node(1, &ALL).unwrap(), [2, 3, 6, 7]);
        assert_eq!(node(1, &[0, 6]).unwrap(), [6]);
        assert_eq!(node(1, &[0]).unwrap_err().kind(), io::ErrorKind::NotFound);
        let error = node(7, &ALL).unwrap_err().to_string();
        assert!(error.contains("NUMA node 7"), "{error}");
    }

    #[test]
    fn the_cpus_of_an_interface_are_those_of_its_interrupts() {
        let machine = Machine::of_two_packages();
        machine.file("sys/devices/pci0/virtio0/marker", "");
        for (number, cpu) in [(30, "3\n"), (9, "1\n"), (31, "3\n")] {
            machine.file(&format!("sys/devices/pci0/msi_irqs/{number}"), "msix\n");
            machine.file(&format!("proc/irq/{number}/effective_affinity_list"), cpu);
        }
        let class = machine.0.path().join("sys/class/net/eth0");
        fs::create_dir_all(&class).unwrap();
        let device = machine.0.path().join("sys/devices/pci0/virtio0");
        std::os::unix::fs::symlink(device, class.join("device")).unwrap();
        assert_eq!(machine.place(Placement::NearIrq, &ALL).unwrap(), [1, 3]);
        let none = by_rule(machine.0.path(), Placement::NearIrq, &ALL, Some("lo"));
        assert!(none.unwrap_err().to_string().contains("interface lo"));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let allowed = netperf_os::process::allowed_cpus().unwrap();
        assert!(check(&allowed).is_ok());
        let error = check(&[allowed[0], 1_000_000]).unwrap_err().to_string();
        assert!(error.contains("1000000"), "{error}");
    }

    #[test]
    fn this_machine_has_cpus_by_every_rule_that_needs_no_hardware() {
        let allowed = netperf_os::process::allowed_cpus().unwrap();
        for place in [Placement::Spread, Placement::Pack] {
            let mut cpus = chosen(place, None).unwrap();
            cpus.sort_unstable();
            assert_eq!(cpus, allowed);
        }
    }
}
