//! Comparisons of one set with several others.

use serde_json::{Value, json};

use crate::compare::{ChangeOutcome, Comparison, Incomparable, Set, Wish, compare};

/// Comparisons of the first of several sets with each of the others.
#[derive(Clone, Debug)]
pub struct Comparisons {
    /// One comparison for each set but the first.
    all: Vec<Comparison>,
    /// Probability of a false alarm over all comparisons.
    chance: f64,
}

impl Comparisons {
    /// Compares the first set with each of the others. The probability of a false alarm is
    /// divided among the comparisons (Bonferroni).
    ///
    /// # Errors
    /// See [`compare`].
    pub fn with_first(sets: &[Set], wish: Wish) -> Result<Self, Incomparable> {
        let chance = wish.judgement.chance;
        let (first, others) = sets.split_first().ok_or(Incomparable::Nothing)?;
        let wish = wish.divided(others.len());
        let all = others.iter().map(|other| compare(first, other, wish));
        Ok(Self {
            all: all.collect::<Result<_, _>>()?,
            chance,
        })
    }

    /// The verdict on all: that of the comparison which decides, in the order of
    /// [`ChangeOutcome`].
    #[must_use]
    pub fn outcome(&self) -> ChangeOutcome {
        let outcomes = self.all.iter().map(Comparison::outcome);
        outcomes.max().unwrap_or(ChangeOutcome::Inconclusive)
    }

    /// Tables and verdicts in words.
    #[must_use]
    pub fn text(&self, width: Option<usize>) -> String {
        self.joined(|comparison| comparison.text(width))
    }

    /// The same as tables of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        self.joined(Comparison::markdown)
    }

    fn joined(&self, form: impl Fn(&Comparison) -> String) -> String {
        let parts: Vec<String> = self.all.iter().map(form).collect();
        let mut text = parts.join("\n");
        if self.all.len() > 1 {
            text.push_str(&format!(
                "\nEach comparison is with {}. The probability of a false alarm is {} % over all {}.\n",
                self.all.first().map_or("", |one| one.names.0.as_str()),
                100.0 * self.chance,
                self.all.len()
            ));
        }
        text
    }

    /// As a document: that of the comparison if there is one, and a list otherwise.
    #[must_use]
    pub fn json(&self) -> Value {
        match self.all.as_slice() {
            [one] => one.json(),
            all => json!({
                "schema": "netperf-comparisons-1",
                "false_alarm_chance": self.chance,
                "outcome": self.outcome().word(),
                "comparisons": all.iter().map(Comparison::json).collect::<Vec<_>>(),
            }),
        }
    }
}
