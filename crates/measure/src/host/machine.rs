//! Model names of the machine and its CPU, and the CPU frequency.

use std::path::Path;

use netperf_model::host::tidy;

use super::{contents, text};

/// Files with the model name of the machine: PC firmware, then device trees.
const SYSTEM_MODEL: [&str; 3] = [
    "sys/class/dmi/id/product_name",
    "sys/firmware/devicetree/base/model",
    "proc/device-tree/model",
];

/// Keys of the CPU name in `/proc/cpuinfo`, by architecture: most, MIPS, POWER, RISC-V, old
/// ARM. Case matters: `Model` is the board's name, `model` a number.
const CPU_MODEL: [&str; 5] = ["model name", "cpu model", "cpu", "uarch", "Processor"];

/// The name and frequency of the first CPU.
#[derive(Debug, Default)]
pub(super) struct CpuDescription {
    pub(super) model: Option<String>,
    /// MHz.
    pub(super) frequency: Option<u32>,
}

pub(super) fn system_model(root: &Path) -> Option<String> {
    SYSTEM_MODEL.iter().find_map(|path| text(root, path))
}

pub(super) fn cpu(root: &Path) -> CpuDescription {
    let info = contents(root, "proc/cpuinfo").unwrap_or_default();
    let named = CPU_MODEL.iter().find_map(|key| field(&info, key));
    CpuDescription {
        model: named.or_else(|| arm_model(&info)),
        frequency: highest_frequency(root).or_else(|| current_frequency(&info)),
    }
}

/// The first value of a line such as `model name : Some CPU`.
fn field(info: &str, key: &str) -> Option<String> {
    info.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| tidy(value))?
    })
}

/// 64-bit ARM gives numbers, of which the maker's and the part's name a CPU.
fn arm_model(info: &str) -> Option<String> {
    let maker = field(info, "CPU implementer")?;
    let part = field(info, "CPU part")?;
    Some(format!("ARM implementer {maker} part {part}"))
}

/// The frequency that the CPU can reach; what it has at the moment says little.
fn highest_frequency(root: &Path) -> Option<u32> {
    let path = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
    let kilohertz: u32 = text(root, path)?.parse().ok()?;
    Some(kilohertz / 1000).filter(|megahertz| *megahertz > 0)
}

/// `2700.000` or `3425.000000MHz`, to the whole MHz below.
fn current_frequency(info: &str) -> Option<u32> {
    let value = field(info, "cpu MHz").or_else(|| field(info, "clock"))?;
    let whole = value.split(|c: char| !c.is_ascii_digit()).next()?;
    whole.parse().ok().filter(|megahertz| *megahertz > 0)
}
