//! `netperf report`: files with results in, a page and tables out.

use std::fmt::Display;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use netperf_cli::ReportArgs;
use netperf_comparison::{Set, verdicts};
use netperf_program::output::{FAILED, Failure, INVALID, err};
use netperf_web::{Picture, Record, Verdicts};

use super::compare::set_name;
use super::files;

/// Default file name of the page.
const PAGE: &str = "report.html";

/// Runs `netperf report`.
pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let files = args.sets.iter().map(|set| files::with_folders(set));
    let files: Vec<Vec<String>> = files
        .collect::<Result<_, _>>()
        .map_err(|line| failure(INVALID, line))?;
    let all = files.concat();
    if all.is_empty() {
        return Err(failure(INVALID, "the folders have no result"));
    }
    apart(args, &all)?;
    if args.open && page(args).is_none_or(|page| page == Path::new("-")) {
        return Err(failure(
            INVALID,
            "--open needs a page in a file: give -o FILE",
        ));
    }
    let records = records(&all)?;
    let verdicts = verdicts(&sets(args, &files, &records));
    make(args, &records, &verdicts)?;
    match page(args).filter(|_| args.open) {
        Some(page) => open(page),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Opens the page with the program of the desktop for it, and waits for that program.
fn open(page: &Path) -> Result<ExitCode, Failure> {
    let opened = Command::new("xdg-open")
        // A name may begin with a dash.
        .arg(Path::new(".").join(page))
        .stdin(Stdio::null())
        .status();
    let shown = page.display();
    match opened {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(status) => Err(failure(
            FAILED,
            format_args!("xdg-open ended with {status}: open {shown} in a browser"),
        )),
        Err(error) => Err(failure(
            FAILED,
            format_args!("cannot start xdg-open ({error}): open {shown} in a browser"),
        )),
    }
}

fn failure(exit: u8, problem: impl Display) -> Failure {
    Failure::stderr(exit, format_args!("netperf report: {problem}"))
}

/// No output is one of the results, or another output.
fn apart(args: &ReportArgs, files: &[String]) -> Result<(), Failure> {
    let outputs = [page(args), args.markdown.as_deref(), args.csv.as_deref()];
    files::apart(&outputs, files).map_err(|line| failure(INVALID, line))
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
    let read = files.iter().map(|name| files::record(name));
    let records: Result<Vec<Record>, String> = read.collect();
    let mut records = records.map_err(|line| failure(INVALID, line))?;
    with_folders(&mut records, files);
    netperf_web::tell_apart(&mut records);
    Ok(records)
}

/// Puts the name of its folder before a label that several files have.
fn with_folders(records: &mut [Record], files: &[String]) {
    let labels: Vec<String> = records.iter().map(|one| one.label.clone()).collect();
    for (record, file) in records.iter_mut().zip(files) {
        let is_ambiguous = labels.iter().filter(|one| **one == record.label).count() > 1;
        let folder = Path::new(file).parent().and_then(Path::file_name);
        if let Some(folder) = folder.filter(|_| is_ambiguous) {
            let folder = netperf_web::escape::line(&folder.to_string_lossy());
            record.label = format!("{folder}/{}", record.label);
        }
    }
}

/// The records in sets, under the names that the user gave.
fn sets(args: &ReportArgs, files: &[Vec<String>], records: &[Record]) -> Vec<Set> {
    let mut records = records.iter();
    let sets = args.sets.iter().zip(files);
    let mut sets: Vec<Set> = sets
        .map(|(names, files)| {
            let runs: Vec<Record> = records.by_ref().take(files.len()).cloned().collect();
            let name = match runs.as_slice() {
                [run] => run.label.clone(),
                _ => short_name(names),
            };
            Set { name, runs }
        })
        .collect();
    let is_ambiguous = |set: &Set| sets.iter().filter(|other| other.name == set.name).count() > 1;
    if sets.iter().any(is_ambiguous) {
        for (set, names) in sets.iter_mut().zip(&args.sets) {
            set.name = set_name(names);
        }
    }
    sets
}

/// The name of a set without the folders above it.
fn short_name(names: &[String]) -> String {
    let last = |name: &String| {
        let name = Path::new(name).file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    let short: Option<Vec<String>> = names.iter().map(last).collect();
    set_name(short.as_deref().unwrap_or(names))
}

fn make(args: &ReportArgs, records: &[Record], verdicts: &Verdicts) -> Result<(), Failure> {
    if let Some(path) = page(args) {
        let page =
            netperf_web::page_with(records, verdicts).map_err(|error| failure(FAILED, error))?;
        write(path, page.as_bytes())?;
        if args.page.is_none() && !args.open {
            err(&format!("netperf report: wrote {}\n", path.display()));
        }
    }
    if let Some(path) = &args.markdown {
        let text = netperf_web::markdown_with(records, verdicts);
        write(path, text.as_bytes())?;
    }
    if let Some(path) = &args.csv {
        write(path, netperf_web::csv(records).as_bytes())?;
    }
    pictures(args, records, verdicts)
}

fn pictures(args: &ReportArgs, records: &[Record], verdicts: &Verdicts) -> Result<(), Failure> {
    if args.svg.is_none() && args.png.is_none() {
        return Ok(());
    }
    let pictures = netperf_web::pictures(records, verdicts);
    if pictures.is_empty() {
        err(
            "netperf report: no picture was written: the results have no chart; -D measures \
             over time, -j latency and -c CPU utilisation\n",
        );
        return Ok(());
    }
    if let Some(folder) = &args.svg {
        make_folder(folder)?;
        for picture in &pictures {
            let path = folder.join(format!("{}.svg", picture.name));
            write(&path, picture.svg().as_bytes())?;
        }
    }
    if let Some(folder) = &args.png {
        write_png(folder, &pictures)?;
    }
    Ok(())
}

/// Writes PNG pictures. A chart that is too large for one does not keep the others from being written.
fn write_png(folder: &Path, pictures: &[Picture]) -> Result<(), Failure> {
    make_folder(folder)?;
    let mut too_large = Vec::new();
    for picture in pictures {
        let path = folder.join(format!("{}.png", picture.name));
        match picture.png() {
            Ok(bytes) => write(&path, &bytes)?,
            Err(error) => too_large.push(format!(
                "{} is not written: {error}; use --svg, or fewer results",
                path.display()
            )),
        }
    }
    if too_large.is_empty() {
        return Ok(());
    }
    Err(failure(FAILED, too_large.join("\nnetperf report: ")))
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| failure(FAILED, files::error(&folder.to_string_lossy(), &error)))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    files::write(path, bytes).map_err(|line| failure(FAILED, line))
}
