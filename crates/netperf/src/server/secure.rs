//! What a client shows before it is served: the key, over an encrypted connection.

use std::io;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_model::{Denied, Require};
use netperf_session::access;
use netperf_session::driver::{Arrival, Link};
use netperf_session::server::PASSPHRASE;
use netperf_transport::secure::{Channel, NoChannel};

use super::record::SessionEnd;
use crate::link::ControlLink;

/// How long both ends may take to find each other good.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How a client comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authentication {
    /// With the key.
    ByKey,
    /// Without, where that is allowed.
    WithoutKey,
}

/// Why one does not.
#[derive(Debug)]
pub(super) enum Stopped {
    /// It has to be told.
    Denied(Denied),
    /// It has been told.
    WrongKey,
    /// There is nobody to be told.
    Gone(SessionEnd),
}

/// Sees what a client shows first, where there is a key to show.
pub(super) fn authenticate(
    link: &mut ControlLink,
    args: &ServerArgs,
) -> Result<Authentication, Stopped> {
    let Some(secret) = &args.access.secret else {
        return Ok(Authentication::WithoutKey);
    };
    let patience = match args.require() {
        Require::None => args.policy().limits.idle_time,
        Require::Passphrase | Require::Key => PASSPHRASE,
    };
    let frame = match link.receive(patience) {
        Ok(Arrival::Frame(frame)) => frame,
        Ok(Arrival::Closed(0)) => return Err(Stopped::Gone(SessionEnd::Finished)),
        Ok(Arrival::TimedOut) => return Err(Stopped::Gone(SessionEnd::Silent)),
        Ok(Arrival::Closed(_)) | Err(_) => return Err(Stopped::Gone(SessionEnd::Cut)),
    };
    if !access::is_greeting(&frame) {
        if args.require() == Require::Key {
            return Err(Stopped::Denied(Denied::KeyRequired));
        }
        link.put_back(frame);
        return Ok(Authentication::WithoutKey);
    }
    if link.send(&access::answer()).is_err() {
        return Err(Stopped::Gone(SessionEnd::Cut));
    }
    match link.encrypt(|fd| Channel::accept(fd, secret, HANDSHAKE)) {
        Ok(()) => Ok(Authentication::ByKey),
        Err(NoChannel::WrongKey | NoChannel::Impostor) => Err(Stopped::WrongKey),
        Err(NoChannel::TooSlow) => Err(Stopped::Gone(SessionEnd::Silent)),
        Err(NoChannel::Broken(error)) => Err(Stopped::Gone(ending(&error))),
    }
}

/// Whether the connection broke or what came over it made no sense.
fn ending(error: &io::Error) -> SessionEnd {
    if error.kind() == io::ErrorKind::InvalidData {
        SessionEnd::Broken
    } else {
        SessionEnd::Cut
    }
}
