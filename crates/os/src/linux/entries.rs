//! Calls by every entry of the kernel, for a test of the sandbox that tries forbidden acts. The
//! entries: by number, by the numbers before openat(2), by those of x32, by a ring
//! ([`Uring::make`]), and by the entry for programs of 32 bits.
//!
//! [`Uring::make`]: crate::uring::Uring::make

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr::NonNull;

use socket2::{Domain, SockAddr, Type};

/// Bit of the numbers of x32, whose pointers have 32 bits.
const X32: i64 = 0x4000_0000;
/// Bytes of the memory that calls refer to.
const PAGE: usize = 4096;
/// Bytes of `io_uring_params`.
const RING_PARAMETERS: usize = 120;

/// A file: a name, from a folder or from that of the process.
#[derive(Clone, Copy, Debug)]
pub struct FileAt<'a> {
    /// The folder in which the name is looked up; `None` for that of the process.
    pub folder: Option<BorrowedFd<'a>>,
    /// The name.
    pub name: &'a CStr,
}

/// A call. Descriptors that it opens stay open.
#[derive(Clone, Copy, Debug)]
pub enum EntryCall<'a> {
    /// execveat(2).
    Execute(FileAt<'a>),
    /// mkdirat(2).
    MakeFolder(FileAt<'a>),
    /// renameat2(2), to a name in the same folder.
    Rename(FileAt<'a>, &'a CStr),
    /// fchownat(2), to the user 1.
    GiveAway(FileAt<'a>),
    /// fchmodat(2), so that all users may read and write.
    Permit(FileAt<'a>),
    /// openat(2), to read.
    Read(FileAt<'a>),
    /// openat(2), to write.
    Write(FileAt<'a>),
    /// openat(2), to make.
    Make(FileAt<'a>),
    /// unlinkat(2).
    Remove(FileAt<'a>),
    /// socket(2).
    Open(Domain, Type),
    /// bind(2).
    Bind(BorrowedFd<'a>, &'a SockAddr),
    /// connect(2).
    Connect(BorrowedFd<'a>, &'a SockAddr),
    /// setsockopt(2) with `SO_MARK`.
    Mark(BorrowedFd<'a>),
    /// `io_uring_setup(2)`.
    SetUpRing,
    /// kill(2) of this process, with no signal.
    Signal(u32),
    /// prlimit(2) of this process, which changes nothing.
    Limit(u32),
}

/// An entry for a number and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEntry {
    /// The number that the C library uses now.
    Number,
    /// The number of the call without a folder.
    OldNumber,
    /// The number of x32.
    X32Number,
    /// The entry for programs of 32 bits. Where it is not permitted, the process ends.
    Bits32,
}

/// Memory below 4 GiB, where every entry reads arguments.
#[derive(Debug)]
pub(super) struct LowMemory {
    start: NonNull<u8>,
    used: usize,
}

impl LowMemory {
    pub(super) fn new() -> io::Result<Self> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
        // SAFETY: new memory replaces none.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, rights, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, used: 0 })
    }

    /// The address of a copy.
    fn copy(&mut self, bytes: &[u8]) -> io::Result<u32> {
        let place = self.used;
        self.used = (place + bytes.len()).next_multiple_of(8);
        if self.used > PAGE {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: the place is within the page.
        let to = unsafe { self.start.add(place) };
        // SAFETY: so are all bytes, which nothing else refers to.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        u32::try_from(to.as_ptr().addr()).map_err(io::Error::other)
    }

    fn address(&mut self, address: &SockAddr) -> io::Result<u32> {
        let length = usize::try_from(address.len()).map_err(io::Error::other)?;
        // SAFETY: the address has so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), length) };
        self.copy(bytes)
    }
}

impl Drop for LowMemory {
    fn drop(&mut self) {
        // SAFETY: the page belongs to this value, and no call that refers to it lasts.
        unsafe { libc::munmap(self.start.as_ptr().cast(), PAGE) };
    }
}

/// A call with its arguments in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedCall {
    number: i64,
    old_number: Option<i64>,
    number_of_32_bits: i32,
    pub(super) arguments: [u32; 5],
}

impl EntryCall<'_> {
    /// Makes the call. `None` if this entry does not have it.
    ///
    /// # Errors
    /// Whatever the call reports.
    pub fn make(&self, entry: CallEntry) -> Option<io::Result<()>> {
        let mut memory = match LowMemory::new() {
            Ok(memory) => memory,
            Err(error) => return Some(Err(error)),
        };
        match self.place(&mut memory) {
            Ok(placed) => placed.make(entry),
            Err(error) => Some(Err(error)),
        }
    }

    pub(super) fn place(&self, memory: &mut LowMemory) -> io::Result<PlacedCall> {
        let (number, old_number, number_of_32_bits) = self.numbers();
        Ok(PlacedCall {
            number,
            old_number,
            number_of_32_bits,
            arguments: self.arguments(memory)?,
        })
    }

    const fn numbers(&self) -> CallNumbers {
        match self {
            Self::Execute(_) => (libc::SYS_execveat, Some(libc::SYS_execve), 358),
            Self::MakeFolder(_) => (libc::SYS_mkdirat, Some(libc::SYS_mkdir), 296),
            Self::Rename(..) => (libc::SYS_renameat2, None, 353),
            Self::GiveAway(_) => (libc::SYS_fchownat, Some(libc::SYS_chown), 298),
            Self::Permit(_) => (libc::SYS_fchmodat, Some(libc::SYS_chmod), 306),
            Self::Read(_) | Self::Write(_) | Self::Make(_) => {
                (libc::SYS_openat, Some(libc::SYS_open), 295)
            }
            Self::Remove(_) => (libc::SYS_unlinkat, Some(libc::SYS_unlink), 301),
            Self::Open(..) => (libc::SYS_socket, None, 359),
            Self::Bind(..) => (libc::SYS_bind, None, 361),
            Self::Connect(..) => (libc::SYS_connect, None, 362),
            Self::Mark(_) => (libc::SYS_setsockopt, None, 366),
            Self::SetUpRing => (libc::SYS_io_uring_setup, None, 425),
            Self::Signal(_) => (libc::SYS_kill, None, 37),
            Self::Limit(_) => (libc::SYS_prlimit64, None, 340),
        }
    }

    fn arguments(&self, memory: &mut LowMemory) -> io::Result<[u32; 5]> {
        Ok(match *self {
            Self::Execute(file) => {
                // Neither words nor variables: a list that ends at once.
                let none = memory.copy(&[0; 16])?;
                file.arguments([none, none, 0], memory)?
            }
            Self::MakeFolder(file) => file.arguments([0o700, 0, 0], memory)?,
            Self::Rename(file, to) => {
                let to = memory.copy(to.to_bytes_with_nul())?;
                file.arguments([file.folder(), to, 0], memory)?
            }
            Self::GiveAway(file) => file.arguments([1, u32::MAX, 0], memory)?,
            Self::Permit(file) => file.arguments([0o666, 0, 0], memory)?,
            Self::Read(file) => file.opened(libc::O_RDONLY, memory)?,
            Self::Write(file) => file.opened(libc::O_WRONLY, memory)?,
            Self::Make(file) => file.opened(libc::O_WRONLY | libc::O_CREAT, memory)?,
            Self::Remove(file) => file.arguments([0, 0, 0], memory)?,
            Self::Open(domain, kind) => [bits(domain.into()), bits(kind.into()), 0, 0, 0],
            Self::Bind(socket, address) | Self::Connect(socket, address) => {
                let at = memory.address(address)?;
                [bits(socket.as_raw_fd()), at, address.len(), 0, 0]
            }
            Self::Mark(socket) => {
                let at = memory.copy(&7_u32.to_ne_bytes())?;
                let [level, name] = [libc::SOL_SOCKET, libc::SO_MARK].map(bits);
                [bits(socket.as_raw_fd()), level, name, at, 4]
            }
            Self::SetUpRing => [1, memory.copy(&[0; RING_PARAMETERS])?, 0, 0, 0],
            Self::Signal(process) | Self::Limit(process) => [process, 0, 0, 0, 0],
        })
    }
}

/// Numbers of a call: as the C library uses it now, without a folder, and for 32 bits.
type CallNumbers = (i64, Option<i64>, i32);

impl FileAt<'_> {
    /// The folder, the name, and what follows them.
    fn arguments(self, [c, d, e]: [u32; 3], memory: &mut LowMemory) -> io::Result<[u32; 5]> {
        let name = memory.copy(self.name.to_bytes_with_nul())?;
        Ok([self.folder(), name, c, d, e])
    }

    fn opened(self, flags: libc::c_int, memory: &mut LowMemory) -> io::Result<[u32; 5]> {
        self.arguments([bits(flags), 0o600, 0], memory)
    }

    fn folder(self) -> u32 {
        bits(self.folder.map_or(libc::AT_FDCWD, |one| one.as_raw_fd()))
    }
}

/// The bits of a number.
const fn bits(number: i32) -> u32 {
    u32::from_ne_bytes(number.to_ne_bytes())
}

impl PlacedCall {
    fn make(self, entry: CallEntry) -> Option<io::Result<()>> {
        let [_, b, c, d, e] = self.arguments;
        match entry {
            CallEntry::Number => Some(call(self.number, self.arguments)),
            CallEntry::OldNumber => self.old_number.map(|number| call(number, [b, c, d, e, 0])),
            CallEntry::X32Number => Some(call(self.number | X32, self.arguments)),
            CallEntry::Bits32 => {
                let result = call_of_32_bits(self.number_of_32_bits, self.arguments);
                Some(match result {
                    0.. => Ok(()),
                    error => Err(io::Error::from_raw_os_error(-error)),
                })
            }
        }
    }
}

fn call(number: i64, [a, b, c, d, e]: [u32; 5]) -> io::Result<()> {
    // The kernel takes the lower half of a descriptor.
    let [a, b, c, d, e] = [a, b, c, d, e].map(u64::from);
    // SAFETY: each call of this list reads and writes what its arguments place in memory that lasts
    // longer, and no other.
    let result = unsafe { libc::syscall(number, a, b, c, d, e) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn call_of_32_bits(number: i32, [a, b, c, d, e]: [u32; 5]) -> i32 {
    let mut result = number;
    // SAFETY: as above; the kernel may clear r8 to r11, and all else is as before.
    unsafe {
        std::arch::asm!(
            "push rbx", "mov ebx, r8d", "int 0x80", "pop rbx",
            inout("eax") result, in("ecx") b, in("edx") c, in("esi") d, in("edi") e,
            inout("r8d") a => _, out("r9") _, out("r10") _, out("r11") _,
        );
    };
    result
}
