//! Legends, in as many rows as they need.

use super::frame::LINE;
use super::matrix::hatched;
use super::scene::{Anchor, Ink, Scene, SceneItem, TextRole, fitted, width_of};

/// The sign of an entry, drawn beside its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    /// A line in a pattern, with a mark.
    Line {
        /// The pattern of dashes.
        dash: usize,
        /// The mark, if it has one.
        shape: Option<usize>,
    },
    /// A filled square.
    Square,
    /// A hatched square.
    Hatched,
    /// A mark.
    Mark(usize),
}

/// Draws entries from the top on and gives the height that they take.
pub(super) fn drawn(scene: &mut Scene, width: f64, entries: &[(String, Ink, Sign)]) -> f64 {
    let mut x = 0.0;
    let mut y = 0.0;
    for (name, ink, sign) in entries {
        let sign_width = if matches!(sign, Sign::Line { .. }) {
            34.0
        } else {
            18.0
        };
        let name = fitted(name, width - sign_width);
        let taken = sign_width + width_of(&name);
        if x > 0.0 && x + taken > width {
            x = 0.0;
            y += LINE;
        }
        let middle = y + LINE / 2.0 + 1.0;
        match *sign {
            Sign::Line { dash, shape } => {
                let places = vec![(x, middle), (x + 26.0, middle)];
                scene.items.push(SceneItem::Line {
                    places,
                    ink: *ink,
                    dash,
                });
                scene.items.extend(shape.map(|shape| SceneItem::Mark {
                    at: (x + 13.0, middle),
                    ink: *ink,
                    shape,
                }));
            }
            Sign::Hatched => hatched(scene, (x, middle - 6.0), (12.0, 12.0)),
            Sign::Mark(shape) => scene.items.push(SceneItem::Mark {
                at: (x + 6.0, middle),
                ink: *ink,
                shape,
            }),
            Sign::Square => scene.items.push(SceneItem::Rect {
                at: (x, middle - 6.0),
                size: (12.0, 12.0),
                ink: *ink,
                tip: None,
            }),
        }
        let at = (x + sign_width, middle + 4.0);
        scene.text(at, Anchor::Start, TextRole::Label, name);
        x += taken + 18.0;
    }
    if entries.is_empty() {
        0.0
    } else {
        y + LINE + 6.0
    }
}
