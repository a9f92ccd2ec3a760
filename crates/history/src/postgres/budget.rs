//! Bytes that a server may send for one statement.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that may still come.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerBudget(Arc<AtomicU64>);

impl AnswerBudget {
    /// The next answer may have so many bytes.
    pub(super) fn renew(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// Takes so many bytes from what is left.
    ///
    /// # Errors
    /// When nothing is left.
    fn spend(&self, bytes: usize) -> io::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let left = self.0.load(Ordering::Relaxed).saturating_sub(bytes);
        self.0.store(left, Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::other(TOO_MUCH));
        }
        Ok(())
    }

    /// Returns true if the server sent too much, so that its connection is of no use.
    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Why the answer of a server is not taken.
pub(super) const TOO_MUCH: &str = "the server sends more than a history holds";

/// The bytes of a server, which fail where they are too many.
pub(super) struct Budgeted<R> {
    bytes: R,
    budget: AnswerBudget,
}

impl<R> Budgeted<R> {
    pub(super) const fn new(bytes: R, budget: AnswerBudget) -> Self {
        Self { bytes, budget }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Budgeted<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.bytes).poll_read(context, buffer))?;
        let came = buffer.filled().len().saturating_sub(before);
        let spent = self.budget.spend(came);
        if spent.is_err() {
            // An error comes without bytes.
            buffer.set_filled(before);
        }
        Poll::Ready(spent)
    }
}
