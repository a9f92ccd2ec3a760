//! The location of a history.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::HistoryError;
#[cfg(feature = "postgres")]
use crate::postgres::PostgresAddress;

/// The environment variable for the location, used without an option.
pub const VARIABLE: &str = "NETPERF_HISTORY";
/// The schemes of a PostgreSQL's URL.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];
/// The default file, in the user's data directory.
const FILE: &str = "netperf/history.sqlite";

/// The value of a variable of the environment; an empty one counts as unset.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The location of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresAddress>),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(&netperf_web::escape::line(&path.to_string_lossy())),
            #[cfg(feature = "postgres")]
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

impl Location {
    /// The location from an option, the environment, or the default.
    ///
    /// # Errors If an address is invalid, or there is no default location.
    pub fn find(asked: Option<&str>, variables: Variables<'_>) -> Result<Self, HistoryError> {
        let named = asked.map(str::to_owned).or_else(|| variables(VARIABLE));
        match named {
            Some(text) => Self::read(&text, variables),
            None => usual(variables).map(Self::File),
        }
    }

    /// The files of a history: the database, and the files of SQLite beside it.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let path = match self {
            Self::File(path) => path,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => return Vec::new(),
        };
        let beside = |ending: &str| {
            let mut name = path.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        vec![path.clone(), beside("-wal"), beside("-shm")]
    }

    fn read(text: &str, variables: Variables<'_>) -> Result<Self, HistoryError> {
        match text.split_once("://") {
            Some((scheme, rest)) if SCHEMES.contains(&scheme) => on_server(rest, variables),
            Some((scheme, _)) => {
                let scheme = netperf_web::escape::line(scheme);
                Err(HistoryError::Place(format!(
                    "{scheme}:// is not supported: give a file, or postgres://"
                )))
            }
            None => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

#[cfg(feature = "postgres")]
fn on_server(rest: &str, variables: Variables<'_>) -> Result<Location, HistoryError> {
    let address = PostgresAddress::read(rest, variables)?;
    Ok(Location::Postgres(Box::new(address)))
}

#[cfg(not(feature = "postgres"))]
fn on_server(_: &str, _: Variables<'_>) -> Result<Location, HistoryError> {
    let why = "this netperf is built without PostgreSQL: build one with --features postgres, or \
               name a file";
    Err(HistoryError::Place(why.to_owned()))
}

/// `$XDG_DATA_HOME/netperf/history.sqlite` (XDG Base Directory Specification).
fn usual(variables: Variables<'_>) -> Result<PathBuf, HistoryError> {
    // The specification requires that relative paths be ignored.
    let folder = |name: &str| {
        let path = variables(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let data = folder("XDG_DATA_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(Path::new(".local/share"))));
    data.map(|data| data.join(FILE)).ok_or_else(|| {
        HistoryError::Place(format!(
            "there is neither HOME nor XDG_DATA_HOME: name the history by --db or {VARIABLE}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(asked: Option<&str>, variables: &[(&str, &str)]) -> Result<Location, HistoryError> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Location::find(asked, &variable)
    }

    #[cfg(not(feature = "postgres"))]
    #[test]
    fn without_the_feature_a_postgresql_is_refused_in_one_line() {
        for url in ["postgres://u:secret@h/d", "postgresql:///d"] {
            let line = found(Some(url), &[]).unwrap_err().to_string();
            assert!(line.contains("--features postgres"), "{line}");
            assert!(!line.contains("secret") && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn a_file_of_sqlite_has_two_more_beside_it() {
        let files = Location::File(PathBuf::from("/x/h.sqlite")).files();
        let expected = ["/x/h.sqlite", "/x/h.sqlite-wal", "/x/h.sqlite-shm"];
        assert_eq!(files, expected.map(PathBuf::from));
    }

    #[test]
    fn a_location_is_shown_in_one_line() {
        let location = Location::File(PathBuf::from("/x/a\nb"));
        assert_eq!(location.to_string(), "/x/a\u{fffd}b");
    }

    #[test]
    fn a_url_of_another_kind_is_no_place() {
        let error = found(Some("mysql://u:secret@h/d"), &[]).unwrap_err();
        let line = error.to_string();
        assert!(line.starts_with("mysql:// is not supported"), "{line}");
        assert!(!line.contains("secret"), "{line}");
    }

    #[test]
    fn an_option_comes_before_the_variable_and_that_before_the_usual_place() {
        let file = |path: &str| Ok(Location::File(PathBuf::from(path)));
        let all = [(VARIABLE, "b"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(found(Some("a"), &all), file("a"));
        assert_eq!(found(None, &all), file("b"));
        assert_eq!(found(None, &all[1..]), file("/x/netperf/history.sqlite"));
        let usual = "/h/.local/share/netperf/history.sqlite";
        assert_eq!(found(None, &all[2..]), file(usual));
        assert_eq!(found(None, &[("XDG_DATA_HOME", "x"), all[2]]), file(usual));
        let nowhere = found(None, &[]).unwrap_err().to_string();
        assert!(nowhere.contains("--db"), "{nowhere}");
    }
}
