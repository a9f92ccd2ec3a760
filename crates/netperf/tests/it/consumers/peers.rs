//! Mixed fleets and crowds.

use netperf_testkit::{Invocation, Netserver, Place, Programs, ours};

use super::{client, seconds, server};

/// A few tests of a client against a server.
fn serves(client: &Programs, server: &Programs) {
    let server = Netserver::start(server, &Place::Here);
    let port = server.port().to_string();
    let tests = [
        ("TCP_STREAM", "-1M"),
        ("TCP_MAERTS", "-1M"),
        ("TCP_RR", "-100"),
        ("UDP_STREAM", "1"),
        ("UDP_RR", "-100"),
    ];
    let running = tests.map(|(test, length)| {
        Invocation::new(&client.netperf)
            .args(["-H", "127.0.0.1", "-p", &port, "-l", length, "-t", test])
            .spawn()
    });
    for running in running {
        running.finish().expect_clean();
    }
}

#[test]
fn i35_old_and_new_programs_serve_each_other() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    serves(&ours!(), &stock);
    serves(&stock, &ours!());
}

#[test]
fn i40_fifty_at_once_start_in_time_and_keep_their_outputs_apart() {
    let server = server();
    let crowd: Vec<_> = (0..50)
        .map(|number| {
            let selection =
                format!("-t TCP_RR -l -200 -P 0 -B n{number} -- -k RESULT_BRAND,DIRECTION");
            client(&server, &selection).patience(seconds(60)).spawn()
        })
        .collect();
    for (number, running) in crowd.into_iter().enumerate() {
        let finished = running.finish().expect_clean();
        let expected = format!("RESULT_BRAND=\"n{number}\"\nDIRECTION=Send|Recv\n");
        assert_eq!(finished.stdout, expected, "{}", finished.account());
    }
}
