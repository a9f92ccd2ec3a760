//! A check as a page: the answer, and three strips over one axis of time: down, up and latency.

use std::fmt::Write as _;

use netperf_text::look::TextLook;
use netperf_text::unit::{Quantity, Unit};
use netperf_web::escape;

use crate::documents::CheckSeries;
use crate::summary::CheckSummary;

/// Size of a strip, and the space for the numbers on its left side.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 24.0;
/// Dashes of the classes: colour is not the only sign.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// The text of the page.
const LOOK: TextLook = TextLook {
    unicode: true,
    colour: false,
    columns: 120,
};

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #8883; --shade: #8881;
  --c0: #1f6feb; --c1: #c2410c; --c2: #15803d; --c3: #9333ea }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #141414; --c0: #79b0ff;
  --c1: #ff9e64; --c2: #6fd08c; --c3: #cf9bff } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1100px; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.3rem } h2 { font-size: 1rem; margin: 1.2rem 0 0 }
.strip { overflow-x: auto } svg { width: 100%; min-width: 620px; height: auto; display: block }
svg text { fill: var(--ink); font-size: 13px } svg .axis { stroke: var(--faint) }
svg .shade { fill: var(--shade) } svg path { fill: none; stroke-width: 1.6 }
.k0 { stroke: var(--c0) } .k1 { stroke: var(--c1) } .k2 { stroke: var(--c2) } .k3 { stroke: var(--c3) }
pre { overflow-x: auto; font-size: 13px } .answer { font-size: 1.15rem }
";

/// A strip: its title, the series in it, its unit, and whether only a part of their values counts.
struct Strip {
    title: &'static str,
    of: &'static str,
    unit: Unit,
}

/// A phase on the axis of time, seconds since the beginning.
struct PhaseSpan<'a> {
    phase: &'a str,
    from: f64,
    to: f64,
}

/// Round numbers from 0 on, about as many as this, of which the last is not below `most`.
fn ticks(most: f64, about: f64) -> Vec<f64> {
    let most = if most > 0.0 { most } else { 1.0 };
    let rough = most / about;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(power * 10.0);
    let mut ticks = vec![0.0];
    let mut number = 0.0;
    while ticks.last().is_some_and(|last| *last < most * 0.999) && number < 20.0 {
        number += 1.0;
        ticks.push(step * number);
    }
    ticks
}

/// Times on the axis: round numbers that are not behind the end.
fn times(end: f64) -> Vec<f64> {
    let all = ticks(end, 6.0).into_iter();
    all.filter(|at| *at <= end).collect()
}

impl CheckSummary {
    /// The page: one file without scripts, pictures or addresses of others.
    #[must_use]
    pub fn page(&self) -> String {
        let title = escape::markup(&format!("netperf check {}", self.host));
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta \
             name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n\
             <p class=\"answer\">{}</p>\n",
            escape::markup(&self.answer)
        );
        let spans = self.spans();
        let end = spans.iter().map(|span| span.to).fold(1.0, f64::max);
        for strip in [
            Strip {
                title: "From netserver",
                of: "down",
                unit: Unit::BitsPerSecond,
            },
            Strip {
                title: "To netserver",
                of: "up",
                unit: Unit::BitsPerSecond,
            },
            Strip {
                title: "Round trip",
                of: "round trip",
                unit: Unit::Seconds,
            },
        ] {
            let of: Vec<&CheckSeries> = self
                .series
                .iter()
                .filter(|series| series.of == strip.of)
                .collect();
            if !of.is_empty() {
                page.push_str(&self.strip(&strip, &of, &spans, end));
            }
        }
        let text = escape::markup(&self.text(LOOK));
        // Writing to memory does not fail.
        let _ok = write!(
            page,
            "<h2>Summary</h2>\n<pre>{text}</pre>\n</body></html>\n"
        );
        page
    }

    /// The phases with their times, from the first to the last value of any series.
    fn spans(&self) -> Vec<PhaseSpan<'_>> {
        let mut spans: Vec<PhaseSpan<'_>> = Vec::new();
        for series in &self.series {
            let times = || series.points.iter().map(|[at, _]| *at);
            let (from, to) = (
                times().fold(f64::INFINITY, f64::min),
                times().fold(f64::NEG_INFINITY, f64::max),
            );
            if from > to {
                continue;
            }
            match spans.iter_mut().find(|span| span.phase == series.phase) {
                Some(span) => (span.from, span.to) = (span.from.min(from), span.to.max(to)),
                None => spans.push(PhaseSpan {
                    phase: &series.phase,
                    from,
                    to,
                }),
            }
        }
        spans
    }

    /// The dashes of the classes, where there is more than one.
    fn class_key(&self) -> String {
        let mut svg = String::new();
        let classes = self.settings.classes.iter().enumerate();
        let shown = classes.filter(|_| self.settings.classes.len() > 1);
        for (number, class) in shown {
            let at = WIDTH - 90.0 * f64::from(4 - u8::try_from(number % 4).unwrap_or(0));
            let dash = DASHES.get(number % 4).copied().unwrap_or_default();
            let _ok = writeln!(
                svg,
                "<path class=\"k{}\" stroke-dasharray=\"{dash}\" d=\"M{at:.0} 11h30\"/><text \
                 x=\"{:.0}\" y=\"16\">{}</text>",
                number % 4,
                at + 36.0,
                class.word()
            );
        }
        svg
    }

    fn strip(
        &self,
        strip: &Strip,
        series: &[&CheckSeries],
        spans: &[PhaseSpan<'_>],
        end: f64,
    ) -> String {
        let values = series.iter().flat_map(|series| &series.points);
        let greatest = values.map(|[_, value]| *value).fold(0.0, f64::max);
        let ticks = ticks(greatest, 4.0);
        let most = ticks.last().copied().unwrap_or(1.0);
        let x = |at: f64| LEFT + (at / end).clamp(0.0, 1.0) * (WIDTH - LEFT);
        let y = |value: f64| TOP + (1.0 - value / most).clamp(0.0, 1.0) * HEIGHT;
        let mut svg = format!(
            "<h2>{}</h2>\n<div class=\"strip\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
             aria-label=\"{} over time\">\n",
            strip.title,
            TOP + HEIGHT + BOTTOM,
            strip.title
        );
        let mut add = |text: String| svg.push_str(&text);
        for (number, span) in spans.iter().enumerate() {
            let (from, to) = (x(span.from), x(span.to));
            if number % 2 == 1 {
                add(format!(
                    "<rect class=\"shade\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" \
                     height=\"{HEIGHT}\"/>\n",
                    to - from
                ));
            }
            let phase = escape::markup(span.phase);
            add(format!(
                "<text x=\"{:.1}\" y=\"16\">{phase}</text>\n",
                from + 2.0
            ));
        }
        for value in ticks {
            let (at, text) = (y(value), Quantity::new(value, strip.unit.clone()).brief());
            add(format!(
                "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 6.0,
                at + 4.0,
                escape::markup(&text)
            ));
        }
        for at in times(end) {
            let anchor = if at > end * 0.97 { "end" } else { "middle" };
            add(format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{at:.0} s</text>\n",
                x(at),
                TOP + HEIGHT + 17.0
            ));
        }
        for series in series {
            let class = self
                .settings
                .classes
                .iter()
                .position(|class| class.word() == series.class);
            let class = class.unwrap_or(0) % DASHES.len();
            let dash = DASHES.get(class).copied().unwrap_or_default();
            let points = series.points.iter().map(|[at, value]| (x(*at), y(*value)));
            let mut path = String::new();
            for (number, (x, y)) in points.enumerate() {
                let sign = if number == 0 { 'M' } else { 'L' };
                let _ok = write!(path, "{sign}{x:.1} {y:.1}");
            }
            add(format!(
                "<path class=\"k{class}\" stroke-dasharray=\"{dash}\" d=\"{path}\"><title>{}, \
                 {}</title></path>\n",
                escape::markup(&series.class),
                escape::markup(&series.phase)
            ));
        }
        add(self.class_key());
        svg.push_str("</svg></div>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!(ticks(47.9, 4.0), [0.0, 20.0, 40.0, 60.0]);
        assert_eq!(ticks(100.0, 4.0), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(ticks(0.0, 4.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(times(14.2), [0.0, 2.5, 5.0, 7.5, 10.0, 12.5]);
    }
}
