//! Leave for netperf to end a run before its time where netserver alone sends, in the
//! extension block.

use netperf_model::{EndPlan, Flow, TransportId};
use netperf_wire::messages::{Extension, ItemKind};

use crate::paths::NotUnderstood;

/// Asks netserver to take netperf's end for the end of the run.
pub(crate) fn ask(extension: &mut Extension, end: &EndPlan) {
    if end.until {
        extension.push(ItemKind::Until, &[]);
    }
}

/// True if netperf may end the run before its time.
///
/// # Errors
/// When it asks for that in a test in which nothing could tell of it, or something does anyway.
pub(crate) fn asked(
    extension: &Extension,
    flow: Flow,
    transport: TransportId,
) -> Result<bool, NotUnderstood> {
    let asked = extension.value(ItemKind::Until).is_some();
    let possible = flow == Flow::RECEIVE && transport.hears_of_an_end();
    if asked && !possible {
        return Err(NotUnderstood);
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leave_to_end_a_run_is_asked_for_only_where_netserver_alone_sends() {
        let end = EndPlan {
            until: true,
            ..EndPlan::default()
        };
        let mut extension = Extension::default();
        assert_eq!(
            asked(&extension, Flow::RECEIVE, TransportId::Tcp),
            Ok(false)
        );
        ask(&mut extension, &end);
        let of = |flow, transport| asked(&extension, flow, transport);
        assert_eq!(of(Flow::RECEIVE, TransportId::Tcp), Ok(true));
        assert_eq!(of(Flow::SEND, TransportId::Tcp), Err(NotUnderstood));
        assert_eq!(of(Flow::RR, TransportId::Tcp), Err(NotUnderstood));
        assert_eq!(of(Flow::RECEIVE, TransportId::Sctp), Err(NotUnderstood));
    }
}
