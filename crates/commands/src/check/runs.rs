//! The runs of each phase of a check: netperf's options.

use netperf_cli::CheckArgs;
use netperf_quality::{
    CheckPhase, CheckRole, CheckRuns, CheckSettings, CheckWay, Profile, ServiceClass,
};
use netperf_stats::moments;

/// Share of the throughput of TCP at which datagrams are sent, so that loss is that of the path
/// and not of a sender that is faster than it.
const DATAGRAM_SHARE: f64 = 0.5;
/// Limits of that rate in bits per second: one sender of datagrams that fit the MTU of Ethernet
/// reaches the upper one on most hosts.
const DATAGRAM_RATES: (f64, f64) = (64e3, 1e9);
/// Seconds between two values of throughput, and between two of TCP's state.
const VALUES: &str = "0.1";
/// Bytes of a probe and of its response.
const PROBE_BYTES: &str = "60,60";
/// New connections per second, and the most of them at a time.
const EXCHANGES: (&str, &str) = ("10", "16");
/// Seconds for which senders hold data that is not sent, and limits of its bytes.
const UNSENT: f64 = 0.005;
const UNSENT_BYTES: (f64, f64) = (4096.0, 1_048_576.0);
/// Its bytes where no rate is known.
const UNSENT_UNKNOWN: f64 = 131_072.0;
/// Seconds for which probes go on before and behind a load.
const MARGIN: f64 = 0.6;
/// Interval of probes in seconds.
const INTERVAL: f64 = 0.01;

/// Measurements to make, and features of netserver.
#[derive(Clone, Debug)]
pub(super) struct CheckParameters {
    pub(super) asked: CheckSettings,
    length: Option<f64>,
    congestion: Option<String>,
    /// netserver stamps probes, and records TCP's state.
    pub(super) stamps: bool,
}

/// A run that is to be made.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) role: CheckRole,
    /// It begins after the probes.
    pub(super) is_load: bool,
    pub(super) words: Vec<String>,
}

impl Planned {
    /// A few probes that netserver stamps, if it can.
    pub(super) fn of_first() -> Self {
        let words = [
            "-t",
            "UDP_RR",
            "--rate",
            "100",
            "--count",
            "3",
            "--timestamps",
            "software",
            "--request-size",
            PROBE_BYTES,
        ];
        Self {
            role: CheckRole::Probe(ServiceClass::Be),
            is_load: false,
            words: words.map(str::to_owned).to_vec(),
        }
    }

    /// Options that let events show the run while it goes on.
    pub(super) fn shown(&self) -> Vec<String> {
        let words: &[&str] = match self.role {
            CheckRole::Probe(_) => &["-D", "0.5", "-j"],
            CheckRole::Datagrams => &["-D", "0.5"],
            CheckRole::Exchanges | CheckRole::Load(..) => &[],
        };
        words.iter().copied().map(str::to_owned).collect()
    }
}

/// Features that a stock netserver lacks.
pub(super) fn missing() -> Vec<String> {
    vec![
        "this netserver does not stamp probes: they are requests over TCP, and neither the side \
         of the queue nor the direction of a loss is known"
            .to_owned(),
        "it does not record the state of TCP: neither responsiveness nor flow queueing is known \
         for data that it sends"
            .to_owned(),
    ]
}

/// The rate of datagrams of `udp:RATE`, bits per second.
fn datagrams_of(text: &str) -> Option<f64> {
    let rate = netperf_cli::bits_per_second(text.strip_prefix("udp:")?)?;
    (rate >= 1000.0).then_some(rate)
}

impl CheckParameters {
    /// Those of a command line.
    ///
    /// # Errors
    /// One line about what is wrong in it.
    pub(super) fn of(args: &CheckArgs) -> Result<Self, String> {
        let profile = args.profile.as_deref().and_then(Profile::named);
        let profile = profile.unwrap_or_default();
        let classes = match &args.classes {
            None => profile.classes(),
            Some(text) => ServiceClass::list(text).map_err(|word| {
                format!("--classes: '{word}' is none of be, cs1, cs5 and ef, with commas between")
            })?,
        };
        let load = args.load.as_deref().map(|text| {
            datagrams_of(text).ok_or_else(|| {
                format!("--load: '{text}' is not udp: and a rate in bits per second, as udp:50M")
            })
        });
        let seconds = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok();
        Ok(Self {
            asked: CheckSettings {
                profile,
                down_flows: args.down.unwrap_or_else(|| profile.flows()),
                up_flows: args.up.unwrap_or_else(|| profile.flows()),
                classes,
                interval_seconds: seconds(&args.interval).unwrap_or(INTERVAL),
                load_bits_per_second: load.transpose()?,
            },
            length: seconds(&args.length),
            congestion: args.congestion.clone(),
            stamps: true,
        })
    }

    /// The phases, with the length of each in seconds.
    pub(super) fn phases(&self) -> Vec<(CheckPhase, f64)> {
        self.asked.profile.phases(self.length)
    }

    /// The runs of a phase; `before` has the results of those before it.
    pub(super) fn runs(&self, phase: CheckPhase, length: f64, before: &CheckRuns) -> Vec<Planned> {
        let is_loaded = phase != CheckPhase::Idle;
        let whole = if is_loaded { length + MARGIN } else { length };
        let mut runs: Vec<Planned> = self
            .asked
            .classes
            .iter()
            .enumerate()
            .map(|(at, class)| {
                // The CPUs are the same for all runs: one measures them.
                self.probe(*class, whole, at == 0)
            })
            .collect();
        if phase != CheckPhase::Udp {
            runs.push(exchanges(whole));
        }
        for way in [CheckWay::Down, CheckWay::Up] {
            let loads = match way {
                CheckWay::Down => phase.loads_down(),
                CheckWay::Up => phase.loads_up(),
            };
            if loads {
                let unsent = before.throughput(way);
                runs.extend(self.loads(way, length, unsent));
            }
        }
        if phase == CheckPhase::Udp {
            let rate = before.throughput(CheckWay::Up).unwrap_or(0.0) * DATAGRAM_SHARE;
            runs.push(self.datagrams(length, rate.clamp(DATAGRAM_RATES.0, DATAGRAM_RATES.1)));
        }
        runs
    }

    fn probe(&self, class: ServiceClass, length: f64, measures_cpus: bool) -> Planned {
        let rate = format!("{}", 1.0 / self.asked.interval_seconds);
        let mut words = of_test(if self.stamps { "UDP_RR" } else { "TCP_RR" }, length);
        extend(&mut words, &["--rate", &rate]);
        if self.stamps {
            extend(
                &mut words,
                &["--timestamps", "software", "--request-size", PROBE_BYTES],
            );
        }
        if measures_cpus {
            extend(&mut words, &["-c", "-C"]);
        }
        extend_by_class(&mut words, class, self.stamps);
        Planned {
            role: CheckRole::Probe(class),
            is_load: false,
            words,
        }
    }

    /// The loads of a direction, one for each class.
    fn loads(&self, way: CheckWay, length: f64, rate: Option<f64>) -> Vec<Planned> {
        let (classes, flows) = (
            &self.asked.classes,
            match way {
                CheckWay::Down => self.asked.down_flows,
                CheckWay::Up => self.asked.up_flows,
            },
        );
        let all = u32::try_from(classes.len()).unwrap_or(1).max(1);
        let load = |(at, class): (u32, &ServiceClass)| {
            // Flows are divided among the classes; what is left goes to the first ones.
            let flows = flows / all + u32::from(at < flows % all);
            (flows > 0).then(|| self.load(way, *class, (flows, length), rate))
        };
        (0..).zip(classes).filter_map(load).collect()
    }

    fn load(
        &self,
        way: CheckWay,
        class: ServiceClass,
        (flows, length): (u32, f64),
        rate: Option<f64>,
    ) -> Planned {
        let mut words = match (self.asked.load_bits_per_second, way) {
            (None, CheckWay::Down) => of_test("TCP_MAERTS", length),
            (None, CheckWay::Up) => of_test("TCP_STREAM", length),
            (Some(_), CheckWay::Up) => of_test("UDP_STREAM", length),
            (Some(_), CheckWay::Down) => {
                let mut words = of_test("OMNI", length);
                extend(&mut words, &["--protocol", "udp", "--direction", "recv"]);
                words
            }
        };
        extend(&mut words, &["-D", VALUES]);
        extend_by_class(&mut words, class, self.stamps);
        if let Some(bits) = self.asked.load_bits_per_second {
            let share = bits / moments::count(self.asked.classes.len().max(1));
            extend(
                &mut words,
                &["--rate", &format!("{share:.0}"), "--send-size", "1400"],
            );
        } else {
            let local = way == CheckWay::Up;
            let unsent = unsent(rate);
            let pair = |value: &str| {
                if local {
                    format!("{value},")
                } else {
                    format!(",{value}")
                }
            };
            extend(&mut words, &["--flows", &flows.to_string()]);
            if let Some(name) = &self.congestion {
                extend(&mut words, &["--congestion", &format!("{name},{name}")]);
            }
            if self.stamps || local {
                extend(&mut words, &["--series", &pair(VALUES)]);
                extend(&mut words, &["--notsent-lowat", &pair(&unsent)]);
            }
        }
        Planned {
            role: CheckRole::Load(way, class),
            is_load: true,
            words,
        }
    }

    fn datagrams(&self, length: f64, rate: f64) -> Planned {
        let mut words = of_test("UDP_STREAM", length);
        extend(&mut words, &["--rate", &format!("{rate:.0}")]);
        if self.stamps {
            extend(&mut words, &["--sequence"]);
        }
        Planned {
            role: CheckRole::Datagrams,
            is_load: true,
            words,
        }
    }
}

/// Bytes that a sender may hold unsent: what it sends in five milliseconds.
fn unsent(bits_per_second: Option<f64>) -> String {
    let bytes = bits_per_second.map_or(UNSENT_UNKNOWN, |bits| bits / 8.0 * UNSENT);
    format!("{:.0}", bytes.clamp(UNSENT_BYTES.0, UNSENT_BYTES.1))
}

fn exchanges(length: f64) -> Planned {
    let (rate, most) = EXCHANGES;
    let mut words = of_test("TCP_CRR", length);
    extend(&mut words, &["--rate", rate, "--flows", most]);
    Planned {
        role: CheckRole::Exchanges,
        is_load: false,
        words,
    }
}

fn of_test(test: &str, length: f64) -> Vec<String> {
    ["-t", test, "--time", &format!("{length}")]
        .map(str::to_owned)
        .to_vec()
}

fn extend(words: &mut Vec<String>, more: &[&str]) {
    words.extend(more.iter().copied().map(str::to_owned));
}

/// The type of service of a class, at the end that can set it.
fn extend_by_class(words: &mut Vec<String>, class: ServiceClass, both: bool) {
    if class != ServiceClass::Be {
        let word = class.word();
        let ends = if both {
            format!("{word},{word}")
        } else {
            format!("{word},")
        };
        extend(words, &["--dscp", &ends]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(args: CheckArgs) -> CheckParameters {
        CheckParameters::of(&args).unwrap()
    }

    #[test]
    fn flows_are_divided_among_the_classes() {
        let args = CheckArgs {
            classes: Some("be,ef,cs1".to_owned()),
            up: Some(5),
            ..CheckArgs::default()
        };
        let runs = settings(args).runs(CheckPhase::Up, 3.0, &CheckRuns::default());
        let flows = runs.iter().filter(|run| run.is_load).map(|run| {
            let at = run.words.iter().position(|word| word == "--flows");
            at.and_then(|at| run.words.get(at + 1)).map(String::as_str)
        });
        assert_eq!(flows.collect::<Vec<_>>(), [Some("2"), Some("2"), Some("1")]);
    }

    #[test]
    fn rates_and_classes_that_are_none_are_named() {
        assert_eq!(datagrams_of("udp:50M"), Some(50e6));
        assert_eq!(datagrams_of("udp:50Mbit/s"), Some(50e6));
        assert_eq!(datagrams_of("udp:2000"), Some(2000.0));
        for wrong in [
            "udp:50kpps",
            "udp:",
            "udp:x",
            "tcp:5M",
            "udp:-1M",
            "udp:infG",
            "50M",
        ] {
            assert_eq!(datagrams_of(wrong), None, "{wrong}");
        }
        let wrong = |args: &CheckArgs| CheckParameters::of(args).unwrap_err();
        let classes = wrong(&CheckArgs {
            classes: Some("be,af9".to_owned()),
            ..CheckArgs::default()
        });
        assert!(classes.contains("'af9'"), "{classes}");
        let load = wrong(&CheckArgs {
            load: Some("tcp".to_owned()),
            ..CheckArgs::default()
        });
        assert!(load.contains("--load: 'tcp'"), "{load}");
    }

    #[test]
    fn unsent_data_is_what_five_milliseconds_take() {
        assert_eq!(unsent(Some(100e6)), "62500");
        assert_eq!(unsent(Some(1e3)), "4096");
        assert_eq!(unsent(Some(1e12)), "1048576");
        assert_eq!(unsent(None), "131072");
    }
}
