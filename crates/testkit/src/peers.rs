//! The programs under test and those they are tested against.

use std::path::{Path, PathBuf};

use crate::process::Invocation;
use crate::require::require;
use crate::{Netserver, Place};

/// Whose programs they are: the original has habits that tests must allow for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// This project's.
    Ours,
    /// netperf 2.7.0 in C.
    Stock,
}

/// The two programs of the package whose test this is; see [`Programs::ours`].
#[macro_export]
macro_rules! ours {
    () => {
        $crate::Programs::ours(
            env!("CARGO_BIN_EXE_netperf"),
            env!("CARGO_BIN_EXE_netserver"),
        )
    };
}

/// One build of the two programs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Whose they are.
    pub make: Make,
    /// The client.
    pub netperf: PathBuf,
    /// The server.
    pub netserver: PathBuf,
}

impl Programs {
    /// The two programs this workspace built. `NETPERF_STAND_IN_DIR` puts the
    /// original in their place, which tests the tests.
    pub fn ours(netperf: &str, netserver: &str) -> Self {
        match crate::environment("NETPERF_STAND_IN_DIR") {
            Some(folder) => Self::stock_in(Path::new(&folder)),
            None => Self {
                make: Make::Ours,
                netperf: netperf.into(),
                netserver: netserver.into(),
            },
        }
    }

    /// Debian's netperf, or that of the folder `NETPERF_STOCK_DIR` names.
    /// `None`, after saying so, when the test is to be skipped.
    pub fn stock() -> Option<Self> {
        let folder = crate::environment("NETPERF_STOCK_DIR").unwrap_or_else(|| "/usr/bin".into());
        let programs = Self::stock_in(Path::new(&folder));
        let how = "install Debian's netperf (component non-free), or set NETPERF_STOCK_DIR";
        require(programs.is_original(), "netperf 2.7.0", how).then_some(programs)
    }

    fn stock_in(folder: &Path) -> Self {
        Self {
            make: Make::Stock,
            netperf: folder.join("netperf"),
            netserver: folder.join("netserver"),
        }
    }

    fn is_original(&self) -> bool {
        self.netserver.exists()
            && self.netperf.exists()
            && Invocation::new(&self.netperf)
                .arg("-V")
                .run()
                .stdout
                .starts_with("Netperf version 2.7.0")
    }

    /// Their netserver, here, with nothing asked of it.
    pub fn serve(&self) -> Netserver {
        Netserver::start(self, &Place::Here)
    }

    /// A netserver of ours whose sessions may use io_uring, in the background here.
    pub fn serve_with_rings(&self) -> Netserver {
        let options = ["-D", "--features", "io-uring"];
        Netserver::start_with(self, &Place::Here, &options, &[])
    }

    /// Their netperf, which is told of a netserver here.
    pub fn client_of(&self, server: &Netserver) -> Invocation {
        let port = server.port().to_string();
        Invocation::new(&self.netperf).args(["-H", "127.0.0.1", "-p", &port])
    }

    /// True if these are the original's.
    pub fn is_stock(&self) -> bool {
        self.make == Make::Stock
    }
}

/// flent, which runs netperf and reads what it prints. `None`, after saying so,
/// when the test is to be skipped.
pub fn flent() -> Option<PathBuf> {
    let found = Path::new("/usr/bin/flent");
    let pings = ["ping", "fping"].map(|name| Path::new("/usr/bin").join(name));
    let present = found.exists() && pings.iter().all(|ping| ping.exists());
    let how = "install Debian's flent, fping and iputils-ping (component main)";
    require(present, "flent", how).then(|| found.to_owned())
}
