//! Inputs of the coordinator of a campaign, and effects for its driver.

use zeroize::Zeroizing;

use crate::matrix::{CellsHead, Matrix};
use crate::outcome::CampaignCell;
use crate::pattern::Cell;
use crate::progress::HostState;
use crate::protocol::{Order, Reply};

/// Something that happened, or that the driver wants next. Members are known by their index.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorInput {
    /// Wait for agents that join.
    Join {
        /// Members to wait for, with those of the inventory.
        count: usize,
        /// Longest time, nanoseconds.
        within: u64,
    },
    /// An agent with this address has joined and proven the key.
    Joined(String),
    /// Connect to all other agents, greet all and read their clocks.
    Meet,
    /// The agent was reached and has proven the key.
    Connected(usize),
    /// The agent was not reached.
    NotConnected(usize, String),
    /// Measure these rounds.
    Measure(Vec<Vec<Cell>>),
    /// Read the clocks once more and let the agents go.
    Finish,
    /// An order goes out that has a reply.
    Asked {
        /// The member.
        member: usize,
        /// It is a question about the clock.
        clock: bool,
    },
    /// A reply came.
    Reply(usize, Reply),
    /// The connection has ended, or does not take an order.
    Lost(usize, String),
    /// Nothing of the member waits to be read ([`CoordinatorAction::FindSilent`]).
    Silent(usize),
    /// Random bytes ([`CoordinatorAction::DrawTokens`]).
    Tokens(Result<TokenBytes, String>),
    /// Seconds since 1970 ([`CoordinatorAction::Date`]).
    Dated(f64),
    /// The matrices of all cells ([`CoordinatorAction::MakeMatrices`]).
    Matrices(Result<Vec<Matrix>, String>),
    /// The file of the cells cannot be written.
    FileFailed(String),
    /// A signal asks for the end.
    Interrupt,
    /// Time has passed, and what came before was given.
    Tick,
}

/// Random bytes for the tokens of a stage.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenBytes(pub Zeroizing<Vec<u8>>);

impl std::fmt::Debug for TokenBytes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TokenBytes(..)")
    }
}

/// Effects that the driver carries out.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorAction {
    /// Connect to these agents, each at its control address, and prove the key.
    Dial(Vec<(usize, String)>),
    /// Send an order.
    Tell(usize, Box<Order>),
    /// End the connection at once.
    Reset(usize),
    /// Look which of these members have sent nothing that is not read yet.
    FindSilent(Vec<usize>),
    /// Draw so many random bytes.
    DrawTokens(usize),
    /// Tell which time of the system clock this reading of the clock is.
    Date(u64),
    /// Make the matrices of all cells.
    MakeMatrices,
    /// Begin the file of the cells, unless it has its head, and show who takes part.
    Begin(Box<CellsHead>),
    /// Write a cell of which everything has come into the file, and show it.
    Cell(Box<CampaignCell>, CellTurn),
    /// Hand over what the file has.
    Flush,
    /// Replace the line of progress.
    Say(String),
    /// Show a new state of the campaign.
    State(String),
    /// Write a line that stays.
    Line(String),
    /// Show what the hosts do, the rounds that are over and all, and the seconds left.
    Hosts(Vec<HostState>, (usize, usize), u64),
}

/// Which measurement of a cell it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellTurn {
    /// The one of the plan.
    First,
    /// One more, since the first looked like an outlier.
    Again,
}

impl CellTurn {
    /// Of a cell that is measured again or not.
    #[must_use]
    pub const fn of(again: bool) -> Self {
        if again { Self::Again } else { Self::First }
    }

    /// True for a measurement that is not the first.
    #[must_use]
    pub const fn is_again(self) -> bool {
        matches!(self, Self::Again)
    }
}
