//! Keys: read from a private file or from the environment.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
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

/// Copy of a file, and what says who may have written or read it.
#[derive(Debug)]
pub struct FileCopy {
    /// Number of the user that owns the file.
    pub owner: u32,
    /// Mode of the file.
    pub mode: u32,
    /// Contents.
    pub text: Zeroizing<Vec<u8>>,
}

impl FileCopy {
    /// Bytes of a file, at most.
    const LONGEST: u64 = 1 << 20;

    /// Reads a file with this owner and mode from its begin.
    ///
    /// # Errors
    /// `FileTooLarge`, or those of read(2).
    pub fn read((owner, mode): (u32, u32), file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        if size > Self::LONGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // A buffer that grows would leave copies behind.
        let room = usize::try_from(size).unwrap_or_default();
        let mut text = Zeroizing::new(Vec::with_capacity(room + 1));
        file.take(size).read_to_end(&mut text)?;
        Ok(Self { owner, mode, text })
    }
}

/// The keys of netserver, as [`load`] finds them: all of them generated.
///
/// # Errors
/// As [`load`], and for a text that no generator has made.
pub fn load_for_server(file: Option<&Path>) -> Result<Option<KeyRing>, String> {
    let keys = load(file)?;
    let from = || path(file).map_or_else(|| KEY.to_owned(), |file| named(&file));
    keys.map(|keys| generated(keys).map_err(|why| format!("{}: {why}", from())))
        .transpose()
}

/// The keys of a file that was read before, which `read` reads again.
///
/// # Errors
/// As [`load_for_server`], and what `read` returns.
pub fn load_again(
    file: Option<&Path>,
    read: impl FnOnce(&Path) -> io::Result<FileCopy>,
) -> Result<Option<KeyRing>, String> {
    match path(file) {
        Some(file) if is_stdin(&file) => {
            Err("the key came from standard input, which is read once: start again".to_owned())
        }
        Some(file) => {
            let keys = read(&file).map_err(|error| system_text(&error));
            let keys = keys.and_then(|copy| {
                check_access(&file, (copy.owner, copy.mode))?;
                generated(parse(copy.text.as_slice())?)
            });
            keys.map(Some)
                .map_err(|why| format!("{}: {why}", named(&file)))
        }
        None => load_for_server(None),
    }
}

/// Refuses a text that no generator has made, such as that of a file of settings: it could be
/// guessed.
fn generated(keys: KeyRing) -> Result<KeyRing, String> {
    let other = keys.keys().iter().find(|key| !key.secret.is_generated());
    match other {
        Some(key) if key.name.is_empty() => Err("this is not a generated key, and could be \
                                                 guessed: create one with openssl rand -hex 32"
            .to_owned()),
        Some(key) => Err(format!(
            "the key {} is not a generated one, and could be guessed: create one with openssl \
             rand -hex 32",
            key.name
        )),
        None => Ok(keys),
    }
}

/// The key file: `file` or that of the environment.
pub fn path(file: Option<&Path>) -> Option<PathBuf> {
    file.map(Path::to_path_buf)
        .or_else(|| variable(FILE).map(PathBuf::from))
}

fn keys_of(file: &Path) -> Result<KeyRing, String> {
    let opened = File::open(file).map_err(|error| system_text(&error));
    let keys = opened.and_then(|opened| read(file, opened));
    keys.map_err(|why| format!("{}: {why}", named(file)))
}

/// A key file in a message.
fn named(file: &Path) -> String {
    format!("the key file {}", file.display())
}

fn find(file: Option<&Path>) -> Result<Option<KeyRing>, String> {
    if let Some(file) = path(file) {
        if is_stdin(&file) {
            let keys = parse(io::stdin().lock());
            return keys
                .map(Some)
                .map_err(|why| format!("the key on standard input: {why}"));
        }
        return keys_of(&file).map(Some);
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
    let meta = file.metadata().map_err(|error| system_text(&error))?;
    if meta.is_dir() {
        return Err("it is a folder: name the file with the key".to_owned());
    }
    let kind = meta.file_type();
    let is_device = kind.is_char_device() || kind.is_block_device();
    if is_device && is_open_to_others(meta.uid(), meta.mode()) {
        return Err("it is a device: name a file, or - for standard input".to_owned());
    }
    check_access(path, (meta.uid(), meta.mode()))?;
    parse(file)
}

/// Refuses a file of this owner and mode that others can read or change.
fn check_access(path: &Path, (owner, mode): (u32, u32)) -> Result<(), String> {
    if is_open_to_others(owner, mode) {
        return Err(format!(
            "others can read or change it: chmod 600 {}",
            path.display()
        ));
    }
    Ok(())
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
fn is_open_to_others(owner: u32, mode: u32) -> bool {
    let others = if owner == 0 { 0o027 } else { 0o077 };
    (owner != 0 && owner != netperf_os::privileges::user_number()) || mode & others != 0
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
        // Other permissions would harm the host.
        for (path, kind) in [
            (folder.path(), "a folder"),
            (Path::new("/dev/null"), "a device"),
        ] {
            let line = load(Some(path)).unwrap_err();
            assert!(line.contains(kind) && !line.contains("chmod"), "{line}");
        }
        let line = load(Some(Path::new("/nowhere/key"))).unwrap_err();
        assert!(line.contains("No such file"), "{line}");
    }
}
