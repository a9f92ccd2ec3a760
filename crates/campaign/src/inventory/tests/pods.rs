use super::*;

/// The pods of the saved output after a change of the first one.
fn pods(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let mut list: serde_json::Value = serde_json::from_slice(PODS).unwrap();
    change(&mut list["items"][0]);
    serde_json::to_vec(&list).unwrap()
}

#[test]
fn pods_of_kubectl_are_members_with_their_nodes_and_addresses() {
    let members = auto(PODS);
    assert_eq!(
        short(&members),
        [
            "netperf-agent-0-x7k20 10.78.1.7:12865 [10.78.1.7,fd00:78:1::7] network=pod node=h1",
            "netperf-agent-1-x7k21 10.78.2.5:12865 [10.78.2.5] network=pod node=h2",
            "netperf-agent-2-x7k22 10.78.3.6:12865 [10.78.3.6] network=pod node=h3",
        ]
    );
    let source = &members[0].source;
    assert_eq!(source.engine, EngineName::Kubernetes);
    assert_eq!(
        source.uid.as_deref(),
        Some("5f0b2f1e-2d44-4b57-9a7e-000000000000")
    );
}

#[test]
fn a_list_as_the_api_server_gives_it_and_one_pod_alone_are_read_too() {
    let mut list: serde_json::Value = serde_json::from_slice(PODS).unwrap();
    let one = serde_json::to_vec(&list["items"][0]).unwrap();
    assert_eq!(short(&auto(&one)), short(&auto(PODS)[..1]));
    list["kind"] = "PodList".into();
    for item in list["items"].as_array_mut().unwrap() {
        let item = item.as_object_mut().unwrap();
        item.remove("kind");
        item.remove("apiVersion");
    }
    let list = serde_json::to_vec(&list).unwrap();
    assert_eq!(auto(&list), auto(PODS));
}

#[test]
fn nodes_give_pods_their_zones_and_racks() {
    let options = InventoryOptions {
        topology: Some(NODES.to_vec()),
        ..InventoryOptions::default()
    };
    let members = read(PODS, &options).unwrap();
    let labels =
        |member: &InventoryMember| format!("{} {}", member.labels["zone"], member.labels["rack"]);
    let labels: Vec<String> = members.iter().map(labels).collect();
    assert_eq!(labels, ["z1 rack-1", "z1 rack-2", "z2 rack-3"]);
    // As printed by `kubectl get pods,nodes -o json`.
    let mut both: serde_json::Value = serde_json::from_slice(PODS).unwrap();
    let nodes: serde_json::Value = serde_json::from_slice(NODES).unwrap();
    let items = both["items"].as_array_mut().unwrap();
    items.extend(nodes["items"].as_array().unwrap().iter().cloned());
    assert_eq!(auto(&serde_json::to_vec(&both).unwrap()), members);
}

#[test]
fn a_pod_that_is_not_ready_is_refused_by_name() {
    let waits = pods(|pod| {
        pod["status"]["phase"] = "Pending".into();
        pod["status"]["conditions"][2]["status"] = "False".into();
        pod["status"]["containerStatuses"][0]["state"] =
            serde_json::json!({"waiting": {"reason": "ImagePullBackOff"}});
    });
    assert_eq!(
        refused(&waits),
        "netperf-agent-0-x7k20: not ready (ImagePullBackOff): wait until it is, or delete it"
    );
    let probed = pods(|pod| {
        let ready = &mut pod["status"]["conditions"][2];
        ready["status"] = "False".into();
        ready["reason"] = "ContainersNotReady".into();
    });
    assert_eq!(
        refused(&probed),
        "netperf-agent-0-x7k20: not ready (ContainersNotReady): wait until it is, or delete it"
    );
}

#[test]
fn a_terminating_pod_is_refused_by_name() {
    let leaves = pods(|pod| pod["metadata"]["deletionTimestamp"] = "2026-11-21T18:10:00Z".into());
    assert_eq!(
        refused(&leaves),
        "netperf-agent-0-x7k20: terminating: print the list again when it is gone"
    );
}

#[test]
fn an_ended_pod_is_refused_by_name() {
    let ended = pods(|pod| pod["status"]["phase"] = "Failed".into());
    assert_eq!(
        refused(&ended),
        "netperf-agent-0-x7k20: ended (Failed): delete it"
    );
}

#[test]
fn a_restarted_pod_is_refused_by_name_or_accepted_on_request() {
    let again = pods(|pod| pod["status"]["containerStatuses"][0]["restartCount"] = 2.into());
    let said = refused(&again);
    assert!(
        said.starts_with("netperf-agent-0-x7k20: restarted 2 times: "),
        "{said}"
    );
    assert!(said.ends_with("--allow-restarted"), "{said}");
    let options = InventoryOptions {
        allow_restarted: true,
        ..InventoryOptions::default()
    };
    assert_eq!(read(&again, &options).unwrap(), auto(PODS));
}

#[test]
fn a_pod_without_an_address_is_refused_by_name() {
    let mute = pods(|pod| {
        let status = pod["status"].as_object_mut().unwrap();
        status.remove("podIP");
        status.remove("podIPs");
    });
    assert_eq!(
        refused(&mute),
        "netperf-agent-0-x7k20: no address: print the list again when it has one"
    );
}

#[test]
fn two_pods_on_one_node_are_refused_by_name_or_accepted_on_request() {
    let shared = pods(|pod| pod["spec"]["nodeName"] = "h3".into());
    let said = refused(&shared);
    let expected = "netperf-agent-2-x7k22: on node h3, as netperf-agent-0-x7k20: ";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.ends_with("--allow-shared-nodes"), "{said}");
    let options = InventoryOptions {
        allow_shared_nodes: true,
        ..InventoryOptions::default()
    };
    assert_eq!(read(&shared, &options).unwrap().len(), 3);
}

#[test]
fn a_pod_on_a_node_that_is_not_ready_or_not_known_is_refused_by_name() {
    let mut nodes: serde_json::Value = serde_json::from_slice(NODES).unwrap();
    nodes["items"][0]["status"]["conditions"][1]["status"] = "Unknown".into();
    nodes["items"].as_array_mut().unwrap().pop();
    let options = InventoryOptions {
        topology: Some(serde_json::to_vec(&nodes).unwrap()),
        ..InventoryOptions::default()
    };
    assert_eq!(
        read(PODS, &options).unwrap_err().to_string(),
        "netperf-agent-0-x7k20: its node h1 is not ready: leave it out\n\
         netperf-agent-2-x7k22: its node h3 is not in the topology: print it again"
    );
}

#[test]
fn the_same_pod_twice_is_refused_by_name() {
    let mut list: serde_json::Value = serde_json::from_slice(PODS).unwrap();
    let first = list["items"][0].clone();
    list["items"].as_array_mut().unwrap().push(first);
    assert_eq!(
        refused(&serde_json::to_vec(&list).unwrap()),
        "netperf-agent-0-x7k20: occurs twice: leave one out, or give each its own name"
    );
}

#[test]
fn every_bad_member_has_a_line() {
    let mut list: serde_json::Value = serde_json::from_slice(PODS).unwrap();
    list["items"][0]["metadata"]["deletionTimestamp"] = "2026-11-21T18:10:00Z".into();
    list["items"][1]["status"]["phase"] = "Succeeded".into();
    let said = refused(&serde_json::to_vec(&list).unwrap());
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[test]
fn objects_that_are_no_pods_are_refused() {
    let service = br#"{"kind":"List","items":[{"kind":"Service","metadata":{"name":"web"}}]}"#;
    assert_eq!(
        refused(service),
        "not the output of kubectl get pods -o json: Service web, and not a pod"
    );
    assert_eq!(
        refused(br#"{"kind":"PodList","items":null}"#),
        "no member: the list is empty"
    );
    let damaged = pods(|pod| pod["status"]["podIP"] = "10.78.1".into());
    let said = refused(&damaged);
    assert!(
        said.starts_with("not the output of kubectl get -o json: invalid IP"),
        "{said}"
    );
}
