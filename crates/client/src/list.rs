//! `--list`: what this host and netserver's can do.

use netperf_cli::ListCommand;
use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Abilities, Suite, TestPlan, TestRow, TransportId};
use netperf_program::output::{Failure, out, system_text};
use netperf_report::list::{List, Support, SupportRow, json, table};
use netperf_transport::registry;

use super::run::LEAVE;
use super::{control, run};

/// Capabilities of netserver's host.
enum RemoteAbilities {
    /// Reported by netserver.
    Told(Abilities),
    /// A stock one, which says nothing.
    Stock,
}

/// Finds out and prints.
pub(super) fn print(asked: &ListCommand) -> Result<(), Failure> {
    let there = ask(&asked.plan)?;
    let list = list(&asked.plan, there.as_ref());
    out(&if asked.json {
        json(&list)
    } else {
        table(&list)
    });
    Ok(())
}

/// Asks netserver what it can do, where one is named.
fn ask(plan: &TestPlan) -> Result<Option<RemoteAbilities>, Failure> {
    let Some(control) = &plan.control else {
        return Ok(None);
    };
    let mut talk = run::open(plan, control::establish(control)?)?;
    let abilities = talk.greet().map_err(|error| run::unanswered(error, plan))?;
    talk.finish(LEAVE);
    Ok(Some(
        abilities.map_or(RemoteAbilities::Stock, RemoteAbilities::Told),
    ))
}

fn list<'a>(plan: &'a TestPlan, there: Option<&RemoteAbilities>) -> List<'a> {
    let tests = TESTS.iter().map(|row| test(row, there));
    let transports = TRANSPORTS.iter().map(|row| SupportRow {
        name: row.label,
        transport: row.option,
        needs: row.needs,
        here: here(row.id),
        there: there.map(|there| transport_there(row.id, there)),
    });
    let control = plan.control.as_ref();
    List {
        host: control.map(|control| control.remote.host.as_str()),
        tests: tests.collect(),
        transports: transports.collect(),
    }
}

/// A test. Those without data, and OMNI over TCP, run everywhere.
fn test(row: &'static TestRow, there: Option<&RemoteAbilities>) -> SupportRow<'static> {
    let transport = row.transport.row();
    let there = there.map(|there| match (there, row.suite) {
        (RemoteAbilities::Told(_), Suite::Control)
        | (RemoteAbilities::Stock, Suite::Control | Suite::Sockets) => Support::Supported,
        // A stock netserver does not report which suites it was built with.
        (
            RemoteAbilities::Stock,
            Suite::Unix | Suite::Sctp | Suite::Sdp | Suite::Xti | Suite::Dlpi,
        ) => Support::Unknown,
        (RemoteAbilities::Stock, Suite::Fore | Suite::Hippi) => not_in_stock(),
        (RemoteAbilities::Told(_) | RemoteAbilities::Stock, _) => {
            transport_there(row.transport, there)
        }
    });
    let moves = row.id.moves_data();
    SupportRow {
        name: row.name,
        transport: transport.option,
        needs: if moves { transport.needs } else { "" },
        here: if moves {
            here(row.transport)
        } else {
            Support::Supported
        },
        there,
    }
}

fn here(transport: TransportId) -> Support {
    match registry::missing(transport) {
        None => Support::Supported,
        Some(error) => Support::Missing(system_text(&error)),
    }
}

fn transport_there(transport: TransportId, there: &RemoteAbilities) -> Support {
    match there {
        RemoteAbilities::Told(abilities) if abilities.transports.contains(&transport) => {
            Support::Supported
        }
        RemoteAbilities::Told(abilities) if abilities.off.contains(&transport) => {
            Support::Missing("netserver's policy does not permit it (--transports)".to_owned())
        }
        RemoteAbilities::Told(_) => {
            Support::Missing("netserver cannot open such a socket".to_owned())
        }
        RemoteAbilities::Stock if !transport.row().stock => not_in_stock(),
        RemoteAbilities::Stock
            if matches!(transport, TransportId::Tcp | TransportId::IpDefault) =>
        {
            Support::Supported
        }
        RemoteAbilities::Stock => Support::Unknown,
    }
}

fn not_in_stock() -> Support {
    Support::Missing("a stock netserver does not support it".to_owned())
}
