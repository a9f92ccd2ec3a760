use super::*;

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;

use netperf_model::host::{InterfaceFacts, NONE, PciIds, SecurityKind, SecurityMode};
use tempfile::TempDir;

/// A directory that stands for `/` and is removed again.
struct Root(TempDir);

impl Root {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = root.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn facts(&self, driver: Option<&DriverInfo>) -> HostFacts {
        self.asked(driver, |root, kernel| {
            collect(root, kernel, &[Ipv4Addr::new(192, 0, 2, 1).into()])
        })
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.asked(None, |root, kernel| {
            settings::of(root, kernel, Some("eth0"))
        })
    }

    fn asked<T>(&self, driver: Option<&DriverInfo>, ask: impl Fn(&Path, &Kernel<'_>) -> T) -> T {
        let kernel = Kernel {
            names: Names {
                node: String::new(),
                sysname: "Linux".to_owned(),
                release: "6.1.0".to_owned(),
                version: "#1 SMP\n".to_owned(),
                machine: "x86_64".to_owned(),
            },
            addresses: vec![
                address("lo", [127, 0, 0, 1]),
                address("eth0", [192, 0, 2, 1]),
            ],
            driver_info: &|_| driver.cloned().ok_or(io::ErrorKind::Unsupported.into()),
            offload: &|_, which| match which {
                Offload::Tso | Offload::Gro => Ok(true),
                Offload::Gso => Ok(false),
                Offload::RxChecksum | Offload::TxChecksum | Offload::ScatterGather => {
                    Err(io::ErrorKind::Unsupported.into())
                }
            },
            qdisc: &|name| Ok(format!("fq_codel of {name}")),
        };
        ask(self.0.path(), &kernel)
    }
}

fn address(name: &str, octets: [u8; 4]) -> InterfaceAddress {
    InterfaceAddress {
        name: name.to_owned(),
        address: Ipv4Addr::from(octets).into(),
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A virtio interface behind a PCI device.
fn virtio() -> Root {
    let pci = "sys/devices/pci0000:00/0000:00:03.0";
    let root = Root::new(&[
        (&format!("{pci}/vendor"), "0x1af4\n"),
        (&format!("{pci}/device"), "0x1041\n"),
        (&format!("{pci}/subsystem_vendor"), "0x1af5\n"),
        (&format!("{pci}/subsystem_device"), "0x0040\n"),
        (&format!("{pci}/virtio0/net/eth0/mtu"), "1500\n"),
        ("sys/bus/virtio/drivers/virtio_net/bind", ""),
    ]);
    root.link(
        "sys/class/net/eth0",
        "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0",
    );
    root.link(
        &format!("{pci}/virtio0/net/eth0/device"),
        "../../../virtio0",
    );
    root.link(&format!("{pci}/subsystem"), "../../../bus/pci");
    root.link(
        &format!("{pci}/virtio0/subsystem"),
        "../../../../bus/virtio",
    );
    root.link(
        &format!("{pci}/virtio0/driver"),
        "../../../../bus/virtio/drivers/virtio_net",
    );
    root
}

#[test]
fn a_virtio_interface_has_the_ids_of_the_pci_device_that_carries_it() {
    let said = DriverInfo {
        driver: "virtio_net".to_owned(),
        version: "1.0.0".to_owned(),
        firmware: String::new(),
        bus: "0000:00:03.0".to_owned(),
    };
    let expected = InterfaceFacts {
        name: some("eth0"),
        pci: Some(PciIds {
            vendor: 0x1af4,
            device: 0x1041,
            subvendor: 0x1af5,
            subdevice: 0x0040,
        }),
        slot: some("0000:00:03.0"),
        driver: some("virtio_net"),
        driver_version: some("1.0.0"),
        firmware: some(NONE),
        bus: some("0000:00:03.0"),
    };
    assert_eq!(virtio().facts(Some(&said)).interface, expected);
}

#[test]
fn a_driver_that_says_nothing_is_found_in_the_device_directory() {
    let interface = virtio().facts(None).interface;
    assert_eq!(interface.driver, some("virtio_net"));
    assert_eq!(interface.driver_version, some(NONE));
    assert_eq!(interface.bus, some("virtio0"));
}

#[test]
fn a_slot_with_a_name_is_called_by_it() {
    let root = virtio();
    let slot = root.0.path().join("sys/bus/pci/slots/7");
    fs::create_dir_all(&slot).unwrap();
    fs::write(slot.join("address"), "0000:00:03\n").unwrap();
    assert_eq!(root.facts(None).interface.slot, some("7"));
}

#[test]
fn an_interface_without_a_device_is_known_to_have_no_driver_and_no_ids() {
    let root = Root::new(&[("sys/class/net/eth0/mtu", "1500\n")]);
    let interface = root.facts(None).interface;
    assert_eq!(interface.pci, Some(PciIds::default()));
    assert_eq!(interface.driver, some(NONE));
    assert_eq!(interface.slot, some(NONE));
}

#[test]
fn without_sysfs_only_what_the_kernel_was_asked_is_known() {
    let facts = Root::new(&[]).facts(None);
    assert_eq!(facts.version, some("#1 SMP"));
    assert_eq!(facts.interface.name, some("eth0"));
    assert_eq!(facts.interface.driver, None);
    assert_eq!(facts.interface.pci, None);
    assert_eq!(facts.security.kind, None);
    assert_eq!((facts.cpu_model, facts.cpu_frequency), (None, None));
    assert_eq!(facts.system_model, None);
}

#[test]
fn an_address_that_this_host_does_not_have_names_no_interface() {
    let all = [address("lo", [127, 0, 0, 1])];
    assert_eq!(interface::name_of(&all, [198, 51, 100, 1].into()), None);
    assert_eq!(interface::name_of(&all, [127, 1, 2, 3].into()), Some("lo"));
}

#[test]
fn the_cpu_is_named_and_its_highest_frequency_preferred() {
    let info = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some  CPU @ 2.00GHz\n\
                cpu MHz\t\t: 1999.998\n";
    let root = Root::new(&[("proc/cpuinfo", info)]);
    let facts = root.facts(None);
    assert_eq!(facts.cpu_model, some("Some CPU @ 2.00GHz"));
    assert_eq!(facts.cpu_frequency, Some(1999));
    let path = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
    let root = Root::new(&[("proc/cpuinfo", info), (path, "3500000\n")]);
    assert_eq!(root.facts(None).cpu_frequency, Some(3500));
}

#[test]
fn an_arm_cpu_without_a_name_is_told_by_its_numbers() {
    let info = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
    let root = Root::new(&[("proc/cpuinfo", info)]);
    assert_eq!(
        root.facts(None).cpu_model,
        some("ARM implementer 0x41 part 0xd0c")
    );
}

#[test]
fn the_model_of_a_machine_comes_from_its_firmware_or_device_tree() {
    let dmi = Root::new(&[(
        "sys/class/dmi/id/product_name",
        "Standard PC (Q35 + ICH9, 2009)\n",
    )]);
    assert_eq!(
        dmi.facts(None).system_model,
        some("Standard PC (Q35 + ICH9, 2009)")
    );
    let tree = Root::new(&[("proc/device-tree/model", "Board 4 Model B\0")]);
    assert_eq!(tree.facts(None).system_model, some("Board 4 Model B"));
}

#[test]
fn selinux_says_whether_it_enforces_and_which_policy() {
    let root = Root::new(&[
        (
            "sys/kernel/security/lsm",
            "lockdown,capability,yama,selinux,bpf",
        ),
        ("sys/fs/selinux/enforce", "0"),
        ("etc/selinux/config", "# policy\nSELINUXTYPE=targeted\n"),
    ]);
    let security = root.facts(None).security;
    assert_eq!(security.kind, Some(SecurityKind::SeLinux));
    assert_eq!(security.mode, Some(SecurityMode::Permissive));
    assert_eq!(security.specific, some("targeted"));
}

#[test]
fn apparmor_is_found_without_the_list_of_frameworks() {
    let root = Root::new(&[
        ("sys/module/apparmor/parameters/enabled", "Y\n"),
        ("proc/self/attr/current", "a-profile (enforce)\n"),
    ]);
    let security = root.facts(None).security;
    assert_eq!(security.kind, Some(SecurityKind::AppArmor));
    assert_eq!(security.mode, Some(SecurityMode::Enforcing));
    assert_eq!(security.specific, some("a-profile"));
}

#[test]
fn a_list_without_a_framework_that_decides_is_none() {
    let root = Root::new(&[("sys/kernel/security/lsm", "lockdown,capability,yama")]);
    let security = root.facts(None).security;
    assert_eq!(security.kind, Some(SecurityKind::None));
    assert_eq!(security.specific, some(NONE));
}

#[test]
fn this_machine_has_a_name_and_a_loopback_interface() {
    let facts = facts(&[Ipv4Addr::LOCALHOST.into()]);
    assert_eq!(facts.sysname, some("Linux"));
    assert!(facts.release.is_some() && facts.version.is_some() && facts.machine.is_some());
    assert!(facts.interface.name.is_some());
}

#[test]
fn settings_are_those_that_the_host_has() {
    let root = Root::new(&[
        ("proc/sys/net/core/rmem_max", "212992\n"),
        ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        ),
        (
            "proc/cmdline",
            "root=/dev/vda token=secret mitigations=off isolcpus=1\n",
        ),
        ("sys/class/net/eth0/mtu", "1500\n"),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0"),
        ("sys/class/net/eth0/queues/tx-0/xps_cpus", "0"),
        ("sys/class/net/eth0/queues/tx-1/xps_cpus", "0"),
    ]);
    let settings = root.settings();
    let told: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        told,
        [
            "net.core.rmem_max=212992",
            "net.ipv4.tcp_rmem=4096 131072 6291456",
            "clock_source=tsc",
            "boot_options=mitigations=off isolcpus=1",
            "interface_mtu=1500",
            "interface_queues=rx 1, tx 2",
            "interface_offloads=tso gro",
            "interface_qdisc=fq_codel of eth0",
        ]
    );
}

#[test]
fn settings_begin_with_the_version() {
    let here = [Ipv4Addr::LOCALHOST.into()];
    let version = || {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        ("netperf_version".to_owned(), version)
    };
    let mtu = || ("interface_mtu".to_owned(), "1500".to_owned());
    assert_eq!(with_version(vec![mtu()]), [version(), mtu()]);
    assert_eq!(settings(&here).first(), Some(&version()));
    let facts_too = facts_and_settings(&here);
    let settings = facts_too.settings.as_ref().unwrap();
    assert_eq!(settings.first(), Some(&version()));
    assert_eq!(facts_too.release, facts(&here).release);
    assert_eq!(facts(&here).settings, None);
}

#[test]
fn an_interface_is_found_by_its_address() {
    let all = net::interface_addresses().unwrap();
    let here = Ipv4Addr::LOCALHOST.into();
    let name = interface_of(here);
    assert!(name.is_some());
    assert_eq!(name.as_deref(), interface::name_of(&all, here));
    assert_eq!(interface_of(Ipv4Addr::new(198, 51, 100, 1).into()), None);
}

#[test]
fn interface_of_a_link_level_test_is_that_of_the_control_connection_unless_named() {
    let here = Some(Ipv4Addr::LOCALHOST.into());
    let named = |transport, mut place: PlacePlan| {
        name_interface(&mut place, transport, here);
        place.device
    };
    let nothing = PlacePlan::default;
    let loopback = interface_of(Ipv4Addr::LOCALHOST.into());
    assert_eq!(named(TransportId::Llc1, nothing()), loopback);
    assert_eq!(named(TransportId::Tcp, nothing()), None);
    let device = Some("eth9".to_owned());
    let place = PlacePlan {
        device: device.clone(),
        ..nothing()
    };
    assert_eq!(named(TransportId::Packet, place), device);
    let place = PlacePlan {
        unit: Some(1),
        ..nothing()
    };
    assert_eq!(named(TransportId::Llc1, place), None);
}

#[test]
fn an_auxiliary_device_has_the_ids_of_its_pci_device_and_a_usb_device_none() {
    let pci = "sys/devices/pci0000:00/0000:00:03.0";
    let facts = |bus: &str, carrier: &str| {
        let root = Root::new(&[
            (&format!("{pci}/vendor"), "0x15b3\n"),
            (&format!("{pci}/device"), "0x101d\n"),
            (&format!("{pci}/subsystem_vendor"), "0x15b3\n"),
            (&format!("{pci}/subsystem_device"), "0x0043\n"),
            (&format!("{pci}/child/marker"), ""),
            ("sys/class/net/eth0/mtu", "1500\n"),
        ]);
        root.link(
            "sys/class/net/eth0/device",
            &format!("../../../../{pci}/child"),
        );
        root.link(&format!("{pci}/child/subsystem"), &format!("../bus/{bus}"));
        root.link(&format!("{pci}/subsystem"), &format!("../bus/{carrier}"));
        root.facts(None).interface
    };
    let carried = facts("auxiliary", "pci");
    assert_eq!(carried.pci.map(|ids| ids.device), Some(0x101d));
    assert_eq!(carried.slot, some("0000:00:03.0"));
    for (bus, carrier) in [("usb", "pci"), ("auxiliary", "platform")] {
        let other = facts(bus, carrier);
        assert_eq!(other.pci, Some(PciIds::default()), "{bus} {carrier}");
        assert_eq!(other.slot, some(NONE));
        assert_eq!(other.bus, some("child"));
    }
}

#[test]
fn a_pci_device_has_its_own_ids_and_version() {
    let pci = "sys/devices/pci0000:00/0000:00:03.0";
    let root = Root::new(&[
        (&format!("{pci}/vendor"), "0x8086\n"),
        (&format!("{pci}/device"), "0x1572\n"),
        (&format!("{pci}/subsystem_vendor"), "0x8086\n"),
        (&format!("{pci}/subsystem_device"), "0x0007\n"),
        ("sys/bus/pci/drivers/i40e/module/version", "2.8\n"),
        ("sys/bus/pci/slots/5/address", "0000:00:04\n"),
        ("sys/class/net/eth0/mtu", "1500\n"),
    ]);
    root.link("sys/class/net/eth0/device", &format!("../../../../{pci}"));
    root.link(&format!("{pci}/subsystem"), "../../../bus/pci");
    root.link(&format!("{pci}/driver"), "../../../bus/pci/drivers/i40e");
    let found = root.facts(None).interface;
    assert_eq!(found.pci.map(|ids| ids.subdevice), Some(7));
    assert_eq!(found.driver, some("i40e"));
    assert_eq!(found.driver_version, some("2.8"));
    // A slot of another device has a name, this one has none.
    assert_eq!(found.slot, some("0000:00:03.0"));
}

#[test]
fn a_frequency_of_nothing_is_not_known() {
    let frequency = |info: &str, highest: &str| {
        let path = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
        let root = Root::new(&[("proc/cpuinfo", info), (path, highest)]);
        root.facts(None).cpu_frequency
    };
    assert_eq!(frequency("clock\t\t: 3425.000000MHz\n", ""), Some(3425));
    assert_eq!(frequency("cpu MHz : 0.5\n", "0\n"), None);
    assert_eq!(frequency("cpu MHz : 800.1\n", "999\n"), Some(800));
    assert_eq!(frequency("cpu MHz : 800.1\n", "1000\n"), Some(1));
}

#[test]
fn a_list_of_frameworks_names_the_one_that_decides() {
    let security = |list: &str, files: &[(&str, &str)]| {
        let lists = ("sys/kernel/security/lsm", list);
        let files: Vec<(&str, &str)> = files.iter().copied().chain([lists]).collect();
        let security = Root::new(&files).facts(None).security;
        (security.kind, security.mode, security.specific)
    };
    let current = ("proc/self/attr/current", "a-domain\n");
    for (list, kind) in [
        ("yama,smack", SecurityKind::Smack),
        ("capability,tomoyo", SecurityKind::Tomoyo),
    ] {
        let expected = (Some(kind), Some(SecurityMode::Enforcing), some("a-domain"));
        assert_eq!(security(list, &[current]), expected);
    }
    let parameter = "sys/module/apparmor/parameters";
    for (enabled, mode, expected) in [
        ("Y", "enforce", SecurityMode::Enforcing),
        ("Y", "complain", SecurityMode::Permissive),
        ("Y", "unconfined", SecurityMode::Disabled),
        ("N", "enforce", SecurityMode::Disabled),
    ] {
        let files = [
            (&*format!("{parameter}/enabled"), enabled),
            (&*format!("{parameter}/mode"), mode),
        ];
        let found = security("lockdown,apparmor", &files);
        assert_eq!(found, (Some(SecurityKind::AppArmor), Some(expected), None));
    }
    for (enforce, mode) in [("1", Some(SecurityMode::Enforcing)), ("7", None)] {
        let found = security("selinux", &[("sys/fs/selinux/enforce", enforce)]);
        assert_eq!(found, (Some(SecurityKind::SeLinux), mode, None));
    }
}

#[test]
fn a_framework_is_known_by_what_it_leaves_in_sysfs() {
    let kind = |file: &str, text: &str| Root::new(&[(file, text)]).facts(None).security.kind;
    for (file, expected) in [
        ("sys/fs/selinux/enforce", SecurityKind::SeLinux),
        ("sys/fs/smackfs/load", SecurityKind::Smack),
        ("sys/kernel/security/tomoyo/stat", SecurityKind::Tomoyo),
        ("sys/kernel/notes", SecurityKind::None),
    ] {
        assert_eq!(kind(file, "1"), Some(expected), "{file}");
    }
    let enabled = "sys/module/apparmor/parameters/enabled";
    assert_eq!(kind(enabled, "N\n"), None);
    assert_eq!(kind("sys/module/other", ""), None);
}

#[test]
fn offloads_are_told_as_far_as_the_driver_tells_them() {
    let root = Root::new(&[]);
    let offloads = |offload: &dyn Fn(&str, Offload) -> io::Result<bool>| {
        let kernel = Kernel {
            offload,
            addresses: Vec::new(),
            ..Kernel::here()
        };
        let all = settings::of(root.0.path(), &kernel, Some("eth0"));
        let found = all
            .into_iter()
            .find(|(name, _)| name == "interface_offloads");
        found.map(|(_, value)| value)
    };
    assert_eq!(offloads(&|_, _| Ok(false)), some("none"));
    assert_eq!(
        offloads(&|_, _| Err(io::ErrorKind::Unsupported.into())),
        None
    );
    let one = |_: &str, which| Ok(which == Offload::Gso);
    assert_eq!(offloads(&one), some(Offload::Gso.label()));
}
