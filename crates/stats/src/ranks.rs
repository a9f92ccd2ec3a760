//! Exact distributions of sums of ranks, for nonparametric tests.
//!
//! Ranks are doubled, so that the mean rank of equal figures is an integer too. The
//! distributions are those of the actual ranks, ties included.

use crate::moments::{count, normal_probability};

/// Series longer than this are judged by the normal distribution.
const LONGEST_EXACT: usize = 80;

/// Twice the ranks of figures, in their order; equal ones share the middle.
pub(crate) fn doubled(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    for equals in order.chunk_by(|a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        // Ranks count from 1: the middle of first + 1 to first + length.
        let middle = 2 * first + equals.len() + 1;
        equals.iter().for_each(|at| ranks[*at] = middle);
        first += equals.len();
    }
    ranks
}

/// The number of ways to reach each sum if each rank is included or not (signed ranks).
fn signed_ways(ranks: &[usize]) -> Vec<f64> {
    let mut ways = vec![0.0; ranks.iter().sum::<usize>() + 1];
    ways[0] = 1.0;
    for rank in ranks {
        for sum in (*rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

/// The number of ways to reach each sum with `taken` of the ranks (rank sum).
fn taken_ways(ranks: &[usize], taken: usize) -> Vec<f64> {
    let most = ranks.iter().sum::<usize>() + 1;
    let mut ways = vec![vec![0.0; most]; taken + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for many in (1..=taken).rev() {
            let (fewer, these) = ways.split_at_mut(many);
            for sum in *rank..most {
                these[0][sum] += fewer[many - 1][sum - rank];
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// The share of ways at least as far from the middle, in both directions.
fn both_tails(ways: &[f64], sum: usize, middle: f64) -> f64 {
    let far = (count(sum) - middle).abs() - 1e-9;
    let total: f64 = ways.iter().sum();
    let tails: f64 = ways
        .iter()
        .enumerate()
        .filter(|(sum, _)| (count(*sum) - middle).abs() >= far)
        .map(|(_, ways)| ways)
        .sum();
    tails / total
}

/// The two-sided probability of these differences if both signs are equally likely
/// (Wilcoxon's signed-rank test, 1945); differences of 0 are left out.
pub(crate) fn signed(differences: &[f64]) -> f64 {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    let ranks = doubled(&sizes);
    let chosen = kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0);
    let sum: usize = chosen.map(|(_, rank)| rank).sum();
    let middle = count(ranks.iter().sum::<usize>()) / 2.0;
    if ranks.len() <= LONGEST_EXACT {
        return both_tails(&signed_ways(&ranks), sum, middle);
    }
    let squares: f64 = ranks.iter().map(|rank| count(*rank).powi(2)).sum();
    normal_probability((count(sum) - middle) / (squares / 4.0).sqrt())
}

/// The two-sided probability of two samples from one distribution (the rank-sum test of
/// Wilcoxon, and of Mann and Whitney, 1947).
pub(crate) fn sum(a: &[f64], b: &[f64]) -> f64 {
    let ranks = doubled(&[a, b].concat());
    let of_a: usize = ranks.iter().take(a.len()).sum();
    let all = count(ranks.len());
    let mean = count(ranks.iter().sum::<usize>()) / all;
    let middle = mean * count(a.len());
    if ranks.len() <= LONGEST_EXACT {
        return both_tails(&taken_ways(&ranks, a.len()), of_a, middle);
    }
    let squares: f64 = ranks.iter().map(|rank| (count(*rank) - mean).powi(2)).sum();
    let spread = squares / (all - 1.0) * count(a.len()) * count(b.len()) / all;
    normal_probability((count(of_a) - middle) / spread.sqrt())
}

/// The number of lowest pairwise figures outside an interval at this level, from the number
/// of ways to reach each sum.
fn outside(ways: &[f64], level: f64) -> usize {
    let total: f64 = ways.iter().sum();
    let mut tail = 0.0;
    ways.iter()
        .take_while(|ways| {
            tail += *ways / total;
            tail <= (1.0 - level) / 2.0
        })
        .count()
}

/// The same from the normal distribution.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded down from a figure above 0"
)]
fn outside_normal(middle: f64, spread: f64, level: f64) -> usize {
    let z = crate::moments::normal_quantile(level);
    (middle - z * spread).max(0.0) as usize
}

/// The number of lowest means of pairs of `n` differences outside the interval.
pub(crate) fn outside_signed(n: usize, level: f64) -> usize {
    if n <= LONGEST_EXACT {
        let ranks: Vec<usize> = (1..=n).collect();
        return outside(&signed_ways(&ranks), level);
    }
    let n = count(n);
    let spread = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    outside_normal(n * (n + 1.0) / 4.0, spread, level)
}

/// The number of lowest differences between `n` and `m` figures outside the interval.
pub(crate) fn outside_sum(n: usize, m: usize, level: f64) -> usize {
    if n + m <= LONGEST_EXACT {
        let ranks: Vec<usize> = (1..=n + m).collect();
        // The lowest sum of n ranks is that of 1 to n.
        let ways = taken_ways(&ranks, n);
        return outside(&ways[n * (n + 1) / 2..], level);
    }
    let (n, m) = (count(n), count(m));
    outside_normal(n * m / 2.0, (n * m * (n + m + 1.0) / 12.0).sqrt(), level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn equal_figures_share_the_middle_rank() {
        assert_eq!(doubled(&[10.0, 30.0, 20.0, 20.0]), [2, 8, 5, 5]);
    }

    #[test]
    fn the_probabilities_are_those_of_the_tables() {
        // Five differences of one sign: two ways of 2^5.
        assert!(close(signed(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 32.0));
        // Three below three others: two ways of 20.
        assert!(close(sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0));
        assert!(close(signed(&[1.0, -1.0]), 1.0));
        assert!(close(signed(&[]), 1.0));
        assert!(close(sum(&[1.0, 1.0], &[1.0, 1.0]), 1.0));
    }

    #[test]
    fn intervals_leave_out_what_the_tables_say() {
        // n = 10, 5 % two-sided: sums up to 8, nine of them (0 to 8).
        assert_eq!(outside_signed(10, 0.95), 9);
        // n = m = 10, 5 % two-sided: U up to 23.
        assert_eq!(outside_sum(10, 10, 0.95), 24);
    }

    #[test]
    fn long_series_are_judged_alike_by_both_ways() {
        let exact: Vec<f64> = (1..=80).map(|n| f64::from(n) - 32.3).collect();
        let long: Vec<f64> = (1..=81).map(|n| f64::from(n) - 32.3).collect();
        assert!((signed(&exact) - signed(&long)).abs() < 0.01);
    }
}
