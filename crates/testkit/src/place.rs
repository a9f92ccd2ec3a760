//! The network a process runs in: that of the test, or a private one.

use std::ffi::OsStr;
use std::process::Command;

/// The network a process is started in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The network the test itself runs in.
    Here,
    /// A network namespace by name.
    Namespace(String),
}

impl Place {
    /// A command that will run `program` in this place, in a cleared environment.
    ///
    /// `ip netns exec` replaces itself by the program, so the process id of the
    /// child is the program's own.
    pub fn command(&self, program: &OsStr) -> Command {
        let mut command = match self {
            Self::Here => Command::new(program),
            Self::Namespace(name) => {
                let mut ip = Command::new("ip");
                ip.args(["netns", "exec", name]).arg(program);
                ip
            }
        };
        command
            .env_clear()
            .env("PATH", search_path())
            .env("LC_ALL", "C");
        command
    }
}

/// The caller's search path, with the folders in which `ip` may live.
fn search_path() -> String {
    let inherited = crate::environment("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    format!("{inherited}:/usr/local/sbin:/usr/sbin:/sbin")
}
