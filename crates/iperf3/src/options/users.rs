//! The options of RSA authentication, which belong together.

use std::time::Duration;

use super::problem;
use crate::messages::TokenPadding;

/// Default of `--time-skew-threshold`.
const SKEW: Duration = Duration::from_secs(10);

/// The user of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iperf3Login {
    /// `--username`.
    pub user: String,
    /// `--rsa-public-key-path`.
    pub public_key: String,
    /// Padding of the token.
    pub padding: TokenPadding,
}

/// The users of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iperf3Accounts {
    /// `--rsa-private-key-path`.
    pub private_key: String,
    /// `--authorized-users-path`.
    pub users: String,
    /// `--time-skew-threshold`: largest difference of the clocks.
    pub skew: Duration,
    /// The only padding that is accepted; `None` for both.
    pub padding: Option<TokenPadding>,
}

/// The options as they were typed.
#[derive(Debug, Default)]
pub(super) struct UserOptions {
    pub(super) username: Option<String>,
    pub(super) public_key: Option<String>,
    pub(super) private_key: Option<String>,
    pub(super) users: Option<String>,
    pub(super) skew: Option<Duration>,
    pub(super) pkcs1: bool,
    pub(super) oaep: bool,
}

impl UserOptions {
    fn padding(&self) -> Result<Option<TokenPadding>, String> {
        match (self.pkcs1, self.oaep) {
            (true, true) => Err(problem(
                "only one padding may be specified (--use-pkcs1-padding, --use-oaep-padding)",
            )),
            (true, false) => Ok(Some(TokenPadding::Pkcs1)),
            (false, true) => Ok(Some(TokenPadding::Oaep)),
            (false, false) => Ok(None),
        }
    }

    /// Options that mean nothing without a user or a key.
    pub(super) fn without_effect(&self) -> Vec<&'static str> {
        let has_users = self.username.is_some() || self.private_key.is_some();
        let given = [
            ("--time-skew-threshold", self.skew.is_some()),
            ("--use-pkcs1-padding", self.pkcs1),
            ("--use-oaep-padding", self.oaep),
        ];
        let idle = given.into_iter().filter(|(_, given)| *given && !has_users);
        idle.map(|(name, _)| name).collect()
    }

    /// The user of a client.
    pub(super) fn login(&mut self) -> Result<Option<Iperf3Login>, String> {
        let padding = self.padding()?.unwrap_or(TokenPadding::Pkcs1);
        let missing = match (self.username.take(), self.public_key.take()) {
            (Some(user), Some(public_key)) => {
                return Ok(Some(Iperf3Login {
                    user,
                    public_key,
                    padding,
                }));
            }
            (None, None) => return Ok(None),
            (Some(_), None) => "--rsa-public-key-path",
            (None, Some(_)) => "--username",
        };
        Err(problem(&format!("{LOGIN}: {missing} is missing")))
    }

    /// The users of a server.
    pub(super) fn accounts(&mut self) -> Result<Option<Iperf3Accounts>, String> {
        let padding = self.padding()?;
        let missing = match (self.private_key.take(), self.users.take()) {
            (Some(private_key), Some(users)) => {
                return Ok(Some(Iperf3Accounts {
                    private_key,
                    users,
                    skew: self.skew.unwrap_or(SKEW),
                    padding,
                }));
            }
            (None, None) => return Ok(None),
            (Some(_), None) => "--authorized-users-path",
            (None, Some(_)) => "--rsa-private-key-path",
        };
        Err(problem(&format!("{ACCOUNTS}: {missing} is missing")))
    }
}

/// Text of iperf3 about an incomplete user of a client.
pub const LOGIN: &str = "you must specify a username, password, and path to a valid RSA public key";
/// Text of iperf3 about incomplete users of a server.
pub const ACCOUNTS: &str =
    "you must specify a path to a valid RSA private key and a user credential file";
