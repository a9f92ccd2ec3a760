//! The answer in words.

use serde::{Deserialize, Serialize};

use netperf_text::unit::figure;

use crate::grade::Grade;
use crate::side::QueueSide;

/// Expected quality of a call over the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallsOutlook {
    /// As without a load.
    Fine,
    /// With gaps now and then.
    MaySuffer,
    /// Bad.
    WillSuffer,
}

impl CallsOutlook {
    /// The share of lost packets that a codec does not hide.
    const HEARD: f64 = 0.01;

    /// From the 95th percentile of the increase of the round trip in seconds, and the share of lost
    /// probes: codecs hide a gap of some tens of milliseconds, and a loss of one in a hundred.
    #[must_use]
    pub fn of(increase: f64, lost: f64) -> Self {
        if increase >= 0.06 || lost >= 0.02 {
            Self::WillSuffer
        } else if increase >= 0.03 || lost >= Self::HEARD {
            Self::MaySuffer
        } else {
            Self::Fine
        }
    }

    /// It as a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Fine => "Calls will be fine.",
            Self::MaySuffer => "Calls may suffer.",
            Self::WillSuffer => "Calls will suffer.",
        }
    }
}

/// The verdict on a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathVerdict {
    /// Phases with a load, and the mean increase of the round trip in each, in seconds, if the link
    /// was filled; else why it was not.
    pub phases: Vec<PhaseVerdict>,
    /// The grade. Null if no phase filled the link.
    pub grade: Option<Grade>,
    /// The largest share of probes that were lost beside a load, both ways together. Null if no phase
    /// filled the link.
    pub lost_share: Option<f64>,
    /// Expected quality of a call. Null without a grade.
    pub calls: Option<CallsOutlook>,
}

/// The verdict on a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseVerdict {
    /// "down", "up" or "both".
    pub phase: String,
    /// The mean increase of the round trip, in seconds. Null if it is unknown.
    pub increase_seconds: Option<f64>,
    /// The grade of this phase. Null if the link was not filled.
    pub grade: Option<Grade>,
    /// Place of the queue. Null if the link was not filled.
    pub queue: Option<QueueSide>,
    /// Why the link was not filled. Null if it was.
    pub not_filled: Option<String>,
}

/// A time in milliseconds with two digits, or whole from 100 on.
fn milliseconds(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if ms.abs() < 9.95 {
        format!("{ms:.1} ms")
    } else {
        format!("{ms:.0} ms")
    }
}

impl PhaseVerdict {
    /// Cause of the load, as the beginning of a sentence.
    fn subject(&self) -> &'static str {
        match self.phase.as_str() {
            "down" => "Downloads",
            "up" => "Uploads",
            _ => "Downloads and uploads at once",
        }
    }

    /// It as a sentence.
    fn sentence(&self) -> Option<String> {
        let subject = self.subject();
        if let Some(reason) = &self.not_filled {
            return Some(format!("{subject} did not fill the link: {reason}."));
        }
        let increase = self.increase_seconds?;
        let queue = self.queue.unwrap_or(QueueSide::Unknown);
        Some(if queue == QueueSide::None {
            format!("{subject} add no delay.")
        } else {
            format!(
                "{subject} add {} of delay; {}.",
                milliseconds(increase),
                queue.words()
            )
        })
    }
}

impl PathVerdict {
    /// The answer, worst first: "Downloads add 87 ms of delay; the queue is on the way down. Grade C
    /// (DSLReports). Calls will suffer."
    #[must_use]
    pub fn words(&self) -> String {
        let mut phases: Vec<&PhaseVerdict> = self.phases.iter().collect();
        let increase = |phase: &PhaseVerdict| phase.increase_seconds.unwrap_or(0.0);
        phases.sort_by(|one, other| increase(other).total_cmp(&increase(one)));
        // Both at once is said only where nothing else is.
        let alone: Vec<&&PhaseVerdict> = phases.iter().filter(|one| one.phase != "both").collect();
        let said = if alone.is_empty() {
            phases.iter().collect()
        } else {
            alone
        };
        let mut sentences: Vec<String> = said.iter().filter_map(|one| one.sentence()).collect();
        if let Some(grade) = &self.grade {
            sentences.push(format!("Grade {} ({}).", grade.letter, grade.table.name()));
        }
        let heard = self.lost_share.filter(|lost| *lost >= CallsOutlook::HEARD);
        if let Some(lost) = heard.filter(|_| self.calls.is_some()) {
            let lost = figure(100.0 * lost);
            sentences.push(format!("{lost} % of the probes beside the load were lost."));
        }
        if let Some(calls) = self.calls {
            sentences.push(calls.words().to_owned());
        }
        if sentences.is_empty() {
            sentences.push("No phase with a load was measured: there is no grade.".to_owned());
        } else if self.grade.is_none() {
            sentences.push("There is no grade.".to_owned());
        }
        sentences.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::GradeTable;

    fn phase(phase: &str, increase: f64, queue: QueueSide) -> PhaseVerdict {
        PhaseVerdict {
            phase: phase.to_owned(),
            increase_seconds: Some(increase),
            grade: None,
            queue: Some(queue),
            not_filled: None,
        }
    }

    #[test]
    fn the_answer_says_what_adds_delay_where_and_what_it_means() {
        let phases = vec![
            phase("up", 0.0002, QueueSide::None),
            phase("down", 0.0874, QueueSide::Down),
            phase("both", 0.0900, QueueSide::Down),
        ];
        let verdict = PathVerdict {
            grade: Grade::of(GradeTable::DslReports, &[("down", 0.0874)]),
            lost_share: Some(0.0),
            calls: Some(CallsOutlook::of(0.098, 0.0)),
            phases,
        };
        assert_eq!(
            verdict.words(),
            "Downloads add 87 ms of delay; the queue is on the way down. Uploads add no delay. Grade C \
             (DSLReports). Calls will suffer."
        );
        // Another cause of poor calls: loss.
        let verdict = PathVerdict {
            lost_share: Some(0.022),
            ..verdict
        };
        let end =
            "(DSLReports). 2.20 % of the probes beside the load were lost. Calls will suffer.";
        assert!(verdict.words().ends_with(end), "{}", verdict.words());
    }

    #[test]
    fn a_link_that_was_not_filled_has_no_grade_and_the_reason() {
        let mut down = phase("down", 0.0, QueueSide::None);
        down.not_filled = Some("the receiver's window limited the senders".to_owned());
        let verdict = PathVerdict {
            phases: vec![down],
            grade: None,
            lost_share: None,
            calls: None,
        };
        assert_eq!(
            verdict.words(),
            "Downloads did not fill the link: the receiver's window limited the senders. There is no \
             grade."
        );
    }

    #[test]
    fn calls_suffer_from_delay_and_from_loss() {
        assert_eq!(CallsOutlook::of(0.005, 0.0), CallsOutlook::Fine);
        assert_eq!(CallsOutlook::of(0.04, 0.0), CallsOutlook::MaySuffer);
        assert_eq!(CallsOutlook::of(0.0, 0.015), CallsOutlook::MaySuffer);
        assert_eq!(CallsOutlook::of(0.0, 0.05), CallsOutlook::WillSuffer);
    }
}
