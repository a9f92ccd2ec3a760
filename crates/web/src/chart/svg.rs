//! Scenes as SVG: within a page, where style sheets have the colours, or as a file.

use std::fmt::Write as _;

use super::Chart;
use super::palette::{self, DARK, DASHES, LIGHT};
use super::scene::{Anchor, Ink, Place, Scene, SceneItem, TextRole};
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
    let mut text = format!(
        "<svg class=\"chart {class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-roledescription=\"chart\" aria-label=\"{label}\" \
         tabindex=\"0\">"
    );
    shapes(&mut text, scene);
    text.push_str("</svg>");
    text
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
