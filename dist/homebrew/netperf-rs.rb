# Homebrew on Linux: `brew install --HEAD ./dist/homebrew/netperf-rs.rb`. Untested: it needs
# Homebrew. A release adds its `url` and `sha256`.
class NetperfRs < Formula
  desc "Network performance benchmark, compatible with netperf 2.7"
  homepage "https://github.com/netperf-rs/netperf"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/netperf-rs/netperf.git", branch: "main"

  depends_on "rust" => :build
  depends_on :linux

  conflicts_with "netperf", because: "both install `netperf` and `netserver`"

  def install
    system "cargo", "install", "--profile", "dist", *std_cargo_args(path: "crates/netperf")
    man1.install Dir["docs/man/*.1"]
    bash_completion.install "docs/completions/netperf.bash" => "netperf"
    fish_completion.install "docs/completions/netperf.fish"
    zsh_completion.install "docs/completions/_netperf"
  end

  service do
    run [opt_bin/"netserver", "-D"]
    keep_alive true
  end

  test do
    output = shell_output("#{bin}/netperf -t TCP_RR -l -10 -P 0 -v 0")
    assert_match(/^\d+\.\d\d/, output)
  end
end
