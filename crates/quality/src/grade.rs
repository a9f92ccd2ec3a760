//! Letters for the increase of latency under load.

use netperf_stats::moments;
use serde::{Deserialize, Serialize};

/// A table of grades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GradeTable {
    /// The scale of DSLReports, which LibreQoS uses for each phase.
    #[default]
    DslReports,
}

/// The least increase in milliseconds that has not the grade before it.
const DSL_REPORTS: [(&str, f64); 6] = [
    ("A+", 5.0),
    ("A", 30.0),
    ("B", 60.0),
    ("C", 200.0),
    ("D", 400.0),
    ("F", f64::INFINITY),
];

impl GradeTable {
    /// Its name, for a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DslReports => "DSLReports",
        }
    }

    /// True if a letter is not worse than another one; a letter of no table is.
    #[must_use]
    pub fn is_as_good(letter: &str, expected: &str) -> bool {
        let place = |letter: &str| DSL_REPORTS.iter().position(|(one, _)| *one == letter);
        let (found, expected) = (place(letter), place(expected));
        found.is_some_and(|found| expected.is_some_and(|expected| found <= expected))
    }

    /// The grade of an increase in seconds.
    #[must_use]
    pub fn letter(self, seconds: f64) -> &'static str {
        let milliseconds = seconds * 1e3;
        let found = DSL_REPORTS.iter().find(|(_, below)| milliseconds < *below);
        found.map_or("F", |(letter, _)| letter)
    }
}

/// A grade: never without its table, and the metric and phases that it is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grade {
    /// The letter.
    pub letter: String,
    /// The table that it is from.
    pub table: GradeTable,
    /// The metric: the mean increase of the delay of both ways over the idle median.
    pub metric: String,
    /// The phases whose values it is the mean of.
    pub phases: Vec<String>,
}

impl Grade {
    /// The grade of the mean increases of some phases, in seconds; `None` without any.
    #[must_use]
    pub fn of(table: GradeTable, phases: &[(&str, f64)]) -> Option<Self> {
        let sum: f64 = phases.iter().map(|(_, seconds)| seconds).sum();
        let mean = sum / moments::count(phases.len());
        (!phases.is_empty()).then(|| Self {
            letter: table.letter(mean).to_owned(),
            table,
            metric: "mean increase of the delay of both ways over the idle median".to_owned(),
            phases: phases.iter().map(|(name, _)| (*name).to_owned()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_the_table_belong_to_the_worse_grade() {
        let letter = |ms: f64| GradeTable::DslReports.letter(ms / 1e3);
        for (ms, expected) in [
            (-3.0, "A+"),
            (4.9, "A+"),
            (5.0, "A"),
            (18.0, "A"),
            (30.0, "B"),
            (60.0, "C"),
            (87.0, "C"),
            (200.0, "D"),
            (400.0, "F"),
            (9000.0, "F"),
        ] {
            assert_eq!(letter(ms), expected, "{ms}");
        }
    }

    #[test]
    fn grades_have_an_order() {
        assert!(GradeTable::is_as_good("A+", "B") && GradeTable::is_as_good("B", "B"));
        assert!(!GradeTable::is_as_good("C", "B") && !GradeTable::is_as_good("?", "F"));
    }

    #[test]
    fn a_grade_of_phases_is_that_of_their_mean() {
        let table = GradeTable::DslReports;
        let both = Grade::of(table, &[("down", 0.087), ("up", 0.001)]).unwrap();
        assert_eq!(both.letter, "B");
        assert_eq!(both.phases, ["down", "up"]);
        assert_eq!(Grade::of(table, &[]), None);
    }
}
