//! Reason why netserver closed the control connection instead of answering.

use std::rc::Rc;
use std::time::Duration;

use netperf_model::TestPlan;
use netperf_program::link::ControlLink;
use netperf_program::output::Failure;
use netperf_session::driver::{Link, LinkEvent};
use netperf_session::{SessionError, access, offer};

use crate::control;

/// Time limit for the reason.
const WITHIN: Duration = Duration::from_secs(5);

/// Adds netserver's reason, if it gives one, to the failure of a request.
pub(crate) fn explained(error: &SessionError, plan: &TestPlan, failure: Failure) -> Failure {
    let closed = matches!(
        error,
        SessionError::Closed { got: 0 } | SessionError::Broken(_)
    );
    let Some(reason) = closed.then(|| reason(plan)).flatten() else {
        return failure;
    };
    let sent = plan.control.as_ref();
    let sent = sent.is_some_and(|control| control.passphrase.is_some());
    let other = if sent {
        "; the one that was sent is another"
    } else {
        ""
    };
    let hint = String::new();
    Failure { hint, ..failure }.hint(format_args!("{reason}{other}"))
}

/// Asks for the reason over another control connection.
fn reason(plan: &TestPlan) -> Option<SessionError> {
    let asked = plan.control.as_ref();
    // An exchange of keys reports its reasons.
    let asked = asked.filter(|asked| asked.secret.is_none())?;
    let control = control::establish(asked).ok()?;
    let mut link = ControlLink::new(Rc::new(control.socket));
    link.hurry(Some(WITHIN));
    link.send(&offer::reason_request().ok()?).ok()?;
    match link.receive(WITHIN) {
        Ok(LinkEvent::Frame(frame)) => access::is_answer(&frame).err(),
        Ok(LinkEvent::Closed(_) | LinkEvent::Foreign(_) | LinkEvent::TimedOut(..)) | Err(_) => None,
    }
}
