//! Data that a client reads and sends: a file (`-F`), or standard input (`-I`).

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use netperf_iperf2::options::Iperf2Args;
use netperf_program::output::system_text;

/// Opens the input of each stream; none without `-F` and `-I`.
///
/// # Errors
/// The line about an input that cannot be read.
pub(super) fn open_inputs(args: &Iperf2Args) -> Result<Vec<File>, String> {
    let streams = args.plan.streams.max(1);
    let (name, opened) = match &args.input_file {
        _ if args.sends_stdin => ("-I".to_owned(), standard_input(streams)),
        Some(file) => (format!("-F {file}"), files(file, streams)),
        None => return Ok(Vec::new()),
    };
    opened.map_err(|error| format!("iperf: {name}: {}\n", system_text(&error)))
}

/// Streams share standard input: each sends a part of it.
fn standard_input(streams: u32) -> io::Result<Vec<File>> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    shared(input, streams)
}

/// Each stream sends all of a regular file. Anything else is opened once and shared: of a pipe
/// that is opened a second time, data is lost or none comes.
fn files(name: &str, streams: u32) -> io::Result<Vec<File>> {
    let first = File::open(name)?;
    if !first.metadata()?.is_file() {
        return shared(first, streams);
    }
    let others = (1..streams).map(|_| File::open(name));
    std::iter::once(Ok(first)).chain(others).collect()
}

fn shared(mut input: File, streams: u32) -> io::Result<Vec<File>> {
    if input.metadata()?.is_dir() {
        // read(2) tells the reason.
        let _never = input.read(&mut [0])?;
    }
    let others = (1..streams).map(|_| input.try_clone());
    let mut inputs: Vec<File> = others.collect::<io::Result<_>>()?;
    inputs.push(input);
    Ok(inputs)
}
