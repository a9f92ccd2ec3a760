//! Scripts that people have for iperf3: a Python program that reads `iperf3 -J`.

use super::*;

const PROGRAM: &str = include_str!("../../scripts/iperf3_client.py");

#[test]
fn a_python_program_that_reads_json_runs_with_the_link() {
    let python = Path::new("/usr/bin/python3");
    if !require(python.exists(), "python3", "install Python 3") {
        return;
    }
    let scratch = Scratch::new();
    let own = link(&scratch);
    let program = scratch.path().join("client.py");
    std::fs::write(&program, PROGRAM).expect("a file");
    let clients = stock().into_iter().chain(std::iter::once(own.clone()));
    for client in clients {
        // The original is not judged with itself.
        let stock_server = stock().filter(|_| client == own);
        let servers = [
            stock_server.map(|program| Server::stock(&program)),
            Some(Server::ours(&[])),
        ];
        for server in servers.into_iter().flatten() {
            let folder = client.parent().expect("a folder");
            let path = format!("{}:/usr/bin:/bin", folder.display());
            let finished = Invocation::new(python)
                .arg(&program)
                .args(["127.0.0.1", &server.port().to_string()])
                .env("PATH", &path)
                .patience(PATIENCE)
                .run();
            assert_eq!(finished.status.code(), Some(0), "{}", finished.account());
            assert_eq!(finished.stderr, "", "{}", finished.account());
            let lines: Vec<&str> = finished.stdout.lines().collect();
            let figures = [
                "tcp sent_bytes 65536 arrived True retransmits",
                "udp packets 20 lost_packets 0 jitter_ms",
                "reverse streams 2 positive True",
                "failed unable to connect to server",
            ];
            assert_eq!(lines.len(), figures.len(), "{}", finished.account());
            for (line, figure) in lines.iter().zip(figures) {
                assert!(line.starts_with(figure), "{}", finished.account());
            }
        }
    }
}
