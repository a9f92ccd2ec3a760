//! Lines of hosts, as they become words of the command lines of manifests: nothing is an option,
//! and nothing has a sign of the shell.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_campaign::inventory::{self, EngineName, InventoryOptions, host_and_port};

fuzz_target!(|bytes: &[u8]| {
    for from in [None, Some(EngineName::Lines), Some(EngineName::Mpi)] {
        let options = InventoryOptions {
            from,
            ..InventoryOptions::default()
        };
        let Ok(members) = inventory::read(bytes, &options) else {
            continue;
        };
        for member in &members {
            let (host, port) = host_and_port(&member.control);
            let login = member.login.as_deref().unwrap_or("x");
            for word in [host.as_str(), login, &member.name] {
                assert!(!word.is_empty() && !word.starts_with('-'), "{member:?}");
                assert!(
                    !word.contains(['\'', '"', '`', '$', '\\', ';', '|', '&', ' ']),
                    "{word}"
                );
            }
            assert!(port.parse::<u16>().is_ok_and(|port| port > 0), "{member:?}");
        }
        // A script reads the normal form, which says the same.
        let lines = inventory::json_lines(&members);
        let again = inventory::read(lines.as_bytes(), &InventoryOptions::default());
        assert_eq!(again.expect("the normal form"), members);
    }
});
