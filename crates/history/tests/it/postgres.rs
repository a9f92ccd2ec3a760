//! PostgreSQL with a real server: the behaviours of all stores, and those of PostgreSQL.

use std::time::Duration;

use crate::behaviours::{NOW, behaves, result};
use crate::cluster::{Cluster, PASSWORD, USER};
use netperf_history::{Filter, Location, Store};
use netperf_testkit::eventually;

fn place(url: &str) -> Location {
    Location::find(Some(url), &|_| None).expect("a place")
}

fn refused(url: &str) -> String {
    let error = Store::open(&place(url), true).expect_err(url).to_string();
    assert!(
        !error.contains('\n') && !error.contains(PASSWORD),
        "{error}"
    );
    error
}

/// One server for all: starting it takes longer than all queries.
#[test]
fn a_real_postgresql_behaves_over_tcp_and_over_its_socket() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let mut made = 0;
    let mut database = || {
        made += 1;
        let name = format!("d{made}");
        cluster.says("postgres", &format!("CREATE DATABASE {name}"));
        name
    };
    behaves(|| place(&cluster.over_tcp(&database(), "")));
    behaves(|| place(&cluster.over_socket(&database())));
    refuses(&cluster, &database());
    encrypts(&cluster, &database());
    protects_the_password(&cluster, &database());
    keeps(&cluster, &database());
}

/// Errors are one line.
fn refuses(cluster: &Cluster, database: &str) {
    let url = cluster.over_tcp(database, "");
    let absent = Store::open(&place(&url), false)
        .expect_err("nothing there")
        .to_string();
    assert!(absent.contains("history add makes one"), "{absent}");
    assert!(refused(&url.replace("p%40ss", "wrong")).contains("password authentication failed"));
    assert!(refused(&url.replace(":p%40ss%2Fword", "")).contains("PGPASSWORD"));
    assert!(refused(&url.replace(database, "nowhere")).contains("does not exist"));
    assert!(refused("postgres://u:p@127.0.0.1:1/d").contains("refused"));
    cluster.says(
        "postgres",
        "SET password_encryption = 'md5'; CREATE ROLE older LOGIN PASSWORD 'x'",
    );
    let older = url.replace(USER, "older").replace("localhost", "127.0.0.1");
    assert!(refused(&older).contains("MD5"), "{}", refused(&older));
    let mut store = Store::open(&place(&url), true).expect("a store");
    store
        .add(&[result("db1", 1, 1.0, "6.1")], NOW)
        .expect("added");
    cluster.says(database, "UPDATE netperf.netperf_history SET version = 99");
    assert!(refused(&url).contains("newer netperf"));
}

/// The connection is encrypted if requested, and the certificate is verified.
fn encrypts(cluster: &Cluster, database: &str) {
    let encrypted = |options: &str| {
        let url = cluster.over_tcp(database, options);
        let _open = Store::open(&place(&url), true).expect("a store");
        let count = "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl \
                     JOIN pg_stat_activity USING (pid) WHERE application_name = 'netperf history'";
        // Earlier connections may still be closing.
        let mut said = String::new();
        let alone = eventually(Duration::from_secs(20), || {
            said = cluster.says(database, count);
            said.starts_with("1|")
        });
        assert!(alone, "{said}");
        said.trim() == "1|1"
    };
    assert!(encrypted("?sslmode=require"));
    assert!(encrypted(""));
    assert!(!encrypted("?sslmode=disable"));
    let own = cluster.certificate("server");
    assert!(encrypted(&format!(
        "?sslmode=verify-full&sslrootcert={own}"
    )));
    let full = format!(
        "?sslmode=verify-full&sslrootcert={}",
        cluster.certificate("other")
    );
    let said = refused(&cluster.over_tcp(database, &full));
    assert!(said.contains("certificate"), "{said}");
    let by_number = cluster
        .over_tcp(database, &full)
        .replace("localhost", "127.0.0.1");
    assert!(refused(&by_number).contains("certificate"));
}

/// A server that asks for the password in clear text gets it only if its certificate was
/// verified.
fn protects_the_password(cluster: &Cluster, database: &str) {
    let role = format!("CREATE ROLE plain SUPERUSER LOGIN PASSWORD '{PASSWORD}'");
    cluster.says(database, &role);
    let plain = |options: &str| {
        let url = cluster.over_tcp(database, options);
        url.replace(USER, "plain")
    };
    for options in ["", "?sslmode=disable", "?sslmode=require"] {
        let said = refused(&plain(options));
        assert!(said.contains("sslmode=verify-full"), "{options}: {said}");
    }
    let own = cluster.certificate("server");
    for mode in ["require", "verify-full"] {
        let url = plain(&format!("?sslmode={mode}&sslrootcert={own}"));
        Store::open(&place(&url), true).expect(mode);
    }
}

/// A broken connection leaves no trace of unreported results.
fn keeps(cluster: &Cluster, database: &str) {
    let url = cluster.over_tcp(database, "?sslmode=disable");
    let mut store = Store::open(&place(&url), true).expect("a store");
    store
        .add(&[result("db1", 1, 1.0, "6.1")], NOW)
        .expect("added");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE application_name = 'netperf history'";
    cluster.says(database, cut);
    let lost = store.add(&[result("db1", 2, 1.0, "6.1")], NOW);
    let said = lost.expect_err("the connection is gone").to_string();
    assert!(!said.contains('\n'), "{said}");
    let mut store = Store::open(&place(&url), false).expect("the same store");
    assert_eq!(
        store.list(&Filter::default(), None).expect("a list").len(),
        1
    );
    assert_eq!(store.check(), Ok(Vec::new()));
}
