//! The form of a test that `--udp` and `--reverse` ask for.

use netperf_model::TestId;

use crate::args::{Args, GlobalArgs};
use crate::command::CliError;
use crate::grammar::direction;

/// The form of a test that `--udp` and `--reverse` ask for.
pub fn form_of(test: TestId, global: &GlobalArgs) -> TestId {
    const UDP: &[(TestId, TestId)] = &[
        (TestId::TcpStream, TestId::UdpStream),
        (TestId::TcpRr, TestId::UdpRr),
    ];
    const REVERSE: &[(TestId, TestId)] = &[
        (TestId::TcpStream, TestId::TcpMaerts),
        (TestId::SdpStream, TestId::SdpMaerts),
        (TestId::UdpStream, TestId::Omni),
    ];
    let form = |test, asked, forms: &[(TestId, TestId)]| {
        let other = forms.iter().find(|(of, _)| asked && *of == test);
        other.map_or(test, |(_, form)| *form)
    };
    form(form(test, global.udp, UDP), global.reverse, REVERSE)
}

/// Completes the form of a test, or rejects an option that the test has no form for.
pub fn complete(args: &mut Args, named: Option<TestId>) -> Result<(), CliError> {
    let Some(named) = named else { return Ok(()) };
    let (udp, reverse) = (args.global.udp, args.global.reverse);
    let over_udp = matches!(
        form_of(named, &args.global),
        TestId::UdpStream | TestId::UdpRr
    );
    let datagrams_back = named != TestId::Omni && form_of(named, &args.global) == TestId::Omni;
    if udp && !over_udp && !datagrams_back {
        return Err(CliError::OutOfPlace {
            option: "--udp",
            why: "only TCP_STREAM and TCP_RR have a form for UDP: choose another test, or OMNI \
                  with -- -T udp",
        });
    }
    let sends_back = matches!(
        form_of(named, &args.global),
        TestId::TcpMaerts | TestId::SdpMaerts
    );
    if reverse && !sends_back && !datagrams_back {
        return Err(CliError::OutOfPlace {
            option: "--reverse",
            why: "only TCP_STREAM, UDP_STREAM and SDP_STREAM have another direction: leave it out",
        });
    }
    if datagrams_back {
        args.test.transport.protocol = Some("udp".to_owned());
        args.test.direction = Some(direction("recv"));
    }
    Ok(())
}
