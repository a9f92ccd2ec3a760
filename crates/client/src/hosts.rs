//! The two ends of the data connection, as addresses.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use netperf_model::{DataAddress, Family, Host, Hosts, TestPlan};
use netperf_os::Type;
use netperf_os::resolve::ResolveError;
use netperf_program::output::{Failure, REFUSED};

use super::control::{self, ControlConnection, family_of, look_up};
use super::way_out::resolving;

/// Resolves both data hosts.
pub(super) fn data_hosts(
    plan: &TestPlan,
    control: Option<&ControlConnection>,
) -> Result<Hosts, Failure> {
    let kind = if plan.transport.is_connected() {
        Type::STREAM
    } else {
        Type::DGRAM
    };
    let remote = remote(plan, control, kind)?;
    let local = local(&plan.local_data, remote.family(), kind)?;
    Ok(Hosts { local, remote })
}

fn remote(
    plan: &TestPlan,
    control: Option<&ControlConnection>,
    kind: Type,
) -> Result<Host, Failure> {
    let asked = &plan.remote_data;
    let family = match (asked.family, control) {
        (Family::Unspecified, Some(control)) => control.peer.as_ref().map_or(Family::V4, family_of),
        (family, _) => family,
    };
    let host = resolved(asked, &asked.host, family, kind)?;
    if host.vsock.is_some() {
        return Ok(host);
    }
    // If the name has several addresses, the one at which netserver was reached.
    let same_name = plan
        .control
        .as_ref()
        .is_some_and(|plan| plan.remote.host == asked.host);
    let reached = control
        .and_then(|control| control.peer)
        .filter(|peer| same_name && family_of(peer) == host.family());
    Ok(match reached {
        Some(peer) => Host {
            port: host.port,
            ..at(host.name, peer)
        },
        None => host,
    })
}

fn local(asked: &DataAddress, family: Family, kind: Type) -> Result<Host, Failure> {
    let wildcard = !asked.named;
    let name = match family {
        Family::V6 if wildcard => "::0",
        Family::V4 if wildcard => "0.0.0.0",
        Family::Unspecified | Family::V4 | Family::V6 => &asked.host,
    };
    let family = if asked.family == Family::Unspecified {
        family
    } else {
        asked.family
    };
    resolved(asked, name, family, kind)
}

fn resolved(asked: &DataAddress, name: &str, family: Family, kind: Type) -> Result<Host, Failure> {
    if let Some(cid) = control::context_id(name) {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        return Ok(Host {
            vsock: Some(cid),
            ..at(name.to_owned(), nowhere)
        });
    }
    let found = look_up(name, &asked.port, family, kind)
        .map_err(|error| unresolved(asked, name, family, &error))?;
    let canonical = found.canonical.unwrap_or_else(|| name.to_string());
    let first = found.addresses.first().copied();
    let address = first.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
    Ok(at(canonical, address))
}

fn at(name: String, address: SocketAddr) -> Host {
    let scope = match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(v6) => v6.scope_id(),
    };
    Host {
        name,
        address: address.ip(),
        scope,
        port: address.port(),
        vsock: None,
    }
}

fn unresolved(asked: &DataAddress, name: &str, family: Family, error: &ResolveError) -> Failure {
    let lines = format!(
        "complete_addrinfo: could not resolve '{name}' port '{}' af {}\n\
         \tgetaddrinfo returned {} {}",
        asked.port,
        family.number(),
        error.code,
        error.text
    );
    Failure::stdout(REFUSED, lines).hint(resolving(name, &asked.port, error))
}

/// A host's address with a port.
pub(super) fn socket_address(host: &Host, port: u16) -> SocketAddr {
    let mut address = SocketAddr::new(host.address, port);
    if let SocketAddr::V6(v6) = &mut address {
        v6.set_scope_id(host.scope);
    }
    address
}

/// The hosts of one iteration: addresses with the host part drawn at random where
/// the user gave a prefix length.
pub(super) fn drawn(plan: &TestPlan, hosts: &Hosts) -> Hosts {
    let draw = |host: &Host, asked: &DataAddress| Host {
        address: match asked.random_bits {
            Some(bits) => random_within(host.address, bits),
            None => host.address,
        },
        ..host.clone()
    };
    Hosts {
        local: draw(&hosts.local, &plan.local_data),
        remote: draw(&hosts.remote, &plan.remote_data),
    }
}

fn random_within(address: IpAddr, prefix: u8) -> IpAddr {
    let random = Ipv6Addr::from((u128::from(random()) << 64) | u128::from(random()));
    match IpNet::new(address, prefix) {
        Ok(IpNet::V4(net)) => {
            let [.., a, b, c, d] = random.octets();
            (net.network() | (Ipv4Addr::new(a, b, c, d) & net.hostmask())).into()
        }
        Ok(IpNet::V6(net)) => (net.network() | (random & net.hostmask())).into(),
        Err(_) => address,
    }
}

/// Randomness that needs no more than being different each time.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_part_is_drawn_at_random() {
        for _ in 0..50 {
            let drawn = random_within("127.9.8.7".parse().unwrap(), 16);
            let IpAddr::V4(v4) = drawn else {
                panic!("not IPv4")
            };
            assert_eq!(v4.octets()[..2], [127, 9]);
        }
        let address = "fd00::1".parse().unwrap();
        assert_eq!(random_within(address, 128), address);
    }
}
