//! One line of progress.

use crate::tick::RunEnd;
use crate::view::LiveView;
use crate::{spark, words};

impl LiveView {
    /// The progress line, one column narrower than the terminal: some wrap after the last
    /// column.
    #[must_use]
    pub fn line(&self, columns: u16, unicode: bool) -> String {
        let about = &self.about;
        let tick = &self.tick;
        let mut text = format!(
            "{} {}",
            words::harmless(&about.test),
            words::length(tick.elapsed)
        );
        match about.end {
            RunEnd::After(whole) => text += &format!(" of {}", words::length(whole)),
            RunEnd::Within(most) => text += &format!(" of at most {}", words::length(most)),
            RunEnd::Amount(amount) if amount > 0.0 => {
                text += &format!(", {:.0} %", tick.all.work / amount * 100.0);
            }
            RunEnd::Amount(_) | RunEnd::Open => {}
        }
        if tick.now.seconds > 0.0 {
            text += &format!(", {} {}", self.rate_now(), about.unit.rate_label());
        }
        let space = usize::from(columns).saturating_sub(1);
        let left = space.saturating_sub(text.len() + 1).min(30);
        if left > 4 {
            let bars = spark::bars(&self.rates.within(left), None, 1, unicode);
            text += &format!(" {}", bars.concat());
        }
        text.chars().take(space).collect()
    }
}
