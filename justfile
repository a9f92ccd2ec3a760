# Development commands; continuous integration uses the same ones.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Seconds each fuzz target gets in `just fuzz`.
fuzz_seconds := "10"

# The cargo profile of `just instructions`: release or dist.
profile := "release"

# The list of recipes.
default:
    @just --list --unsorted

# Run a measurement, with a private netserver on loopback.
measure *options:
    cargo run --release -- {{ options }}

# All tests.
[no-exit-message]
test *filters:
    cargo test --workspace {{ filters }}

# Run the tests that are too long for a landing (ignored as "nightly"), without those that have a
# recipe of their own below; as root.
[no-exit-message]
night *filters: classic-build
    NETPERF_CLASSIC_DIR="$PWD/target/classic/debug" cargo test --workspace --no-fail-fast -- \
        {{ filters }} --ignored --test-threads=4 --skip truth:: \
        --skip attacks:: --skip campaign_clocks:: --skip campaign_outliers::one_slow \
        --skip campaign_scale::five_hundred --skip campaign_scale::the_cells_of_a_thousand \
        --skip campaign_failures::two_hundred --skip scale::a_campaign_of_many_agents \
        --skip scale::one_netserver_serves_thousands

# Check figures against known truths and print a table: all, landing (part of each change) or night; as root.
[no-exit-message]
truth part="all" *filters="truth::":
    #!/usr/bin/env bash
    set -euo pipefail
    case {{ part }} in
    all) which=--include-ignored ;;
    landing) which= ;;
    night) which=--ignored ;;
    *) echo "just truth: no such part: {{ part }}" >&2; exit 2 ;;
    esac
    export NETPERF_TRUTH_TABLE="$PWD/target/truth.md"
    : >"$NETPERF_TRUTH_TABLE"
    status=0
    # Most of the time of a test is waiting.
    # The whole workspace, so that `cargo test --workspace` compiles nothing again.
    cargo test --workspace --test it -- {{ filters }} $which --test-threads=12 || status=$?
    printf '\n| theme | claim | truth | got | tolerance |\n|---|---|---|---|---|\n'
    sort "$NETPERF_TRUTH_TABLE"
    exit "$status"

# Run command lines of scripts with the originals and with this program, side by side, and print a
# table (docs/consumers.md); as root.
field:
    cargo build -p netperf
    lab/field

# Run clients, servers and parsers of others, unmodified, with this program and against it; as root.
libraries *checks:
    cargo build -p netperf
    lab/libraries/run {{ checks }}

# Let members and coordinators of campaigns fail in all states, so many times; as root.
[no-exit-message]
campaign-failures count="200":
    NETPERF_CAMPAIGN_FAILURES={{ count }} cargo test --workspace --test it \
        campaign_failures::two_hundred -- --ignored --nocapture

# Repeat campaigns of 16 hosts with a slow sender, a slow path and neither, and count what is
# reported; as root, about half an hour on a machine that does nothing else.
[no-exit-message]
campaign-outliers count="20":
    cargo build --release -p netperf
    NETPERF_STAND_IN_DIR="$PWD/target/release" NETPERF_CAMPAIGN_OUTLIERS={{ count }} \
        cargo test --workspace --test it campaign_outliers::one_slow -- --ignored --nocapture

# Judge how exactly campaigns know clocks and begin loads together, with optimised programs; as
# root, on a machine that does nothing else.
[no-exit-message]
campaign-clocks:
    cargo build --profile dist -p netperf
    NETPERF_STAND_IN_DIR="$PWD/target/dist" cargo test --workspace --test it \
        campaign_clocks:: -- --ignored --test-threads=1 --nocapture

# Attack three kinds of netserver with everything, one kind of attack after the other; as root. The
# programs are built as packages have them: how long a session takes to start is part of the rates.
# Without filters also what is judged by rates and times, on a machine that does nothing else.
[no-exit-message]
attacks *filters="attacks:: guard::":
    cargo build --profile dist -p netperf
    NETPERF_STAND_IN_DIR="$PWD/target/dist" cargo test --workspace --test it \
        -- {{ filters }} --ignored --test-threads=1 --nocapture

# Agree with 500 agents within 5 s, and stream the cells of 1,000 agents, in bounded memory; on an
# idle machine.
[no-exit-message]
campaign-scale:
    cargo test --release -p netperf --test it campaign_scale -- --ignored --nocapture

# Run the tests of the crates with property tests, with new random cases.
[no-exit-message]
properties:
    PROPTEST_CASES=512 PROPTEST_RNG_SEED=$(shuf -i 0-4294967295 -n 1) cargo test \
        -p netperf-arguments -p netperf-cli -p netperf-engine -p netperf-iperf2 -p netperf-measure \
        -p netperf-model -p netperf-report -p netperf-session -p netperf-web -p netperf-wire

# Let tests find small changes (mutants) of the code that differs from BASE; .ci/mutants says which.
[no-exit-message]
mutants base="":
    .ci/mutants changed {{ base }}

# Let the tests of a crate find about COUNT small changes of its code, drawn at random.
[no-exit-message]
mutants-of crate count="25":
    .ci/mutants of {{ crate }} {{ count }}

# Run test suites between hosts with a slow router, made of namespaces; as root.
[no-exit-message]
lab-netns *suites="lab":
    lab/suites netns {{ suites }}

# Run whole programs in virtual time under Shadow: all such tests, `just lab-shadow seed 7`, or
# `just lab-shadow runs 5000`, or `just lab-shadow scale`. Needs `shadow` on PATH (lab/shadow/README.md).
[no-exit-message]
lab-shadow *options:
    lab/shadow/run {{ options }}

# Run campaigns over ssh and with Ansible between hosts made of namespaces; as root. Needs
# openssh-server and ansible-core.
[no-exit-message]
lab-ssh *suites="ssh_lab":
    lab/suites ssh {{ suites }}

# Run campaigns with Slurm and mpirun between hosts made of namespaces; as root. Needs
# openssh-server, slurm-wlm, munge and openmpi-bin.
[no-exit-message]
lab-slurm *suites="slurm_lab":
    lab/suites slurm {{ suites }}

# Run test suites in a virtual machine whose kernel has every transport, and netem.
[no-exit-message]
lab-vm *suites="lab matrix flow_connections sctp_lab ktls_lab link hardware_stamps":
    lab/suites vm {{ suites }}

# Test the units in dist/systemd under systemd, in that virtual machine.
[no-exit-message]
lab-systemd:
    lab/suites vm systemd

# Check dist/kubernetes with an API server; run them on a node (`just lab-k8s node`), or campaigns
# on three (`just lab-k8s cluster`); as root.
[no-exit-message]
lab-k8s *options="check":
    lab/kubernetes/run {{ options }}

# Formatting, lints and dependencies.
lint: fmt clippy deny

# Formatting.
fmt:
    cargo fmt --all --check

# Lints; a warning is an error.
clippy:
    cargo clippy --workspace --all-targets --all-features -- -D warnings

# Tests of optional features.
features names="postgres":
    cargo test -p netperf-history --features {{ names }}

# The small build for routers against netperf 2.7.0.
classic: classic-build
    cargo clippy -p netperf --no-default-features --features classic -- -D warnings
    # The whole workspace, so that `cargo test --workspace` compiles nothing again.
    NETPERF_STAND_IN_DIR="$PWD/target/classic/debug" cargo test --workspace --test it -- interop:: --include-ignored \
        --skip our_ends --skip small

[private]
classic-build:
    # Other lints of it are for the night (`just classic`).
    RUSTFLAGS="${RUSTFLAGS:-} -D warnings" cargo build -p netperf --no-default-features --features classic --target-dir target/classic

# Lines of code of each crate, and sizes of netserver: below 4 MB, and below 1.5 MB in the small build.
sizes:
    cargo run -q -p xtask -- code-lines
    cargo build --profile dist -p netperf
    just size-of target 4000000
    cargo build --profile dist -p netperf --no-default-features --features classic --target-dir target/classic
    just size-of target/classic 1500000

[private]
size-of folder most:
    strip -o {{ folder }}/netserver.stripped {{ folder }}/dist/netserver
    stat -c '%s bytes, stripped: %n' {{ folder }}/netserver.stripped
    test "$(stat -c %s {{ folder }}/netserver.stripped)" -lt {{ most }}

# Build the packages, the static programs and the image of a release in target/packages. Needs
# cargo-deb and cargo-generate-rpm, and for arm64 gcc-aarch64-linux-gnu.
dist:
    dist/package

# Build everything of a release, with its notes, in target/packages. A tag v* does the same in
# .github/workflows/release.yml, and publishes it.
release:
    dist/release

# Check the workflows; needs actionlint.
workflows:
    actionlint

# Check them: contents with lintian and rpmlint; as root, installation in a fresh Debian.
dist-check:
    dist/check contents
    dist/check installs

# Check the recipes for OpenWrt, Nix, Homebrew and Arch Linux. Needs shellcheck, ruby and nix-bin.
dist-recipes:
    dist/recipes

# Build them twice and compare.
dist-twice:
    dist/twice

# Check that the oldest supported compiler, Debian's Rust 1.85, builds everything.
msrv:
    RUSTC="$(lab/debian-rust)" cargo check --workspace --all-targets --all-features

# Build for another architecture (arm64, armhf, i386, s390x) and test it under emulation; as root.
[no-exit-message]
cross arch:
    lab/cross {{ arch }}

# Licences, sources and versions of all dependencies; duplicate versions are reported.
deny:
    cargo deny check --hide-inclusion-graph bans licenses sources

# Known vulnerabilities of all dependencies, and direct ones that nobody maintains. Needs the network.
advisories:
    cargo deny check --hide-inclusion-graph advisories

# Generate the files in docs/ from tables in the code.
gen *options:
    cargo run -q -p xtask -- gen {{ options }}

# Build the manual as HTML, in docs/manual/book. Needs mdbook with its feature search.
manual:
    mdbook build docs/manual
    grep -rl "time-series.html" docs/manual/book --include='searchindex*.js'
    grep -q "<td>iperf3</td>\|<th>iperf3</th>" docs/manual/book/introduction.html

# Run every fuzz target once on every input of its corpus. Needs no cargo-fuzz and no sanitizer.
fuzz-corpus:
    CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-line-tables-only}" cargo build --manifest-path fuzz/Cargo.toml --target-dir target
    for inputs in fuzz/corpus/*; do "target/debug/$(basename "$inputs")" "$inputs"/* 2>&1 | tail -n 20; done

# Run every fuzz target for a short time, without a nightly compiler. Needs cargo-fuzz.
fuzz:
    for target in $(cargo fuzz list); do just fuzz-one "$target" {{ fuzz_seconds }}; done

# Run one fuzz target for a number of seconds.
fuzz-one target seconds:
    RUSTC_BOOTSTRAP=1 cargo fuzz run {{ target }} -- -max_total_time={{ seconds }}

# Measure the throughput of an honest client beside malicious ones (--help for options).
bench-hostile *options:
    cargo build --profile dist -p netperf
    cargo run --release -q -p xtask -- bench-hostile {{ options }}

# Count the false alarms of `netperf run` for identical configurations.
bench-alarms *options:
    cargo build --profile dist -p netperf
    cargo run --release -q -p xtask -- bench-alarms {{ options }}

# Time the queries of a history of 100,000 results (--help for options).
bench-history *options:
    cargo build --profile dist -p netperf
    cargo run --release -q -p xtask -- bench-history {{ options }}

# Compare with netperf 2.7.0, iperf3, iperf and sockperf, alternately (--help for options).
bench *options:
    cargo build --profile dist -p netperf
    cargo run -q -p xtask -- bench {{ options }}

# Count the client's user-space instructions per transaction and per send, here and in netperf
# 2.7.0. `just profile=dist instructions` counts the programs of a release.
instructions *options:
    cargo build --profile {{ profile }} -p netperf
    cargo run -q -p xtask -- instructions --profile {{ profile }} {{ options }}

# Create a sample report of real runs, with images and tables.
report-sample folder="target/report-sample":
    mkdir -p {{ folder }}
    cargo run --release -q -p netperf -- -t TCP_RR -l 5 -D 0.1 -c -C -j --json >{{ folder }}/rr.json
    cargo run --release -q -p netperf -- -t TCP_RR -l 5 -D 0.1 -c -C -j --json -- -r 1,16K >{{ folder }}/rr-16k.json
    cargo run --release -q -p netperf -- -t TCP_STREAM -l 5 -D 0.1 -c -C -j --json >{{ folder }}/stream.json
    cargo run --release -q -p netperf -- report {{ folder }}/*.json -o {{ folder }}/report.html \
        --svg {{ folder }} --markdown {{ folder }}/report.md --csv {{ folder }}/report.csv
    @echo "{{ folder }}/report.html"
