//! `netperf report` of real runs, and its page in a real browser.

mod outputs;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::{Browser, Finished, Invocation, Scratch, eventually, note, ours, require};
use serde_json::{Value, json};

pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests/samples")
}

/// `netperf report` in a folder.
pub(crate) fn report(folder: &Scratch, words: &[&str]) -> Invocation {
    let command = Invocation::new(&ours!().netperf).arg("report").args(words);
    // A build without optimisation draws pictures for seconds, and more on a busy machine.
    command.folder(folder.path()).patience(KEYS * 2)
}

/// Results of two real runs in a folder: `rr.json` and `stream.jsonl`.
fn two_runs(folder: &Scratch) {
    let server = ours!().serve();
    for (name, words) in [
        ("rr.json", "-t TCP_RR -c -C -j --json"),
        ("stream.jsonl", "-t TCP_STREAM -c -C -j --json-stream"),
    ] {
        let finished = ours!()
            .client_of(&server)
            .args(["--time", "500ms", "-D", "0.05"])
            .args(words.split(' '))
            .run()
            .expect_clean();
        std::fs::write(folder.path().join(name), finished.stdout).expect("a result");
    }
}

/// Keeps a screenshot where continuous integration finds it. A user may not write where the tests
/// were built.
pub(crate) fn keep(name: &str, picture: &[u8]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(name), picture));
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            note(&format!("{name} is not kept: {error}"));
        }
        written => written.expect("a picture"),
    }
}

/// Texts of charts that are seen and run into one another or out of the chart, and
/// charts without numbers and units at their axes.
pub(crate) const FAULTS: &str = r#"
const faults = [];
const seen = [...document.querySelectorAll("svg.chart")].filter((chart) => chart.getBoundingClientRect().width > 0);
if (seen.length !== document.querySelectorAll("figure").length) faults.push("charts that are seen: " + seen.length);
for (const chart of seen) {
  const name = chart.getAttribute("aria-label");
  const own = chart.getBoundingClientRect();
  const texts = [...chart.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  for (const [text, box] of texts) {
    if (box.left < own.left - 1 || box.right > own.right + 1 || box.bottom > own.bottom + 1)
      faults.push(name + ": " + text + " is outside");
    if (box.height < 11) faults.push(name + ": " + text + " is too small to be read");
    for (const [other, at] of texts)
      if (box !== at && box.left < at.right - 1 && at.left < box.right - 1 && box.top < at.bottom - 3 && at.top < box.bottom - 3)
        faults.push(name + ": " + text + " is on " + other);
  }
  // Bars have numbers at one axis only.
  if (chart.querySelectorAll(".tick").length < 3) faults.push(name + ": no numbers at its axes");
  if (!chart.querySelector(".name")) faults.push(name + ": its axes have no names");
}
if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the window");
return faults;
"#;

/// Visits a page in a window of this width, by day or by night: all is where it should be.
#[track_caller]
fn visit(browser: &Browser, address: &str, (name, width, dark): (&str, u32, bool)) {
    browser.screen(width, dark);
    browser.visit(address);
    assert_eq!(browser.script(FAULTS), json!([]), "{name}");
}

/// Leaves the page, which has complained of nothing and asked for nothing else.
#[track_caller]
fn leave(browser: &Browser, address: &str, name: &str) {
    keep(&format!("{name}.png"), &browser.picture());
    assert_eq!(browser.console(), [""; 0], "{name}");
    assert_eq!(browser.requests(), [address], "{name}");
}

pub(crate) const BACKGROUND: &str = "return getComputedStyle(document.body).backgroundColor";
pub(crate) const LIGHT: &str = "rgb(255, 255, 255)";
pub(crate) const DARK: &str = "rgb(21, 25, 31)";

/// Creates the page of a sample in this folder, and returns its address and a browser.
pub(crate) fn sample_page(folder: &Scratch) -> Option<(Browser, String)> {
    let sample = samples().join("tcp_rr.json");
    report(folder, &[&sample.to_string_lossy(), "-o", "page.html"])
        .run()
        .expect_clean();
    let address = format!("file://{}/page.html", folder.path().display());
    Some((Browser::start()?, address))
}

/// Time limit for keys to have their effect.
pub(crate) const KEYS: Duration = Duration::from_secs(60);

#[test]
#[ignore = "nightly: six windows of a browser"]
fn the_page_of_real_runs_is_in_order_in_windows_of_every_width() {
    let windows = [
        ("light", 1000, false),
        ("dark", 1000, true),
        ("two-columns", 1200, false),
        ("two-columns-dark", 1440, true),
        ("narrow-light", 360, false),
        ("narrow-dark", 360, true),
    ];
    let folder = Scratch::new();
    two_runs(&folder);
    report(&folder, &["rr.json", "stream.jsonl", "-o", "page.html"])
        .run()
        .expect_clean();
    let Some(browser) = Browser::start() else {
        return;
    };
    let address = format!("file://{}/page.html", folder.path().display());
    for (name, width, dark) in windows {
        visit(&browser, &address, (name, width, dark));
        let background = browser.script(BACKGROUND);
        assert_eq!(background, if dark { DARK } else { LIGHT }, "{name}");
        let legends = browser.script(
            "return [...document.querySelectorAll('svg.chart .label')].map((text) => text.textContent)",
        );
        for label in ["rr", "stream", "user", "system"] {
            let labels = legends.as_array().expect("a list");
            assert!(
                labels.contains(&json!(label)),
                "{name}: {label} in {labels:?}"
            );
        }
        let columns = browser.script(
            "return getComputedStyle(document.querySelector('.figures')).gridTemplateColumns",
        );
        let columns = columns.as_str().unwrap_or_default().split(' ').count();
        assert_eq!(columns, if width < 1200 { 1 } else { 2 }, "{name}");
        assert_eq!(browser.script(ENLARGED), json!([]), "{name}");
        leave(&browser, &address, name);
    }
}

/// Enlarges each chart and closes it again, by its button and by the key Escape.
const ENLARGED: &str = r#"
const faults = [];
for (const figure of document.querySelectorAll("figure")) {
  const name = figure.querySelector("figcaption").textContent;
  const button = figure.querySelector("button.enlarge");
  const width = () => figure.getBoundingClientRect().width;
  const before = width();
  button.click();
  if (width() < innerWidth - 30) faults.push(name + " is not as wide as the window");
  if (figure.querySelector("svg.wide").getBoundingClientRect().width < 590) faults.push(name + " is small");
  button.click();
  if (width() !== before) faults.push(name + " stays large after a second click");
  button.click();
  button.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  if (width() !== before) faults.push(name + " stays large after Escape");
}
return faults;
"#;

/// Script that lists drawings of `--until` outside of their card, over other drawings, or
/// without a size.
const UNTIL_FAULTS: &str = r##"
const faults = [];
const cards = [...document.querySelectorAll("#until .card")];
if (cards.length !== 2) faults.push("cards: " + cards.length);
for (const card of cards) {
  const own = card.getBoundingClientRect();
  for (const part of card.querySelectorAll("h3, .headline, dt, dd, li, li i, li b")) {
    const box = part.getBoundingClientRect();
    if (box.left < own.left || box.right > own.right) faults.push(part.outerHTML + " is outside");
  }
  const words = [...card.querySelectorAll("li span")].map((span) => span.getBoundingClientRect());
  for (const one of words) for (const other of words)
    if (one !== other && one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 3 && other.top < one.bottom - 3)
      faults.push("names of bars overlap");
  const bars = [...card.querySelectorAll("li b")].map((bar) => bar.getBoundingClientRect());
  if (!bars.length || bars.some((bar) => bar.height < 4)) faults.push("bars: " + bars.length);
}
if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the window");
return faults;
"##;

#[test]
fn runs_that_went_on_until_they_were_known_have_a_card_that_says_how_well() {
    let page = page_with_cards(&Scratch::new());
    for words in ["too noisy", "known", "bimodal"] {
        assert!(page.contains(words), "{words}");
    }
}

/// The page of two runs with `--until`, one that reached its precision and one that did not. Its
/// tables say the same.
fn page_with_cards(folder: &Scratch) -> String {
    let text = std::fs::read_to_string(samples().join("tcp_rr.json")).expect("a sample");
    let known = |value: f64, half: f64| {
        json!({ "value": value, "half_width": half, "half_width_percent": half / value * 100.0,
            "batch_values": 8, "batches": 90 })
    };
    let until = |end: &str, half: f64, low: Value| {
        json!({ "end": end, "wanted_percent": 2.0, "confidence_percent": 95.0, "seconds": 7.35,
            "interval_seconds": 0.01, "values": 735, "warm_up_values": 15,
            "warm_up_seconds": 0.15, "correlation": 0.62,
            "course": if low.is_null() { "stable" } else { "bimodal" }, "drift_percent": null,
            "low_throughput": low, "high_throughput": 90_000.0, "high_share_percent": 40.0,
            "throughput": known(59_130.12, half), "throughput_unit": "Trans/s",
            "percentiles": [{ "percent": 50.0, "seconds": known(16.511e-6, 0.05e-6) },
                { "percent": 99.9, "seconds": null }],
            "would_take_seconds": if low.is_null() { Value::Null } else { json!(9000.0) } })
    };
    for (name, until) in [
        ("known.json", until("reached", 500.0, Value::Null)),
        ("noisy.json", until("too noisy", 9_000.0, json!(40_000.0))),
    ] {
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        document["until"] = until;
        std::fs::write(folder.path().join(name), document.to_string()).expect("a file");
    }
    let words = ["known.json", "noisy.json", "-o", "page.html"];
    let words = [&words[..], &["--markdown", "all.md", "--csv", "all.csv"]].concat();
    report(folder, &words).run().expect_clean();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    let (markdown, csv) = (read("all.md"), read("all.csv"));
    assert!(markdown.contains("## Until the result is known\n\n### known\n\nreached\n"));
    assert!(markdown.contains("### noisy\n\ntoo noisy\n"), "{markdown}");
    let half = "\"known\",\"known within, half the width\",\"latency, 50";
    assert!(csv.contains(half), "{csv}");
    read("page.html")
}

#[test]
#[ignore = "nightly: three windows of a browser"]
fn runs_that_went_on_until_they_were_known_have_a_card_in_every_window() {
    let folder = Scratch::new();
    page_with_cards(&folder);
    let Some(browser) = Browser::start() else {
        return;
    };
    let address = format!("file://{}/page.html", folder.path().display());
    for (name, width, dark) in [
        ("light", 1000, false),
        ("dark", 1000, true),
        ("narrow-dark", 360, true),
    ] {
        visit(&browser, &address, (name, width, dark));
        assert_eq!(browser.script(UNTIL_FAULTS), json!([]), "{name}");
        let said = browser.script("return document.getElementById('until').innerText");
        let said = said.as_str().unwrap_or_default();
        for words in [
            "reached",
            "too noisy",
            "±2\u{a0}%",
            "stable",
            "about 150\u{a0}minutes",
            "unknown",
            "95",
            "warm-up",
            "latency, 50",
        ] {
            assert!(said.contains(words), "{name}: {words} in {said}");
        }
        let name = format!("until-{name}");
        leave(&browser, &address, &name);
    }
}

#[test]
#[ignore = "nightly: four windows of a browser"]
fn the_page_of_a_sweep_is_in_order_by_day_by_night_and_in_a_hand() {
    let folder = Scratch::new();
    let server = ours!().serve();
    let port = server.port().to_string();
    let swept = |name: &str, over: &[&str], option: &str, value: &str| {
        Invocation::new(&ours!().netperf)
            .args(["sweep", "-o", name, "--repeat", "2"])
            .args(over)
            .args(["--", "-H", "127.0.0.1", "-p", &port, "--time", "50ms"])
            .args(["-t", "{t}", "-j", "-c", "--", option, value])
            .folder(folder.path())
            .run()
            .expect_clean();
    };
    let over = ["--over", "r=1,64,4K", "--over", "t=TCP_RR,UDP_RR"];
    swept("lines", &over, "-r", "{r}");
    let over = ["--over", "t=UDP_STREAM,TCP_STREAM"];
    swept("bars", &over, "-m", "1K");
    let Some(browser) = Browser::start() else {
        return;
    };
    for (page, narrow) in [("lines", 360), ("bars", 600)] {
        let address = format!("file://{}/{page}/report.html", folder.path().display());
        for (name, width, dark) in [("light", 1000, false), ("narrow-dark", narrow, true)] {
            let name = format!("sweep-{page}-{name}");
            visit(&browser, &address, (&name, width, dark));
            leave(&browser, &address, &name);
        }
    }
}

#[test]
#[ignore = "nightly: four windows of a browser"]
fn every_kind_of_file_makes_a_page_in_which_nothing_overlaps_in_any_window() {
    let windows = [
        ("many", 1000, false),
        ("many", 360, true),
        ("flent", 1000, false),
        ("flent", 360, true),
    ];
    let folder = Scratch::new();
    let samples = samples();
    let all: Vec<String> = [
        "tcp_rr.json",
        "tcp_stream.jsonl",
        "failed.json",
        "iperf3-tcp.json",
        "iperf3-bidir.json",
        "iperf3-udp.json",
        "two_up.flent.gz",
    ]
    .iter()
    .map(|name| samples.join(name).to_string_lossy().into_owned())
    .collect();
    let mut words: Vec<&str> = all.iter().map(String::as_str).collect();
    words.extend(["-o", "many.html"]);
    report(&folder, &words).run().expect_clean();
    report(&folder, &[&all[6], "-o", "flent.html"])
        .run()
        .expect_clean();
    let Some(browser) = Browser::start() else {
        return;
    };
    for (page, width, dark) in windows {
        let address = format!("file://{}/{page}.html", folder.path().display());
        let name = format!("{page}-{width}");
        visit(&browser, &address, (&name, width, dark));
        leave(&browser, &address, &name);
    }
}

#[test]
fn the_page_is_used_by_keyboard_and_its_colours_are_chosen_there() {
    let folder = Scratch::new();
    let Some((browser, address)) = sample_page(&folder) else {
        return;
    };
    browser.screen(1000, false);
    browser.visit(&address);
    browser.focus();
    // By the tabulator alone a reader gets to the choice of colours, to the chart and on
    // to its table. Where a key changes nothing, as before the page is drawn, it is pressed again.
    let mut reached: Vec<String> = Vec::new();
    let chart = || browser.script("return document.activeElement.tagName") == "svg";
    let gets_there = eventually(KEYS, || {
        browser.press("Tab", 9);
        let what = browser.script(
            "const e = document.activeElement; return e.id || e.getAttribute('aria-label') || e.textContent",
        );
        reached.push(what.as_str().unwrap_or_default().to_owned());
        what == "Transactions over time" && chart()
    });
    assert!(gets_there, "{reached:?}");
    for wanted in [
        "To the results",
        "theme-system",
        "Summary",
        "Transactions over time",
    ] {
        assert!(
            reached.iter().any(|what| what == wanted),
            "{wanted} in {reached:?}"
        );
    }
    let tip = |what: &str| browser.script(&format!("return document.getElementById('tip').{what}"));
    let told = eventually(KEYS, || {
        browser.press("ArrowRight", 39);
        let text = tip("textContent");
        text.as_str()
            .is_some_and(|text| text.contains("transactions/s at"))
    });
    assert!(told, "{}", tip("textContent"));
    let hidden = eventually(KEYS, || {
        browser.press("Escape", 27);
        tip("hidden") == true
    });
    assert!(hidden, "{}", tip("textContent"));
    for (theme, background) in [("dark", DARK), ("light", LIGHT)] {
        browser.script(&format!(
            "document.querySelector('label[for=theme-{theme}]').click()"
        ));
        let shown = eventually(KEYS, || browser.script(BACKGROUND) == background);
        assert!(shown, "{theme}: {}", browser.script(BACKGROUND));
    }
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn report_never_runs_text_of_a_file() {
    let folder = Scratch::new();
    let text = std::fs::read_to_string(samples().join("tcp_rr.json")).expect("a sample");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let hostile = "</script><script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">";
    for place in [
        "/command_line",
        "/brand",
        "/test/name",
        "/local/name",
        "/remote/host/release",
        "/uuid",
    ] {
        *document.pointer_mut(place).expect(place) = json!(hostile);
    }
    let name = "<img src=x onerror=alert(1)>.json";
    std::fs::write(folder.path().join(name), document.to_string()).expect("a file");
    report(&folder, &[name, "-o", "page.html"])
        .run()
        .expect_clean();
    let Some(browser) = Browser::start() else {
        return;
    };
    let address = format!("file://{}/page.html", folder.path().display());
    browser.visit(&address);
    assert_eq!(
        browser.script("return document.images.length + document.scripts.length"),
        1
    );
    assert_eq!(browser.console(), [""; 0]);
    assert_eq!(browser.requests(), [address]);
    // Even a script that got into the page would not be let run.
    browser.script("const s = document.createElement('script'); s.textContent = 'document.title=\"run\"'; document.body.append(s)");
    assert_ne!(browser.script("return document.title"), "run");
}
