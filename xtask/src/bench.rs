//! The benchmark: ours against the original and other programs, in turn, on a processor
//! for each end.
//!
//! A machine drifts by more than the differences that are looked for; runs taken in turn
//! drift together, so the ratio within a round is what counts, and its median.

mod many;
mod peers;
mod rows;
pub(crate) mod stats;
mod table;

use netperf_testkit::{Invocation, Scratch};

use crate::options::Options;
use peers::{Arena, Make, Tool};
use rows::{Group, Row};
use stats::Spread;
use table::{Asked, Line};

/// Runs the rows that were asked for, prints and keeps the table.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.list {
        return list();
    }
    let (rows, many) = chosen(options)?;
    every_row_is_there(&rows, options)?;
    let about = about(&rows, options);
    about
        .iter()
        .for_each(|(key, value)| println!("- {key}: {value}"));
    println!("\n{}", table::head());
    let folder = Scratch::new();
    let mut arena = Arena::new(options, folder.path());
    let mut lines = Vec::new();
    let say = |line: Line, lines: &mut Vec<Line>| {
        println!("{}", line.row());
        lines.push(line);
    };
    for row in &rows {
        for line in compared(row, &mut arena, options)? {
            say(line, &mut lines);
        }
    }
    if many {
        for line in many::run(options)? {
            say(line, &mut lines);
        }
    }
    table::keep(&options.out, &about, &lines)?;
    println!(
        "\nkept in {0}/bench.md and {0}/bench.json",
        options.out.display()
    );
    let missed: Vec<&str> = lines
        .iter()
        .filter(|line| line.met() == Some(false))
        .map(|line| line.name.as_str())
        .collect();
    if options.check && !missed.is_empty() {
        return Err(format!("not as asked: {}", missed.join(", ")));
    }
    Ok(())
}

/// The names of all rows.
fn list() -> Result<(), String> {
    for group in Group::ALL {
        let rows = rows::all().into_iter().filter(|row| row.group == group);
        let mut names: Vec<String> = rows.map(|row| row.name).collect();
        if group == Group::Flows {
            names.push(many::NAME.to_owned());
        }
        println!("{}: {}", group.name(), names.join(" "));
    }
    Ok(())
}

/// The rows that the words mean, and whether ten thousand flows are among them. Without
/// words all but those that run only when asked for.
fn chosen(options: &Options) -> Result<(Vec<Row>, bool), String> {
    let words = &options.words;
    let is_many = |word: &String| word == Group::Flows.name() || many::NAME == word;
    let unknown = words
        .iter()
        .find(|word| !is_many(word) && !rows::all().iter().any(|row| row.is_meant(word)));
    if let Some(word) = unknown {
        return Err(format!("no row or group {word}: --list has them all"));
    }
    let left_out = |row: &Row| {
        let tool = row.theirs.tool().or_else(|| row.ours.tool());
        tool.is_some_and(|tool| options.without.iter().any(|name| name == tool.name()))
    };
    let asked = |row: &Row| {
        if words.is_empty() {
            !row.group.only_asked()
        } else {
            words.iter().any(|word| row.is_meant(word))
        }
    };
    let rows = rows::all()
        .into_iter()
        .filter(|row| asked(row) && !left_out(row))
        .collect();
    Ok((rows, words.is_empty() || words.iter().any(is_many)))
}

/// One line that says what to install, where something is missing.
fn every_row_is_there(rows: &[Row], options: &Options) -> Result<(), String> {
    for tool in Tool::ALL {
        let name = tool.name();
        let needed = rows.iter().any(|row| row.theirs.tool() == Some(tool));
        if needed && !tool.program().exists() {
            return Err(format!(
                "{name} is missing: install Debian's package {name}, or leave it out with \
                 --without {name}"
            ));
        }
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 {
        return Err("the benchmark takes two processors, one for each end".to_owned());
    }
    if rows
        .iter()
        .any(|row| row.ours.is_stock() || row.theirs.is_stock())
    {
        options.programs(Make::Stock).map_err(|missing| {
            format!("{missing}: install Debian's package netperf (component non-free)")
        })?;
    }
    options.programs(Make::Ours).map(drop)
}

/// Text above the table.
fn about(rows: &[Row], options: &Options) -> Vec<(String, String)> {
    let first_line = |program: &str, word: &str| {
        let finished = Invocation::new(program.as_ref()).arg(word).run();
        let both = format!("{}\n{}", finished.stdout, finished.stderr);
        let line = both.lines().find(|line| line.contains(char::is_numeric));
        line.unwrap_or_default().trim().to_owned()
    };
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("processor not named", |(_, name)| name);
    let mut about = vec![
        ("kernel".to_owned(), first_line("uname", "-sr")),
        ("processors".to_owned(), format!("{cpus}, {model}")),
        (
            "rounds".to_owned(),
            format!(
                "{} of {} s, client on CPU {}, server on CPU {}, but for flows",
                options.pairs, options.seconds, options.client_cpu, options.server_cpu
            ),
        ),
    ];
    for tool in Tool::ALL {
        if rows.iter().any(|row| row.theirs.tool() == Some(tool)) {
            let name = tool.name();
            about.push((name.to_owned(), first_line(name, "--version")));
        }
    }
    about
}

/// Runs a comparison in turning order.
fn compared(row: &Row, arena: &mut Arena<'_>, options: &Options) -> Result<Vec<Line>, String> {
    let (mut ours, mut theirs, mut besides) = (Vec::new(), Vec::new(), Vec::new());
    let selector = row.besides.map(|(selector, _)| selector);
    for round in 0..options.pairs {
        // Being second must not be an advantage.
        for ours_now in [round % 2 == 1, round % 2 == 0] {
            if ours_now {
                let result = arena.run(&row.ours, row.pinned, selector)?;
                ours.push(result.figure);
                besides.extend(result.besides);
            } else {
                theirs.push(arena.run(&row.theirs, row.pinned, None)?.figure);
            }
        }
    }
    let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs);
    let mut lines = vec![Line {
        name: row.name.clone(),
        against: row.theirs.shown(),
        unit: row.unit.name(),
        ratio: Some(Spread::of(ratios.collect())),
        ours: Spread::of(ours),
        theirs: Some(Spread::of(theirs)),
        asked: row.least.map_or(Asked::Nothing, Asked::AtLeast),
    }];
    if let Some((_, what)) = row.besides {
        let figure = Spread::of(besides).median();
        lines.push(Line::figure(&row.name, what, figure, "%", Asked::Nothing));
    }
    Ok(lines)
}
