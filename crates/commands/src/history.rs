//! `netperf history`: results kept, and questions to them.

use std::path::Path;
use std::process::ExitCode;

use netperf_cli::{HistoryArgs, HistoryVerb};
use netperf_client::store::{failure, now, open, place, store_failure};
use netperf_history::change::{self, Changes};
use netperf_history::export::ExportTable;
use netperf_history::store::{Configuration, FigureKind};
use netperf_history::text::{self, Trend};
use netperf_history::{Filter, Forget, Forgotten, HistoryEntry, HistoryError, Store, time};
use netperf_program::output::{self, FAILED, Failure, INVALID, err, out};
use serde_json::{Value, json};

use super::files;

/// Rows that are shown when nothing is asked for.
const ROWS: u32 = 20;
/// Results that are saved with one wait for the disk.
const AT_ONCE: usize = 100;
/// Results of a configuration that a table of several shows as bars.
const BARS: u32 = 600;

/// Runs `netperf history`.
pub(super) fn run(verb: HistoryVerb, args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let filter = filter(args)?;
    let make = verb == HistoryVerb::Add;
    let mut store = open(args.place.as_deref(), make).map_err(store_failure)?;
    match verb {
        HistoryVerb::Add => return add(&mut store, args),
        HistoryVerb::List => list(&mut store, &filter, args),
        HistoryVerb::Show => show(&mut store, args),
        HistoryVerb::Trend => trend(&mut store, &filter, args),
        HistoryVerb::Change => changes(&mut store, &filter, args),
        HistoryVerb::Forget => forget(&mut store, &filter, args),
        HistoryVerb::Export => export(&mut store, &filter, args),
        HistoryVerb::Check => check(&mut store),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn filter(args: &HistoryArgs) -> Result<Filter, Failure> {
    let when = |name: &str, text: &Option<String>| {
        let read = |text: &String| {
            time::read(text, now()).ok_or_else(|| {
                let text = netperf_web::escape::line(text);
                let expected = "expected a date such as 2026-11-21 or an age such as 30d";
                failure(INVALID, format_args!("--{name} {text}: {expected}"))
            })
        };
        text.as_ref().map(read).transpose()
    };
    Ok(Filter {
        test: args.test.clone(),
        host: args.host.clone(),
        label: args.label.clone(),
        configuration: args.configuration.clone(),
        since: when("since", &args.since)?,
        before: when("before", &args.before)?,
    })
}

/// Keeps files, and goes on behind one that is no result: the others are not its fault.
fn add(store: &mut Store, args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let mut refused = 0;
    let names = files::with_folders(&args.words).map_err(|line| failure(INVALID, line))?;
    for names in names.chunks(AT_ONCE) {
        let mut entries = Vec::new();
        for name in names {
            match entry(name, args.label.as_deref()) {
                Ok(entry) => entries.push(entry),
                Err(why) => {
                    refused += 1;
                    err(&format!("netperf history: {why}\n"));
                }
            }
        }
        let added = store.add(&entries, now()).map_err(store_failure)?;
        for (entry, added) in entries.iter().zip(added) {
            let word = if added.known { "known" } else { "saved" };
            out(&told(entry, added.id, word, args.json));
        }
    }
    Ok(if refused == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INVALID)
    })
}

fn entry(name: &str, label: Option<&str>) -> Result<HistoryEntry, String> {
    HistoryEntry::read(name, files::read(name)?, label).map_err(|error| error.to_string())
}

/// A line about a result that is on the disk.
fn told(entry: &HistoryEntry, id: i64, word: &str, as_json: bool) -> String {
    let digest = &entry.digest;
    if as_json {
        let line = json!({"event": word, "id": id, "digest": digest});
        return format!("{line}\n");
    }
    let headline = entry.figures.first();
    let value = headline.map_or_else(String::new, |figure| figure.quantity.to_string());
    let digest: String = digest.chars().take(8).collect();
    format!(
        "{word} {id} {digest} {} {} {value}\n",
        entry.test, entry.host
    )
}

fn list(store: &mut Store, filter: &Filter, args: &HistoryArgs) -> Result<(), Failure> {
    let results = store
        .list(filter, Some(args.limit.unwrap_or(ROWS)))
        .map_err(store_failure)?;
    if args.json {
        print(&text::list_json(&results));
    } else {
        out(&text::list(&results, output::columns()));
    }
    Ok(())
}

fn print(document: &Value) {
    out(&format!("{document:#}\n"));
}

fn show(store: &mut Store, args: &HistoryArgs) -> Result<(), Failure> {
    let name = args.words.concat();
    let document = store
        .find(&name)
        .and_then(|id| store.document(id))
        .map_err(store_failure)?;
    output::out_document(&document);
    Ok(())
}

/// The configurations that are meant, each with the figure that is wanted; those that have
/// it not are left out.
fn chosen(
    store: &mut Store,
    filter: &Filter,
    args: &HistoryArgs,
) -> Result<Vec<(Configuration, FigureKind)>, Failure> {
    let found = store.configurations(filter).map_err(store_failure)?;
    let mut chosen = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for configuration in found {
        let kinds = store.kinds(&configuration).map_err(store_failure)?;
        let wanted =
            |kind: &&FigureKind| args.metric.as_ref().is_none_or(|name| *name == kind.name);
        if let Some(kind) = kinds.iter().find(wanted) {
            chosen.push((configuration, kind.clone()));
        }
        names.extend(kinds.into_iter().map(|kind| kind.name));
    }
    if let (true, Some(name)) = (chosen.is_empty(), &args.metric) {
        names.sort();
        names.dedup();
        let name = netperf_web::escape::line(name);
        let line = match names.as_slice() {
            [] => "there is no result of that kind".to_owned(),
            [only] => format!("there is no metric {name}; there is {only}"),
            several => format!(
                "there is no metric {name}; there are: {}",
                several.join("; ")
            ),
        };
        return Err(failure(INVALID, line));
    }
    Ok(chosen)
}

fn trend(store: &mut Store, filter: &Filter, args: &HistoryArgs) -> Result<(), Failure> {
    let chosen = chosen(store, filter, args)?;
    let several = chosen.len() > 1 && !args.json;
    let rows = args.limit.unwrap_or(ROWS) as usize;
    let last = if several { BARS } else { change::LAST };
    let last = args.last.unwrap_or(last);
    let shown = if several { rows } else { chosen.len() };
    let hidden = chosen.len() - shown.min(chosen.len());
    let mut trends = Vec::new();
    for (configuration, kind) in chosen.into_iter().take(shown) {
        let points = store
            .series(&kind, filter, Some(last))
            .map_err(store_failure)?;
        trends.push(Trend {
            configuration,
            kind,
            points,
        });
    }
    if args.json {
        let series: Vec<Value> = trends.iter().map(Trend::json).collect();
        print(&json!({"schema": text::SCHEMA, "trends": series}));
        return Ok(());
    }
    match trends.as_slice() {
        [] => out("No result.\n"),
        [one] => out(&one.text(rows)),
        several => out(&text::trends(several, output::columns())),
    }
    match hidden {
        0 => {}
        1 => out("1 more configuration is not shown: see --limit.\n"),
        _ => out(&format!(
            "{hidden} more configurations are not shown: see --limit.\n"
        )),
    }
    Ok(())
}

fn changes(store: &mut Store, filter: &Filter, args: &HistoryArgs) -> Result<(), Failure> {
    let last = args.last.unwrap_or(change::LAST);
    let chance = args.chance.unwrap_or(change::CHANCE);
    let mut found: Vec<Changes> = Vec::new();
    for (configuration, kind) in chosen(store, filter, args)? {
        let changes = change::find(store, (&configuration, &kind), filter, last, chance);
        found.push(changes.map_err(store_failure)?);
    }
    if args.json {
        let all: Vec<Value> = found.iter().map(text::changes_json).collect();
        print(&json!({"schema": text::SCHEMA, "changes": all}));
        return Ok(());
    }
    let looked_at = found.len();
    if looked_at > 1 {
        found.retain(|changes| !changes.changes.is_empty());
        let changed = found.len();
        out(&format!(
            "{looked_at} configurations, {changed} of which changed.\n"
        ));
    }
    if looked_at == 0 {
        out("No result.\n");
    }
    for (at, changes) in found.iter().enumerate() {
        let between = if at > 0 || looked_at > 1 { "\n" } else { "" };
        out(&format!("{between}{}", text::changes(changes)));
    }
    Ok(())
}

fn forget(store: &mut Store, filter: &Filter, args: &HistoryArgs) -> Result<(), Failure> {
    let what = match (args.keep_last, &args.older_than) {
        (Some(kept), _) => Forget::AllBut(kept),
        (None, Some(text)) => {
            let age = time::age(text).ok_or_else(|| {
                let text = netperf_web::escape::line(text);
                let expected = "expected an age such as 90d or 2y";
                failure(INVALID, format_args!("--older-than {text}: {expected}"))
            })?;
            Forget::Before(now() - age)
        }
        (None, None) => {
            let (mut results, mut campaigns) = (Vec::new(), Vec::new());
            for name in &args.words {
                // A campaign has an identifier of the same form as a digest.
                match (store.find(name), store.find_campaign(name)) {
                    (Ok(_), Ok(_)) => {
                        let name = netperf_web::escape::line(name);
                        return Err(store_failure(HistoryError::Ambiguous(name)));
                    }
                    (Err(HistoryError::Unknown(_)), Ok(campaign)) => campaigns.push(campaign),
                    (found, _) => results.push(found.map_err(store_failure)?),
                }
            }
            Forget::Named(results, campaigns)
        }
    };
    let Forgotten { results, campaigns } = store
        .forget(&what, filter, args.dry_run)
        .map_err(store_failure)?;
    let (key, words) = if args.dry_run {
        ("would_forget", "would be forgotten")
    } else {
        ("forgotten", "forgotten")
    };
    if args.json {
        let of_campaigns = format!("{key}_campaigns");
        print(&json!({"schema": text::SCHEMA, key: results, of_campaigns: campaigns}));
        return Ok(());
    }
    let counted = |count: usize, name: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {name}{plural}")
    };
    let mut said = counted(results.len(), "result");
    if !campaigns.is_empty() {
        said.push_str(&format!(" and {}", counted(campaigns.len(), "campaign")));
    }
    out(&format!("{said} {words}\n"));
    Ok(())
}

fn export(store: &mut Store, filter: &Filter, args: &HistoryArgs) -> Result<(), Failure> {
    apart(args)?;
    let table = ExportTable::of(store, filter).map_err(store_failure)?;
    match &args.csv {
        Some(path) => write(path, table.csv().as_bytes()),
        None => Ok(()),
    }
}

fn check(store: &mut Store) -> Result<(), Failure> {
    let wrong = store.check().map_err(store_failure)?;
    if wrong.is_empty() {
        out("Nothing is damaged.\n");
        return Ok(());
    }
    let lines: Vec<String> = wrong
        .iter()
        .map(|line| format!("netperf history: {}", netperf_web::escape::line(line)))
        .collect();
    Err(Failure::stderr(FAILED, lines.join("\n")))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    files::write(path, bytes).map_err(|line| failure(FAILED, line))
}

/// Refuses a table that would be written over the history itself.
fn apart(args: &HistoryArgs) -> Result<(), Failure> {
    let place = place(args.place.as_deref()).map_err(store_failure)?;
    files::apart(&[args.csv.as_deref()], &place.files()).map_err(|line| failure(INVALID, line))
}
