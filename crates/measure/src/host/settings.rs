//! Settings that results depend on: what to look at first when two results differ.

use std::fs;
use std::path::Path;

use netperf_model::host::tidy;
use netperf_os::net::Offload;

use super::{Kernel, text};

/// Settings of the kernel, by their names in sysctl(8) (Documentation/admin-guide/sysctl
/// and Documentation/networking/ip-sysctl.rst of the kernel).
const SYSCTLS: &[&str] = &[
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.core.optmem_max",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "net.ipv4.ip_local_port_range",
];

/// Other files, and what their contents are called.
const FILES: &[(&str, &str)] = &[
    (
        "clock_source",
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "cpu_governor",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    (
        "cpu_no_turbo",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
    ),
    ("cpu_smt", "sys/devices/system/cpu/smt/control"),
    ("cpus_online", "sys/devices/system/cpu/online"),
];

/// Words of the kernel command line that affect performance. Others are not reported, because
/// they may contain secrets.
const BOOT_WORDS: &[&str] = &[
    "clocksource",
    "cpuidle.governor",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "iommu",
    "isolcpus",
    "mitigations",
    "nohz",
    "nohz_full",
    "nosmt",
    "preempt",
    "processor.max_cstate",
    "rcu_nocbs",
    "tsc",
];

/// Files of an interface, and what their contents are called.
const OF_INTERFACE: &[(&str, &str)] = &[
    ("interface_mtu", "mtu"),
    ("interface_speed", "speed"),
    ("interface_duplex", "duplex"),
    ("interface_transmit_queue", "tx_queue_len"),
    ("interface_gro_flush_timeout", "gro_flush_timeout"),
    ("interface_defer_hard_irqs", "napi_defer_hard_irqs"),
];

/// All that this host has of them.
pub(super) fn of(
    root: &Path,
    kernel: &Kernel<'_>,
    interface: Option<&str>,
) -> Vec<(String, String)> {
    let sysctls = SYSCTLS.iter().map(|name| {
        let path = format!("proc/sys/{}", name.replace('.', "/"));
        (*name, text(root, &path))
    });
    let files = FILES.iter().map(|(name, path)| (*name, text(root, path)));
    let mut settings: Vec<(&'static str, Option<String>)> = sysctls.chain(files).collect();
    settings.push(("boot_options", boot_options(root)));
    if let Some(interface) = interface {
        let class = root.join("sys/class/net").join(interface);
        settings.extend(
            OF_INTERFACE
                .iter()
                .map(|(name, file)| (*name, text(&class, file))),
        );
        settings.push(("interface_queues", queues(&class)));
        settings.push(("interface_offloads", offloads(kernel, interface)));
        let discipline = (kernel.qdisc)(interface).ok();
        settings.push(("interface_qdisc", discipline.as_deref().and_then(tidy)));
    }
    let known = |(name, value): (&'static str, Option<String>)| Some((name.to_owned(), value?));
    settings.into_iter().filter_map(known).collect()
}

/// The words of the kernel's command line that are told.
fn boot_options(root: &Path) -> Option<String> {
    let line = text(root, "proc/cmdline")?;
    let told = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        BOOT_WORDS.contains(&name)
    };
    let words: Vec<&str> = line.split(' ').filter(told).collect();
    tidy(&words.join(" "))
}

/// Number of queues of an interface in each direction.
fn queues(class: &Path) -> Option<String> {
    let names: Vec<String> = fs::read_dir(class.join("queues"))
        .ok()?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let of = |kind: &str| names.iter().filter(|name| name.starts_with(kind)).count();
    Some(format!("rx {}, tx {}", of("rx-"), of("tx-")))
}

/// The offloads that are on, by their names in ethtool(8).
fn offloads(kernel: &Kernel<'_>, interface: &str) -> Option<String> {
    let told: Vec<(Offload, bool)> = Offload::ALL
        .into_iter()
        .filter_map(|which| Some((which, (kernel.offload)(interface, which).ok()?)))
        .collect();
    let on: Vec<&str> = told
        .iter()
        .filter_map(|(which, on)| on.then_some(which.label()))
        .collect();
    match (told.is_empty(), on.is_empty()) {
        (true, _) => None,
        (false, true) => Some("none".to_owned()),
        (false, false) => Some(on.join(" ")),
    }
}
