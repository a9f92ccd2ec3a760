//! Profiles of a check, their phases, and classes of service.

use serde::{Deserialize, Serialize};

/// A class of service, by its codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ServiceClass {
    /// Best effort, CS0.
    Be,
    /// Background, CS1.
    Cs1,
    /// Video, CS5.
    Cs5,
    /// Voice, expedited forwarding.
    Ef,
}

impl ServiceClass {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Be, Self::Cs1, Self::Cs5, Self::Ef];

    /// Its name on the command line, which is that of its type of service but for best effort.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Be => "be",
            Self::Cs1 => "cs1",
            Self::Cs5 => "cs5",
            Self::Ef => "ef",
        }
    }

    /// Its name as flent writes it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Be => "BE",
            Self::Cs1 => "BK",
            Self::Cs5 => "CS5",
            Self::Ef => "EF",
        }
    }

    /// The type of service of its packets.
    #[must_use]
    pub const fn tos(self) -> u8 {
        match self {
            Self::Be => 0,
            Self::Cs1 => 0x20,
            Self::Cs5 => 0xa0,
            Self::Ef => 0xb8,
        }
    }

    /// Classes by their names, with commas; the word that is none otherwise.
    ///
    /// # Errors
    /// The first word that names no class.
    pub fn list(text: &str) -> Result<Vec<Self>, &str> {
        let mut classes = Vec::new();
        for word in text.split(',') {
            let named = |class: &Self| class.word().eq_ignore_ascii_case(word.trim());
            let class = Self::ALL.into_iter().find(named).ok_or(word)?;
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        Ok(classes)
    }
}

/// A phase of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckPhase {
    /// Nothing but probes.
    Idle,
    /// Bulk data from netserver.
    Down,
    /// Bulk data to netserver.
    Up,
    /// Both at once.
    Both,
    /// Datagrams to netserver at a rate below that of TCP.
    Udp,
}

impl CheckPhase {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Down => "down",
            Self::Up => "up",
            Self::Both => "both",
            Self::Udp => "UDP",
        }
    }

    /// True if bulk data of TCP comes from netserver.
    #[must_use]
    pub const fn loads_down(self) -> bool {
        matches!(self, Self::Down | Self::Both)
    }

    /// True if bulk data of TCP goes to netserver.
    #[must_use]
    pub const fn loads_up(self) -> bool {
        matches!(self, Self::Up | Self::Both)
    }
}

/// Measurements of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Idle, down, up, both and datagrams, in about 15 seconds.
    #[default]
    Quick,
    /// Idle, down and up, long enough for the responsiveness of draft-ietf-ippm-responsiveness.
    Responsiveness,
    /// Both at once in four classes, as flent's rrul.
    Rrul,
    /// Both at once with four flows of best effort, as flent's rrul_be.
    RrulBe,
    /// Idle, down, up and both, ten seconds each, as crusader.
    Phases,
}

impl Profile {
    /// All of them, by their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Quick, "quick"),
        (Self::Responsiveness, "responsiveness"),
        (Self::Rrul, "rrul"),
        (Self::RrulBe, "rrul_be"),
        (Self::Phases, "phases"),
    ];

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, word)| *word == name)
            .map(|(profile, _)| *profile)
    }

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(profile, _)| *profile == self)
            .map_or("", |(_, word)| word)
    }

    /// Its phases, in order, with the length of each in seconds; `length` is that of the phases with
    /// a load, where it is given.
    #[must_use]
    pub fn phases(self, length: Option<f64>) -> Vec<(CheckPhase, f64)> {
        use CheckPhase::{Both, Down, Idle, Udp, Up};
        let (idle, load, phases): (f64, f64, &[CheckPhase]) = match self {
            Self::Quick => (2.0, 3.0, &[Idle, Down, Up, Both, Udp]),
            Self::Responsiveness => (3.0, 20.0, &[Idle, Down, Up]),
            Self::Rrul | Self::RrulBe => (5.0, 30.0, &[Idle, Both]),
            Self::Phases => (5.0, 10.0, &[Idle, Down, Up, Both]),
        };
        let load = length.unwrap_or(load);
        let each = |phase: &CheckPhase| match phase {
            Idle => (*phase, idle.min(load)),
            Down | Up | Both | Udp => (*phase, load),
        };
        phases.iter().map(each).collect()
    }

    /// Its classes of service, unless others are asked for.
    #[must_use]
    pub fn classes(self) -> Vec<ServiceClass> {
        match self {
            Self::Rrul => ServiceClass::ALL.to_vec(),
            Self::Quick | Self::Responsiveness | Self::RrulBe | Self::Phases => {
                vec![ServiceClass::Be]
            }
        }
    }

    /// Flows of all classes in each direction, unless others are asked for.
    #[must_use]
    pub const fn flows(self) -> u32 {
        match self {
            Self::Quick | Self::Rrul | Self::RrulBe => 4,
            Self::Responsiveness | Self::Phases => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_by_name_and_a_word_that_is_none_is_named() {
        use ServiceClass::{Be, Cs1, Ef};
        assert_eq!(ServiceClass::list("be,EF,cs1,ef"), Ok(vec![Be, Ef, Cs1]));
        assert_eq!(ServiceClass::list("be,af9"), Err("af9"));
        assert_eq!(ServiceClass::list(""), Err(""));
    }

    #[test]
    fn quick_takes_about_fifteen_seconds_and_each_profile_is_found_by_its_name() {
        let total: f64 = Profile::Quick
            .phases(None)
            .iter()
            .map(|(_, time)| time)
            .sum();
        assert!((13.0..=15.0).contains(&total), "{total}");
        for (profile, word) in Profile::ALL {
            assert_eq!(
                (Profile::named(word), profile.word()),
                (Some(profile), word)
            );
            assert_eq!(profile.phases(None)[0].0, CheckPhase::Idle);
        }
        assert_eq!(Profile::named("slow"), None);
    }
}
