use super::*;

#[test]
fn a_cpu_beyond_the_set_is_refused() {
    assert!(bind_to_cpu(1_000_000).is_err());
}

#[test]
fn a_thread_that_is_bound_may_run_on_one_cpu() {
    let allowed = allowed_cpus().unwrap();
    let first = *allowed.first().unwrap();
    let bound = std::thread::spawn(move || {
        bind_to_cpu(first).unwrap();
        allowed_cpus().unwrap()
    });
    assert_eq!(bound.join().unwrap(), [first]);
    assert_eq!(allowed_cpus().unwrap(), allowed);
}

#[test]
fn the_limit_of_open_files_is_raised_to_the_most_that_is_allowed() {
    let limit = raise_open_files().unwrap();
    assert!(limit > 0);
    assert_eq!(raise_open_files().unwrap(), limit);
}

#[test]
fn the_file_of_this_program_is_known_with_proc_and_without() {
    let own = std::fs::canonicalize(own_file()).unwrap();
    let started = std::fs::canonicalize(started_as().unwrap()).unwrap();
    assert_eq!(own, started);
}

#[test]
fn pipes_pass_bytes() {
    use std::io::{Read, Write};
    let (reader, writer) = pipe().unwrap();
    std::fs::File::from(writer).write_all(b"x").unwrap();
    let mut out = Vec::new();
    std::fs::File::from(reader).read_to_end(&mut out).unwrap();
    assert_eq!(out, b"x");
}
