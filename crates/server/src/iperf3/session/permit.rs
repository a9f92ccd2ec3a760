//! Which tests a session serves, and what it says of those that it does not.

use netperf_daemon::record::{SessionQuestion, SessionRecord};
use netperf_engine::streams::Streams;
use netperf_iperf3::messages::{Parameters, Protocol, ServerError, StreamDirection};
use netperf_iperf3::states::server::{BrokenBy, ServerEnd};
use netperf_model::{Denied, EndNeeds};
use netperf_program::iperf3::run::plan;

use super::{Iperf3Session, UNSUPPORTED, transport};

impl Iperf3Session<'_> {
    /// Returns true if the rate of all streams exceeds the limit.
    pub(super) fn wants_too_much(&self) -> bool {
        let streams = u64::from(self.parameters.streams());
        let wanted = self.parameters.bandwidth.saturating_mul(streams);
        self.rate_limit.is_some_and(|limit| wanted > limit.bits)
    }

    /// Compares the client with the users of this server.
    pub(super) fn authorize(&mut self, parameters: &Parameters) -> Result<(), ServerError> {
        let Some(authority) = &self.authority else {
            return Ok(());
        };
        authority
            .check(parameters.authtoken.as_deref())
            .map_err(|why| {
                let error = ServerError::AUTHORIZATION;
                self.failure = Some(format!("error - {error}: {why}"));
                error
            })
    }

    pub(super) fn permit(&mut self) -> Result<(), ServerError> {
        let parameters = &self.parameters;
        if parameters.protocol == Protocol::Sctp {
            self.records.tell(SessionRecord::Refused(UNSUPPORTED));
            return Err(ServerError {
                errno: UNSUPPORTED,
                ..ServerError::PARAMETERS
            });
        }
        let denied = self.denied().err().or_else(|| {
            let memory = Streams::memory(&plan(parameters), parameters.streams());
            let needs = EndNeeds { memory, ports: 0 };
            let limits = &self.policy.limits;
            limits.bear(needs).err().or_else(|| {
                let asked = SessionQuestion::Needs(needs);
                self.records.ask(asked, limits).err()
            })
        });
        let Some(denied) = denied else {
            return Ok(());
        };
        self.records.tell(SessionRecord::denied(&denied));
        if matches!(denied, Denied::TestTime(_) | Denied::TestWithoutTime(_)) {
            return Err(ServerError::DURATION);
        }
        Err(ServerError {
            errno: denied.errno(),
            ..ServerError::PARAMETERS
        })
    }

    /// Compares the test with the policy.
    fn denied(&self) -> Result<(), Denied> {
        let (parameters, limits) = (&self.parameters, &self.policy.limits);
        self.policy.permit_transport(transport(parameters))?;
        if parameters.streams() > limits.flows {
            return Err(Denied::Flows(limits.flows));
        }
        if parameters.streams() > limits.threads {
            return Err(Denied::Threads(limits.threads));
        }
        let has_time = !self.by_amount() && parameters.time > 0.0;
        limits.permit_time(has_time.then(|| self.time()))?;
        if let Some(most) = limits.send_rate {
            let sends = parameters.direction != StreamDirection::Forward;
            let all = parameters
                .bandwidth
                .saturating_mul(u64::from(parameters.parallel));
            // Blocks of a burst are sent at once.
            let burst = u64::from(parameters.burst)
                .saturating_mul(plan(parameters).size as u64)
                .saturating_mul(8 * u64::from(parameters.parallel));
            let is_burst = parameters.burst > 1 && burst > most;
            if sends && (parameters.bandwidth == 0 || all > most || is_burst) {
                return Err(Denied::SendRate(most));
            }
        }
        Ok(())
    }
}

/// Text of iperf3 about the end of a session.
pub(super) fn said(end: &ServerEnd) -> Option<String> {
    let error = |text: String| Some(format!("error - {text}"));
    match end {
        ServerEnd::Complete | ServerEnd::GaveUp => None,
        ServerEnd::ByClient => Some("the client has terminated".to_owned()),
        ServerEnd::Gone => Some("the client has unexpectedly closed the connection".to_owned()),
        ServerEnd::Silent => error("the client does not go on with its test".to_owned()),
        ServerEnd::Stopped => Some("interrupt - the server has terminated".to_owned()),
        ServerEnd::Broken(BrokenBy::Parameters(why)) => {
            error(format!("unable to receive parameters from client: {why}"))
        }
        ServerEnd::Broken(BrokenBy::Results(why)) => {
            error(format!("unable to receive results: {why}"))
        }
        ServerEnd::Broken(why @ (BrokenBy::NoCookie | BrokenBy::Streams | BrokenBy::State(_))) => {
            error(why.to_string())
        }
        ServerEnd::Refused(why) => error(why.to_string()),
    }
}
