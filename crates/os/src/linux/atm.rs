//! Permanent virtual circuits of ATM (linux/atm.h).

use std::io;
use std::os::fd::BorrowedFd;

use socket2::SockAddr;

use super::address;
use super::call::{plain, set_option};

/// The protocol of AAL5, `ATM_AAL5`.
pub const AAL5: u8 = 5;
/// The most bytes of an AAL5 message, `ATM_MAX_AAL5_PDU`.
pub const LARGEST_MESSAGE: u16 = 65_535;

/// `SOL_ATM`.
const SOL_ATM: libc::c_int = 264;
/// `SO_ATMQOS`, which encodes level, number and size.
const SO_ATMQOS: libc::c_int = 0x4202_0054;
/// `ATM_UBR`: whatever rate is left.
const UNSPECIFIED_RATE: u8 = 1;

/// struct sockaddr_atmpvc.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawCircuit {
    family: u16,
    pad: u16,
    interface: i16,
    path: i16,
    channel: i32,
}

plain!(RawCircuit);

/// struct atm_trafprm: the traffic of one direction.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawTraffic {
    class: u8,
    pad: [u8; 3],
    /// max_pcr, pcr, min_pcr and max_cdv, of which UBR uses none.
    rates: [i32; 4],
    largest_message: i32,
    /// Used by ABR only.
    rest: [u32; 4],
}

/// struct atm_qos.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawQuality {
    sends: RawTraffic,
    receives: RawTraffic,
    adaptation_layer: u8,
    pad: [u8; 3],
}

/// The address of a circuit: interface, virtual path, virtual channel.
#[must_use]
pub fn circuit(interface: i16, path: i16, channel: i32) -> SockAddr {
    address::of(RawCircuit {
        family: u16::try_from(libc::AF_ATMPVC).unwrap_or(0),
        pad: 0,
        interface,
        path,
        channel,
    })
}

/// Asks for AAL5 with messages of up to `largest` bytes both ways, at whatever rate is
/// left. Must come before the socket is bound or connected.
///
/// # Errors
/// `EINVAL` for a size that AAL5 has not.
pub fn ask_for_quality(fd: BorrowedFd<'_>, largest: u16) -> io::Result<()> {
    let traffic = RawTraffic {
        class: UNSPECIFIED_RATE,
        pad: [0; 3],
        rates: [0; 4],
        largest_message: i32::from(largest),
        rest: [0; 4],
    };
    let quality = RawQuality {
        sends: traffic,
        receives: traffic,
        adaptation_layer: AAL5,
        pad: [0; 3],
    };
    set_option(fd, SOL_ATM, SO_ATMQOS, &quality)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_have_the_sizes_that_the_kernel_wants() {
        assert_eq!(size_of::<RawCircuit>(), 12);
        assert_eq!(size_of::<RawTraffic>(), 40);
        assert_eq!(size_of::<RawQuality>(), 84);
        assert_eq!(circuit(0, 0, 100).len(), 12);
        assert_eq!(i32::from(circuit(0, 0, 100).family()), libc::AF_ATMPVC);
    }
}
