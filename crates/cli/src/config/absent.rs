//! Stands in for the file of settings in a build that reads no TOML.

use netperf_arguments::args::ServerArgs;
use netperf_arguments::fault::Fault;

/// Reports that this build reads no file of settings.
pub(crate) fn apply(file: &str, _text: &str, _args: &mut ServerArgs) -> Vec<Fault> {
    vec![Fault {
        file: file.to_owned(),
        line: 0,
        key: None,
        text: "this program is built without the feature 'files': give the options on the \
               command line"
            .to_owned(),
    }]
}
