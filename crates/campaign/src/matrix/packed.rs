//! Cells of a matrix in eight bytes each: those of 1,000 members are a million for each figure.

/// A cell of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MatrixCell {
    /// It was not asked for.
    Empty,
    /// A value.
    Value(f64),
    /// Missing, with the number of the reason.
    Missing(usize),
}

/// A cell as the bits of its value. Bits from [`EMPTY`] on are NaNs, which no value is: the first
/// is an empty cell, those behind it are the numbers of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedCell(u64);

const EMPTY: u64 = 0xfff8_0000_0000_0000;

impl From<MatrixCell> for PackedCell {
    fn from(cell: MatrixCell) -> Self {
        Self(match cell {
            MatrixCell::Empty => EMPTY,
            MatrixCell::Value(value) => value.to_bits(),
            MatrixCell::Missing(reason) => EMPTY + 1 + reason as u64,
        })
    }
}

impl From<PackedCell> for MatrixCell {
    fn from(cell: PackedCell) -> Self {
        match cell.0.checked_sub(EMPTY) {
            None => Self::Value(f64::from_bits(cell.0)),
            Some(0) => Self::Empty,
            #[expect(clippy::cast_possible_truncation, reason = "it was a usize")]
            Some(reason) => Self::Missing(reason as usize - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_cell_is_what_it_was() {
        let least = f64::from_bits(1);
        let values = [0.0, -0.0, 9.4e9, -1.0, f64::MAX, f64::MIN, least, -least];
        let cells = values.map(MatrixCell::Value).into_iter();
        let others = [
            MatrixCell::Empty,
            MatrixCell::Missing(0),
            MatrixCell::Missing(1_000_000),
        ];
        for cell in cells.chain(others) {
            assert_eq!(MatrixCell::from(PackedCell::from(cell)), cell);
        }
        assert_eq!(size_of::<PackedCell>(), 8);
    }
}
