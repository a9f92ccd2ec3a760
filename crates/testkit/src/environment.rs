//! Variables of the environment.

/// The environment of the test run, in one place.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told where things are through the environment"
)]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
