//! The connections to all agents of a campaign.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_campaign::protocol::{Order, Reply};
use netperf_measure::clock;
use netperf_os::wait::ready_of;

use super::peer::AgentLink;

/// Longest time to read replies before heartbeats go out, nanoseconds.
const READING: u64 = 100_000_000;

/// Messages of an agent: its replies and the time of their arrival, or the reason of its loss.
pub(super) type Heard = Result<(Vec<Reply>, u64), String>;

/// The connections, by member.
#[derive(Debug, Default)]
pub(super) struct AgentLinks {
    links: Vec<Option<AgentLink>>,
    /// The agent whose replies are read first.
    next_heard: usize,
}

impl AgentLinks {
    pub(super) fn set(&mut self, index: usize, link: AgentLink) {
        let count = self.links.len().max(index + 1);
        self.links.resize_with(count, || None);
        if let Some(place) = self.links.get_mut(index) {
            *place = Some(link);
        }
    }

    /// Ends a connection at once.
    pub(super) fn reset(&mut self, index: usize) {
        if let Some(link) = self.links.get_mut(index).and_then(Option::take) {
            link.reset();
        }
    }

    fn get(&self, index: usize) -> Option<&AgentLink> {
        self.links.get(index)?.as_ref()
    }

    /// Sends an order, which the agent has to take within this time.
    ///
    /// # Errors
    /// One line.
    pub(super) fn tell(
        &mut self,
        index: usize,
        order: &Order,
        within: Duration,
    ) -> Result<(), String> {
        let link = self.links.get_mut(index).and_then(Option::as_mut);
        link.map_or(Ok(()), |link| link.tell(order, within))
    }

    /// Those of these members of which nothing waits to be read.
    pub(super) fn silent(&self, members: &[usize]) -> Vec<usize> {
        let links = members.iter();
        let links = links.filter_map(|index| Some((*index, self.get(*index)?)));
        let (indices, fds): (Vec<usize>, Vec<_>) = links
            .map(|(index, link)| (index, (link.fd(), false)))
            .unzip();
        let readable = ready_of(&fds, Duration::ZERO).unwrap_or_default();
        let all = indices.into_iter().zip(readable);
        all.filter(|(_, readable)| !readable)
            .map(|(index, _)| index)
            .collect()
    }

    /// Waits for replies of the agents. With many replies it returns after a while, so that
    /// heartbeats go out, and goes on with the other agents.
    pub(super) fn hear(&mut self, within: Duration) -> Vec<(usize, Heard)> {
        let present = self.links.iter().enumerate();
        let present = present.filter_map(|(index, link)| Some((index, link.as_ref()?)));
        let (mut present, mut fds): (Vec<usize>, Vec<(BorrowedFd<'_>, bool)>) = present
            .map(|(index, link)| (index, (link.fd(), false)))
            .unzip();
        let first = present.partition_point(|index| *index < self.next_heard);
        present.rotate_left(first);
        fds.rotate_left(first);
        let within = within + Duration::from_micros(999);
        let ready = ready_of(&fds, within).unwrap_or_default();
        let until = clock::monotonic().saturating_add(READING);
        let mut all = Vec::new();
        for (index, _) in present.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            if clock::monotonic() > until {
                self.next_heard = index;
                break;
            }
            let link = self.links.get_mut(index).and_then(Option::as_mut);
            if let Some(link) = link {
                let heard = link.hear();
                all.push((index, heard.map(|replies| (replies, link.came))));
            }
        }
        all
    }
}
