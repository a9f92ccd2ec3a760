//! Outliers of simulated matrices of senders and receivers, and changed cells between two.

use netperf_stats::discovery::compare_tables;
use netperf_stats::polish::{EffectScale, Outlier, OutlierPlace, Repetition, polish};
use netperf_stats::testing::Dice;

const RATIO: EffectScale = EffectScale::Ratio { least: 0.05 };
/// Members of a matrix.
const MEMBERS: usize = 16;

type Table = Vec<Vec<Option<f64>>>;

/// A matrix of 20 Mbit/s with normal noise of this standard deviation, and no diagonal.
fn clean(dice: &mut Dice, noise: f64) -> Table {
    let mut cell =
        |row: usize, column: usize| (row != column).then(|| 20e6 * (noise * dice.normal()).exp());
    (0..MEMBERS)
        .map(|row| (0..MEMBERS).map(|column| cell(row, column)).collect())
        .collect()
}

/// The cells of `is` become half as much.
fn halve(table: &mut Table, is: impl Fn(usize, usize) -> bool) {
    for (row, values) in table.iter_mut().enumerate() {
        for (column, value) in values.iter_mut().enumerate() {
            if is(row, column) {
                *value = value.map(|value| value / 2.0);
            }
        }
    }
}

fn outliers(table: &Table, racks: &[usize]) -> Vec<Outlier> {
    polish(table, RATIO).expect("values").outliers(racks)
}

fn racks() -> Vec<usize> {
    (0..MEMBERS).map(|member| member / 4).collect()
}

/// Standard deviations of simulated noise.
const NOISES: [f64; 4] = [0.002, 0.01, 0.03, 0.1];

#[test]
fn at_most_one_of_twenty_matrices_without_an_outlier_has_one() {
    for noise in NOISES {
        for racks in [Vec::new(), racks()] {
            let mut dice = Dice::new(16);
            let flagged = |_: &u32| !outliers(&clean(&mut dice, noise), &racks).is_empty();
            let flagged = (0..400).filter(flagged).count();
            println!("{noise}, {} racks: {flagged} of 400", racks.len() / 4);
            assert!(flagged <= 20, "{noise}: {flagged} of 400");
        }
    }
}

#[test]
fn members_that_differ_a_little_are_no_outliers() {
    let mut dice = Dice::new(17);
    let flagged = (0..400).filter(|_| {
        let mut table = clean(&mut dice, 0.02);
        let mut effects =
            || -> Vec<f64> { (0..MEMBERS).map(|_| (0.05 * dice.normal()).exp()).collect() };
        let (rows, columns) = (effects(), effects());
        for (row, values) in table.iter_mut().enumerate() {
            for (column, value) in values.iter_mut().enumerate() {
                *value = value.map(|value| value * rows[row] * columns[column]);
            }
        }
        !outliers(&table, &[]).is_empty()
    });
    let flagged = flagged.count();
    println!("{flagged} of 400");
    assert!(flagged <= 20, "{flagged} of 400");
}

/// Finds the only outlier of each of 20 matrices in which `is` selects the cells with half the
/// rate; at most one matrix has another outlier besides.
fn assert_found(noise: f64, place: OutlierPlace, is: fn(usize, usize) -> bool) {
    let mut dice = Dice::new(18);
    let mut others = 0;
    for _ in 0..20 {
        let mut table = clean(&mut dice, noise);
        halve(&mut table, is);
        let found = outliers(&table, &racks());
        let it = found.iter().find(|outlier| outlier.place == place);
        let it = it.unwrap_or_else(|| panic!("{noise}: {place:?} not in {found:?}"));
        assert!((0.4..0.6).contains(&it.effect), "{it:?}");
        others += u32::from(found.len() > 1);
    }
    assert!(
        others <= 1,
        "{noise}, {place:?}: {others} of 20 have others"
    );
}

#[test]
fn a_sender_a_receiver_a_path_and_a_pair_of_racks_of_half_the_rate_are_always_found() {
    for noise in [0.002, 0.01, 0.03, 0.05] {
        assert_found(noise, OutlierPlace::Row(3), |row, _| row == 3);
        assert_found(noise, OutlierPlace::Column(15), |_, column| column == 15);
        assert_found(noise, OutlierPlace::Cell(7, 2), |row, column| {
            (row, column) == (7, 2)
        });
    }
}

#[test]
fn a_slow_member_and_a_slow_path_are_both_found_without_some_cells() {
    let mut dice = Dice::new(19);
    for _ in 0..20 {
        let mut table = clean(&mut dice, 0.02);
        // A member that died has no cells.
        for (row, values) in table.iter_mut().enumerate() {
            values[5] = None;
            if row == 5 {
                values.fill(None);
            }
        }
        halve(&mut table, |row, column| {
            row == 9 || column == 9 || (row, column) == (1, 2)
        });
        let places: Vec<OutlierPlace> = outliers(&table, &[])
            .iter()
            .map(|outlier| outlier.place)
            .collect();
        let wanted = [
            OutlierPlace::Row(9),
            OutlierPlace::Column(9),
            OutlierPlace::Cell(1, 2),
        ];
        assert!(
            wanted.iter().all(|place| places.contains(place)),
            "{places:?}"
        );
    }
}

#[test]
fn outliers_by_chance_are_not_repeated_and_true_ones_are() {
    let mut dice = Dice::new(20);
    for round in 0..20 {
        let mut table = clean(&mut dice, 0.02);
        halve(&mut table, |row, column| {
            row == 3 || (row, column) == (8, 1)
        });
        let polish = polish(&table, RATIO).expect("values");
        for outlier in polish.outliers(&[]) {
            let (row, column) = match outlier.place {
                OutlierPlace::Row(row) => (row, 1),
                OutlierPlace::Cell(row, column) => (row, column),
                OutlierPlace::Column(_) | OutlierPlace::Block(..) => continue,
            };
            let mut again = |rate: f64| -> Repetition {
                let values: Vec<_> = (0..3)
                    .map(|_| ((row, column), rate * (0.02 * dice.normal()).exp()))
                    .collect();
                polish.repeated(&outlier, &values)
            };
            assert_eq!(again(10e6), Repetition::Confirmed, "{round}: {outlier:?}");
            assert_eq!(again(20e6), Repetition::NotRepeated, "{round}: {outlier:?}");
        }
    }
}

#[test]
fn losses_have_outliers_though_most_are_zero() {
    let scale = EffectScale::Difference { least: 0.005 };
    let mut table: Table = vec![vec![Some(0.0); MEMBERS]; MEMBERS];
    assert_eq!(polish(&table, scale).expect("values").outliers(&[]), []);
    table[4][6] = Some(0.02);
    let found = polish(&table, scale).expect("values").outliers(&[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].place, OutlierPlace::Cell(4, 6));
}

#[test]
fn few_false_cells_are_among_those_that_changed() {
    let mut dice = Dice::new(21);
    let (mut alarms, mut found, mut wrong) = (0, 0, 0);
    for _ in 0..200 {
        let before = clean(&mut dice, 0.03);
        let mut after = clean(&mut dice, 0.03);
        let changed = |table: &Table| -> Vec<(usize, usize)> {
            let change = compare_tables(&before, table, RATIO, 0.01).expect("common cells");
            let cells = change.cells.iter().filter(|cell| cell.changed);
            cells.map(|cell| cell.at).collect()
        };
        alarms += usize::from(!changed(&after).is_empty());
        let is_slower = |row: usize, column: usize| (row * 7 + column) % 11 == 0 && row != column;
        halve(&mut after, is_slower);
        for (row, column) in changed(&after) {
            found += 1;
            wrong += usize::from(!is_slower(row, column));
        }
    }
    println!("{alarms} of 200 false; {found} cells found, {wrong} wrong");
    assert!(alarms <= 6, "{alarms} of 200");
    let slower = (0..256).filter(|at| (at / 16 * 7 + at % 16) % 11 == 0 && at / 16 != at % 16);
    assert_eq!(found - wrong, 200 * slower.count());
    assert!(wrong * 50 < found, "{wrong} of {found}");
}

#[test]
fn a_change_of_all_cells_is_that_of_each() {
    let mut dice = Dice::new(22);
    let before = clean(&mut dice, 0.01);
    let mut after = clean(&mut dice, 0.01);
    halve(&mut after, |_, _| true);
    after[2][3] = None;
    let change = compare_tables(&before, &after, RATIO, 0.01).expect("common cells");
    assert!((change.median - 0.5).abs() < 0.01);
    assert!(change.cells.iter().all(|cell| cell.changed));
    assert_eq!((change.cells.len(), change.left_out), (239, 1));
}
