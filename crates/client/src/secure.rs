//! A control connection to a netserver that has our key, and to no other.

use std::time::Duration;

use netperf_model::{Secret, TestPlan};
use netperf_program::key;
use netperf_program::link::ControlLink;
use netperf_program::output::{Failure, system_text};
use netperf_session::driver::{Link, LinkEvent};
use netperf_session::{SessionError, access, client};
use netperf_transport::secure::{Channel, NoChannel};

use super::failure;

/// Refusal of a key that a man in the middle could find by trying keys against one proof.
const GUESSABLE: &str = "the key is not a generated one and could be guessed by a man in the \
                         middle: create one for both hosts with openssl rand -hex 32";
/// Time limit of the authentication.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Reads the key that a plan names, or the environment.
pub(super) fn give_key(plan: &mut TestPlan) -> Result<(), Failure> {
    if let Some(control) = &mut plan.control {
        let keys = key::load(control.key_file.as_deref()).map_err(Failure::failed)?;
        if let Some(keys) = keys {
            let key = keys.to_measure().map(|key| key.secret.clone());
            let none = || Failure::failed("the key file has no key with the role measure");
            let key = key.ok_or_else(none)?;
            if !key.is_generated() {
                return Err(Failure::failed(GUESSABLE));
            }
            control.secret = Some(key);
        }
    }
    Ok(())
}

/// Encrypts a connection and finds out whether netserver has the key. Nothing has been said
/// over it.
pub fn enter(link: &mut ControlLink, secret: &Secret, host: &str) -> Result<(), Failure> {
    let broken =
        |error: std::io::Error| failure::session(&SessionError::Broken(system_text(&error)));
    link.send(&access::greeting()).map_err(broken)?;
    let received = link.receive(client::ANSWER).map_err(|error| {
        if error.kind() == std::io::ErrorKind::Interrupted {
            failure::session(&SessionError::Interrupted)
        } else {
            broken(error)
        }
    });
    let can = match received? {
        LinkEvent::Frame(frame) => {
            access::is_answer(&frame).map_err(|error| failure::session(&error))?
        }
        // A netserver that requires only a passphrase closes without an answer.
        LinkEvent::Foreign(program) => {
            return Err(failure::session(&SessionError::NoNetserver(program)));
        }
        LinkEvent::Closed(_) => false,
        LinkEvent::TimedOut(waited, 0) => {
            return Err(failure::session(&SessionError::NoAnswer(waited)));
        }
        LinkEvent::TimedOut(waited, got) => {
            return Err(failure::session(&SessionError::Incomplete { got, waited }));
        }
    };
    if !can {
        return Err(Failure::unsupported(format_args!(
            "netserver on {host} has no key, or is a stock netserver: start it with \
             --key-file, or omit the key here"
        )));
    }
    link.encrypt(|fd| Channel::connect(fd, secret, HANDSHAKE))
        .map_err(|why| refused(&why, host))
}

fn refused(why: &NoChannel, host: &str) -> Failure {
    let line = match why {
        NoChannel::WrongKey => format!("netserver on {host} rejects this key (--key-file)"),
        NoChannel::Impostor => {
            format!("the server on {host} does not have the key and is not the expected netserver")
        }
        NoChannel::TooSlow => format!(
            "netserver on {host} does not encrypt the connection within {} s",
            HANDSHAKE.as_secs()
        ),
        NoChannel::Broken(error) => format!(
            "the connection to netserver on {host} cannot be encrypted: {}",
            system_text(error)
        ),
    };
    Failure::refused(line)
}
