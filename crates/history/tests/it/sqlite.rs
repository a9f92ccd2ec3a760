//! The embedded store: the behaviours of all stores, and those of SQLite.

use std::path::Path;

use crate::behaviours::{NOW, behaves, result};
use netperf_history::{Location, Store};
use netperf_testkit::Scratch;

/// An empty store.
struct Fresh {
    place: Location,
    _folder: Scratch,
}

impl Fresh {
    fn file() -> Self {
        let folder = Scratch::new();
        Self {
            place: Location::File(folder.path().join("deep/er/history.sqlite")),
            _folder: folder,
        }
    }

    fn path(&self) -> &Path {
        match &self.place {
            Location::File(path) => path,
            #[cfg(feature = "postgres")]
            Location::Postgres(_) => panic!("a file"),
        }
    }

    fn open(&self) -> Store {
        Store::open(&self.place, true).expect("a store")
    }
}

#[test]
fn a_file_of_sqlite_behaves() {
    let folder = Scratch::new();
    let mut made = 0;
    behaves(|| {
        made += 1;
        Location::File(folder.path().join(format!("deep/er/{made}.sqlite")))
    });
}

#[test]
fn a_history_that_is_not_there_is_not_made_by_asking() {
    let fresh = Fresh::file();
    let error = Store::open(&fresh.place, false).expect_err("nothing there");
    assert!(
        error.to_string().contains("history add makes one"),
        "{error}"
    );
    let path = fresh.path();
    assert!(!path.exists());
}

#[test]
fn a_file_that_is_no_history_is_left_as_it_is() {
    let folder = Scratch::new();
    let text = folder.path().join("text");
    std::fs::write(&text, "something else entirely, and long enough to be read").expect("a file");
    let other = folder.path().join("other.sqlite");
    rusqlite_file(&other, "CREATE TABLE mine (x)");
    for path in [text, other] {
        let before = std::fs::read(&path).expect("the file");
        let error = Store::open(&Location::File(path.clone()), true).expect_err("not ours");
        assert!(error.to_string().contains("not a history"), "{error}");
        assert_eq!(std::fs::read(&path).expect("the file"), before);
    }
}

#[test]
fn sqlite_schema_of_a_newer_version_is_refused_in_one_line() {
    let fresh = Fresh::file();
    fresh
        .open()
        .add(&[result("db1", 1, 1.0, "6.1")], NOW)
        .expect("added");
    let path = fresh.path();
    rusqlite_file(path, "UPDATE netperf_history SET version = 99");
    let error = Store::open(&fresh.place, true)
        .expect_err("too new")
        .to_string();
    assert!(error.contains("newer netperf"), "{error}");
    assert!(
        error.contains("version 99") && !error.contains('\n'),
        "{error}"
    );
}

#[test]
fn a_document_that_was_damaged_is_not_given_out() {
    let fresh = Fresh::file();
    fresh
        .open()
        .add(&[result("db1", 1, 1.0, "6.1")], NOW)
        .expect("added");
    let path = fresh.path();
    rusqlite_file(path, "UPDATE documents SET deflated = x'00'");
    let mut store = fresh.open();
    let error = store.document(1).expect_err("damaged").to_string();
    assert!(error.contains("document of result 1 is damaged"), "{error}");
    assert_eq!(store.check().expect("a check").len(), 1);
}

#[test]
fn a_result_is_found_by_as_many_digits_as_it_takes() {
    let fresh = Fresh::file();
    let entries = [1, 2].map(|day| result("db1", day, 1.0, "6.1"));
    fresh.open().add(&entries, NOW).expect("added");
    rusqlite_file(fresh.path(), "UPDATE results SET digest = 'abcde' || id");
    let mut store = fresh.open();
    for (name, id) in [("abcde1", 1), ("ABCDE2", 2), ("2", 2)] {
        assert_eq!(store.find(name), Ok(id));
    }
    let error = store.find("abcde").expect_err("too short").to_string();
    assert!(error.contains("no result abcde"), "{error}");
    rusqlite_file(fresh.path(), "UPDATE results SET digest = 'abcdef' || id");
    let error = store.find("abcdef").expect_err("two").to_string();
    assert!(
        error.contains("several results begin with abcdef"),
        "{error}"
    );
}

#[test]
fn a_check_looks_at_each_document() {
    let fresh = Fresh::file();
    let entries: Vec<_> = (0..205).map(|day| result("db1", day, 1.0, "6.1")).collect();
    fresh.open().add(&entries, NOW).expect("added");
    assert_eq!(fresh.open().check(), Ok(Vec::new()));
    let damage = "UPDATE results SET digest = 'a' || digest WHERE id IN (1, 100, 101, 205)";
    rusqlite_file(fresh.path(), damage);
    let found = fresh.open().check().expect("a check");
    let expected = [1, 100, 101, 205].map(|id| format!("the document of result {id} is damaged"));
    assert_eq!(found, expected);
    // One byte more or less than was stored.
    for length in ["length - 1", "length + 1"] {
        let fresh = Fresh::file();
        fresh.open().add(&entries[..1], NOW).expect("added");
        rusqlite_file(
            fresh.path(),
            &format!("UPDATE documents SET length = {length}"),
        );
        assert_eq!(
            fresh.open().check().map(|found| found.len()),
            Ok(1),
            "{length}"
        );
    }
    let error = fresh.open().document(999).expect_err("none").to_string();
    assert!(error.contains("no result 999"), "{error}");
}

#[test]
fn a_store_is_shown_by_its_place() {
    let fresh = Fresh::file();
    let shown = format!("{:?}", fresh.open());
    assert!(
        shown.starts_with("Store") && shown.contains("history.sqlite"),
        "{shown}"
    );
}

fn rusqlite_file(path: &Path, statement: &str) {
    let connection = rusqlite::Connection::open(path).expect("a file");
    connection.execute_batch(statement).expect("a statement");
}
