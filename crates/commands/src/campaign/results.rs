//! Results of campaigns: shown, kept in a history, and compared.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::process::ExitCode;

use netperf_campaign::campaign_change::{MeasuredCampaign, compare_campaigns};
use netperf_campaign::matrix::{CELLS_SCHEMA, CellReader, CellRecord, Matrix};
use netperf_campaign::outcome::{CampaignDocument, FORMAT};
use netperf_cli::{CampaignArgs, OutputStream};
use netperf_client::store;
use netperf_history::{HistoryError, Store};
use netperf_program::output::{Failure, err, out, say_styled, system_text};
use serde_json::json;

use super::{failure, file, text, view, write_page};
use crate::verdict;

/// The result of a campaign.
enum CampaignResult {
    Document(Box<CampaignDocument>, Vec<Matrix>),
    Cells(Box<MeasuredCampaign>),
}

/// Prints a result again.
pub(super) fn show(args: &CampaignArgs) -> Result<ExitCode, Failure> {
    let name = file(args);
    match read(name, args.place.as_deref()).map_err(failure)? {
        CampaignResult::Document(document, matrices) => {
            write_page(&document, &matrices, args)?;
            say_styled(OutputStream::Stdout, &document.text(&matrices, view()));
        }
        CampaignResult::Cells(_) if args.page.is_some() => {
            return Err(failure(
                "--page takes the document of a campaign (-o), which names its file of cells",
            ));
        }
        CampaignResult::Cells(campaign) => {
            for matrix in &campaign.matrices {
                let text = format!("{}\n", matrix.text(&matrix.outliers(), view()));
                say_styled(OutputStream::Stdout, &text);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares two results.
pub(super) fn compare(args: &CampaignArgs) -> Result<ExitCode, Failure> {
    let [first, second] = args.words.as_slice() else {
        return Err(failure("two results are needed"));
    };
    let place = args.place.as_deref();
    compared([first, second], place, args.json).map_err(failure)
}

/// The campaigns of a history.
pub(super) fn list(args: &CampaignArgs) -> Result<ExitCode, Failure> {
    let campaigns = store::open(args.place.as_deref(), false)
        .and_then(|mut store| store.campaigns())
        .map_err(failure)?;
    if args.json {
        out(&format!("{:#}\n", json!({"campaigns": campaigns})));
        return Ok(ExitCode::SUCCESS);
    }
    for one in &campaigns {
        let state = if one.complete { "" } else { ", not complete" };
        let at = netperf_history::time::shown(one.started);
        out(&format!("{}  {at}  {}{state}\n", one.campaign, one.title));
    }
    if campaigns.is_empty() {
        out("No campaign.\n");
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares two campaigns, and prints the result.
///
/// # Errors
/// One line.
pub(crate) fn compared(
    names: [&String; 2],
    place: Option<&str>,
    as_json: bool,
) -> Result<ExitCode, String> {
    let [first, second] = names.map(|name| measured(name, place));
    let change = compare_campaigns(&[first?, second?])?;
    if as_json {
        out(&format!("{:#}\n", change.json()));
    } else {
        out(&change.text());
    }
    Ok(verdict::exit(change.outcome()))
}

fn measured(name: &str, place: Option<&str>) -> Result<MeasuredCampaign, String> {
    Ok(match read(name, place)? {
        CampaignResult::Document(document, matrices) => {
            MeasuredCampaign::of_document(name, &document, matrices)
        }
        CampaignResult::Cells(campaign) => *campaign,
    })
}

/// True if a file is a result of a campaign.
pub(crate) fn is_campaign(name: &str) -> bool {
    let is_document = || {
        let text = text(name).unwrap_or_default();
        text.contains(&format!("\"{FORMAT}\"")) && CampaignDocument::read(&text).is_ok()
    };
    is_regular(name) && (starts_with_cells(name) || is_document())
}

/// Reads a document, a file of cells, or a campaign of a history.
fn read(name: &str, place: Option<&str>) -> Result<CampaignResult, String> {
    let is_file = name == "-" || Path::new(name).exists();
    if !is_file && (place.is_some() || !name.contains(['.', '/'])) {
        let mut store = store::open(place, false).map_err(|error| {
            format!("{name} is not a file; as a campaign of a history: {error}")
        })?;
        let found = store.campaign(name).map_err(|error| error.to_string())?;
        return Ok(CampaignResult::Document(Box::new(found.0), found.1));
    }
    let shown = netperf_web::escape::line(name);
    if starts_with_cells(name) {
        let mut reader = cells(Path::new(name))?;
        let matrices = reader.matrices().map_err(|why| format!("{shown}: {why}"))?;
        let complete = reader.end().complete;
        let campaign = MeasuredCampaign::of_cells(name, reader.head(), complete, matrices);
        return Ok(CampaignResult::Cells(Box::new(campaign)));
    }
    let text = text(name)?;
    let document = CampaignDocument::read(&text).map_err(|why| format!("{shown}: {why}"))?;
    let matrices = matrices(&document, name)?;
    Ok(CampaignResult::Document(Box::new(document), matrices))
}

/// True if a file can be read more than once: what is taken from a pipe is not there again.
fn is_regular(name: &str) -> bool {
    name != "-" && Path::new(name).is_file()
}

/// True if the first line of a regular file is the head of cells.
fn starts_with_cells(name: &str) -> bool {
    if !is_regular(name) {
        return false;
    }
    let mut head = [0; 64];
    let read = File::open(name).and_then(|mut file| file.read(&mut head));
    let head = String::from_utf8_lossy(&head);
    read.is_ok() && head.starts_with(&format!("{{\"schema\":\"{CELLS_SCHEMA}\""))
}

fn cells(path: &Path) -> Result<CellReader<BufReader<File>>, String> {
    let shown = netperf_web::escape::line(&path.to_string_lossy());
    let file = File::open(path).map_err(|why| format!("{shown}: {}", system_text(&why)))?;
    CellReader::new(BufReader::new(file)).map_err(|why| format!("{shown}: {why}"))
}

/// The matrices of a document, or of its file of cells, whose name is relative to the folder of
/// the document, or to the current one.
fn matrices(document: &CampaignDocument, path: &str) -> Result<Vec<Matrix>, String> {
    let Some(name) = &document.cells_file else {
        return Ok(document.matrices());
    };
    let near = Path::new(path).with_file_name(name);
    let file = if path == "-" || !near.exists() {
        Path::new(name).to_owned()
    } else {
        near
    };
    let of = |why| format!("the cells of {}: {why}", netperf_web::escape::line(path));
    let mut reader = cells(&file).map_err(of)?;
    reader.matrices().map_err(|why| of(why.to_string()))
}

/// Opens the history in which the campaign is kept, if it is.
pub(super) fn history(args: &CampaignArgs) -> Result<Option<Store>, Failure> {
    let place = args.history.as_deref();
    let named = place.map(|place| Some(place).filter(|place| !place.is_empty()));
    let opened = named.map(|place| store::open(place, true));
    opened.transpose().map_err(failure)
}

/// Keeps a campaign.
pub(super) fn keep(store: &mut Store, document: &CampaignDocument) -> Result<(), Failure> {
    let now = store::now();
    let kept = match &document.cells_file {
        None => {
            let records = document.cells.iter().map(|cell| Ok(cell.record(false)));
            store.add_campaign(document, &mut { records }, now)
        }
        Some(name) => {
            let reader = cells(Path::new(name)).map_err(failure)?;
            let text = |record: Result<CellRecord, _>| {
                record.map_err(|why: netperf_campaign::matrix::CellsError| why.to_string())
            };
            store.add_campaign(document, &mut reader.map(text), now)
        }
    };
    kept.map_err(|error: HistoryError| failure(error))?;
    let campaign = &document.campaign;
    err(&format!("netperf campaign: kept as campaign {campaign}\n"));
    Ok(())
}
