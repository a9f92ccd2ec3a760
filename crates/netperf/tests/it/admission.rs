//! Attacks on the greeting: clients without the key or the passphrase hold no seat and cost little.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_os::{Domain, Socket, Type};
use netperf_session::access::greeting;
use netperf_testkit::server::free_port;
use netperf_testkit::{Invocation, Netserver, Place, eventually, ours};
use netperf_wire::FRAME_LEN;

pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";

fn server(options: &[&str]) -> Netserver {
    let all = [&["-D", "--log", "text", "--log-level", "debug"], options].concat();
    Netserver::start_with(&ours!(), &Place::Here, &all, &[])
}

/// A netserver with a key.
fn keyed(options: &[&str]) -> Netserver {
    let all = [&["-D"], options].concat();
    let key = [("NETPERF_KEY".to_owned(), KEY.into())];
    Netserver::start_with(&ours!(), &Place::Here, &all, &key)
}

fn honest(server: &Netserver) -> Invocation {
    ours!()
        .client_of(server)
        .args(["-t", "TCP_RR", "--count", "1", "-P", "0"])
}

/// A connection from an address of this host, with a first message.
pub(crate) fn attack(server: &Netserver, from: &str, message: &[u8]) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let address = |text: String| text.parse::<SocketAddr>().expect("an address");
    let from = address(format!("{from}:0"));
    socket.bind(&from.into()).expect("a loopback address");
    let to = address(format!("127.0.0.1:{}", server.port()));
    socket.connect(&to.into()).expect("it listens");
    let mut stream = TcpStream::from(socket);
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a limit");
    // The connection may be closed by now.
    let _refused = stream.write_all(message);
    stream
}

/// Waits until netserver closes a connection.
fn is_closed(mut stream: &TcpStream) -> bool {
    std::io::copy(&mut stream, &mut std::io::sink()).is_ok()
}

#[test]
fn key_holders_are_served_during_a_flood_of_greetings() {
    // Four connections a second would hold all seats.
    let server = keyed(&["--max-sessions", "3"]);
    let (done, mut most) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        for source in ["127.0.0.2", "127.0.0.3"] {
            let (server, done) = (&server, &done);
            scope.spawn(move || {
                let mut held = std::collections::VecDeque::new();
                while !done.load(Ordering::Relaxed) {
                    held.push_back(attack(server, source, greeting().as_bytes()));
                    if held.len() > 100 {
                        held.pop_front();
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
        let flooded = eventually(Duration::from_secs(20), || server.sessions().len() >= 5);
        let served = (0..20).filter(|_| {
            most = most.max(server.sessions().len());
            let run = honest(&server).env("NETPERF_KEY", KEY).run();
            run.status.success()
        });
        let served = served.count();
        done.store(true, Ordering::Relaxed);
        assert!(flooded, "no attack: {:?}", server.said());
        assert_eq!(served, 20, "{:?}", server.said());
    });
    // Ten that prove the key, and an honest session that ends.
    assert!(most <= 12, "{most} processes");
    let gone = eventually(Duration::from_secs(20), || server.sessions().is_empty());
    assert!(gone, "{:?}", server.sessions());
}

#[test]
fn threat_model_clients_without_proof_have_three_seconds_and_no_seat() {
    let server = keyed(&["--max-sessions", "1", "--max-startups", "2:100:3"]);
    let silent = attack(&server, "127.0.0.2", greeting().as_bytes());
    let waiting = attack(&server, "127.0.0.2", greeting().as_bytes());
    honest(&server).env("NETPERF_KEY", KEY).run().expect_clean();
    assert!(is_closed(&silent) && is_closed(&waiting));
    let gone = eventually(Duration::from_secs(20), || server.sessions().is_empty());
    assert!(gone, "{:?}", server.sessions());
    // The limit holds for clients that have proven the key.
    let full = keyed(&["--max-sessions", "1"]);
    let _running = ours!()
        .client_of(&full)
        .args(["-t", "TCP_RR", "-l", "60"])
        .env("NETPERF_KEY", KEY)
        .spawn();
    let begun = eventually(Duration::from_secs(20), || !full.sessions().is_empty());
    assert!(begun, "{:?}", full.said());
    let refused = honest(&full).env("NETPERF_KEY", KEY).run();
    assert!(
        refused.stderr.contains("(--max-sessions "),
        "{}",
        refused.account()
    );
}

#[test]
fn clients_without_the_credential_start_no_process_and_are_counted() {
    const CLIENTS: usize = 30;
    let metrics = free_port();
    let at = metrics.to_string();
    let key = [("NETPERF_KEY".to_owned(), KEY.into())];
    let options = ["-D", "--log", "text", "--metrics", &at];
    let with_key = Netserver::start_with(&ours!(), &Place::Here, &options, &key);
    let mut request = [0; FRAME_LEN];
    request[3] = 6;
    for _ in 0..CLIENTS {
        let mut client = attack(&with_key, "127.0.0.2", &request);
        let mut answer = [0; FRAME_LEN];
        client.read_exact(&mut answer).expect("the reason");
        assert!(with_key.sessions().is_empty());
    }
    let mut asked = TcpStream::connect(("127.0.0.1", metrics)).expect("metrics");
    asked
        .write_all(b"GET /metrics HTTP/1.0\r\n\r\n")
        .expect("space");
    let mut page = String::new();
    asked.read_to_string(&mut page).expect("a page");
    let line =
        format!("netserver_refusals_total{{by=\"key\",reason=\"key-required\"}} {CLIENTS}\n");
    assert!(page.contains(&line), "{page}");

    let with_phrase = server(&["-Z", "sesame", "--max-sessions", "1"]);
    for guess in [&b"mustard"[..], b"sesame2", b""] {
        let mut message = [0; FRAME_LEN];
        message[3] = 6;
        message[8..8 + guess.len()].copy_from_slice(guess);
        let client = attack(&with_phrase, "127.0.0.2", &message);
        client.shutdown(Shutdown::Write).expect("a connection");
        assert!(is_closed(&client));
    }
    honest(&with_phrase)
        .args(["-Z", "sesame"])
        .run()
        .expect_clean();
    let noted = eventually(Duration::from_secs(10), || {
        with_phrase.said().1.matches(" session ").count() == 1
    });
    let (_, log) = with_phrase.said();
    assert!(noted, "{log}");
    assert_eq!(log.matches("denied=passphrase").count(), 3, "{log}");
}
