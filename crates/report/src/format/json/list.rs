//! The document of `--list --json`.

use super::{PROGRAM, Program, SCHEMA, SCHEMA_VERSION, pretty};
use crate::list;

#[derive(Debug)]
struct List<'a> {
    schema: &'static str,
    schema_version: &'static str,
    program: Program,
    host: Option<&'a str>,
    tests: Vec<Row<'a>>,
    transports: Vec<Row<'a>>,
}

object!(List<'_> {
    schema,
    schema_version,
    program,
    host,
    tests,
    transports,
});

#[derive(Debug)]
struct Row<'a> {
    name: &'a str,
    transport: &'a str,
    needs: Option<&'a str>,
    here: Support<'a>,
    there: Option<Support<'a>>,
}

object!(Row<'_> {
    name,
    transport,
    needs,
    here,
    there,
});

#[derive(Debug)]
struct Support<'a> {
    supported: Option<bool>,
    reason: Option<&'a str>,
}

object!(Support<'_> {
    supported,
    reason,
});

impl<'a> Row<'a> {
    fn of(row: &'a list::Row<'a>) -> Self {
        Self {
            name: row.name,
            transport: row.transport,
            needs: Some(row.needs).filter(|needs| !needs.is_empty()),
            here: Support::of(&row.here),
            there: row.there.as_ref().map(Support::of),
        }
    }
}

impl<'a> Support<'a> {
    fn of(support: &'a list::Support) -> Self {
        Self {
            supported: support.known(),
            reason: support.reason(),
        }
    }
}

/// Every test and transport and whether it can run, as one document.
pub(crate) fn list(list: &list::List<'_>) -> String {
    pretty(&List {
        schema: SCHEMA,
        schema_version: SCHEMA_VERSION,
        program: PROGRAM,
        host: list.host,
        tests: list.tests.iter().map(Row::of).collect(),
        transports: list.transports.iter().map(Row::of).collect(),
    })
}
