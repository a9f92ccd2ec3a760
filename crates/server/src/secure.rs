//! Authentication of a client before it is served: the shared key, over an encrypted
//! connection.

use std::io;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::record::SessionEnd;
use netperf_model::{Denied, Require};
use netperf_program::link::ControlLink;
use netperf_session::access;
use netperf_session::driver::{Link, LinkEvent};
use netperf_session::server::PASSPHRASE;
use netperf_transport::secure::{Channel, NoChannel};

use super::proofs::PROOF_TIME;

/// Time limit of the authentication.
const HANDSHAKE: Duration = PROOF_TIME;

/// Method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authentication {
    /// By the key with this index.
    ByKey(usize),
    /// None; permitted by the policy.
    WithoutKey,
}

/// Failure of the authentication.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Refused; the client must be told.
    Denied(Denied),
    /// Wrong key; the client has been told.
    WrongKey,
    /// The connection has ended.
    Gone(SessionEnd),
}

/// Authenticates a client, if a key is configured.
pub(super) fn authenticate(
    link: &mut ControlLink,
    args: &ServerArgs,
) -> Result<Authentication, Stopped> {
    let Some(keys) = &args.access.keys else {
        return Ok(Authentication::WithoutKey);
    };
    let patience = match args.require() {
        Require::None => args.policy().limits.idle_time,
        Require::Passphrase | Require::Key => PASSPHRASE,
    };
    let frame = match link.receive(patience) {
        Ok(LinkEvent::Frame(frame)) => frame,
        Ok(LinkEvent::Closed(0)) => return Err(Stopped::Gone(SessionEnd::Finished)),
        Ok(LinkEvent::TimedOut(..)) => return Err(Stopped::Gone(SessionEnd::Silent)),
        Ok(LinkEvent::Closed(_) | LinkEvent::Foreign(_)) | Err(_) => {
            return Err(Stopped::Gone(SessionEnd::Cut));
        }
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
    let mut used = 0;
    let accepted = link.encrypt(|fd| {
        let (channel, index) = Channel::accept(fd, keys, HANDSHAKE)?;
        used = index;
        Ok(channel)
    });
    match accepted {
        Ok(()) => Ok(Authentication::ByKey(used)),
        Err(NoChannel::WrongKey | NoChannel::Impostor) => Err(Stopped::WrongKey),
        Err(NoChannel::TooSlow) => Err(Stopped::Gone(SessionEnd::Silent)),
        Err(NoChannel::Broken(error)) => Err(Stopped::Gone(ending(&error))),
    }
}

/// Distinguishes a broken connection from invalid input.
fn ending(error: &io::Error) -> SessionEnd {
    if error.kind() == io::ErrorKind::InvalidData {
        SessionEnd::Broken
    } else {
        SessionEnd::Cut
    }
}
