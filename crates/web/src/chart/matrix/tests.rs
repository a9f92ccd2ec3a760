use super::*;

/// A matrix of so many members in Mbit/s, one of which is missing and one flagged.
fn map(count: usize) -> MatrixMap {
    let cell = |row: usize, column: usize| match (row, column) {
        _ if row == column => MapCell::Empty,
        (1, 0) => MapCell::Missing,
        _ => MapCell::Value {
            value: 1e6 * number::of(10 + (row * 3 + column) % 7),
            is_flagged: (row, column) == (0, 1),
        },
    };
    let row = |row| (0..count).map(|column| cell(row, column)).collect();
    MatrixMap {
        names: (0..count).map(|at| format!("host{at}")).collect(),
        unit: Unit::BitsPerSecond,
        cells: (0..count).map(row).collect(),
        row_flags: vec![2],
        column_flags: Vec::new(),
        has_tips: true,
    }
}

#[test]
fn classes_are_even_or_of_equal_ratio_and_hold_every_value() {
    let classes = ValueClasses::of([10.0, 70.0].into_iter()).unwrap();
    assert_eq!(classes.ends, [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]);
    let found = [10.0, 19.9, 20.0, 69.0, 70.0].map(|value| classes.class(value));
    assert_eq!(found, [0, 0, 1, 5, 5]);
    let wide = ValueClasses::of([1.0, 1e6, f64::INFINITY].into_iter()).unwrap();
    assert!((wide.ends[3] - 1e3).abs() < 1e-6);
    // About equal values are not told apart by all colours.
    let narrow = ValueClasses::of([100.0, 100.1].into_iter()).unwrap();
    assert!(narrow.class(100.0).abs_diff(narrow.class(100.1)) <= 1);
    let zeros = ValueClasses::of([0.0, 0.0].into_iter()).unwrap();
    assert!(zeros.class(0.0) < CLASSES);
    assert_eq!(ValueClasses::of(std::iter::empty()), None);
}

#[test]
fn missing_cells_are_hatched_and_flagged_ones_marked() {
    let map = map(4);
    let scene = map.drawn(Size::wide(1));
    let count =
        |is: &dyn Fn(&SceneItem) -> bool| scene.items.iter().filter(|item| is(item)).count();
    let marks = |wanted: usize| {
        count(&|item| matches!(item, SceneItem::Mark { shape, .. } if *shape == wanted))
    };
    // One each, and one in the legend.
    assert_eq!(
        [marks(CELL_MARK), marks(ROW_MARK), marks(COLUMN_MARK)],
        [2, 2, 0]
    );
    let hatched = |item: &SceneItem| {
        matches!(
            item,
            SceneItem::Rect {
                ink: Ink::Grid,
                tip: None,
                ..
            }
        )
    };
    assert_eq!(count(&hatched), 2);
    let has_text = |wanted: &str| {
        count(&|item| matches!(item, SceneItem::Text { text, .. } if text == wanted)) == 1
    };
    assert!(has_text("missing") && has_text("outlying path") && has_text("outlying sender"));
    // Values are written in large squares, in the unit of the legend.
    assert!(has_text("10.0 to 11.0 Mbit/s") && has_text("host3"));
    let is_value = |item: &SceneItem| {
        matches!(
            item,
            SceneItem::Text {
                role: TextRole::OnHeat(_),
                ..
            }
        )
    };
    assert_eq!(count(&is_value), 11);
    let tip = |item: &SceneItem| {
        let text = "host0 to host1: 11.0\u{a0}Mbit/s";
        matches!(item, SceneItem::Rect { tip: Some(tip), .. } if tip == text)
    };
    assert_eq!(count(&tip), 1);
}

#[test]
fn many_members_share_squares() {
    let map = map(1000);
    let grouped = map.grouped(96);
    assert!(grouped.names.len() <= 96 && grouped.cells.len() == grouped.names.len());
    assert_eq!(grouped.names[0], "host0 … host10");
    assert!(grouped.cells[0][0].is_flagged());
    assert_eq!(grouped.row_flags, [0]);
    let scene = map.drawn(Size::wide(1));
    assert!(scene.width <= 820.0 && scene.items.len() < 25_000);
}
