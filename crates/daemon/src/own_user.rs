//! The user that netserver becomes once its ports are open.

use std::io;
use std::path::Path;

use netperf_cli::{LogLevel, ServerArgs};
use netperf_os::privileges::{self, User};
use netperf_program::output::{FAILED, Failure};
use netperf_transport::registry;

use super::log::ServerLog;

/// Users to become without `--user`, the first that exists.
const NAMES: [&str; 3] = ["netserver", "netperf", "nobody"];
/// User of processes that own nothing, for hosts without a list of users.
const NOBODY: User = User {
    user: 65534,
    group: 65534,
};

/// Change to another user.
#[derive(Debug)]
pub struct UserChange {
    to: User,
    name: String,
    /// True if `--user` names it.
    is_asked: bool,
}

impl UserChange {
    /// The change that the options ask for; without `--user`, that of root to a user of few
    /// rights. `None` if netserver keeps its user: it is not root, or `preloaded` libraries
    /// may need root.
    ///
    /// # Errors
    /// If the user does not exist.
    pub fn planned(args: &ServerArgs, preloaded: bool) -> Result<Option<Self>, Failure> {
        if let Some(name) = &args.operations.user {
            let to = privileges::user(name)
                .map_err(|error| Failure::netserver(FAILED, format_args!("--user: {error}")))?;
            return Ok(Some(Self {
                to,
                name: name.clone(),
                is_asked: true,
            }));
        }
        if preloaded || !privileges::is_root() {
            return Ok(None);
        }
        let known = |name: &str| privileges::user(name).ok().filter(|to| to.user != 0);
        let found = NAMES.iter().find_map(|name| Some((known(name)?, *name)));
        let (to, name) = found.unwrap_or((NOBODY, "nobody"));
        Ok(Some(Self {
            to,
            name: name.to_owned(),
            is_asked: false,
        }))
    }

    /// The user whose processes may keep rights of root: `--user` names one without any.
    pub fn user_with_rights(&self) -> Option<User> {
        (!self.is_asked || self.to.user == 0).then_some(self.to)
    }

    /// Becomes the user and logs it. Root that may not change its user, in some containers,
    /// stays root unless `--user` asks for the change.
    ///
    /// # Errors
    /// If the change that `--user` asks for fails, or the user cannot reach the folder of
    /// `--files`.
    pub fn carry_out(self, args: &ServerArgs, log: &mut ServerLog) -> Result<(), Failure> {
        let failed = |line: std::fmt::Arguments<'_>| Failure::netserver(FAILED, line);
        // Only root may open the device, where udev does not permit it to all.
        let _kept = registry::find_cid(args.policy().transports);
        let changed = privileges::become_user(self.to, &[]);
        match changed.and_then(|()| privileges::no_new_privileges()) {
            Err(error) if self.is_asked => {
                return Err(failed(format_args!(
                    "cannot switch to the user (--user): {error}"
                )));
            }
            Err(error) => {
                let fields = [
                    ("user", "root".into()),
                    ("error", format!("{}: {error}", self.name).into()),
                ];
                log.say(LogLevel::Warn, "user", &fields);
                return Ok(());
            }
            Ok(()) => {}
        }
        let files = args.operations.files.as_deref();
        if let Some((folder, error)) = files.and_then(|folder| Some((folder, closed(folder)?))) {
            return Err(failed(format_args!(
                "--files: user {} cannot reach {}: {error}; `--user root` keeps root",
                self.name,
                folder.display(),
            )));
        }
        let fields = [("user", self.name.into())];
        log.say(LogLevel::Info, "user", &fields);
        Ok(())
    }
}

/// Error of this user at a folder.
fn closed(folder: &Path) -> Option<io::Error> {
    folder.join(".").metadata().err()
}
