//! Names to addresses (getaddrinfo(3)).
//!
//! `AI_ADDRCONFIG` is not used: it hides every address on a machine whose only
//! interface is loopback.

use std::ffi::{CStr, CString};
use std::net::SocketAddr;

use socket2::Type;

use super::call::zeroed;
use super::io::Source;

/// Which addresses are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// IPv4 and IPv6.
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// Result of a name lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedHost {
    /// The canonical name, when the resolver gave one.
    pub canonical: Option<String>,
    /// The addresses in the resolver's order, scope included; never empty.
    pub addresses: Vec<SocketAddr>,
}

/// Why a name did not resolve: the resolver's code and its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ResolveError {
    /// The `EAI_*` code.
    pub code: i32,
    /// gai_strerror(3) of it.
    pub text: String,
}

impl ResolveError {
    /// Returns true if the resolver asks to be tried again later (`EAI_AGAIN`).
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        self.code == libc::EAI_AGAIN
    }

    /// Returns true if the service or port is unknown (`EAI_SERVICE`).
    #[must_use]
    pub const fn is_unknown_service(&self) -> bool {
        self.code == libc::EAI_SERVICE
    }

    fn of(code: i32) -> Self {
        // SAFETY: gai_strerror takes any code.
        let text = unsafe { libc::gai_strerror(code) };
        // SAFETY: what it returns is a static NUL-terminated string.
        let text = unsafe { CStr::from_ptr(text) };
        Self {
            code,
            text: text.to_string_lossy().into_owned(),
        }
    }
}

/// The list that getaddrinfo(3) returned, freed on drop.
struct AddrInfoList(*mut libc::addrinfo);

impl Drop for AddrInfoList {
    fn drop(&mut self) {
        // SAFETY: the pointer came from getaddrinfo and is freed once.
        unsafe { libc::freeaddrinfo(self.0) };
    }
}

/// Resolves a host name or address and a port number or service name.
///
/// # Errors
/// The resolver's code and text; a NUL byte inside a name is `EAI_NONAME`, and a number that is
/// no port is `EAI_SERVICE`.
pub fn resolve(
    host: &str,
    service: &str,
    want: Want,
    kind: Type,
) -> Result<ResolvedHost, ResolveError> {
    // getaddrinfo(3) takes the lowest 16 bits of any number.
    let is_port = |number| u16::try_from(number).is_ok();
    if service.parse().is_ok_and(|number: i128| !is_port(number)) {
        return Err(ResolveError::of(libc::EAI_SERVICE));
    }
    let no_name = |_| ResolveError::of(libc::EAI_NONAME);
    let host = CString::new(host).map_err(no_name)?;
    let service = CString::new(service).map_err(no_name)?;
    let mut hints: libc::addrinfo = zeroed();
    hints.ai_flags = libc::AI_CANONNAME;
    hints.ai_socktype = kind.into();
    hints.ai_family = match want {
        Want::Any => libc::AF_UNSPEC,
        Want::V4 => libc::AF_INET,
        Want::V6 => libc::AF_INET6,
    };
    let mut first = std::ptr::null_mut();
    // SAFETY: all pointers are valid for the call; `first` receives a list to free.
    let code = unsafe {
        libc::getaddrinfo(
            host.as_ptr(),
            service.as_ptr(),
            &raw const hints,
            &raw mut first,
        )
    };
    if code != 0 {
        return Err(ResolveError::of(code));
    }
    let list = AddrInfoList(first);
    let found = collect(&list);
    if found.addresses.is_empty() {
        return Err(ResolveError::of(libc::EAI_NONAME));
    }
    Ok(found)
}

fn collect(list: &AddrInfoList) -> ResolvedHost {
    let mut found = ResolvedHost {
        canonical: None,
        addresses: Vec::new(),
    };
    let mut next = list.0;
    // SAFETY: each `ai_next` of a live list is null or another live entry.
    while let Some(entry) = unsafe { next.as_ref() } {
        if found.canonical.is_none() && !entry.ai_canonname.is_null() {
            // SAFETY: a canonical name that is not null is a NUL-terminated string of the list.
            let name = unsafe { CStr::from_ptr(entry.ai_canonname) };
            found.canonical = Some(name.to_string_lossy().into_owned());
        }
        if let Some(address) = socket_address(entry) {
            if !found.addresses.contains(&address) {
                found.addresses.push(address);
            }
        }
        next = entry.ai_next;
    }
    found
}

fn socket_address(entry: &libc::addrinfo) -> Option<SocketAddr> {
    if entry.ai_addr.is_null() {
        return None;
    }
    let (bytes, len) = (entry.ai_addr.cast::<u8>(), entry.ai_addrlen);
    // SAFETY: an address of a live list has the length that its entry says.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, usize::try_from(len).ok()?) };
    let mut address = Source::unknown();
    address.copy_from(bytes);
    address.address()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_address_resolves_to_itself() {
        let found = resolve("127.0.0.1", "12865", Want::Any, Type::STREAM).unwrap();
        assert_eq!(found.addresses, ["127.0.0.1:12865".parse().unwrap()]);
        assert_eq!(found.canonical.as_deref(), Some("127.0.0.1"));
    }

    #[test]
    fn the_scope_of_a_link_local_address_is_kept() {
        let found = resolve("fe80::1%lo", "1", Want::Any, Type::DGRAM).unwrap();
        let SocketAddr::V6(address) = found.addresses[0] else {
            panic!("not IPv6")
        };
        assert_ne!(address.scope_id(), 0);
    }

    #[test]
    fn a_number_that_is_no_port_is_an_unknown_service() {
        for service in ["65536", "99999", "-1"] {
            let error = resolve("127.0.0.1", service, Want::Any, Type::STREAM).unwrap_err();
            assert!(error.is_unknown_service(), "{service}");
        }
    }

    #[test]
    fn a_name_that_does_not_exist_gives_the_resolvers_code() {
        let error = resolve("no-such-host.invalid", "0", Want::Any, Type::STREAM).unwrap_err();
        assert!(error.code < 0 && !error.text.is_empty());
    }
}
