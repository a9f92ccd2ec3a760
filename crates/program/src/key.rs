//! Keys: read from a private file or from the environment.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use netperf_model::{KeyRing, Secret};
use zeroize::Zeroizing;

use crate::output::system_text;

/// Environment variable with the name of the key file.
pub const FILE: &str = "NETPERF_KEY_FILE";
/// Environment variable with the key.
pub const KEY: &str = "NETPERF_KEY";
/// Name that means standard input.
pub const STDIN: &str = "-";
/// Size limit of a key file, bytes.
const LONGEST: u64 = 65_536;
/// Buffer for a key file, bytes: one more than its limit.
const BUFFER: usize = 65_537;

/// The keys from the file, `NETPERF_KEY_FILE` or `NETPERF_KEY`; `None` without any of them.
///
/// # Errors
/// One line with the problem and the way out; any key in a build without TLS.
pub fn load(file: Option<&Path>) -> Result<Option<KeyRing>, String> {
    let key = find(file)?;
    if key.is_some() && !cfg!(feature = "tls") {
        return Err("this build has no TLS and takes no key: build with --features tls".to_owned());
    }
    Ok(key)
}

/// The keys of a file that was read before, which `open` opens.
///
/// # Errors
/// As [`load`], and what `open` returns.
pub fn load_again(
    file: Option<&Path>,
    open: impl FnOnce(&Path) -> io::Result<File>,
) -> Result<Option<KeyRing>, String> {
    match path(file) {
        Some(file) if is_stdin(&file) => {
            Err("the key came from standard input, which is read once: start again".to_owned())
        }
        Some(file) => keys_of(&file, open).map(Some),
        None => load(None),
    }
}

/// The key file: `file` or that of the environment.
pub fn path(file: Option<&Path>) -> Option<PathBuf> {
    file.map(Path::to_path_buf)
        .or_else(|| variable(FILE).map(PathBuf::from))
}

fn keys_of(file: &Path, open: impl FnOnce(&Path) -> io::Result<File>) -> Result<KeyRing, String> {
    let system = |error: io::Error| system_text(&error);
    let keys = open(file).map_err(system).and_then(|open| read(file, open));
    keys.map_err(|why| format!("the key file {}: {why}", file.display()))
}

fn find(file: Option<&Path>) -> Result<Option<KeyRing>, String> {
    if let Some(file) = path(file) {
        if is_stdin(&file) {
            let keys = parse(io::stdin().lock());
            return keys
                .map(Some)
                .map_err(|why| format!("the key on standard input: {why}"));
        }
        return keys_of(&file, |path| File::open(path)).map(Some);
    }
    variable(KEY)
        .map(Zeroizing::new)
        .map(|key| Secret::new(key.as_bytes()).map_err(|weak| format!("{KEY}: {weak}")))
        .map(|secret| secret.map(KeyRing::bare))
        .transpose()
}

/// A non-empty environment variable.
#[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read(path: &Path, file: File) -> Result<KeyRing, String> {
    let system = |error: io::Error| system_text(&error);
    if is_open_to_others(&file.metadata().map_err(system)?) {
        return Err(format!(
            "others can read or change it: chmod 600 {}",
            path.display()
        ));
    }
    parse(file)
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

fn parse(from: impl io::Read) -> Result<KeyRing, String> {
    // A buffer that grows would leave copies behind.
    let mut text = Zeroizing::new(Vec::with_capacity(BUFFER));
    let read = from.take(LONGEST).read_to_end(&mut text);
    read.map_err(|error| system_text(&error))?;
    KeyRing::parse(&text).map_err(|bad| bad.to_string())
}

/// Returns true if users other than the owner have access. The owner must be this user or root;
/// root may give a group access.
fn is_open_to_others(meta: &Metadata) -> bool {
    let us = std::fs::metadata("/proc/self").map(|own| own.uid()).ok();
    let owner = meta.uid();
    let others = if owner == 0 { 0o027 } else { 0o077 };
    (owner != 0 && Some(owner) != us) || meta.mode() & others != 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_that_others_can_read_is_refused_and_one_of_ours_alone_is_not() {
        let folder = netperf_testkit::Scratch::new();
        let path = folder.path().join("key");
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        for (mode, good) in [(0o600, true), (0o400, true), (0o604, false), (0o622, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = load(Some(&path));
            assert_eq!(read.is_ok(), good, "{mode:o}: {read:?}");
        }
        std::fs::write(&path, "short\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let line = load(Some(&path)).unwrap_err();
        assert!(line.contains("openssl rand -hex 32"), "{line}");
        let line = load(Some(Path::new("/nowhere/key"))).unwrap_err();
        assert!(line.contains("No such file"), "{line}");
    }
}
