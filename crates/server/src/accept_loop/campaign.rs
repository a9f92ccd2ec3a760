//! The agent of campaigns, and the sessions of a campaign that is over.

use netperf_cli::LogLevel;
use netperf_daemon::session_log::ProcessEnd;
use netperf_measure::clock;

use super::AcceptLoop;
use crate::agent::{AgentMessage, AgentProcess};

impl AcceptLoop {
    /// Ends the sessions of keys that netserver has no more: those that a reload removed, and those
    /// of a campaign that is over, where a load whose agent does not end it stops here.
    pub(super) fn end_without_key(&mut self) {
        let mut index = 0;
        while let Some(session) = self.sessions.get_mut(index) {
            let keys = self.args.access.keys.as_deref();
            if session.session_log.lacks_key(keys) {
                let _ended = session.kill();
                self.close(index, ProcessEnd::Revoked);
            } else {
                index += 1;
            }
        }
    }

    /// Reads the messages of the agent. netserver ends with it.
    pub(super) fn hear_agent(&mut self) {
        while let Some(message) = self.agent.as_mut().and_then(AgentProcess::next) {
            match message {
                AgentMessage::Keys(keys) => {
                    self.args.access.keys = keys;
                    self.end_without_key();
                }
                AgentMessage::Log(line) => {
                    let fields = [("campaign", line.into())];
                    self.log.say(LogLevel::Info, "agent", &fields);
                }
                AgentMessage::Ended => {
                    let ended = self.agent.as_mut().map(AgentProcess::ending);
                    if let Some(agent) = &self.agent {
                        self.poller.remove(agent.fd());
                    }
                    self.agent = None;
                    let how = ended.unwrap_or_default();
                    let fields = [("how", how.clone().into())];
                    self.log.say(LogLevel::Info, "agent ended", &fields);
                    if self.draining.is_none() {
                        self.failed =
                            Some(format!("the agent process of --agent has ended: {how}"));
                    }
                    if self.draining.is_none() {
                        self.drain();
                        self.draining = Some(clock::now());
                    }
                }
            }
        }
    }
}
