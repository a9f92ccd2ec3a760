//! The options behind `--` of the tests below the network layer: those of the dlpi
//! suite (DLCO_STREAM, DLCO_RR, DLCL_STREAM, DLCL_RR), of the fore suite
//! (FORE_STREAM, FORE_RR), and of the hippi suite (HIPPI_STREAM, HIPPI_RR).

use netperf_arguments::args::{PerDirection, TestArgs};
use netperf_arguments::grammar::{both_halves, int};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

use super::{help_row, set_both_ends, set_pair, shared};

type Opt = OptionSpec<TestArgs>;

/// One whole number or two.
const COUNTS: ValueKind = ValueKind::twice(&ValueKind::Count);

/// Every option of the dlpi suite. Its numbers never had size letters.
pub(crate) static DLPI: &[OptionSpec<TestArgs>] = &[
    help_row(),
    FRAME_SEND_SIZE,
    FRAME_RECV_SIZE,
    FRAME_REQUEST_SIZE,
    DEVICE,
    DEVICE_UNIT,
    ACCESS_POINT,
    Opt::lettered('w', "link-window", Group::Sockets)
        .takes("send,recv", COUNTS)
        .set(|a, text| set_windows(&mut a.windows, text))
        .help("local windows, in frames")
        .more(
            "For connections (DLCO tests): frames in flight before an acknowledgement is due. One \
             value is for both.",
        ),
    Opt::lettered('W', "remote-link-window", Group::Sockets)
        .takes("send,recv", COUNTS)
        .set(|a, text| set_windows(&mut a.remote_windows, text))
        .help("remote windows, in frames")
        .more("As --link-window, at netserver."),
];

/// Every option of the hippi suite.
pub(crate) static HIPPI: &[OptionSpec<TestArgs>] = &[
    help_row(),
    FRAME_SEND_SIZE,
    FRAME_RECV_SIZE,
    FRAME_REQUEST_SIZE,
    DEVICE,
    DEVICE_UNIT,
    ACCESS_POINT,
];

/// Every option of the fore suite.
pub(crate) static FORE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::SEND_SIZE,
    shared::RECV_SIZE,
    shared::REQUEST_SIZE,
    Opt::lettered('d', "circuit", Group::Addresses)
        .takes("local,remote", ValueKind::twice(&ValueKind::Text))
        .set(|a, text| set_both_ends(&mut a.device, text, str::to_owned))
        .help("the circuit at client and server: interface.VPI.VCI")
        .more(
            "Numbers of the ATM interface, the virtual path and the virtual channel, such as \
             0.0.100. One circuit is for client and server.",
        ),
    shared::SOCKET_BUFFER,
    shared::REMOTE_SOCKET_BUFFER,
    Opt::lettered('a', "adaptation-layer", Group::Compatibility)
        .takes("number", ValueKind::Count)
        .set(|a, text| a.adaptation_layer = Some(int(text)))
        .help("ATM adaptation layer; 5 is in force, whatever is given"),
    shared::unused('b', "mean-burst"),
    shared::unused('p', "peak-bandwidth"),
    shared::unused('P', "mean-bandwidth"),
];

const FRAME_SEND_SIZE: Opt = Opt::lettered('m', "send-size", Group::Operation)
    .takes("bytes", ValueKind::Count)
    .set(|a, text| a.send_size.local = Some(int(text)))
    .help("bytes per send")
    .more("The default is the capacity of a frame.");

const FRAME_RECV_SIZE: Opt = Opt::lettered('M', "recv-size", Group::Operation)
    .takes("bytes", ValueKind::Count)
    .set(|a, text| a.recv_size.remote = Some(int(text)))
    .help("bytes per receive")
    .more("The default is the capacity of a frame.");

const FRAME_REQUEST_SIZE: Opt = Opt::lettered('r', "request-size", Group::Operation)
    .takes("request,response", COUNTS)
    .set(|a, text| set_pair(&mut a.request, text, int))
    .help("bytes per request and response")
    .more("One value is for both (default 100,200).");

/// The device of OMNI over the link level or a circuit. Its letter is another option there.
pub(super) const OMNI_DEVICE: Opt = DEVICE.without_letter().help("the device at client and server").more(
    "A network interface for -T llc1, llc2 and packet; interface.VPI.VCI for -T atm. One device is \
     for client and server.",
);

/// The number of that device.
pub(super) const OMNI_DEVICE_UNIT: Opt = DEVICE_UNIT
    .without_letter()
    .help("number of the device")
    .more("");

/// The service access point of OMNI over the link level.
pub(super) const OMNI_ACCESS_POINT: Opt = ACCESS_POINT
    .without_letter()
    .help("service access point (default 84)");

const DEVICE: Opt = Opt::lettered('D', "device", Group::Addresses)
    .takes("local,remote", ValueKind::twice(&ValueKind::Text))
    .set(|a, text| set_both_ends(&mut a.device, text, str::to_owned))
    .help("the network interface of client and server")
    .more(
        "One name is for client and server. The default is the interface whose address is that of \
         the control connection.",
    );

const DEVICE_UNIT: Opt = Opt::lettered('p', "device-unit", Group::Addresses)
    .takes("local,remote", COUNTS)
    .set(|a, text| set_both_ends(&mut a.unit, text, int))
    .help("number of the device")
    .more(
        "One number is for client and server: the index of an interface, or the number that is a \
         part of its name. It has no effect if --device names an interface.",
    );

const ACCESS_POINT: Opt = Opt::lettered('s', "sap", Group::Addresses)
    .takes("number", ValueKind::Within(0, 255))
    .set(|a, text| a.sap = Some(int(text)))
    .help("the service access point (default 84)");

/// A sizespec without size letters.
fn set_windows(windows: &mut PerDirection<i32>, text: &str) {
    super::set(&mut windows.send, &mut windows.recv, both_halves(text), int);
}
