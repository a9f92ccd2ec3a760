//! IP addresses as the OMNI request carries them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::values::WireFamily;

/// The four words that carry `ip`.
///
/// An IPv4 address is the first word, in dotted order. An IPv6 address is sent with
/// the bytes of each word reversed, as every little-endian stock program does
/// (control-protocol.md 1.2); a big-endian one would send them in order, and the two
/// do not understand each other.
#[must_use]
pub fn ip_to_words(ip: IpAddr) -> [u32; 4] {
    match ip {
        IpAddr::V4(v4) => [v4.to_bits(), 0, 0, 0],
        IpAddr::V6(v6) => reverse_words(v6.to_bits()),
    }
}

/// The address in four words of a request for `family`; none if the family has no
/// IP addresses.
#[must_use]
pub fn words_to_ip(words: [u32; 4], family: WireFamily) -> Option<IpAddr> {
    let [first, second, third, fourth] = words;
    match family {
        WireFamily::Inet => Some(Ipv4Addr::from_bits(first).into()),
        WireFamily::Inet6 => {
            let bits = [first, second, third, fourth]
                .into_iter()
                .fold(0, |bits, word| bits << 32 | u128::from(word.swap_bytes()));
            Some(Ipv6Addr::from_bits(bits).into())
        }
        WireFamily::Unspecified | WireFamily::Rds | WireFamily::Other(_) => None,
    }
}

/// Cuts an address into words and reverses the bytes of each.
fn reverse_words(bits: u128) -> [u32; 4] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bits.to_be_bytes();
    [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]].map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_ipv4_address_is_the_first_word_in_dotted_order() {
        assert_eq!(
            ip_to_words(IpAddr::from([127, 0, 0, 1])),
            [0x7f00_0001, 0, 0, 0]
        );
    }

    #[test]
    fn each_word_of_an_ipv6_address_is_reversed() {
        let ip: IpAddr = "2001:db8::1".parse().unwrap();
        assert_eq!(ip_to_words(ip), [0xb80d_0120, 0, 0, 0x0100_0000]);
    }

    #[test]
    fn a_family_without_ip_addresses_gives_none() {
        assert_eq!(words_to_ip([0; 4], WireFamily::Unspecified), None);
        assert_eq!(words_to_ip([0; 4], WireFamily::Rds), None);
    }

    proptest! {
        #[test]
        fn an_address_survives_its_words(ip: IpAddr) {
            let family = WireFamily::of(ip);
            prop_assert_eq!(words_to_ip(ip_to_words(ip), family), Some(ip));
        }
    }
}
