//! Acts that the sandbox forbids, tried inside the sandbox of a session by every route: by their
//! calls, by descriptors from before, by io_uring, and by the entry for programs of 32 bits.
//!
//! The test starts itself again as a process that forks one process for each attempt, which enters
//! the sandbox with netserver's own code. The shipped programs have no way in for this.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::os::unix::process::{ExitStatusExt as _, parent_id};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use netperf_cli::SandboxArg;
use netperf_daemon::sandbox::{SessionNeeds, confine};
use netperf_os::entries::{CallEntry, EntryCall, FileAt};
use netperf_os::privileges::{self, User};
use netperf_os::process::{self, ChildProcess, Forked};
use netperf_os::uring::Uring;
use netperf_os::{Domain, SockAddr, Socket, Type};
use netperf_testkit::{Invocation, environment, eventually, require};

use crate::sandbox::has_walls;

/// Variable with the folder of the attempts.
const FOLDER: &str = "SANDBOX_PROBE_FOLDER";
/// User of sessions of root's netserver.
const NOBODY: u32 = 65534;
/// Family of sockets of the kernel's cryptography, and their type.
const CRYPTOGRAPHY: (i32, i32) = (38, 5);
/// Time for one attempt.
const WITHIN: Duration = Duration::from_secs(60);

/// The way in which an act is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// By its call, by the call of its kind without a folder, or by the number of x32.
    Call(CallEntry),
    /// From a folder, or by a socket, that the process had before.
    Inherited,
    /// By a ring that the process had before.
    Ring,
    /// By a ring, in a session whose netserver permits rings.
    PermittedRing,
    /// By the entry for programs of 32 bits.
    Bits32,
}

/// Columns of the table, and the routes in each.
const COLUMNS: [(&str, &[Route]); 5] = [
    (
        "call",
        &[
            Route::Call(CallEntry::Number),
            Route::Call(CallEntry::OldNumber),
            Route::Call(CallEntry::X32Number),
        ],
    ),
    ("inherited descriptor", &[Route::Inherited]),
    ("io_uring", &[Route::Ring]),
    ("io_uring, permitted", &[Route::PermittedRing]),
    ("entry of 32 bits", &[Route::Bits32]),
];

/// Result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActOutcome {
    /// The kernel says that it is not permitted.
    Refused,
    /// The process ends.
    Ends,
    /// Nothing forbids it.
    Possible,
    /// The act cannot be tried so.
    Absent,
}

use ActOutcome::{Absent, Ends, Possible, Refused};

impl ActOutcome {
    const fn label(self) -> &'static str {
        match self {
            Refused => "refused",
            Ends => "ends the session",
            Possible => "possible",
            Absent => "–",
        }
    }
}

/// An act: its name, its call, and what it comes to in each column.
type Act = (&'static str, ActCall, [ActOutcome; 5]);
/// The call of an act, by what the process had before if the second argument is true.
type ActCall = for<'a> fn(&'a Ground, bool) -> EntryCall<'a>;

/// The call has a file or a socket.
const ALL: [ActOutcome; 5] = [Refused, Refused, Refused, Refused, Ends];
/// Rings have no such call.
const NO_RING: [ActOutcome; 5] = [Refused, Refused, Absent, Absent, Ends];
/// The call needs no descriptor.
const NO_DESCRIPTOR: [ActOutcome; 5] = [Refused, Absent, Refused, Refused, Ends];

/// Rings have no such call, and it needs no descriptor.
const ONLY_CALL: [ActOutcome; 5] = [Refused, Absent, Absent, Absent, Ends];

/// The acts that a session may not do.
const ACTS: [Act; 22] = [
    (
        "run a program",
        |on, before| EntryCall::Execute(on.file(PROGRAMS, c"true", before)),
        NO_RING,
    ),
    (
        "make a folder",
        |on, before| EntryCall::MakeFolder(on.file(OWN, c"new", before)),
        ALL,
    ),
    (
        "rename a file",
        |on, before| {
            let file = on.file(OWN, c"victim", before);
            EntryCall::Rename(file, on.file(OWN, c"other", before).name)
        },
        ALL,
    ),
    (
        "give a file away",
        |on, before| EntryCall::GiveAway(on.file(OWN, c"victim", before)),
        NO_RING,
    ),
    (
        "let others use a file",
        |on, before| EntryCall::Permit(on.file(OWN, c"victim", before)),
        NO_RING,
    ),
    (
        "open a socket of the kernel's cryptography",
        |_, _| {
            let (family, kind) = CRYPTOGRAPHY;
            EntryCall::Open(Domain::from(family), Type::from(kind))
        },
        [Refused, Absent, Refused, Possible, Ends],
    ),
    (
        "open a socket of link level",
        |_, _| EntryCall::Open(Domain::PACKET, Type::RAW),
        NO_DESCRIPTOR,
    ),
    (
        "use a port below 1024",
        |on, before| EntryCall::Bind(on.socket(&on.stream, before), &on.low),
        ALL,
    ),
    (
        "mark packets",
        |on, before| EntryCall::Mark(on.socket(&on.stream, before)),
        ALL,
    ),
    ("set up io_uring", |_, _| EntryCall::SetUpRing, ONLY_CALL),
    (
        "signal another process",
        |_, _| EntryCall::Signal(parent_id()),
        ONLY_CALL,
    ),
    (
        "change limits of another process",
        |_, _| EntryCall::Limit(parent_id()),
        ONLY_CALL,
    ),
    (
        "read the users",
        |on, before| EntryCall::Read(on.file(SETTINGS, c"passwd", before)),
        ALL,
    ),
    (
        "read a file outside the folder",
        |on, before| EntryCall::Read(on.file(OWN, c"victim", before)),
        ALL,
    ),
    (
        "read another process",
        |on, before| EntryCall::Read(on.file(INIT, c"status", before)),
        ALL,
    ),
    (
        "make a file",
        |on, before| EntryCall::Make(on.file(OWN, c"made", before)),
        ALL,
    ),
    (
        "make a file for everybody",
        |on, before| EntryCall::Make(on.file(TEMPORARY, c"made", before)),
        ALL,
    ),
    (
        "remove a file",
        |on, before| EntryCall::Remove(on.file(OWN, c"victim", before)),
        ALL,
    ),
    (
        "write to a device",
        |on, before| EntryCall::Write(on.file(DEVICES, c"kmsg", before)),
        ALL,
    ),
    (
        "connect over TCP",
        |on, before| EntryCall::Connect(on.socket(&on.stream, before), &on.at),
        ALL,
    ),
    (
        "connect over IPv6 and TCP",
        |on, before| EntryCall::Connect(on.socket(&on.stream6, before), &on.at6),
        ALL,
    ),
    (
        "connect to a socket without a file",
        |on, before| EntryCall::Connect(on.socket(&on.local, before), &on.at_name),
        ALL,
    ),
];

/// Resources of attempts.
struct Ground {
    /// Folders, and the same as the process opened them before.
    folders: [CString; 6],
    opened: [File; 6],
    stream: Socket,
    stream6: Socket,
    local: Socket,
    /// Addresses that listen, over IP, IPv6 and without a file, and one with a port of root.
    at: SockAddr,
    at6: SockAddr,
    at_name: SockAddr,
    low: SockAddr,
}

/// Places of folders in [`Ground`]: of the attempts, of temporary files, and of the host.
const OWN: usize = 0;
const TEMPORARY: usize = 1;
const SETTINGS: usize = 2;
const PROGRAMS: usize = 3;
const INIT: usize = 4;
const DEVICES: usize = 5;

impl Ground {
    /// Descriptors of a process before it is confined.
    fn of(folder: &Path) -> io::Result<Self> {
        let port = fs::read_to_string(folder.join("port"))?;
        let port: u16 = port.parse().map_err(io::Error::other)?;
        let temporary = folder.join("tmp");
        let [settings, programs, init, devices] =
            ["/etc", "/bin", "/proc/1", "/dev"].map(Path::new);
        let folders = [folder, &temporary, settings, programs, init, devices];
        let opened: io::Result<Vec<File>> = folders.iter().map(File::open).collect();
        let name = |path: &Path| CString::new(path.as_os_str().as_bytes()).expect("a path");
        Ok(Self {
            folders: folders.map(name),
            opened: opened?.try_into().expect("as many"),
            stream: Socket::new(Domain::IPV4, Type::STREAM, None)?,
            stream6: Socket::new(Domain::IPV6, Type::STREAM, None)?,
            local: Socket::new(Domain::UNIX, Type::STREAM, None)?,
            at: SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into(),
            at6: SocketAddr::from((Ipv6Addr::LOCALHOST, port)).into(),
            at_name: SockAddr::unix(abstract_name(folder))?,
            low: SocketAddr::from((Ipv4Addr::LOCALHOST, 801)).into(),
        })
    }

    /// A file in one of the folders: by its full name, or from the folder that was opened before.
    fn file(&self, folder: usize, name: &'static CStr, before: bool) -> FileAt<'_> {
        if before {
            let folder = Some(self.opened[folder].as_fd());
            return FileAt { folder, name };
        }
        let full = [self.folders[folder].to_bytes(), b"/", name.to_bytes()].concat();
        // The process ends after its attempt.
        let name = Box::leak(Box::new(CString::new(full).expect("a path")));
        FileAt { folder: None, name }
    }

    /// A socket from before, or a new one of its kind.
    fn socket<'a>(&self, one: &'a Socket, before: bool) -> BorrowedFd<'a> {
        if before {
            return one.as_fd();
        }
        let domain = netperf_os::without::domain(one).expect("a socket");
        let new = Socket::new(domain, Type::STREAM, None).expect("a socket");
        let kept: &'a Socket = Box::leak(Box::new(new));
        kept.as_fd()
    }
}

/// Name of the socket without a file.
fn abstract_name(folder: &Path) -> PathBuf {
    let name = [b"\0", folder.as_os_str().as_bytes()].concat();
    OsStr::from_bytes(&name).into()
}

/// The process that makes an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// A process without a sandbox.
    Free,
    /// A session of the user that started netserver.
    Session,
    /// A session of a netserver that root started.
    SessionOfRoot,
}

/// Exit status of an attempt that cannot be made. Other ones are numbers of errors.
const NO_OUTCOME: i32 = 255;
/// Number of the error that the kernel has no such call.
const NO_CALL: i32 = 38;
/// Numbers of errors that mean a refusal.
const REFUSALS: [i32; 2] = [1, 13];
/// Numbers of errors after which an act is possible: a socket of this kind, or a port, is not free.
const BUSY: [i32; 2] = [97, 98];

/// Makes an attempt in a separate process.
#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "the new process returns to nothing of the test"
)]
fn performed(folder: &Path, who: Who, route: Route, call: ActCall) -> ActOutcome {
    let forked = process::fork().expect("a process");
    let Forked::Parent(number) = forked else {
        let status = match try_act(folder, who, route, call) {
            Some(Ok(())) => 0,
            Some(Err(error)) => error.raw_os_error().unwrap_or(NO_OUTCOME - 1),
            None => NO_OUTCOME,
        };
        std::process::exit(status);
    };
    let mut child = ChildProcess::Forked(number);
    let mut status = None;
    let in_time = eventually(WITHIN, || {
        status = child.try_wait().expect("a child");
        status.is_some()
    });
    assert!(in_time, "an attempt by {route:?} does not end");
    outcome(status.expect("its end"), (who, route))
}

fn outcome(status: ExitStatus, by: (Who, Route)) -> ActOutcome {
    match (status.code(), status.signal()) {
        (Some(NO_OUTCOME | NO_CALL), _) => Absent,
        (Some(number), _) if REFUSALS.contains(&number) => Refused,
        (Some(number), _) if number == 0 || BUSY.contains(&number) => Possible,
        (None, Some(_)) => Ends,
        other => panic!("{by:?}: {other:?}"),
    }
}

/// Becomes who attempts, and does so.
fn try_act(folder: &Path, who: Who, route: Route, call: ActCall) -> Option<io::Result<()>> {
    let ground = Ground::of(folder).expect("what attempts use");
    let by_ring = matches!(route, Route::Ring | Route::PermittedRing);
    let ring = by_ring.then(|| Uring::new(1, None).expect("a ring"));
    if who == Who::SessionOfRoot {
        let (user, group) = (NOBODY, NOBODY);
        privileges::become_user(User { user, group }, &[]).expect("root");
    }
    if who != Who::Free {
        let files = folder.join("files");
        let session = SessionNeeds {
            files: Some(&files),
            rings: route == Route::PermittedRing,
            ..SessionNeeds::default()
        };
        confine(SandboxArg::Require, session).expect("walls");
    }
    let call = call(&ground, route == Route::Inherited);
    match (route, ring) {
        (Route::Call(entry), _) => call.make(entry),
        (Route::Inherited, _) => is_inherited(&call).then(|| call.make(CallEntry::Number))?,
        (Route::Bits32, _) => call.make(CallEntry::Bits32),
        (Route::Ring | Route::PermittedRing, ring) => ring?.make(&call),
    }
}

/// True if a call uses a descriptor from before.
const fn is_inherited(call: &EntryCall<'_>) -> bool {
    !matches!(
        call,
        EntryCall::Open(..) | EntryCall::SetUpRing | EntryCall::Signal(_) | EntryCall::Limit(_)
    )
}

/// Puts the files of the attempts in their places.
fn prepare(folder: &Path, owner: u32) -> io::Result<()> {
    let _absent = (
        fs::remove_dir(folder.join("new")),
        fs::remove_file(folder.join("other")),
        fs::remove_file(folder.join("made")),
        fs::remove_file(folder.join("tmp/made")),
    );
    let victim = folder.join("victim");
    fs::write(&victim, "x")?;
    chown(folder, Some(owner), None)?;
    chown(victim, Some(owner), None)
}

/// Body of the other test, which runs it in a separate process.
#[test]
fn inside() {
    let Some(folder) = environment(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let all: &[Who] = if require::is_root() {
        &[Who::Free, Who::Session, Who::SessionOfRoot]
    } else {
        &[Who::Session]
    };
    let own = if require::is_root() {
        0
    } else {
        privileges::user_number()
    };
    let mut wrong = Vec::new();
    for &who in all {
        let owner = if who == Who::SessionOfRoot {
            NOBODY
        } else {
            own
        };
        for (name, call, outcomes) in ACTS {
            for ((column, routes), wanted) in COLUMNS.into_iter().zip(outcomes) {
                for &route in routes {
                    prepare(folder, owner).expect("own folder");
                    let found = performed(folder, who, route, call);
                    if !is_as_wanted((who, route), found, wanted) {
                        wrong.push(format!("{who:?}, {name}, {column}, {route:?}: {found:?}"));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    writeln!(io::stdout(), "walls held").expect("a pipe");
}

/// Without a sandbox, every attempt succeeds that can be made.
fn is_as_wanted((who, route): (Who, Route), found: ActOutcome, wanted: ActOutcome) -> bool {
    // Not every call has a number from before; most kernels have no x32.
    let has_no_number = route == Route::Call(CallEntry::OldNumber) && found == Absent;
    let is_x32 = route == Route::Call(CallEntry::X32Number);
    let wanted = if who == Who::Free && wanted != Absent {
        Possible
    } else {
        wanted
    };
    has_no_number || (is_x32 && who == Who::Free) || found == wanted
}

#[test]
fn threat_model_acts_that_no_test_needs_are_refused_by_every_route() {
    let ring = Uring::new(1, None);
    let has_rings = require::require(ring.is_ok(), "io_uring", "Linux 6.11 or later has it");
    if !has_walls() || !has_rings {
        return;
    }
    // Not where temporary files are: there, sockets of tests are made and removed.
    let folder = Path::new("/var/tmp").join(format!("netperf-walls-{}", std::process::id()));
    let _left = fs::remove_dir_all(&folder);
    for one in ["files", "tmp"] {
        fs::create_dir_all(folder.join(one)).expect("a folder");
    }
    fs::set_permissions(folder.join("tmp"), Permissions::from_mode(0o777)).expect("own folder");
    let listener = TcpListener::bind("[::]:0").expect("a port");
    let port = listener.local_addr().expect("a port").port();
    fs::write(folder.join("port"), port.to_string()).expect("own folder");
    let name = UnixAddress::from_abstract_name(folder.as_os_str().as_bytes()).expect("a name");
    let _abstract = UnixListener::bind_addr(&name).expect("a name");
    let me = std::env::current_exe().expect("this program");
    let finished = Invocation::new(&me)
        .args(["sandbox_routes::inside", "--exact", "--nocapture"])
        .env(FOLDER, &folder)
        .env("TMPDIR", folder.join("tmp"))
        // Some 400 processes.
        .patience(4 * WITHIN)
        .run()
        .expect_exit(0);
    let held = finished.stdout.contains("walls held");
    assert!(held, "{}", finished.account());
    fs::remove_dir_all(folder).expect("own folder");
}

#[test]
fn forbidden_acts_are_those_of_the_threat_model() {
    let text = include_str!("../../../../docs/manual/src/threat-model.md");
    let cells = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let columns = COLUMNS.map(|(name, _)| name);
    let mut table = cells([&["act"], &columns[..]].concat());
    table += &format!("|{}\n", "---|".repeat(1 + columns.len()));
    for (name, _, outcomes) in ACTS {
        let outcomes = outcomes.map(ActOutcome::label);
        table += &cells([&[name], &outcomes[..]].concat());
    }
    assert!(
        text.contains(&table),
        "the threat model has not this table:\n{table}"
    );
}
