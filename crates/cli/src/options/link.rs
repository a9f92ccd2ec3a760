//! The options behind `--` of the tests below the network layer: those of the dlpi
//! suite (DLCO_STREAM, DLCO_RR, DLCL_STREAM, DLCL_RR), of the fore suite
//! (FORE_STREAM, FORE_RR), and of the hippi suite (HIPPI_STREAM, HIPPI_RR).

use super::{help_row, set_both_ends, set_pair, shared};
use crate::args::{PerDirection, TestArgs};
use crate::grammar::{both_halves, int};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<TestArgs>;

/// One whole number or two.
const COUNTS: ValueKind = ValueKind::twice(&ValueKind::Count);

/// Every option of the dlpi suite. Its numbers never had size letters.
pub(crate) static DLPI: &[OptionSpec<TestArgs>] = &[
    help_row(),
    frame_send_size(),
    frame_recv_size(),
    frame_request_size(),
    device(),
    device_unit(),
    access_point(),
    Opt::ready(
        'w',
        "send,recv",
        "local windows, in frames",
        Action::Value(|a, text| set_windows(&mut a.windows, text)),
    )
    .long("link-window", Group::Sockets, COUNTS)
    .more(
        "For connections (DLCO tests): frames in flight before an acknowledgement is due. One \
         value is for both.",
    ),
    Opt::ready(
        'W',
        "send,recv",
        "remote windows, in frames",
        Action::Value(|a, text| set_windows(&mut a.remote_windows, text)),
    )
    .long("remote-link-window", Group::Sockets, COUNTS)
    .more("As --link-window, at the other end."),
];

/// Every option of the hippi suite.
pub(crate) static HIPPI: &[OptionSpec<TestArgs>] = &[
    help_row(),
    frame_send_size(),
    frame_recv_size(),
    frame_request_size(),
    device(),
    device_unit(),
    access_point(),
];

/// Every option of the fore suite.
pub(crate) static FORE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::send_size(),
    shared::recv_size(),
    shared::request_size(),
    Opt::ready(
        'd',
        "local,remote",
        "the circuit at each end: interface.VPI.VCI",
        Action::Value(|a, text| set_both_ends(&mut a.device, text, str::to_owned)),
    )
    .long(
        "circuit",
        Group::Addresses,
        ValueKind::twice(&ValueKind::Text),
    )
    .more(
        "Numbers of the ATM interface, the virtual path and the virtual channel, such as \
         0.0.100. One circuit is for both ends.",
    ),
    shared::socket_buffer(),
    shared::remote_socket_buffer(),
];

const fn frame_send_size() -> Opt {
    Opt::ready(
        'm',
        "bytes",
        "bytes per send",
        Action::Value(|a, text| a.send_size.local = Some(int(text))),
    )
    .long("send-size", Group::Operation, ValueKind::Count)
    .more("The default is the capacity of a frame.")
}

const fn frame_recv_size() -> Opt {
    Opt::ready(
        'M',
        "bytes",
        "bytes per receive",
        Action::Value(|a, text| a.recv_size.remote = Some(int(text))),
    )
    .long("recv-size", Group::Operation, ValueKind::Count)
    .more("The default is the capacity of a frame.")
}

const fn frame_request_size() -> Opt {
    Opt::ready(
        'r',
        "request,response",
        "bytes per request and response",
        Action::Value(|a, text| set_pair(&mut a.request, text, int)),
    )
    .long("request-size", Group::Operation, COUNTS)
    .more("One value is for both (default 100,200).")
}

/// Action shared with OMNI's rows that have no letter.
const DEVICE: Action<TestArgs> =
    Action::Value(|a, text| set_both_ends(&mut a.device, text, str::to_owned));
const UNIT: Action<TestArgs> = Action::Value(|a, text| set_both_ends(&mut a.unit, text, int));
const ACCESS_POINT: Action<TestArgs> = Action::Value(|a, text| a.sap = Some(int(text)));

/// The device of OMNI over the link level or a circuit: its letters mean other things.
pub(super) const fn omni_device() -> Opt {
    Opt::without_letter("local,remote", "the device at each end", DEVICE)
        .long(
            "device",
            Group::Addresses,
            ValueKind::twice(&ValueKind::Text),
        )
        .more(
            "A network interface for -T llc1, llc2 and packet; interface.VPI.VCI for -T atm. \
             One device is for both ends.",
        )
}

/// The number of that device.
pub(super) const fn omni_device_unit() -> Opt {
    Opt::without_letter("local,remote", "number of the device", UNIT).long(
        "device-unit",
        Group::Addresses,
        COUNTS,
    )
}

/// The service access point of OMNI over the link level.
pub(super) const fn omni_access_point() -> Opt {
    Opt::without_letter("number", "service access point (default 84)", ACCESS_POINT).long(
        "sap",
        Group::Addresses,
        ValueKind::Within(0, 255),
    )
}

const fn device() -> Opt {
    Opt::ready(
        'D',
        "local,remote",
        "the network interface at each end",
        DEVICE,
    )
    .long(
        "device",
        Group::Addresses,
        ValueKind::twice(&ValueKind::Text),
    )
    .more("One name is for both ends.")
}

const fn device_unit() -> Opt {
    Opt::ready(
        'p',
        "local,remote",
        "number of the device (default 4)",
        UNIT,
    )
    .long("device-unit", Group::Addresses, COUNTS)
    .more("One number is for both ends. It has no effect if --device names an interface.")
}

const fn access_point() -> Opt {
    Opt::ready(
        's',
        "number",
        "the service access point (default 84)",
        ACCESS_POINT,
    )
    .long("sap", Group::Addresses, ValueKind::Within(0, 255))
}

/// A sizespec without size letters.
fn set_windows(windows: &mut PerDirection<i32>, text: &str) {
    super::set(&mut windows.send, &mut windows.recv, both_halves(text), int);
}
