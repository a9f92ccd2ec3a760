# Nix: `nix-build -E 'with import <nixpkgs> {}; callPackage ./dist/nix/package.nix {}'` in a
# checkout. Untested: it needs nixpkgs.
{
  lib,
  installShellFiles,
  rustPlatform,
}:

rustPlatform.buildRustPackage {
  pname = "netperf-rs";
  version = "0.1.0";

  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  buildType = "dist";
  cargoBuildFlags = [
    "--package"
    "netperf"
  ];

  nativeBuildInputs = [ installShellFiles ];

  # The tests need network namespaces, and programs of other packages.
  doCheck = false;

  postInstall = ''
    installManPage docs/man/*.1
    installShellCompletion --cmd netperf \
      --bash docs/completions/netperf.bash \
      --fish docs/completions/netperf.fish \
      --zsh docs/completions/_netperf
    install -Dm644 -t $out/lib/systemd/system dist/systemd/netserver.service dist/systemd/netserver.socket
    substituteInPlace $out/lib/systemd/system/netserver.service \
      --replace-fail /usr/local/bin/netserver $out/bin/netserver
  '';

  meta = {
    description = "Network performance benchmark, compatible with netperf 2.7";
    homepage = "https://github.com/netperf-rs/netperf";
    license = with lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "netperf";
    platforms = lib.platforms.linux;
    # Both have the programs netperf and netserver.
    priority = 6;
  };
}
