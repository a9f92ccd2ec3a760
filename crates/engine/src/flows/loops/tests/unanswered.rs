//! Requests without a response, and pauses.

use super::*;

#[test]
fn a_request_without_a_response_is_given_up_and_another_takes_its_place() {
    let (ours, theirs) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None).unwrap();
    let (shared, counts) = (
        SharedRun::new(1, RunStage::Count).unwrap(),
        Counts::default(),
    );
    let mut state: WorkerState<'_, NoRecorder> = WorkerState::new(&shared, &counts, false, false);
    state.patience = Some(Duration::from_millis(5));
    let mut flows = [FlowState::new(Tcp(ours), 2, 1, ())];
    let fds = flows.iter().map(|flow| flow.endpoint.fd());
    let mut poller = Poller::new(Waits::Sleeping, fds, Watch::Read, &shared.wakeup).unwrap();
    let by = &mut LoopEvents {
        poller: &mut poller,
        pacing: &mut Pacing::new(None, 1),
    };
    let peer = std::thread::spawn(move || {
        let mut request = [0; 10];
        // The response to the first request is lost, and more may be by a slow machine.
        calls::recv(theirs.as_fd(), &mut request).unwrap();
        let mut requests = 1;
        while let Ok(10) = calls::recv(theirs.as_fd(), &mut request) {
            requests += 1;
            if calls::send(theirs.as_fd(), &[0; 4]).is_err() {
                break;
            }
        }
        requests
    });
    let ended = ask(
        flows.as_mut_slice(),
        by,
        (&mut ring(10), &mut ring(4)),
        1,
        &mut state,
    );
    assert_eq!(ended.unwrap(), Ended::TimeOver);
    assert_eq!((state.tally.transactions, flows[0].left), (2, 0));
    assert!(state.tally.send_calls >= 3, "{}", state.tally.send_calls);
    drop(flows);
    assert!(peer.join().unwrap() >= 3);
}

#[test]
fn a_request_at_a_rate_without_a_response_is_given_up_and_another_takes_its_place() {
    let (ours, theirs): (Vec<Socket>, Vec<Socket>) = (0..2)
        .map(|_| Socket::pair(Domain::UNIX, Type::SEQPACKET, None).unwrap())
        .unzip();
    let (shared, counts) = (
        SharedRun::new(1, RunStage::Count).unwrap(),
        Counts::default(),
    );
    let mut state: WorkerState<'_, NoRecorder> = WorkerState::new(&shared, &counts, false, false);
    state.patience = Some(Duration::from_millis(5));
    let mut flows: Vec<FlowState<Tcp, ()>> = ours
        .into_iter()
        .map(|socket| FlowState::new(Tcp(socket), 3, 1, ()))
        .collect();
    let fds = flows.iter().map(|flow| flow.endpoint.fd());
    let mut poller = Poller::new(Waits::Sleeping, fds, Watch::Read, &shared.wakeup).unwrap();
    let by = &mut LoopEvents {
        poller: &mut poller,
        pacing: &mut Pacing::new(None, 2),
    };
    let plan = RatePlan {
        per_second: 2_000.0,
        unit: RateUnit::Transactions,
        arrival: Arrival::Constant,
        seed: None,
    };
    let mut queue = DueQueue::of_thread(&plan, 2, 0, 1);
    queue.number(Some(1));
    let peers: Vec<_> = theirs
        .into_iter()
        .map(|theirs| {
            std::thread::spawn(move || {
                let mut request = [0; 10];
                // The first two requests are lost, and more may be by a slow machine.
                let mut requests = 0;
                while let Ok(10) = calls::recv(theirs.as_fd(), &mut request) {
                    requests += 1;
                    let response = [request[0]; 4];
                    if requests > 2 && calls::send(theirs.as_fd(), &response).is_err() {
                        break;
                    }
                }
                requests
            })
        })
        .collect();
    let rings = (&mut ring(10), &mut ring(4));
    let ended = ask_at_times(&mut flows, by, rings, &mut queue, &mut state);
    assert_eq!(ended.unwrap(), Ended::TimeOver);
    assert_eq!(state.tally.transactions, 6);
    assert!(flows.iter().all(|flow| flow.left == 0 && flow.over));
    let (_, paced) = queue.balance(true);
    assert_eq!(paced.sent - paced.unanswered, 6);
    assert!(paced.unanswered >= 4, "{}", paced.unanswered);
    drop(flows);
    for peer in peers {
        assert!(peer.join().unwrap() >= 5);
    }
}

#[test]
fn flows_send_nothing_during_a_pause_and_go_on_after_it() {
    let (here, there) = pairs(2);
    let shared = Arc::new(SharedRun::new(1, RunStage::Count).unwrap());
    let counts = Live::default().of_workers(1);
    shared.open();
    shared.pause(true);
    let sender = {
        let (shared, counts) = (Arc::clone(&shared), Arc::clone(&counts));
        std::thread::spawn(move || {
            let push = (LoopRole::Push, None, Waits::Sleeping);
            end::<NoRecorder>(push, here, None, &shared, &counts[0])
        })
    };
    let mut scrap = vec![0; 1 << 20];
    let mut received = |patience, most: usize| {
        let mut sum = 0;
        let _over = netperf_testkit::eventually(patience, || {
            for socket in &there {
                sum += calls::recv_now(socket.as_fd(), &mut scrap).unwrap_or(0);
            }
            sum > most
        });
        sum
    };
    // The first send of each flow precedes the first look at the stage.
    let most = 2 * 300_000;
    let first = received(Duration::from_millis(200), most);
    assert!(first <= most, "{first}");
    shared.pause(false);
    assert!(received(Duration::from_secs(60), most) > most);
    shared.enter(RunStage::Finish);
    assert_eq!(sender.join().unwrap().ended, Ended::TimeOver);
}
