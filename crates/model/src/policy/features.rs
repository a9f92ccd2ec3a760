//! Options of data sockets that strangers may not ask for.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::catalog::settings::Setting;
use crate::io::{Feature, IoMethod};
use crate::plan::EndPlan;
use crate::words::words;

words! {
    /// Option of netserver's data sockets that reaches beyond the test: into queues and routes
    /// of the host, or into a large part of its kernel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GuardedFeature {
        /// io_uring(7).
        Uring = "io-uring",
        /// `SO_MARK`.
        Mark = "mark",
        /// `SO_BINDTODEVICE`.
        Device = "bind-device",
        /// `SO_PRIORITY` above 6.
        Priority = "priority",
    }
}

impl GuardedFeature {
    /// The option that asks for a feature of the same kind; `None` if none is guarded.
    #[must_use]
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "every other feature stays within the test"
    )]
    pub const fn of(feature: Feature) -> Option<Self> {
        match feature {
            Feature::Uring => Some(Self::Uring),
            Feature::Setting(Setting::Mark) => Some(Self::Mark),
            Feature::Setting(Setting::Device) => Some(Self::Device),
            _ => None,
        }
    }

    /// Clients that it is for, and the option that permits it to all.
    pub(super) fn only_for(self) -> String {
        if self == Self::Uring {
            return "its sessions have no io_uring, whose calls no sandbox sees: netserver --features \
                    io-uring permits it"
                .to_owned();
        }
        format!(
            "it permits {0} only to clients with its key, or on its host: netserver --features \
             {0} permits it to all",
            self.label()
        )
    }

    /// True if a test asks netserver for it.
    fn is_asked(self, end: &EndPlan) -> bool {
        let settings = &end.socket.settings;
        match self {
            Self::Uring => end.io.method == IoMethod::Uring,
            Self::Mark => settings.value(Setting::Mark).is_some(),
            Self::Device => settings.value(Setting::Device).is_some(),
            // Those up to 6 are for all users (socket(7)).
            Self::Priority => end
                .socket
                .priority
                .is_some_and(|one| !(0..=6).contains(&one)),
        }
    }
}

/// A set of guarded features. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardedFeatures(u8);

/// A text that names no guarded features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a list of features")]
pub struct BadFeatures;

impl GuardedFeatures {
    const NONE: &'static str = "none";
    const ALL: &'static str = "all";

    /// Every feature.
    #[must_use]
    pub fn all() -> Self {
        let all = GuardedFeature::ALL.into_iter();
        Self(all.fold(0, |bits, feature| bits | Self::bit(feature)))
    }

    /// Those of clients that are no strangers: all but io_uring(7), of which the sandbox decides
    /// before the client is known.
    #[must_use]
    pub fn for_known(self) -> Self {
        let rings = Self::bit(GuardedFeature::Uring);
        Self((Self::all().0 & !rings) | self.0)
    }

    const fn bit(feature: GuardedFeature) -> u8 {
        1 << feature as u8
    }

    /// True if it has this feature.
    #[must_use]
    pub const fn contains(self, feature: GuardedFeature) -> bool {
        self.0 & Self::bit(feature) != 0
    }

    /// The first feature that a test asks netserver for and that this set does not have.
    #[must_use]
    pub fn lacking(self, end: &EndPlan) -> Option<GuardedFeature> {
        let mut all = GuardedFeature::ALL.into_iter();
        all.find(|feature| !self.contains(*feature) && feature.is_asked(end))
    }
}

impl FromStr for GuardedFeatures {
    type Err = BadFeatures;

    fn from_str(text: &str) -> Result<Self, BadFeatures> {
        match text {
            Self::NONE => return Ok(Self::default()),
            Self::ALL => return Ok(Self::all()),
            _ => {}
        }
        text.split(',').try_fold(Self::default(), |set, word| {
            let feature = GuardedFeature::named(word.trim()).ok_or(BadFeatures)?;
            Ok(Self(set.0 | Self::bit(feature)))
        })
    }
}

impl fmt::Display for GuardedFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = GuardedFeature::ALL.into_iter();
        let words: Vec<&str> = named
            .filter(|feature| self.contains(*feature))
            .map(GuardedFeature::label)
            .collect();
        if words.is_empty() {
            return f.write_str(Self::NONE);
        }
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarded_features_read_as_they_are_written() {
        for bits in 0..=GuardedFeatures::all().0 {
            let set = GuardedFeatures(bits);
            assert_eq!(set.to_string().parse(), Ok(set));
        }
        for text in ["", "mark,", "uring", "none,mark"] {
            assert_eq!(text.parse::<GuardedFeatures>(), Err(BadFeatures), "{text}");
        }
    }

    #[test]
    fn requested_features_outside_the_set_are_lacking() {
        let asked = |change: fn(&mut EndPlan)| {
            let mut end = EndPlan::default();
            change(&mut end);
            end
        };
        for (feature, end) in [
            (
                GuardedFeature::Uring,
                asked(|end| end.io.method = IoMethod::Uring),
            ),
            (
                GuardedFeature::Mark,
                asked(|end| end.socket.settings = end.socket.settings.with(Setting::Mark, 0)),
            ),
            (
                GuardedFeature::Priority,
                asked(|end| end.socket.priority = Some(7)),
            ),
        ] {
            assert_eq!(GuardedFeatures::default().lacking(&end), Some(feature));
            assert_eq!(GuardedFeatures::all().lacking(&end), None);
        }
        assert_eq!(
            GuardedFeatures::default().lacking(&EndPlan::default()),
            None
        );
    }
}
