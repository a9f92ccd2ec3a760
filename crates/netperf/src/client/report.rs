//! `netperf report`: files with results in, a page and tables out.

mod font;

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use netperf_cli::ReportArgs;
use netperf_web::Record;

use super::written;
use crate::output::{Failure, system_text};

/// The exit status when a file is no result.
const UNREADABLE: u8 = 2;
/// The exit status when something cannot be written.
const UNWRITABLE: u8 = 1;
/// Default file name of the page.
const PAGE: &str = "report.html";

/// Runs `netperf report`.
pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    apart(args)?;
    make(args, &records(&args.files)?)?;
    Ok(ExitCode::SUCCESS)
}

fn failure(exit: u8, problem: &str) -> Failure {
    Failure::stderr(exit, &format!("netperf report: {problem}"))
}

/// No output is one of the results, or another output.
fn apart(args: &ReportArgs) -> Result<(), Failure> {
    let outputs = [page(args), args.markdown.as_deref(), args.csv.as_deref()];
    written::apart(&outputs, &args.files).map_err(|line| failure(UNREADABLE, &line))
}

/// File of the page; `report.html` if no output is requested.
fn page(args: &ReportArgs) -> Option<&Path> {
    let others = [&args.svg, &args.png, &args.markdown, &args.csv];
    let only_page = others.iter().all(|other| other.is_none());
    let usual = Path::new(PAGE);
    args.page.as_deref().or(only_page.then_some(usual))
}

/// Reads all files before anything is written.
fn records(files: &[String]) -> Result<Vec<Record>, Failure> {
    let read = files.iter().map(|name| {
        let bytes = bytes(name).map_err(|error| {
            let name = netperf_web::escape::line(name);
            failure(UNREADABLE, &format!("{name}: {}", system_text(&error)))
        })?;
        netperf_web::read(name, &bytes).map_err(|error| failure(UNREADABLE, &error.to_string()))
    });
    let mut records: Vec<Record> = read.collect::<Result<_, _>>()?;
    netperf_web::tell_apart(&mut records);
    Ok(records)
}

/// Contents of a file; `-` is standard input.
pub(super) fn bytes(name: &str) -> std::io::Result<Vec<u8>> {
    if name != written::STANDARD {
        return std::fs::read(name);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn make(args: &ReportArgs, records: &[Record]) -> Result<(), Failure> {
    if let Some(path) = page(args) {
        let page =
            netperf_web::page(records).map_err(|error| failure(UNWRITABLE, &error.to_string()))?;
        write(path, page.as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        write(path, netperf_web::markdown(records).as_bytes())?;
    }
    if let Some(path) = &args.csv {
        write(path, netperf_web::csv(records).as_bytes())?;
    }
    pictures(args, records)
}

fn pictures(args: &ReportArgs, records: &[Record]) -> Result<(), Failure> {
    if args.svg.is_none() && args.png.is_none() {
        return Ok(());
    }
    let pictures = netperf_web::pictures(records);
    if let Some(folder) = &args.svg {
        make_folder(folder)?;
        for picture in &pictures {
            let path = folder.join(format!("{}.svg", picture.name));
            write(&path, picture.svg().as_bytes())?;
        }
    }
    if let Some(folder) = &args.png {
        let (name, font) = font::any().ok_or_else(|| failure(UNWRITABLE, font::MISSING))?;
        make_folder(folder)?;
        for picture in &pictures {
            let path = folder.join(format!("{}.png", picture.name));
            let bytes = picture
                .png(&font)
                .map_err(|error| failure(UNWRITABLE, &format!("{}: {error}", name.display())))?;
            write(&path, &bytes)?;
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    written::write(path, bytes).map_err(|line| failure(UNWRITABLE, &line))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    failure(UNWRITABLE, &written::unwritable(path, error))
}
