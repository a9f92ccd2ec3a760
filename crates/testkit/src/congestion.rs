//! Congestion controls that tests may choose on this host.

/// Names that the administrator permits to users, as netserver needs them. "cubic" and "reno" are
/// first, where they are among them.
///
/// # Panics
/// When there is none, which no kernel of Linux is without.
pub fn permitted() -> Vec<String> {
    let list = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}"));
        let text = text.unwrap_or_default();
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let mut names = list("available_congestion_control");
    let allowed = list("allowed_congestion_control");
    names.retain(|name| allowed.contains(name));
    assert!(!names.is_empty(), "no congestion control of TCP");
    let order = |name: &String| {
        ["cubic", "reno"]
            .iter()
            .position(|first| first == name)
            .unwrap_or(2)
    };
    names.sort_by_key(order);
    names
}

/// `text` with a permitted name in place of "cubic".
pub fn instead_of_cubic(text: &str) -> String {
    match permitted().first() {
        Some(name) => text.replace("cubic", name),
        None => text.to_owned(),
    }
}
