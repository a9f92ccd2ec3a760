//! One line of progress.

use crate::tick::RunEnd;
use crate::view::LiveView;
use crate::words::in_letters;
use netperf_text::duration::duration;
use netperf_text::{bars, columns, escape};

impl LiveView {
    /// The progress line, one column narrower than the terminal: some wrap after the last
    /// column.
    #[must_use]
    pub fn line(&self, columns: u16, unicode: bool) -> String {
        let about = &self.about;
        let tick = &self.tick;
        let mut text = format!("{} {}", escape::line(&about.test), duration(tick.elapsed));
        match about.end {
            RunEnd::After(whole) => text += &format!(" of {}", duration(whole)),
            RunEnd::Within(most) => text += &format!(" of at most {}", duration(most)),
            RunEnd::Amount(amount) if amount > 0.0 => {
                text += &format!(", {:.0} %", tick.all.work / amount * 100.0);
            }
            RunEnd::Amount(_) | RunEnd::Open => {}
        }
        if let Some(rate) = self.rate(tick.now) {
            text += &format!(", {rate}");
        }
        let mut text = in_letters(&text, unicode);
        let space = usize::from(columns).saturating_sub(1);
        let left = space.saturating_sub(columns::width(&text) + 1).min(30);
        if left > 4 {
            let bars = bars::bars(&self.rates.within(left), None, 1, unicode);
            text += &format!(" {}", bars.concat());
        }
        columns::cut(&text, space).to_owned()
    }
}
