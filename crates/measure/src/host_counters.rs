//! Counters of a host: those of its interfaces, and of IP, TCP and UDP. A snapshot is taken here, or
//! read from a text; the difference of two is what happened between them.

mod difference;
mod here;
mod text;

pub use self::difference::{CounterChange, CounterDifference, CounterState};
pub use self::here::snapshot;
pub use self::text::{SnapshotError, parsed};

/// Origin of a snapshot, which decides what an absent counter means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotForm {
    /// Of this program: all counters have a line.
    Own,
    /// `netstat -s`, which leaves out counters of 0.
    Netstat,
    /// `ethtool -S`: all counters have a line.
    Ethtool,
}

/// When and where a snapshot was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotOrigin {
    /// Seconds since 1970.
    pub time: f64,
    /// Identifier of the run of the kernel (random(4), `boot_id`).
    pub boot: String,
}

/// A counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCounter {
    /// An interface or a protocol.
    pub section: String,
    /// Its name there.
    pub name: String,
    /// Its value.
    pub value: u64,
}

/// Counters at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSnapshot {
    /// Meaning of absent counters.
    pub form: SnapshotForm,
    /// When and where it was taken, if that is known.
    pub origin: Option<SnapshotOrigin>,
    /// The counters, in their order, each with a different name.
    pub counters: Vec<HostCounter>,
}

impl CounterSnapshot {
    /// The text that [`parsed`] reads.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(origin) = &self.origin {
            text.push_str(&format!(
                "{}{:.6} {}\n",
                text::ORIGIN,
                origin.time,
                origin.boot
            ));
        }
        let mut section = None;
        for counter in &self.counters {
            if section != Some(&counter.section) {
                text.push_str(&format!("{}:\n", counter.section));
                section = Some(&counter.section);
            }
            text.push_str(&format!("     {}: {}\n", counter.name, counter.value));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_counters_of_this_host_are_read_back_from_their_text() {
        let taken = snapshot().unwrap();
        let section = |name: &str| taken.counters.iter().any(|one| one.section == name);
        for name in ["lo", "Ip", "Tcp", "Udp", "TcpExt"] {
            assert!(section(name), "{name}");
        }
        let read = parsed(&taken.text()).unwrap();
        assert_eq!(read.counters, taken.counters);
        assert_eq!(read.form, SnapshotForm::Own);
        let (read, taken) = (read.origin.unwrap(), taken.origin.unwrap());
        assert_eq!(read.boot, taken.boot);
        assert!((read.time - taken.time).abs() < 1e-3);
    }
}
