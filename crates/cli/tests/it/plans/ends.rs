//! Each end: buffers, sockets, CPUs.

use std::time::Duration;

use netperf_model::{CpuMethod, CpuPlan, RingPlan, Routing, Setting, Settings, SocketPlan};

use crate::common::run;

#[test]
fn udp_is_routed_unless_the_user_forbids_it() {
    for (line, routing) in [
        ("-t UDP_STREAM", Routing::Routed),
        ("-t UDP_STREAM -- -R 1", Routing::Routed),
        ("-t UDP_STREAM -- -R 0", Routing::DirectOnly),
        ("-t TCP_RR -- -R 0", Routing::DirectOnly),
    ] {
        let plan = run(line).plan;
        assert_eq!(plan.local.socket.routing, routing, "{line}");
        assert_eq!(plan.remote.socket.routing, routing, "{line}");
    }
}

#[test]
fn message_sizes_are_local_first_for_m_and_remote_first_for_big_m() {
    let plan = run("-- -m 1K,2K -M 3K,4K").plan;
    assert_eq!(
        (plan.local.send.size, plan.remote.send.size),
        (Some(1024), Some(2048))
    );
    assert_eq!(
        (plan.remote.recv.size, plan.local.recv.size),
        (Some(3072), Some(4096))
    );
    let plan = run("-- -m 0 -M abc").plan;
    assert_eq!((plan.local.send.size, plan.remote.recv.size), (None, None));
    let plan = run("-- -m ,64K").plan;
    assert_eq!(
        (plan.local.send.size, plan.remote.send.size),
        (None, Some(65536))
    );
    let plan = run("-t TCP_SENDFILE -- -m 4K,8K -M 2K").plan;
    assert_eq!(
        (plan.local.send.size, plan.remote.send.size),
        (Some(4096), None)
    );
    assert_eq!(
        (plan.local.recv.size, plan.remote.recv.size),
        (None, Some(2048))
    );
}

#[test]
fn a_socket_buffer_of_zero_is_asked_for_and_a_negative_one_is_not() {
    let socket = |line: &str| run(line).plan.local.socket;
    assert_eq!(socket("-- -s 0").send_buffer, Some(0));
    assert_eq!(socket("-- -s -1").send_buffer, None);
    assert_eq!(socket("-- -s 16K,").recv_buffer, None);
    let plan = run("-- -s 16K,32K -S ,64K").plan;
    assert_eq!(plan.local.socket.recv_buffer, Some(32768));
    assert_eq!(plan.remote.socket.send_buffer, None);
    assert_eq!(plan.remote.socket.recv_buffer, Some(65536));
}

#[test]
fn buffers_are_aligned_offset_and_counted_as_asked() {
    let plan = run("-a 4096,8K -A 16 -o 3 -O 5,7 -W 3,4").plan;
    let ring = |align, offset, width| RingPlan {
        size: None,
        width: Some(width),
        align,
        offset,
    };
    assert_eq!(
        (plan.local.send, plan.local.recv),
        (ring(4096, 3, 3), ring(8192, 3, 4))
    );
    assert_eq!(
        (plan.remote.send, plan.remote.recv),
        (ring(16, 5, 3), ring(16, 7, 4))
    );
    assert_eq!(run("-a 0").plan.local.send.align, 1);
    assert_eq!(run("-a -5 -o -5").plan.local.send.align, 1);
    assert_eq!(run("-a 12").plan.local.send.align, 16);
    let plan = run("-W 3,4 -- -W 5").plan;
    assert_eq!(
        (plan.local.send.width, plan.remote.send.width),
        (Some(5), Some(5))
    );
}

#[test]
fn socket_options_go_to_the_ends_they_are_for() {
    let plan = run(
        "-S -y 3,4 -Y ef,CS1 -t UDP_RR -- -D -C -g -G 1000b -K cubic,ab -l 3 -n \
                    -q 1000000 -B -f -F",
    )
    .plan;
    let local = SocketPlan {
        nodelay: true,
        cork: true,
        keepalive: true,
        debug: true,
        segment_size: Some(1000),
        priority: Some(3),
        tos: Some(0xb8),
        congestion: Some("cubic".to_owned()),
        fast_open: true,
        connected_datagram: true,
        no_fragmentation: true,
        multicast_ttl: Some(3),
        settings: Settings::default().with(Setting::PacingRate, 1_000_000),
        ..SocketPlan::default()
    };
    assert_eq!(plan.local.socket, local);
    let remote = SocketPlan {
        nodelay: true,
        cork: true,
        keepalive: true,
        priority: Some(4),
        tos: Some(0x20),
        congestion: Some("ab".to_owned()),
        packet_info: true,
        fast_open: true,
        no_fragmentation: true,
        ..SocketPlan::default()
    };
    assert_eq!(plan.remote.socket, remote);
    let plan = run("-- -N -a -U -I -V -e 2 -u 0123456789012345678901234567890123456789").plan;
    assert!(plan.remote.socket.connected_datagram && plan.remote.socket.defer_accept);
    assert!(plan.retry_connects && plan.use_write && plan.local.copy_avoidance);
    assert_eq!(plan.recv_timeout, Some(Duration::from_secs(2)));
    assert_eq!(
        plan.uuid.as_deref(),
        Some("0123456789012345678901234567890123456")
    );
    assert_eq!(run("-y 1 -Y bogus").plan.local.socket.tos, None);
    assert_eq!(run("-y 1").plan.remote.socket.priority, Some(1));
}

/// A CPU measurement that was asked for with or without a rate.
fn cpu_plan(rate: Option<f32>) -> Option<CpuPlan> {
    Some(CpuPlan {
        rate,
        method: CpuMethod::ProcStat,
    })
}

#[test]
fn cpu_rates_and_bindings_are_per_end() {
    let plan = run("-c 100 -C 100.5 -T 0,1").plan;
    assert_eq!(plan.local.cpu, cpu_plan(Some(100.0)));
    assert_eq!(plan.remote.cpu, cpu_plan(Some(100.5)));
    assert_eq!((plan.local.bind, plan.remote.bind), (Some(0), Some(1)));
    let run = run("-cC -T ,1 -t TCP_RR");
    assert_eq!(run.plan.local.cpu, cpu_plan(None));
    assert_eq!((run.plan.local.bind, run.plan.remote.bind), (None, Some(1)));
    assert!(run.report.cpu_bind_shown);
}
