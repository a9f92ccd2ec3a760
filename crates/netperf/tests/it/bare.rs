//! Hosts on which something is missing that others have, or that have more than one way
//! to another.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Programs, Scratch, TwoHosts, ours, require,
};

/// A netserver that is started by way of a script.
struct Odd {
    server: Netserver,
    _folder: Scratch,
}

impl Odd {
    /// `script` has netserver as `$0` and its words as `$@`.
    fn start(script: &str) -> Self {
        let folder = Scratch::new();
        let path = folder.path().join("netserver");
        let netserver = ours!().netserver;
        let text = format!("#!/bin/sh\nexec {script}\n").replace("$0", &quoted(&netserver));
        std::fs::write(&path, text).expect("a script");
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, runs).expect("a script that runs");
        let programs = Programs {
            netserver: path,
            ..ours!()
        };
        Self {
            server: Netserver::start(&programs, &Place::Here),
            _folder: folder,
        }
    }

    fn without_proc() -> Self {
        Self::start(r#"unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh $0 "$@""#)
    }

    fn run(&self, words: &[&str]) -> Finished {
        let client = ours!().client_of(&self.server);
        client.args(["--time", "100ms"]).args(words).run()
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

#[test]
fn netserver_serves_where_there_is_no_proc_and_refuses_what_needs_it() {
    if !require::root() {
        return;
    }
    let odd = Odd::without_proc();
    odd.run(&["-P", "0", "-v", "0"]).expect_clean();
    let refused = odd.run(&["-C", "-P", "0"]).expect_exit(255);
    assert_eq!(refused.stdout, "netperf: remote error 2");
    let looper = ["-t", "REM_CPU", "--cpu-method", "looper"];
    let refused = odd.run(&looper).expect_exit(1);
    assert_eq!(refused.stdout, "");
    assert_eq!(
        refused.stderr,
        "netperf: netserver could not calibrate its CPUs\n"
    );
}

#[test]
fn data_of_connections_may_take_another_way_and_datagrams_of_netserver_may_not_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    let second = "198.18.0.9";
    let address = ["address", "add", "198.18.0.9/24", "dev", TwoHosts::CABLE];
    let ip = Invocation::new(Path::new("ip")).args(address);
    ip.within(&hosts.client()).run().expect_clean();
    let closed = Netserver::start(&ours!(), &hosts.server());
    let open = ["-D", "--data-peers", "any"];
    let open = Netserver::start_with(&ours!(), &hosts.server(), &open, &[]);
    let run = |server: &Netserver, test: &str| {
        let port = server.port().to_string();
        let client = Invocation::new(&ours!().netperf).within(&hosts.client());
        let client = client.args(["-H", TwoHosts::SERVER_V4, "-p", &port, "-t", test]);
        let client = client.args(["--time", "100ms", "-P", "0"]);
        client.args(["--", "-L", second]).run()
    };
    for test in ["TCP_STREAM", "TCP_RR", "UDP_STREAM"] {
        run(&open, test).expect_clean();
        run(&closed, test).expect_clean();
    }
    run(&open, "UDP_RR").expect_clean();
    let refused = run(&closed, "UDP_RR").expect_exit(1);
    assert!(refused.stderr.contains("--data-peers"), "{refused:?}");
}

#[test]
fn flows_for_which_there_are_no_ports_are_no_flows_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    let few = "echo 40000 40009 > /proc/sys/net/ipv4/ip_local_port_range";
    let set = Invocation::new(Path::new("sh")).args(["-c", few]);
    set.within(&hosts.client()).run().expect_clean();
    let server = Netserver::start(&ours!(), &hosts.server());
    let port = server.port().to_string();
    let client = Invocation::new(&ours!().netperf).within(&hosts.client());
    let client = client.args(["-H", TwoHosts::SERVER_V4, "-p", &port, "-t", "UDP_RR"]);
    let refused = client
        .args(["--flows", "20", "--time", "100ms", "-P", "0"])
        .run();
    let refused = refused.expect_exit(1);
    assert!(
        refused.stderr.contains("Address already in use"),
        "{refused:?}"
    );
}
