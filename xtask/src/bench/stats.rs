//! Medians and spreads of a few figures.

/// Figures in order, and where their middle is.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    /// In the order in which they were measured.
    pub(crate) figures: Vec<f64>,
    sorted: Vec<f64>,
}

impl Spread {
    pub(crate) fn of(figures: Vec<f64>) -> Self {
        let mut sorted = figures.clone();
        sorted.sort_by(f64::total_cmp);
        Self { figures, sorted }
    }

    pub(crate) fn median(&self) -> f64 {
        let middle = self.sorted.len() / 2;
        if self.sorted.len() % 2 == 1 {
            self.at(middle)
        } else {
            f64::midpoint(self.at(middle.wrapping_sub(1)), self.at(middle))
        }
    }

    pub(crate) fn least(&self) -> f64 {
        self.at(0)
    }

    pub(crate) fn most(&self) -> f64 {
        self.at(self.sorted.len().wrapping_sub(1))
    }

    fn at(&self, index: usize) -> f64 {
        self.sorted.get(index).copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let spread = Spread::of(vec![8.0, 1.0, 4.0, 2.0]);
        assert!((spread.median() - 3.0).abs() < 1e-9);
        assert!((Spread::of(vec![3.0, 1.0, 2.0]).median() - 2.0).abs() < 1e-9);
        assert!((spread.least() - 1.0).abs() < 1e-9 && (spread.most() - 8.0).abs() < 1e-9);
    }
}
