//! Scenes as SVG: within a page, where style sheets have the colours, or as a file.

use std::fmt::Write as _;

use super::Chart;
use super::palette::{self, DARK, DASHES, LIGHT};
use super::scene::{Anchor, Ink, Place, Plot, Scene, SceneItem, TextRole};
use crate::escape::markup;

/// A coordinate with one decimal, without a trailing zero.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

fn ink_class(ink: Ink) -> String {
    match ink {
        Ink::Grid => "grid".to_owned(),
        Ink::Axis => "axis".to_owned(),
        Ink::Series(which) | Ink::Part(which) => format!("s{}", which % 6),
        Ink::Heat(level) => format!("h{}", level.min(5)),
    }
}

/// A scene within a page. `class` is what the style sheet calls it.
#[must_use]
pub fn inline(scene: &Scene, chart: &Chart, class: &str) -> String {
    let (width, height) = (number(scene.width), number(scene.height));
    let label = markup(&chart.title);
    let plot = scene.plot.as_ref().map(data).unwrap_or_default();
    let mut text = format!(
        "<svg class=\"chart {class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-roledescription=\"chart\" aria-label=\"{label}\" \
         tabindex=\"0\"{plot}>"
    );
    shapes(&mut text, scene);
    text.push_str("</svg>");
    text
}

/// Attributes from which the script of a page shows a part of a plot. Items count from 0, and each is
/// one element.
fn data(plot: &Plot) -> String {
    let listed = |values: &[f64]| {
        let texts = values.iter().map(|value| format!("{value:?}"));
        texts.collect::<Vec<_>>().join(" ")
    };
    let edges = plot.edges.map(|edge| (edge * 1000.0).round() / 1000.0);
    let ticks = format!("{} {}", plot.ticks.start, plot.ticks.end);
    let parts = [
        ("plot", listed(&edges)),
        ("law", plot.law.to_owned()),
        ("ends", listed(&[plot.ends.0, plot.ends.1])),
        ("factor", listed(&[plot.factor])),
        ("measured", listed(&plot.measured_at)),
        ("ticks", ticks),
        ("values", plot.values.to_string()),
    ];
    let filled = parts.iter().filter(|(_, value)| !value.is_empty());
    filled
        .map(|(name, value)| format!(" data-{name}=\"{}\"", markup(value)))
        .collect()
}

/// A scene as a file, with light and dark colours.
#[must_use]
pub fn file(scene: &Scene, chart: &Chart) -> String {
    let style = style();
    let (width, height) = (number(scene.width + 24.0), number(scene.height + 50.0));
    let title = markup(&chart.title);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-12 -38 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">{title}</title>\n<style>\n{style}</style>\n\
         <rect class=\"ground\" x=\"-12\" y=\"-38\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"heading\" x=\"0\" y=\"-16\">{title}</text>\n"
    );
    shapes(&mut text, scene);
    text.push_str("</svg>\n");
    text
}

/// The rules of pages and files: shapes by their classes, colours by their names.
pub(crate) const RULES: &str = include_str!("chart.css");

/// Rules of files only.
const HEADING: &str = ".heading{font-size:15px;font-weight:600;fill:var(--text)}\n\
    .ground{fill:var(--ground)}\n";

fn style() -> String {
    format!(
        ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n\
         text{{font:12px/1 system-ui,sans-serif}}\n{HEADING}{RULES}",
        LIGHT.css(),
        DARK.css()
    )
}

fn shapes(text: &mut String, scene: &Scene) {
    for item in &scene.items {
        shape(text, item);
    }
}

fn shape(text: &mut String, item: &SceneItem) {
    // Writing to a string cannot fail.
    _ = match item {
        SceneItem::Line { places, ink, dash } => {
            let pattern = if *dash % DASHES.len() == 0 {
                String::new()
            } else {
                format!(" d{}", dash % DASHES.len())
            };
            write!(
                text,
                "<path class=\"l {}{pattern}\" d=\"{}\"/>",
                ink_class(*ink),
                path(places)
            )
        }
        SceneItem::Area { places, ink } => {
            write!(
                text,
                "<path class=\"a {}\" d=\"{}Z\"/>",
                ink_class(*ink),
                path(places)
            )
        }
        SceneItem::Rect { at, size, ink, tip } => {
            let (x, y, width, height) =
                (number(at.0), number(at.1), number(size.0), number(size.1));
            let class = ink_class(*ink);
            let begin = format!("<rect class=\"r {class}");
            let rest = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
            match tip {
                Some(tip) => write!(
                    text,
                    "{begin} m\" {rest}><title>{}</title></rect>",
                    markup(tip)
                ),
                None => write!(text, "{begin}\" {rest}/>"),
            }
        }
        SceneItem::Rects { places, size, ink } => {
            write!(
                text,
                "<path class=\"r {}\" d=\"{}\"/>",
                ink_class(*ink),
                rectangles(places, *size)
            )
        }
        SceneItem::Spot { at, ink, tip } => write!(
            text,
            "<circle class=\"m {}\" cx=\"{}\" cy=\"{}\" r=\"5\"><title>{}</title></circle>",
            ink_class(*ink),
            number(at.0),
            number(at.1),
            markup(tip)
        ),
        SceneItem::Mark { at, ink, shape } => {
            write!(
                text,
                "<path class=\"k {}\" d=\"{}Z\"/>",
                ink_class(*ink),
                path(&mark(*at, *shape))
            )
        }
        SceneItem::Text {
            at,
            anchor,
            role,
            text: words,
        } => {
            let (anchor, role) = (anchor_class(*anchor), role_class(*role));
            let (x, y) = (number(at.0), number(at.1));
            write!(
                text,
                "<text class=\"{role}{anchor}\" x=\"{x}\" y=\"{y}\">{}</text>",
                markup(words)
            )
        }
    };
}

const fn anchor_class(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "",
        Anchor::Middle => " mid",
        Anchor::End => " end",
    }
}

const fn role_class(role: TextRole) -> &'static str {
    match role {
        TextRole::Tick => "tick",
        TextRole::Axis => "name",
        TextRole::Label => "label",
        TextRole::Value => "value",
        TextRole::OnHeat(level) if palette::is_near_ground(level) => "on0",
        TextRole::OnHeat(_) => "on1",
    }
}

fn rectangles(places: &[Place], (width, height): Place) -> String {
    let (width, height) = (number(width), number(height));
    let mut text = String::new();
    for (x, y) in places {
        let (x, y) = (number(*x), number(*y));
        _ = write!(text, "M{x} {y}h{width}v{height}h-{width}z");
    }
    text
}

fn path(places: &[Place]) -> String {
    let mut text = String::new();
    for (index, (x, y)) in places.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        _ = write!(text, "{letter}{} {}", number(*x), number(*y));
    }
    text
}

/// The corners of a mark: a square, a diamond and two triangles in turn.
pub(super) fn mark((x, y): Place, shape: usize) -> Vec<Place> {
    let corners: &[Place] = match shape % 4 {
        0 => &[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)],
        1 => &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)],
        2 => &[(0.0, -4.8), (4.8, 3.8), (-4.8, 3.8)],
        _ => &[(0.0, 4.8), (4.8, -3.8), (-4.8, -3.8)],
    };
    corners
        .iter()
        .map(|(right, down)| (x + right, y + down))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Body, HeatMap, Line, LineNotes, Lines, Point, Size, Thin, X};
    use crate::record::Range;
    use crate::unit::Unit;

    fn chart(body: Body) -> Chart {
        Chart::new("a", 0, "A <chart>", body)
    }

    /// Two points of a value over `x`.
    fn lines(x: X, places: [f64; 2]) -> Chart {
        let point = |x| Point {
            x,
            y: 5.0,
            joined: true,
        };
        chart(Body::Lines(Lines {
            x,
            x_name: "x".to_owned(),
            unit: Unit::Percent,
            y_name: "y".to_owned(),
            log: false,
            lines: vec![Line {
                name: String::new(),
                colour: 0,
                dash: 0,
                points: places.map(point).to_vec(),
                spreads: Vec::new(),
                notes: LineNotes::default(),
            }],
            thin: Thin::Shape,
            phases: Vec::new(),
        }))
    }

    fn heat() -> Chart {
        let range = Range {
            from: 1e-6,
            to: 2e-6,
            count: 7.0,
        };
        let columns = [0.0, 2.0].map(|at| (at, at + 2.0, vec![range]));
        chart(Body::Heat(HeatMap {
            columns: columns.to_vec(),
        }))
    }

    /// The value of an attribute of the drawing.
    fn attribute<'t>(text: &'t str, name: &str) -> Option<&'t str> {
        let tag = text.split('>').next()?;
        let rest = tag.split_once(&format!(" data-{name}=\""))?.1;
        rest.split('"').next()
    }

    #[test]
    fn a_drawing_says_where_its_plot_is_and_how_its_axis_is_scaled() {
        let edges = "17.705 24.0 586.0 254.0";
        let log = X::Numbers { log: true };
        let measured = Some("1.0 64.0");
        for (chart, law, ends, factor, measured) in [
            (
                lines(X::Seconds, [0.5, 8e-3]),
                "linear",
                "0.0 0.5",
                "0.001",
                None,
            ),
            (
                lines(X::Seconds, [1.0, 90.0]),
                "linear",
                "0.0 90.0",
                "1.0",
                None,
            ),
            (
                lines(X::Shares, [0.0, 0.999]),
                "nines",
                "0.0 0.999",
                "1.0",
                None,
            ),
            (
                lines(log, [1.0, 64.0]),
                "log",
                "0.8928571428571428 71.68",
                "1.0",
                measured,
            ),
            (heat(), "linear", "0.0 4.0", "1.0", None),
        ] {
            let text = inline(&chart.drawn(Size::column(100)), &chart, "wide");
            let said = |name| attribute(&text, name);
            assert_eq!(said("law"), Some(law));
            assert_eq!(said("ends"), Some(ends), "{law}");
            assert_eq!(said("factor"), Some(factor), "{law} {ends}");
            assert_eq!(said("measured"), measured, "{law}");
            let found = said("plot").unwrap();
            assert_eq!(found.split(' ').count(), 4, "{found}");
            assert!(chart == heat() || found == edges, "{found}");
        }
    }

    #[test]
    fn ticks_and_values_are_the_elements_that_the_attributes_say() {
        for chart in [
            lines(X::Seconds, [1.0, 9.0]),
            lines(X::Shares, [0.0, 0.9]),
            heat(),
        ] {
            let scene = chart.drawn(Size::narrow(100));
            let plot = scene.plot.clone().unwrap();
            let text = inline(&scene, &chart, "narrow");
            let ticks = format!("{} {}", plot.ticks.start, plot.ticks.end);
            assert_eq!(attribute(&text, "ticks"), Some(ticks.as_str()));
            let values = plot.values.to_string();
            assert_eq!(attribute(&text, "values"), Some(values.as_str()));
            let shapes = ["<path ", "<text ", "<circle ", "<rect "];
            let count: usize = shapes.map(|shape| text.matches(shape).count()).iter().sum();
            assert_eq!(count, scene.items.len());
            let is_tick = |item: &SceneItem| {
                matches!(
                    item,
                    SceneItem::Text {
                        role: TextRole::Tick,
                        ..
                    } | SceneItem::Line {
                        ink: Ink::Axis | Ink::Grid,
                        ..
                    }
                )
            };
            assert!(scene.items[plot.ticks.clone()].iter().all(is_tick));
            assert!(!plot.ticks.is_empty() && plot.ticks.end < plot.values);
            let shown = &scene.items[plot.values..];
            assert!(!shown.is_empty() && !shown.iter().any(is_tick));
        }
    }

    #[test]
    fn a_picture_has_no_attributes_for_scripts() {
        let chart = heat();
        let text = file(&chart.drawn(Size::wide(100)), &chart);
        assert!(!text.contains("data-"), "{text}");
    }
}
