//! Stands in for what a small build leaves out: one line that names the cargo feature.

/// `netperf campaign run --live`.
pub(super) mod campaign_live {
    use netperf_campaign::matrix::MatrixMember;
    use netperf_campaign::outcome::CellFigures;
    use netperf_campaign::pattern::Cell;

    /// No screen: [`Self::open`] fails.
    pub(crate) struct LiveScreen {
        pub(crate) title: String,
        pub(crate) members: Vec<MatrixMember>,
    }

    impl LiveScreen {
        /// Refuses the screen.
        pub(crate) fn open() -> Result<Self, String> {
            Err("--live: this program is built without the feature 'live'".to_owned())
        }

        pub(crate) const fn cell(&self, _: Cell, _: &CellFigures) {}

        pub(crate) const fn event(&self, _: &str) {}

        pub(crate) const fn state(&self, _: &str) {}

        pub(crate) fn hosts(&self, _: String, _: (usize, usize), _: &str) {}
    }
}
