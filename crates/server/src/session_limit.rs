//! Limit of the places that a source may have.

use netperf_model::SessionLoad;

/// Returns true if a source may have one more of so many seats without a limit for sources: it
/// leaves at least as many as it has.
pub(crate) const fn leaves_seats(load: SessionLoad, most: u32) -> bool {
    load.of_peer < most.saturating_sub(load.all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_leaves_seats_to_others() {
        let mut load = SessionLoad::default();
        let mut fill = |others: u32| {
            (load.of_peer, load.all) = (0, others);
            while leaves_seats(load, 1000) {
                load.of_peer += 1;
                load.all += 1;
            }
            load.of_peer
        };
        assert_eq!(
            [fill(0), fill(500), fill(750), fill(999)],
            [500, 250, 125, 1]
        );
    }
}
