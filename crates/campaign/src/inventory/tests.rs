use super::*;

mod pods;

const PODS: &[u8] = include_bytes!("../../tests/data/inventory/pods.json");
const NODES: &[u8] = include_bytes!("../../tests/data/inventory/nodes.json");
const ANSIBLE: &[u8] = include_bytes!("../../tests/data/inventory/ansible.json");
const SLURM: &[u8] = include_bytes!("../../tests/data/inventory/scontrol-nodes");
const SLURM_LONG: &[u8] = include_bytes!("../../tests/data/inventory/scontrol-nodes-long");
const HOSTNAMES: &[u8] = include_bytes!("../../tests/data/inventory/scontrol-hostnames");
const SWITCHES: &[u8] = include_bytes!("../../tests/data/inventory/scontrol-topology");
const HOSTFILE: &[u8] = include_bytes!("../../tests/data/inventory/hostfile");
const HOSTS: &[u8] = include_bytes!("../../tests/data/inventory/hosts");

fn auto(bytes: &[u8]) -> Vec<InventoryMember> {
    read(bytes, &InventoryOptions::default()).unwrap()
}

fn refused(bytes: &[u8]) -> String {
    let options = InventoryOptions::default();
    read(bytes, &options).unwrap_err().to_string()
}

/// The members in short: name, control, data and labels.
fn short(members: &[InventoryMember]) -> Vec<String> {
    let one = |member: &InventoryMember| {
        let data: Vec<String> = member.data.iter().map(ToString::to_string).collect();
        let labels = member.labels.iter();
        let labels: Vec<String> = labels
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        format!(
            "{} {} [{}] {}",
            member.name,
            member.control,
            data.join(","),
            labels.join(" ")
        )
    };
    members.iter().map(one).collect()
}

#[test]
fn hosts_of_ansible_are_members_with_their_places_and_no_other_variables() {
    let members = auto(ANSIBLE);
    assert_eq!(
        short(&members),
        [
            "c0 c0:12865 [] ",
            "h1 10.77.0.11:12865 [10.9.0.1,fd00::1] rack=r1",
            "h2 10.77.0.12:12900 [] rack=r1",
            "h3 h3:12865 [] rack=r2 zone=b",
            "h4 h4:12865 [] ",
        ]
    );
    assert!(!json_lines(&members).contains("secret"));
}

#[test]
fn a_group_of_ansible_has_the_hosts_of_its_children() {
    let of_group = |group: &str| {
        let options = InventoryOptions {
            group: Some(group.to_owned()),
            ..InventoryOptions::default()
        };
        read(ANSIBLE, &options).map(|members| {
            let names = members.iter().map(|member| member.name.as_str());
            names.collect::<Vec<_>>().join(" ")
        })
    };
    assert_eq!(of_group("agents").unwrap(), "h1 h2 h3 h4");
    assert_eq!(of_group("rack2").unwrap(), "h3 h4");
    assert_eq!(of_group("all").unwrap(), "c0 h1 h2 h3 h4");
    let said = of_group("racks").unwrap_err().to_string();
    assert_eq!(
        said,
        "no group racks: the groups are agents, all, control, rack1, rack2"
    );
    assert_eq!(
        of_group("ungrouped").unwrap_err().to_string(),
        "no member: the list is empty"
    );
}

/// An inventory of Ansible with one host and its variables.
fn ansible(variables: &str) -> String {
    format!(r#"{{"_meta":{{"hostvars":{{"h1":{{{variables}}}}}}},"all":{{"hosts":["h1"]}}}}"#)
}

#[test]
fn variables_of_ansible_that_are_not_plain_are_refused_by_host() {
    for (variables, said) in [
        (
            r#""ansible_host":{"__ansible_vault":"$ANSIBLE_VAULT;1.1;AES256"}"#,
            "h1: ansible_host is encrypted: netperf takes no secrets of Ansible",
        ),
        (
            r#""ansible_host":"{{ address }}""#,
            "h1: ansible_host is a template, which ansible-inventory does not expand: set its value",
        ),
        (
            r#""ansible_host":"not a host""#,
            "h1: ansible_host is not valid: expected a host name or an address",
        ),
        (
            r#""netperf_port":70000"#,
            "h1: netperf_port is not valid: expected a number from 1 to 65535",
        ),
        (
            r#""netperf_data":["10.0.0.1","h1"]"#,
            "h1: netperf_data is not valid: expected IP addresses",
        ),
    ] {
        assert_eq!(refused(ansible(variables).as_bytes()), said);
    }
}

#[test]
fn two_hosts_of_ansible_at_one_address_are_refused() {
    let text = r#"{"_meta":{"hostvars":{"a":{"ansible_host":"h"},"b":{"ansible_host":"h"}}}}"#;
    assert_eq!(
        refused(text.as_bytes()),
        "b: h:12865 is also a: leave one out"
    );
}

#[test]
fn groups_of_ansible_in_a_circle_end() {
    let text = r#"{"_meta":{"hostvars":{"h1":{}}},"a":{"children":["b"]},"b":{"children":["a"],"hosts":["h1"]}}"#;
    let options = InventoryOptions {
        group: Some("a".to_owned()),
        ..InventoryOptions::default()
    };
    assert_eq!(read(text.as_bytes(), &options).unwrap().len(), 1);
}

#[test]
fn nodes_of_slurm_are_reached_at_their_addresses() {
    assert_eq!(
        short(&auto(SLURM)),
        [
            "h1 10.77.0.11:12865 [10.77.0.11] features=fast,ib node=h1 partition=lab",
            "h2 10.77.0.12:12865 [10.77.0.12] node=h2 partition=lab",
        ]
    );
    assert_eq!(
        short(&auto(SLURM_LONG)),
        ["h1 h1.data.lan:12865 [] node=h1 partition=lab"]
    );
    assert_eq!(
        short(&auto(HOSTNAMES)),
        ["h1 h1:12865 [] ", "h2 h2:12865 [] ", "h3 h3:12865 [] "]
    );
}

#[test]
fn a_node_of_slurm_that_runs_nothing_is_refused_by_name() {
    let text = std::str::from_utf8(SLURM).unwrap();
    for state in [
        "DOWN",
        "IDLE*",
        "IDLE+DRAIN",
        "ALLOCATED+NOT_RESPONDING",
        "IDLE~",
        "FAIL",
        "",
    ] {
        let bad = text.replace("State=ALLOCATED", &format!("State={state}"));
        let state = if state.is_empty() { "UNKNOWN" } else { state };
        assert_eq!(
            refused(bad.as_bytes()),
            format!("h1: state {state}: see scontrol show node, or leave it out")
        );
    }
    for state in [
        "MIXED",
        "IDLE+PLANNED",
        "MIXED$",
        "ALLOCATED+MAINTENANCE",
        "IDLE-",
    ] {
        let good = text.replace("State=ALLOCATED", &format!("State={state}"));
        assert_eq!(auto(good.as_bytes()).len(), 2, "{state}");
    }
}

#[test]
fn the_same_node_of_slurm_twice_is_refused_by_name() {
    let twice = [SLURM, SLURM].concat();
    assert_eq!(
        refused(&twice),
        "h1: occurs twice: leave one out, or give each its own name\n\
         h2: occurs twice: leave one out, or give each its own name"
    );
}

#[test]
fn switches_of_slurm_are_racks() {
    let options = InventoryOptions {
        topology: Some(SWITCHES.to_vec()),
        from: Some(EngineName::Slurm),
        ..InventoryOptions::default()
    };
    let members = read(HOSTNAMES, &options).unwrap();
    let racks: Vec<&str> = members
        .iter()
        .map(|member| member.labels["rack"].as_str())
        .collect();
    assert_eq!(racks, ["leaf1", "leaf1", "leaf2"]);
    assert_eq!(members[0].source.engine, EngineName::Slurm);
    let blocks = InventoryOptions {
        topology: Some(b"BlockName=b1 BlockIndex=0 Nodes=h[1-3] BlockSize=4\n".to_vec()),
        ..InventoryOptions::default()
    };
    assert_eq!(read(HOSTNAMES, &blocks).unwrap()[2].labels["rack"], "b1");
}

#[test]
fn a_topology_that_is_none_is_refused() {
    for (topology, said) in [
        (
            "h1\n",
            "the topology: line 1: not a line of scontrol show topology",
        ),
        (
            "SwitchName=a Level=0 Nodes=h[1-\n",
            "the topology: the host list h[1-: a bracket is not closed",
        ),
        (
            "{",
            "the topology: not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            r#"{"kind":"PodList","items":[{}]}"#,
            "the topology: not the output of kubectl get nodes -o json: a Pod, and not a node",
        ),
    ] {
        let options = InventoryOptions {
            topology: Some(topology.as_bytes().to_vec()),
            ..InventoryOptions::default()
        };
        assert_eq!(read(HOSTNAMES, &options).unwrap_err().to_string(), said);
    }
}

#[test]
fn a_hostfile_of_mpi_gives_each_host_once() {
    let members = auto(HOSTFILE);
    assert_eq!(
        short(&members),
        [
            "h1 h1:12865 [] ",
            "10.77.0.12 10.77.0.12:12865 [] ",
            "h3 h3:12865 [] "
        ]
    );
    assert_eq!(members[0].source.engine, EngineName::Mpi);
    for (text, said) in [
        (
            "h1 slots=2\nh1 slots=2\n",
            "h1: occurs twice: leave one out, or give each its own name",
        ),
        (
            "h1 slots=2\n+n1\n",
            "line 2: relative node +nN is not supported: use the name of the host",
        ),
        (
            "h1 slots=2\nh2 cores\n",
            "line 2: cores: expected slots=N, max_slots=N or label=value",
        ),
    ] {
        assert_eq!(refused(text.as_bytes()), said);
    }
    let options = InventoryOptions {
        from: Some(EngineName::Mpi),
        ..InventoryOptions::default()
    };
    let said = read(b"h1 slots=many\n", &options).unwrap_err().to_string();
    assert_eq!(
        said,
        "line 1: slots=many: expected slots=N, max_slots=N or label=value"
    );
}

#[test]
fn plain_lines_have_hosts_ports_labels_and_data_addresses() {
    assert_eq!(
        short(&auto(HOSTS)),
        [
            "h1 h1:12865 [] rack=r1 zone=a",
            "h2:12900 h2:12900 [10.9.0.2,fd00::2] rack=r1",
            "h3 [fd00::3]:12865 [] rack=r2",
            "fd00::4 [fd00::4]:12865 [] rack=r2",
        ]
    );
    let options = InventoryOptions {
        port: 4000,
        ..InventoryOptions::default()
    };
    let members = read(b"h1\nh1:4001\n", &options).unwrap();
    assert_eq!(short(&members), ["h1 h1:4000 [] ", "h1:4001 h1:4001 [] "]);
}

#[test]
fn a_wrong_line_is_named_by_its_number() {
    for (text, said) in [
        (
            "h1\nh2:0\n",
            "line 2: the port is not a number from 1 to 65535",
        ),
        (
            "h1:http\n",
            "line 1: the port is not a number from 1 to 65535",
        ),
        (
            "h1\n\n-rf\n",
            "line 3: the first word is neither a host name nor an address",
        ),
        (
            "$(reboot)\n",
            "line 1: the first word is neither a host name nor an address",
        ),
        (
            "[::1\n",
            "line 1: the first word is neither a host name nor an address",
        ),
        (
            "h1 rack\n",
            "line 1: rack: expected label=value, data=ADDRESS,... or name=NAME",
        ),
        (
            "h1 rack=\n",
            "line 1: rack=: expected label=value, data=ADDRESS,... or name=NAME",
        ),
        ("h1 rack=a rack=b\n", "line 1: rack= occurs twice"),
        (
            "h1 data=h1\n",
            "line 1: data=h1: expected IP addresses, with commas between",
        ),
        (
            "h1\nh1\n",
            "h1: occurs twice: leave one out, or give each its own name",
        ),
        (
            "h1\nh1:12865\n",
            "h1:12865: h1:12865 is also h1: leave one out",
        ),
        (
            "h1 name=a;b\n",
            "a;b: not a valid name: use letters, digits and -._:/@+, at most 253",
        ),
        (
            "h1 name=\u{1b}[31m\n",
            "\u{fffd}[31m: not a valid name: use letters, digits and -._:/@+, at most 253",
        ),
    ] {
        assert_eq!(refused(text.as_bytes()), said);
    }
}

#[test]
fn output_of_another_form_is_answered_with_the_option_for_a_good_one() {
    for (text, said) in [
        (
            "NAME   READY   STATUS\n",
            "this is the table of kubectl: add -o json",
        ),
        ("apiVersion: v1\n", "this is YAML of kubectl: use -o json"),
        (
            "# hosts\n[agents]\nh1\n",
            "this is an inventory file of Ansible: use ansible-inventory -i FILE --list",
        ),
        (
            "---\nall:\n",
            "this is an inventory of Ansible as YAML: use ansible-inventory -i FILE --list",
        ),
        (
            "PARTITION AVAIL  TIMELIMIT\n",
            "this is the table of sinfo: use scontrol -o show node",
        ),
        (
            "SwitchName=s0 Level=0\n",
            "this is a topology: give it to --topology, and scontrol -o show node as inventory",
        ),
        ("", "no member: the list is empty"),
        ("# nobody\n", "no member: the list is empty"),
        (
            "{",
            "not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
    ] {
        assert_eq!(refused(text.as_bytes()), said);
    }
    assert_eq!(refused(b"h1\xff\n"), "not text (UTF-8)");
    let said = refused(b"{\n\"hosts\": []\n}\n");
    assert!(
        said.starts_with("this JSON is neither a list of pods"),
        "{said}"
    );
    let options = InventoryOptions {
        group: Some("all".to_owned()),
        ..InventoryOptions::default()
    };
    let said = read(HOSTS, &options).unwrap_err().to_string();
    assert_eq!(said, "--group is only for an inventory of Ansible");
    let options = InventoryOptions {
        from: Some(EngineName::Ansible),
        ..InventoryOptions::default()
    };
    let said = read(PODS, &options).unwrap_err().to_string();
    assert_eq!(
        said,
        "not the output of ansible-inventory --list: no _meta.hostvars"
    );
}

#[test]
fn the_normal_form_is_read_as_it_was_written() {
    for (bytes, options) in [
        (PODS, InventoryOptions::default()),
        (ANSIBLE, InventoryOptions::default()),
        (SLURM, InventoryOptions::default()),
        (HOSTFILE, InventoryOptions::default()),
        (HOSTS, InventoryOptions::default()),
    ] {
        let members = read(bytes, &options).unwrap();
        let text = json_lines(&members);
        assert_eq!(auto(text.as_bytes()), members);
        // One member alone is a whole JSON text too.
        let first = text.split_inclusive('\n').next().unwrap();
        assert_eq!(auto(first.as_bytes()), members[..1]);
    }
    let bare = auto(br#"{"name":"a","control":"[::1]:5"}"#);
    assert_eq!(short(&bare), ["a [::1]:5 [] "]);
    assert_eq!(bare[0].source.id, "a");
}

#[test]
fn a_wrong_member_of_the_normal_form_is_named_by_its_line() {
    let good = r#"{"name":"a","control":"h:1"}"#;
    for (line, said) in [
        (
            r#"{"name":"b"}"#,
            "line 2: not a member: missing field `control`",
        ),
        (
            r#"{"name":"b","control":"h"}"#,
            "line 2: control has no port: it is HOST:PORT",
        ),
        (
            r#"{"name":"b","control":"h:0"}"#,
            "line 2: the port is not a number from 1 to 65535",
        ),
        ("h2", "line 2: not a member: expected value"),
        (
            r#"{"name":"b","control":"h:1"}"#,
            "b: h:1 is also a: leave one out",
        ),
    ] {
        assert_eq!(refused(format!("{good}\n{line}\n").as_bytes()), said);
    }
    let said =
        refused(format!("{good}\n{}\n", r#"{"name":"b","control":"i:1","port":2}"#).as_bytes());
    assert!(
        said.starts_with("line 2: not a member: unknown field `port`"),
        "{said}"
    );
}

#[test]
fn a_table_has_a_row_for_each_member() {
    assert_eq!(
        table(&auto(HOSTS)),
        "name      control          data              labels\n\
         h1        h1:12865                           rack=r1 zone=a\n\
         h2:12900  h2:12900         10.9.0.2,fd00::2  rack=r1\n\
         h3        [fd00::3]:12865                    rack=r2\n\
         fd00::4   [fd00::4]:12865                    rack=r2\n"
    );
}

#[test]
fn user_of_a_line_is_a_field_and_no_option_of_ssh() {
    let read = |text: &str| read(text.as_bytes(), &InventoryOptions::default());
    let members = read("root@h1\nh2\nj.d-oe+x_1@[2001:db8::1]:99\n").unwrap();
    let logins: Vec<Option<&str>> = members.iter().map(|one| one.login.as_deref()).collect();
    assert_eq!(logins, [Some("root"), None, Some("j.d-oe+x_1")]);
    let lines = json_lines(&members);
    assert!(lines.starts_with("{\"name\":\"h1\",\"login\":\"root\",\"control\":\"h1:12865\""));
    assert_eq!(read(&lines).unwrap(), members);
    for line in [
        "-oProxyCommand=CMD@127.0.0.1",
        "-lroot@h1",
        "@h1",
        "a;b@h1",
        "$(id)@h1",
        "a\"b@h1",
    ] {
        let said = read(line).unwrap_err().to_string();
        assert!(
            said.starts_with("line 1: the user before @"),
            "{line}: {said}"
        );
        let json = format!(
            "{{\"name\":\"a\",\"login\":{},\"control\":\"h1:1\"}}",
            serde_json::json!(line.split_once('@').unwrap().0)
        );
        assert!(read(&json).is_err(), "{json}");
    }
    // Two users: the host has none.
    assert!(read("a@b@h1").is_err());
}

#[test]
fn address_that_is_not_that_of_one_host_is_refused() {
    let read = |text: &str| read(text.as_bytes(), &InventoryOptions::default());
    for address in ["224.0.0.1", "ff02::1", "0.0.0.0", "::", "255.255.255.255"] {
        let said = read(&format!("h1 data={address}")).unwrap_err().to_string();
        assert_eq!(said, format!("h1: {address}: not the address of a host"));
        assert!(read(&format!("{address} name=a")).is_err(), "{address}");
        let json = format!("{{\"name\":\"a\",\"control\":\"h1:1\",\"data\":[\"{address}\"]}}");
        assert!(read(&json).is_err(), "{json}");
    }
    assert!(read("h1 data=192.0.2.1,2001:db8::1").is_ok());
}
