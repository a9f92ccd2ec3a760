//! Integration tests, a module for each subject.

mod alarms;
mod coverage;
mod outliers;
mod percentiles;
