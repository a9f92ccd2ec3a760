//! Files that `netperf report` writes, and those that it does not.

use super::*;

#[test]
fn pictures_and_tables_are_written_where_they_are_asked_for() {
    let folder = Scratch::new();
    let sample = samples().join("tcp_rr.json");
    let sample = sample.to_string_lossy();
    let words = [
        &sample,
        "--svg",
        "a/svg",
        "--png=png",
        "--markdown",
        "all.md",
        "--csv",
        "all.csv",
    ];
    report(&folder, &words).run().expect_clean();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap_or_default();
    for name in [
        "throughput",
        "latency",
        "cpu",
        "tcp-window",
        "tcp-round-trip",
        "tcp-retransmitted",
    ] {
        assert!(
            read(&format!("a/svg/{name}.svg")).starts_with(b"<svg xmlns="),
            "{name}"
        );
        let png = read(&format!("png/{name}.png"));
        assert!(
            png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 5000,
            "{name}"
        );
        keep(&format!("{name}.png"), &png);
    }
    assert!(read("all.md").starts_with(b"# Results\n"));
    assert!(read("all.csv").starts_with(b"result,metric,series,"));
    // The page was not asked for.
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn pictures_are_the_same_on_a_host_without_fonts() {
    let unshare = Path::new("/usr/bin/unshare");
    if !require::root() || !require::require(unshare.exists(), "unshare", "install util-linux") {
        return;
    }
    let folder = Scratch::new();
    let sample = samples().join("iperf3-tcp.json");
    let words = ["report", &*sample.to_string_lossy(), "--png"];
    let command = Invocation::new(&ours!().netperf).args(words).arg("here");
    let patience = KEYS * 2;
    let command = command.folder(folder.path()).patience(patience);
    command.run().expect_clean();
    let without = "for folder in /usr/share/fonts /usr/local/share/fonts; do \
                   [ ! -d $folder ] || mount -t tmpfs none $folder; done && exec \"$0\" \"$@\"";
    let hidden = Invocation::new(unshare).args(["--mount", "--", "sh", "-c", without]);
    let hidden = hidden.arg(&ours!().netperf).args(words).arg("there");
    let hidden = hidden.folder(folder.path()).patience(patience);
    hidden.run().expect_clean();
    let read = |place: &str| {
        let path = folder.path().join(place).join("throughput.png");
        std::fs::read(path).expect("a picture")
    };
    assert!(read("here") == read("there"));
}

#[test]
#[ignore = "nightly: eight pictures in a browser"]
fn pictures_are_what_a_browser_can_show() {
    let folder = Scratch::new();
    let sample = samples().join("two_up.flent.gz");
    report(
        &folder,
        &[&sample.to_string_lossy(), "--svg", ".", "--png", "."],
    )
    .run()
    .expect_clean();
    let Some(browser) = Browser::start() else {
        return;
    };
    for name in ["throughput", "latency", "latency-over-time", "flows"] {
        let at = |ending: &str| format!("file://{}/{name}.{ending}", folder.path().display());
        browser.visit(&at("svg"));
        assert_eq!(
            browser.script("return document.documentElement.tagName"),
            "svg",
            "{name}"
        );
        assert_eq!(
            browser.script("return document.querySelector('parsererror')"),
            Value::Null
        );
        browser.visit(&at("png"));
        let size = browser
            .script("return [document.images[0].naturalWidth, document.images[0].naturalHeight]");
        assert!(
            size[0] == 1688 && size[1].as_f64() > Some(200.0),
            "{name}: {size}"
        );
        assert_eq!(browser.console(), [""; 0], "{name}");
    }
}

#[test]
fn the_page_goes_to_report_html_to_a_file_or_to_standard_output() {
    let folder = Scratch::new();
    let sample = samples().join("iperf3-tcp.json");
    let sample = sample.to_string_lossy();
    let named = report(&folder, &[&sample]).run().expect_exit(0);
    one_line(&named, "netperf report: wrote report.html");
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("the page");
    let printed = report(&folder, &["-o-", &sample]).run().expect_clean();
    assert_eq!(printed.stdout, page);
    let file = std::fs::File::open(&*sample).expect("a sample");
    let piped = report(&folder, &["-", "--output", "-"])
        .stdin(file)
        .run()
        .expect_clean();
    assert!(piped.stdout.contains("<h3>standard input</h3>"));
}

#[test]
fn results_without_a_chart_have_no_pictures_and_no_folder() {
    let folder = Scratch::new();
    let document = "{\"schema\": \"netperf-1\", \"test\": {\"name\": \"TCP_STREAM\"}, \
                    \"result\": {\"throughput_bits_per_second\": 1e9}}";
    std::fs::write(folder.path().join("plain.json"), document).expect("a file");
    for form in ["--svg", "--png"] {
        let finished = report(&folder, &["plain.json", form, "pictures"]).run();
        let finished = finished.expect_exit(0);
        one_line(
            &finished,
            "no picture was written: the results have no chart",
        );
        assert!(!folder.path().join("pictures").exists());
    }
}

#[test]
fn the_page_is_opened_by_the_program_of_the_desktop() {
    let folder = Scratch::new();
    let sample = samples().join("iperf3-tcp.json");
    let sample = sample.to_string_lossy();
    let program = folder.path().join("xdg-open");
    let script = "#!/bin/sh\necho \"$1\" >opened\n";
    std::fs::write(&program, script).expect("a program");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("own file");
    let open = |words: &[&str]| report(&folder, words).env("PATH", folder.path()).run();
    open(&[&sample, "--open", "-o", "-page.html"]).expect_clean();
    let opened = std::fs::read_to_string(folder.path().join("opened")).expect("it ran");
    assert_eq!(opened, "./-page.html\n");
    one_line(&open(&[&sample, "--open", "-o-"]), "give -o FILE");
    std::fs::remove_file(&program).expect("own file");
    let missing = open(&[&sample, "--open"]);
    one_line(&missing, "open report.html in a browser");
    assert!(folder.path().join("report.html").exists());
}

#[track_caller]
fn one_line(finished: &Finished, wanted: &str) {
    let said = &finished.stderr;
    assert!(
        said.contains(wanted) && said.lines().count() == 1,
        "{}",
        finished.account()
    );
    assert_eq!(finished.stdout, "");
}

#[test]
fn a_file_that_is_no_result_is_named_and_nothing_is_written() {
    let folder = Scratch::new();
    let good = samples().join("tcp_rr.json");
    let good = good.to_string_lossy();
    std::fs::write(folder.path().join("bad.json"), "{\"answer\": 42}").expect("a file");
    let finished = report(&folder, &[&good, "bad.json"]).run().expect_exit(2);
    one_line(
        &finished,
        "bad.json: JSON, but no result; expected what netperf --json",
    );
    let finished = report(&folder, &[&good, "none.json"]).run().expect_exit(2);
    one_line(&finished, "none.json: No such file or directory");
    assert!(!folder.path().join("report.html").exists());
    let finished = report(&folder, &[&good, "-o", "none/page.html"])
        .run()
        .expect_exit(1);
    one_line(&finished, "none/page.html: No such file or directory");
    report(&folder, &[]).run().expect_exit(2);
    report(&folder, &["--no-such", &good]).run().expect_exit(2);
}

#[test]
fn no_output_is_written_over_a_result_or_over_another_output() {
    let folder = Scratch::new();
    let sample = std::fs::read(samples().join("tcp_rr.json")).expect("a sample");
    std::fs::write(folder.path().join("a.json"), &sample).expect("a result");
    std::fs::hard_link(folder.path().join("a.json"), folder.path().join("b.json")).expect("a link");
    for (words, said) in [
        (&["a.json", "-o", "a.json"][..], "a.json: is an input"),
        (&["a.json", "--csv", "./b.json"], "./b.json: is an input"),
        (&["a.json", "-o", "x", "--csv", "./x"], "./x: is used twice"),
        (
            &["a.json", "--markdown", "-", "--csv", "-"],
            "-: is used twice",
        ),
    ] {
        let refused = report(&folder, words).run().expect_exit(2);
        one_line(&refused, said);
    }
    let kept = std::fs::read(folder.path().join("b.json")).expect("the result");
    assert!(kept == sample && !folder.path().join("x").exists());
    let both = ["a.json", "-o", "/dev/null", "--csv", "/dev/null"];
    report(&folder, &both).run().expect_clean();
}

#[test]
fn failed_writes_to_standard_output_are_reported() {
    let folder = Scratch::new();
    let sample = samples().join("tcp_rr.json");
    let sample = sample.to_string_lossy();
    for words in [&["report", "--csv", "-", &*sample][..], &["--help"]] {
        let lost = Invocation::new(Path::new("/bin/sh"))
            .args(["-c", "\"$0\" \"$@\" > /dev/full"])
            .arg(&ours!().netperf)
            .args(words)
            .folder(folder.path())
            .run()
            .expect_exit(1);
        let said = "netperf: standard output: No space left on device";
        one_line(&lost, said);
    }
}

#[test]
fn png_that_would_be_too_large_is_named_with_the_way_out_and_svg_has_it() {
    let folder = Scratch::new();
    let result = std::fs::read(samples().join("iperf3-udp.json")).expect("a result");
    std::fs::create_dir(folder.path().join("in")).expect("a folder");
    // Each result has two bars of CPU utilisation.
    for number in 0..180 {
        let name = folder.path().join(format!("in/{number}.json"));
        std::fs::write(name, &result).expect("a result");
    }
    let words = ["in", "--png", "png", "--svg", "svg"];
    let done = report(&folder, &words).run().expect_exit(1);
    let line = "netperf report: png/cpu.png is not written: 1688 x 33364 dots; a PNG picture has 8192 x \
                32768 at most; use --svg, or fewer results\n";
    assert_eq!(done.stderr, line);
    let is_written = |name: &str| folder.path().join(name).exists();
    assert!(is_written("png/throughput.png") && !is_written("png/cpu.png"));
    assert!(is_written("svg/throughput.svg") && is_written("svg/cpu.svg"));
}
