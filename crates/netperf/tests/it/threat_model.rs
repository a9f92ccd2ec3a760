//! Every sentence of SECURITY.md and of the threat model that states a protection names a test.
//!
//! `cargo test threat_model` runs these tests: their names begin with `threat_model_`.

use std::fs;
use std::path::Path;

use netperf_model::Limits;

/// A sentence or the threat of a table, the file of its test and the name of the test.
const HELD: &[(&str, &str, &str)] = &[
    (
        "an idle session of the address with the most makes way for a client of another",
        "crates/netperf/tests/it/budgets.rs",
        "threat_model_an_address_has_all_sessions_until_another_needs_one",
    ),
    (
        "choosing a congestion control that users of the host may not (`-K`)",
        "crates/netperf/tests/it/sandbox.rs",
        "threat_model_congestion_control_that_users_may_not_choose_is_refused_by_name",
    ),
    (
        "| set up io_uring | refused |",
        "crates/netperf/tests/it/sandbox_routes.rs",
        "threat_model_acts_that_no_test_needs_are_refused_by_every_route",
    ),
    (
        "holding a proof of a key, or a session, across the reload that removes the key",
        "crates/netperf/tests/it/reload.rs",
        "threat_model_reload_ends_sessions_and_proofs_of_a_removed_key",
    ),
    (
        "being admitted by settings from before a reload",
        "crates/netperf/tests/it/reload.rs",
        "threat_model_reload_admits_no_client_by_settings_from_before",
    ),
    (
        "having another text than that of the key file taken for the key",
        "crates/netperf/tests/it/reload.rs",
        "threat_model_reload_takes_no_late_answer_for_a_later_request",
    ),
    (
        "and a key must be a generated one",
        "crates/netperf/tests/it/reload.rs",
        "threat_model_reload_and_start_take_generated_keys_alone",
    ),
    (
        "reflecting datagrams of iperf3 to a third host with a forged source address",
        "crates/netperf/tests/it/iperf3/faults.rs",
        "threat_model_a_datagram_that_no_session_expects_is_not_answered",
    ),
    (
        "joining the streams of another client's iperf3 test",
        "crates/netperf/tests/it/iperf3/faults.rs",
        "threat_model_a_stream_that_is_not_expected_is_refused_and_the_test_goes_on",
    ),
    (
        "taking the streams of a test of datagrams with forged connect words",
        "crates/netperf/tests/it/iperf3/faults.rs",
        "threat_model_forged_connect_words_do_not_take_the_streams_of_a_test",
    ),
    (
        "those whose port is closed, or that send nothing where others do, are no streams",
        "crates/netperf/tests/it/iperf3/faults.rs",
        "threat_model_forged_connect_words_of_closed_ports_are_no_streams",
    ),
    (
        "exclude each other, at the start and when settings are read again",
        "crates/netperf/tests/it/iperf2.rs",
        "threat_model_a_credential_that_a_reload_adds_is_refused_while_iperf_ports_are_open",
    ),
    (
        "occupying sessions with iperf3 clients that say nothing more",
        "crates/netperf/tests/sim/late.rs",
        "threat_model_an_iperf3_client_that_says_nothing_more_frees_its_seat_after_half_a_minute",
    ),
    (
        "absurd parameters and results of iperf3",
        "crates/netperf/tests/it/iperf3/faults.rs",
        "threat_model_absurd_messages_get_one_error_and_the_next_client_is_served",
    ),
    (
        "iperf3 tests beyond the policy",
        "crates/netperf/tests/it/iperf3/faults.rs",
        "threat_model_the_policy_of_netserver_holds_for_iperf3_clients",
    ),
    (
        "learning the private key or passwords from the process that serves clients",
        "crates/netperf/tests/it/iperf3/users.rs",
        "threat_model_process_that_serves_clients_does_not_decrypt",
    ),
    (
        "using the server without a password",
        "crates/netperf/tests/it/iperf3/users.rs",
        "threat_model_strangers_are_refused_by_a_server_with_users",
    ),
    (
        "learning the text of a token with made-up ones (padding oracle)",
        "crates/netperf/tests/it/iperf3/users.rs",
        "threat_model_refusals_of_users_differ_neither_in_text_nor_in_least_time",
    ),
    (
        "guessing passwords",
        "crates/netperf/tests/it/iperf3/users.rs",
        "threat_model_refusals_of_users_differ_neither_in_text_nor_in_least_time",
    ),
    (
        "ending `iperf3 -s -1` with a wrong password",
        "crates/netperf/tests/it/iperf3/users.rs",
        "threat_model_refused_user_does_not_end_a_server_of_one_test",
    ),
    (
        "sending data to a third host",
        "crates/netperf/tests/it/guard.rs",
        "threat_model_records_that_name_what_is_off_or_beyond_the_policy_move_nothing_netns",
    ),
    (
        "sending frames or datagrams below IP, past `--data-peers`",
        "crates/netperf/tests/it/guard.rs",
        "threat_model_records_that_name_what_is_off_or_beyond_the_policy_move_nothing_netns",
    ),
    (
        "Data sent to a host that did not request it, with `--data-peers same`.",
        "crates/netperf/tests/it/guard.rs",
        "threat_model_records_that_name_what_is_off_or_beyond_the_policy_move_nothing_netns",
    ),
    (
        "A frame below IP, if `--transports` does not name its transport.",
        "crates/netperf/tests/it/guard.rs",
        "threat_model_records_that_name_what_is_off_or_beyond_the_policy_move_nothing_netns",
    ),
    (
        "reflecting datagram responses to a third host with a forged source address",
        "crates/netperf/tests/it/guard.rs",
        "threat_model_requests_with_a_forged_source_are_neither_answered_nor_counted_netns",
    ),
    (
        "netserver opens such sockets once when it starts, and for no greeting",
        "crates/netperf/tests/it/preload.rs",
        "threat_model_no_greeting_opens_a_socket_that_may_load_a_kernel_module",
    ),
    (
        "marks, priorities and interfaces that pass the host's rules for packets; io_uring",
        "crates/netperf/tests/it/guard.rs",
        "threat_model_features_are_for_clients_that_are_no_strangers_netns",
    ),
    (
        "a flood of datagrams to an address that is gone",
        "crates/netperf/tests/it/guard.rs",
        "threat_model_datagrams_to_an_address_that_is_gone_stop_netns",
    ),
    (
        "connecting to another client's data port",
        "crates/transport/src/meeting.rs",
        "threat_model_a_stranger_is_closed_and_whoever_may_come_in_is_not",
    ),
    (
        "holding connections open, at any port",
        "crates/netperf/tests/it/hostile.rs",
        "threat_model_two_thousand_silent_clients_cost_no_process_and_keep_nobody_waiting",
    ),
    (
        "a source has at most as many as it leaves to all others",
        "crates/server/src/pending/tests.rs",
        "threat_model_a_source_leaves_as_many_places_to_others_as_it_has_at_every_port",
    ),
    (
        "sessions and their data have the other descriptors",
        "crates/netperf/tests/it/hostile.rs",
        "threat_model_silent_connections_at_every_port_leave_descriptors_to_others",
    ),
    (
        "occupying one process per complete message",
        "crates/netperf/tests/it/access/limits.rs",
        "threat_model_there_are_no_more_sessions_than_the_limits_say",
    ),
    (
        "A client that exceeds its policy.",
        "crates/netperf/tests/it/access/limits.rs",
        "threat_model_there_are_no_more_sessions_than_the_limits_say",
    ),
    (
        "occupying the sessions of clients that have the key",
        "crates/netperf/tests/it/admission.rs",
        "threat_model_clients_without_proof_have_three_seconds_and_no_seat",
    ),
    (
        "A client without the key or passphrase that holds a session.",
        "crates/netperf/tests/it/admission.rs",
        "threat_model_clients_without_proof_have_three_seconds_and_no_seat",
    ),
    (
        "exhausting memory",
        "crates/netperf/tests/it/budgets.rs",
        "threat_model_buffers_of_records_are_limited_for_each_session_and_for_all",
    ),
    (
        "Memory, processes or descriptors that a stranger can exhaust without limit.",
        "crates/netperf/tests/it/budgets.rs",
        "threat_model_buffers_of_records_are_limited_for_each_session_and_for_all",
    ),
    (
        "filling the disk with netserver's log",
        "crates/daemon/src/log.rs",
        "threat_model_of_a_flood_of_strangers_so_many_are_written_and_the_rest_counted",
    ),
    (
        "A test tries these acts from inside",
        "crates/netperf/tests/it/sandbox_routes.rs",
        "forbidden_acts_are_those_of_the_threat_model",
    ),
    (
        "and the entry for programs of 32 bits",
        "crates/netperf/tests/it/sandbox_routes.rs",
        "threat_model_acts_that_no_test_needs_are_refused_by_every_route",
    ),
    (
        "None of them has another process's sockets or channels, and a process whose calls are filtered has no file open.",
        "crates/netperf/tests/it/processes.rs",
        "threat_model_processes_of_root_are_those_of_the_list_netns",
    ),
    (
        "a test finds them in /proc, started by root and by a user.",
        "crates/netperf/tests/it/processes.rs",
        "threat_model_processes_of_a_user_are_those_of_the_list_netns",
    ),
    (
        "running code in netserver",
        "crates/netperf/tests/it/sandbox_routes.rs",
        "threat_model_acts_that_no_test_needs_are_refused_by_every_route",
    ),
    (
        "The process of a session is confined before it reads any input",
        "crates/netperf/tests/it/sandbox_routes.rs",
        "threat_model_acts_that_no_test_needs_are_refused_by_every_route",
    ),
    (
        "Code execution in either program, caused by its peer.",
        "crates/netperf/tests/it/hostile.rs",
        "threat_model_every_request_with_absurd_values_is_survived",
    ),
    (
        "occupying all data ports of the host",
        "crates/netperf/tests/it/budgets.rs",
        "threat_model_flows_threads_and_ports_of_a_test_are_limited",
    ),
    (
        "occupying a CPU without moving data",
        "crates/transport/src/io/again.rs",
        "threat_model_a_spinning_wait_without_data_sleeps_between_calls",
    ),
    (
        "leaving tests running",
        "crates/netperf/tests/it/hostile.rs",
        "threat_model_clients_that_leave_in_the_middle_at_any_state_leave_nothing_behind",
    ),
    (
        "others only if `--files` names a folder",
        "crates/netperf/tests/it/sandbox.rs",
        "threat_model_a_file_that_a_client_names_is_read_from_the_folder_that_is_allowed_and_no_other",
    ),
    (
        "injecting data into another client's test",
        "crates/netperf/tests/it/one_port.rs",
        "threat_model_a_token_is_good_for_its_own_test_and_no_longer",
    ),
    (
        "reflecting responses to a third host with a forged source address",
        "crates/netperf/tests/it/one_port.rs",
        "threat_model_a_probe_is_answered_with_no_more_than_it_has_and_only_with_the_token",
    ),
    (
        "holding connections open without a complete token",
        "crates/netperf/tests/it/one_port.rs",
        "threat_model_who_says_half_a_preamble_and_then_nothing_is_closed_and_others_are_served_meanwhile",
    ),
    (
        "A netserver that root starts changes to a user of few rights by default.",
        "crates/netperf/tests/it/sandbox.rs",
        "threat_model_a_netserver_of_root_becomes_a_user_without_rights_by_default_netns",
    ),
    (
        "it refuses a netserver that does not have the key or does not support keys",
        "crates/netperf/tests/it/access.rs",
        "threat_model_a_netserver_that_cannot_prove_that_it_has_the_key_is_refused",
    ),
    (
        "netperf therefore refuses keys that do not look generated",
        "crates/netperf/tests/it/access.rs",
        "threat_model_netperf_proves_no_key_that_can_be_guessed",
    ),
    (
        "A session beyond the limit of its key, or of a key that is no longer in the key file.",
        "crates/netperf/tests/it/access.rs",
        "threat_model_keys_with_names_have_limits_and_roles_and_are_rotated",
    ),
    (
        "It is in neither arguments nor environment of a session",
        "crates/netperf/tests/it/access.rs",
        "threat_model_a_session_shows_no_secret_and_inherits_nothing",
    ),
    (
        "A key or passphrase that can be discovered or bypassed.",
        "crates/netperf/tests/it/access.rs",
        "threat_model_a_session_shows_no_secret_and_inherits_nothing",
    ),
    (
        "A key file must belong to its user or root and must not be accessible to others",
        "crates/netperf/tests/it/access.rs",
        "threat_model_a_key_that_others_can_read_or_that_is_missing_ends_either_program",
    ),
    (
        "Reports repeat the command line of netperf with `***` instead of the passphrase.",
        "crates/netperf/tests/it/access/limits.rs",
        "threat_model_reports_repeat_the_command_line_without_the_passphrase",
    ),
    (
        "If netperf's own counts contradict it, the test fails with the warning `implausible`",
        "crates/netperf/tests/it/implausible.rs",
        "threat_model_counts_that_cannot_be_are_a_failure_with_its_reason",
    ),
    (
        "A timed test ends within seconds of its time.",
        "crates/netperf/tests/it/chaos.rs",
        "threat_model_a_session_that_is_stopped_ends_no_test_later_than_its_time_says_netns",
    ),
    (
        "A netperf that a netserver can hang or crash.",
        "crates/netperf/tests/it/chaos.rs",
        "threat_model_a_session_that_is_stopped_ends_no_test_later_than_its_time_says_netns",
    ),
    (
        "if it still sends 10 s after the time of a test, or does not answer by then, the test fails.",
        "crates/netperf/tests/sim/overtime.rs",
        "threat_model_a_server_of_iperf_neither_prolongs_a_test_nor_invents_counts",
    ),
    (
        "Counts that contradict those of netperf, or that no path reaches, fail the test as well.",
        "crates/netperf/tests/sim/overtime.rs",
        "threat_model_a_server_of_iperf_neither_prolongs_a_test_nor_invents_counts",
    ),
    (
        "direction marks and invisible characters as `\\uXXXX`",
        "crates/netperf/tests/it/iperf3/faults.rs",
        "threat_model_text_of_a_server_steers_no_terminal_and_stays_readable_in_json",
    ),
    (
        "commanding an agent without its key",
        "crates/netperf/tests/it/campaign_security.rs",
        "threat_model_wrong_keys_cost_little_and_fill_no_log",
    ),
    (
        "filling the log of an agent with wrong keys",
        "crates/netperf/tests/it/campaign_security.rs",
        "threat_model_wrong_keys_cost_little_and_fill_no_log",
    ),
    (
        "repeating a recorded campaign, or parts of it",
        "crates/netperf/tests/it/campaign_security.rs",
        "threat_model_a_recorded_campaign_cannot_be_repeated",
    ),
    (
        "a begin that an agent has not agreed to",
        "crates/netperf/tests/it/campaign_security.rs",
        "threat_model_an_agent_carries_out_no_begin_that_it_has_not_agreed_to",
    ),
    (
        "load to hosts outside the campaign, or with other options",
        "crates/netperf/tests/it/campaign_security.rs",
        "threat_model_an_agent_sends_only_to_its_roster_with_permitted_words_and_times",
    ),
    (
        "load without end",
        "crates/netperf/tests/it/campaign_security.rs",
        "threat_model_a_load_ends_when_its_coordinator_is_silent",
    ),
    (
        "also if the agent stands still, because the target stops serving it",
        "crates/netperf/tests/it/campaign.rs",
        "threat_model_a_member_that_stands_still_ends_a_mesh_and_its_load_ends",
    ),
    (
        "many loads at once, which are processes",
        "crates/netperf/tests/it/campaign_attacks.rs",
        "threat_model_an_agent_begins_no_more_loads_at_a_time_than_it_may",
    ),
    (
        "keeping an agent, or a coordinator with its other agents, busy with long messages",
        "crates/netperf/tests/it/campaign_attacks.rs",
        "threat_model_a_long_reply_of_an_agent_loses_that_agent_alone",
    ),
    (
        "each list has a largest length",
        "crates/netperf/tests/it/campaign_attacks.rs",
        "threat_model_a_long_preparation_does_not_keep_an_agent_busy",
    ),
    (
        "keeping agents from joining (`--join-listen`) with connections that say nothing",
        "crates/netperf/tests/sim/joining.rs",
        "threat_model_silent_connections_keep_no_agent_from_joining",
    ),
    (
        "keeping a coordinator from an agent with connections without an order",
        "crates/netperf/tests/it/campaign_attacks.rs",
        "threat_model_connections_without_an_order_keep_no_coordinator_away",
    ),
    (
        "leading loads elsewhere by a list of members",
        "crates/netperf/tests/it/campaign_attacks.rs",
        "threat_model_a_roster_leads_to_no_host_but_one_over_ip",
    ),
    (
        "options for ssh in a file with hosts",
        "crates/netperf/tests/it/campaign_attacks.rs",
        "threat_model_a_line_of_hosts_gives_ssh_no_option",
    ),
    (
        "netperf reads at most 512 MiB of a file with a result, a plan or an inventory.",
        "crates/program/src/file.rs",
        "file_that_seems_to_be_longer_than_any_memory_is_not_read",
    ),
    (
        "A result is refused if its values would take more than 512 MiB of memory",
        "crates/web/tests/it/hostile.rs",
        "result_whose_values_take_too_much_memory_is_refused_before_it_is_parsed",
    ),
    (
        "a statement takes at most 1 GiB",
        "crates/history/src/postgres/connection.rs",
        "rows_without_end_are_refused_by_what_they_take_in_memory",
    ),
    (
        "at most 1 GiB and 70 s",
        "crates/history/src/postgres/connection.rs",
        "statement_whose_rows_come_slowly_ends_in_time",
    ),
    (
        "using a member as a target beyond the campaign",
        "crates/netperf/tests/it/campaign_security.rs",
        "threat_model_a_member_serves_others_only_with_the_token_of_the_campaign",
    ),
    (
        "The result of a campaign may take 1 GiB, and its cells 2 GiB, of at most 4096 members.",
        "crates/netperf/tests/it/campaign_results.rs",
        "threat_model_a_small_result_of_a_campaign_takes_no_large_memory",
    ),
    (
        "reflecting the report of datagrams to a third host with a forged source address",
        "crates/netperf/tests/it/iperf2/sources.rs",
        "threat_model_a_source_that_proves_nothing_gets_no_more_than_it_sent",
    ),
    (
        "no more bytes and no more datagrams go to an address than have arrived from it",
        "crates/netperf/tests/it/iperf2/sources.rs",
        "threat_model_a_forged_source_gets_no_more_bytes_than_it_seems_to_have_sent_netns",
    ),
    (
        "occupying all flows of datagrams from one address, or all threads that send them",
        "crates/netperf/tests/it/iperf2.rs",
        "threat_model_limits_of_sources_and_rates_hold_for_flows_of_datagrams",
    ),
    (
        "a source (IPv6: of 64 bits) has at most half of what others leave",
        "crates/server/src/iperf2/flow_table.rs",
        "threat_model_a_network_leaves_as_many_flows_to_others_as_it_has",
    ),
    (
        "occupying all flows of datagrams from one address, or all threads that send them",
        "crates/netperf/tests/it/iperf2.rs",
        "threat_model_a_source_leaves_senders_of_datagrams_to_others",
    ),
    (
        "having datagrams sent to a third host with a forged source address",
        "crates/netperf/tests/it/iperf2/sources.rs",
        "threat_model_datagrams_in_reverse_go_only_to_permitted_networks_netns",
    ),
    (
        "occupying flows of datagrams with forged source addresses",
        "crates/netperf/tests/it/iperf2.rs",
        "threat_model_a_client_that_vanishes_frees_its_seat",
    ),
    (
        "connecting to a port of another host with `iperf -d`",
        "crates/netperf/tests/it/iperf2.rs",
        "threat_model_a_stock_client_is_connected_back_to",
    ),
    (
        "at most 768 bytes are read, within 10 s",
        "crates/netperf/tests/it/iperf2.rs",
        "threat_model_a_header_that_comes_byte_by_byte_ends_in_its_time",
    ),
    (
        "absurd client headers",
        "crates/netperf/tests/it/iperf2.rs",
        "threat_model_absurd_headers_end_their_connection_only",
    ),
];

/// First words of a table's second column that state a protection.
const PROTECTED: &[&str] = &["prevented", "limited", "needs", "not with", "only through"];

fn read(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The text without line breaks.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_held(sentence: &str) -> bool {
    HELD.iter().any(|(held, _, _)| *held == sentence)
}

#[test]
fn every_sentence_is_stated_and_its_test_exists() {
    let texts = ["SECURITY.md", "docs/manual/src/threat-model.md"].map(|file| joined(&read(file)));
    for (sentence, file, test) in HELD {
        let is_stated = texts.iter().any(|text| text.contains(sentence));
        assert!(is_stated, "no document says {sentence:?}");
        let source = read(file);
        let (before, _) = source
            .split_once(&format!("fn {test}()"))
            .unwrap_or_else(|| panic!("{file} has no test {test}"));
        let attributes = before.trim_end().rsplit("\n\n").next().unwrap_or_default();
        assert!(attributes.contains("#[test]"), "{test} is no test");
        assert!(!attributes.contains("#[ignore"), "{test} is not run");
    }
}

#[test]
fn every_protection_of_the_threat_model_is_tested() {
    let text = read("docs/manual/src/threat-model.md");
    let mut protections = 0;
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let mut cells = row.trim_matches('|').split(" | ").map(str::trim);
        let (threat, default) = (cells.next(), cells.next().unwrap_or_default());
        if PROTECTED.iter().any(|word| default.starts_with(word)) {
            protections += 1;
            let threat = threat.expect("a threat");
            assert!(is_held(threat), "no test for {threat:?}");
        }
    }
    assert!(
        protections > 15,
        "{protections} rows: is the table still read?"
    );
}

#[test]
fn vulnerabilities_of_the_threat_model_are_tested() {
    let text = read("SECURITY.md");
    let (_, list) = text
        .split_once("These are vulnerabilities:")
        .expect("the list");
    let list = list.trim().split("\n\n").next().unwrap_or_default();
    let items: Vec<String> = list.split("- ").skip(1).map(joined).collect();
    assert!(items.len() > 5, "{items:?}");
    for item in items {
        assert!(is_held(&item), "no test for {item:?}");
    }
}

#[test]
fn numbers_of_the_threat_model_are_those_of_the_program() {
    let text = joined(&read("docs/manual/src/threat-model.md"));
    let (memory, ports, rate) = (Limits::MEMORY, Limits::PORTS, Limits::SESSION_RATE);
    for sentence in [
        format!(
            "({} MiB and {} MiB at least)",
            memory.each >> 20,
            memory.all >> 20
        ),
        format!("{} for a session and a quarter", ports.each),
        format!("starts at most {} sessions a second", rate.each),
        format!("one line per session, at most {} a second", rate.all),
        format!("limited to {} s each", Limits::IDLE_TIME.as_secs()),
    ] {
        assert!(text.contains(&sentence), "{sentence:?} is not said");
    }
}
