//! The test that a command line names, and the options of all suites.

use netperf_arguments::args::{GlobalArgs, TestArgs};
use netperf_arguments::foreign;
use netperf_arguments::table::{OptionSpec, by_name};
use netperf_model::TestId;

use crate::options::SUITES;

/// The name of the test that runs when none is given.
const DEFAULT_TEST: TestId = TestId::TcpStream;

/// The test asked for; `None` when the name is unknown.
pub(crate) fn test_of(args: &GlobalArgs) -> Option<TestId> {
    named_test(args).map(|test| foreign::form::form_of(test, args))
}

/// The test whose name was given.
pub(super) fn named_test(args: &GlobalArgs) -> Option<TestId> {
    match &args.test {
        Some(name) => TestId::from_name(name),
        None => Some(DEFAULT_TEST),
    }
}

/// The option of any suite; what it takes is the same in all of them.
pub(crate) fn in_any_suite(name: &str) -> Option<&'static OptionSpec<TestArgs>> {
    SUITES
        .iter()
        .find_map(|options| by_name(options.table, name))
}
