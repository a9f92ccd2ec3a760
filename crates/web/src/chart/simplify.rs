//! Fewer points for the same line: those stay that it would look different without.

use super::scene::Place;

/// Pixels by which a line may be off.
const CLOSE: f64 = 0.15;

/// A stretch between two points that stay, and the point in it that is farthest off.
struct Stretch {
    from: usize,
    to: usize,
    worst: usize,
    off: f64,
}

/// Which points stay, in order: the ends, and of the others those that are farthest off
/// the line without them (after Ramer, Douglas and Peucker), `most` in all.
pub(super) fn kept(places: &[Place], most: usize) -> Vec<usize> {
    if places.len() <= 2 {
        return (0..places.len()).collect();
    }
    let mut kept = vec![0, places.len() - 1];
    let mut stretches = vec![stretch(places, 0, places.len() - 1)];
    while kept.len() < most {
        let worst = (0..stretches.len()).max_by(|&one, &other| {
            let (one, other) = (stretches[one].off, stretches[other].off);
            one.total_cmp(&other)
        });
        let Some(worst) = worst.filter(|&index| stretches[index].off > CLOSE) else {
            break;
        };
        let Stretch {
            from, to, worst, ..
        } = stretches.swap_remove(worst);
        kept.push(worst);
        stretches.push(stretch(places, from, worst));
        stretches.push(stretch(places, worst, to));
    }
    kept.sort_unstable();
    kept
}

fn stretch(places: &[Place], from: usize, to: usize) -> Stretch {
    let (begin, end) = (places[from], places[to]);
    let off = |place: Place| {
        let width = end.0 - begin.0;
        let share = if width > 0.0 {
            (place.0 - begin.0) / width
        } else {
            0.5
        };
        (place.1 - (begin.1 + (end.1 - begin.1) * share)).abs()
    };
    let inner = (from + 1..to).map(|index| (index, off(places[index])));
    let worst = inner.max_by(|one, other| one.1.total_cmp(&other.1));
    let (worst, off) = worst.unwrap_or((from, 0.0));
    Stretch {
        from,
        to,
        worst,
        off,
    }
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn corners_stay_and_what_is_on_the_line_goes() {
        let line: Vec<(f64, f64)> = (0..=100_u32)
            .map(|x| (f64::from(x), if x < 30 { 0.0 } else { f64::from(x - 30) }))
            .collect();
        assert_eq!(kept(&line, 50), [0, 30, 100]);
        assert_eq!(kept(&line, 2), [0, 100]);
        assert_eq!(kept(&line[..1], 2), [0]);
        assert_eq!(kept(&[], 2), [0; 0]);
    }

    #[test]
    fn no_more_stay_than_there_is_room_for() {
        let jagged: Vec<(f64, f64)> = (0..1000_u32)
            .map(|x| (f64::from(x), f64::from(x * 7919 % 97)))
            .collect();
        let kept = kept(&jagged, 60);
        assert_eq!(kept.len(), 60);
        assert!(kept.is_sorted());
    }
}
