//! Files on a full disk: an older one stays whole, and the line names the file and the way out.

use std::path::Path;

use netperf_testkit::{Invocation, Scratch, ours, require};

/// Runs a command in a folder that is a file system of 64 KiB with an older file `old`, and returns
/// its status, its standard error, and the older file and the names in the folder afterwards.
fn on_a_small_disk(words: &[&str]) -> (Option<i32>, String, String) {
    let folder = Scratch::new();
    let script = "mount -t tmpfs -o size=64k none disk && cd disk && echo older >old && \
                  head -c 1000000 /dev/zero >filler 2>/dev/null; \"$@\"; code=$?; cat old; ls -A; \
                  exit $code";
    std::fs::create_dir(folder.path().join("disk")).expect("a folder");
    let program = ours!().netperf.display().to_string();
    let shell = ["--mount", "--", "sh", "-c", script, "sh", &program];
    let finished = Invocation::new(Path::new("/usr/bin/unshare"))
        .args(shell)
        .args(words)
        .folder(folder.path())
        .run();
    (finished.status.code(), finished.stderr, finished.stdout)
}

#[test]
fn full_disk_leaves_an_older_file_whole_and_names_the_way_out() {
    let unshare = Path::new("/usr/bin/unshare");
    if !require::root() || !require::require(unshare.exists(), "unshare", "install util-linux") {
        return;
    }
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests/samples/iperf3-tcp.json");
    let sample = std::fs::canonicalize(sample).expect("a sample");
    let sample = sample.to_string_lossy().into_owned();
    let way_out = "No space left on device; free space, or name a place on another disk";
    for words in [
        &["report", &sample, "-o", "old"][..],
        &["report", &sample, "--markdown", "old"],
        &["report", &sample, "--csv", "old"],
    ] {
        let (code, stderr, stdout) = on_a_small_disk(words);
        assert_eq!(code, Some(1), "{words:?}: {stderr}");
        assert!(
            stderr.contains(&format!("old: {way_out}")),
            "{words:?}: {stderr}"
        );
        // The older content, and no part of a new file.
        assert_eq!(stdout, "older\nfiller\nold\n", "{words:?}");
    }
    for (option, name) in [("--svg", "throughput.svg"), ("--png", "throughput.png")] {
        let (code, stderr, stdout) = on_a_small_disk(&["report", &sample, option, "."]);
        assert_eq!(code, Some(1), "{option}: {stderr}");
        assert!(
            stderr.contains(&format!("{name}: {way_out}")),
            "{option}: {stderr}"
        );
        assert_eq!(stdout, "older\nfiller\nold\n", "{option}");
    }
}
