//! Calls with any arguments, found by bisection in front of a filter for the rest.
//!
//! `seccompiler` compares the number with each call of its list in turn. The kernel runs a filter
//! once for every call there is when it is installed, so that a list of 150 calls takes 0.4 ms of
//! each session's start.

use std::io;

use seccompiler::{BpfProgram, sock_filter};

/// Offset of the call's number in `struct seccomp_data`, and of the architecture.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

// From linux/filter.h and linux/audit.h.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_NOT_BELOW: u16 = 0x35;
const RETURN: u16 = 0x06;
/// `ENOSYS`.
const NOT_THERE: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
/// Instructions before the bisection.
const BEFORE: usize = 4;
/// 64 bits, little-endian.
const AUDIT_64_LE: u32 = 0xC000_0000;

/// Numbers from `start` to the start of the next range.
#[derive(Clone, Copy, Debug)]
struct CallRange {
    start: u32,
    permitted: bool,
}

/// The program that permits these calls, says of another that the kernel does not have it, and
/// leaves the others, and other architectures, to `rest`.
///
/// # Errors
/// When there are no calls, or too many for the jumps of a filter.
pub(super) fn permit_first(calls: &[i64], absent: i64, rest: BpfProgram) -> io::Result<BpfProgram> {
    if calls.is_empty() {
        return Err(io::Error::other("a filter needs calls"));
    }
    let ranges = ranges(calls);
    let absent = u32::try_from(absent).map_err(io::Error::other)?;
    let tree = Bisection {
        permit: BEFORE + ranges.len() - 1,
        ranges: &ranges,
    };
    let mut program = vec![
        plain(LOAD, ARCHITECTURE),
        jump(JUMP_IF_EQUAL, architecture()?, (0, tree.rest() - 2))?,
        plain(LOAD, NUMBER),
        jump(JUMP_IF_EQUAL, absent, (tree.absent() - BEFORE, 0))?,
    ];
    tree.add(&mut program, (0, ranges.len() - 1))?;
    program.push(plain(RETURN, libc::SECCOMP_RET_ALLOW));
    program.push(plain(RETURN, NOT_THERE));
    program.extend(rest);
    Ok(program)
}

/// The architecture for which this program is built.
fn architecture() -> io::Result<u32> {
    let machine = match std::env::consts::ARCH {
        "x86_64" => libc::EM_X86_64,
        "aarch64" => libc::EM_AARCH64,
        "riscv64" => libc::EM_RISCV,
        other => return Err(io::Error::other(format!("no filter for {other}"))),
    };
    Ok(u32::from(machine) | AUDIT_64_LE)
}

/// All numbers, in ranges that are permitted or not.
fn ranges(calls: &[i64]) -> Vec<CallRange> {
    let mut numbers: Vec<u32> = calls
        .iter()
        .filter_map(|call| u32::try_from(*call).ok())
        .collect();
    numbers.sort_unstable();
    let range = |start, permitted| CallRange { start, permitted };
    let mut ranges = vec![range(0, false)];
    for number in numbers {
        match ranges.last() {
            // The number continues the permitted ones.
            Some(last) if !last.permitted && last.start == number => {
                ranges.pop();
            }
            Some(last) if last.start > number => continue,
            Some(_) | None => {}
        }
        if !ranges.last().is_some_and(|last| last.permitted) {
            ranges.push(range(number, true));
        }
        ranges.push(range(number + 1, false));
    }
    ranges
}

/// The decision between ranges.
#[derive(Debug)]
struct Bisection<'a> {
    ranges: &'a [CallRange],
    /// Place of the instruction that permits.
    permit: usize,
}

impl Bisection<'_> {
    /// Place of the instruction that says that the kernel does not have the call.
    const fn absent(&self) -> usize {
        self.permit + 1
    }

    /// Place of the rest.
    const fn rest(&self) -> usize {
        self.permit + 2
    }

    /// Adds the instructions that tell the ranges from `first` to `last` from each other.
    fn add(&self, program: &mut BpfProgram, (first, last): (usize, usize)) -> io::Result<()> {
        if first == last {
            return Ok(());
        }
        let middle = (first + last).div_ceil(2);
        let next = program.len() + 1;
        let below = self.place((first, middle - 1), next);
        // Each range but the first of them has an instruction.
        let above = self.place((middle, last), next + (middle - 1 - first));
        let start = self.ranges.get(middle).map_or(0, |range| range.start);
        program.push(jump(
            JUMP_IF_NOT_BELOW,
            start,
            (above - next, below - next),
        )?);
        self.add(program, (first, middle - 1))?;
        self.add(program, (middle, last))
    }

    /// The place at which these ranges are told from each other, which is `here` if there are several.
    fn place(&self, (first, last): (usize, usize), here: usize) -> usize {
        match self.ranges.get(first).filter(|_| first == last) {
            Some(range) if range.permitted => self.permit,
            Some(_) => self.rest(),
            None => here,
        }
    }
}

const fn plain(code: u16, k: u32) -> sock_filter {
    let (jt, jf) = (0, 0);
    sock_filter { code, jt, jf, k }
}

/// A jump over so many instructions, when the comparison holds and when it does not.
fn jump(code: u16, k: u32, (holds, fails): (usize, usize)) -> io::Result<sock_filter> {
    let over = |count| u8::try_from(count).map_err(io::Error::other);
    let (jt, jf) = (over(holds)?, over(fails)?);
    Ok(sock_filter { code, jt, jf, k })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_ranges_of_one_verdict() {
        let starts = |calls: &[i64]| -> Vec<u32> {
            let ranges = ranges(calls);
            let alternate = ranges
                .windows(2)
                .all(|two| two[0].permitted != two[1].permitted);
            assert!(alternate, "{ranges:?}");
            ranges.iter().map(|range| range.start).collect()
        };
        assert_eq!(starts(&[]), [0]);
        assert_eq!(starts(&[0, 1]), [0, 2]);
        assert_eq!(starts(&[7, 3, 4, 3, 5]), [0, 3, 6, 7, 8]);
    }

    #[test]
    fn every_number_gets_the_verdict_of_its_range() {
        let refused = vec![plain(RETURN, libc::SECCOMP_RET_KILL_PROCESS)];
        let calls = [0, 1, 2, 5, 9, 10, 64, 200, 201, 435];
        let program = permit_first(&calls, 436, refused).expect("a program");
        for number in (0..500).chain([u32::MAX, 0x4000_0001]) {
            let expected = match i64::from(number) {
                436 => NOT_THERE,
                number if calls.contains(&number) => libc::SECCOMP_RET_ALLOW,
                _ => libc::SECCOMP_RET_KILL_PROCESS,
            };
            let found = verdict(&program, [number, architecture().expect("one")]);
            assert_eq!(found, expected, "{number}");
        }
        for number in [0, 436] {
            let found = verdict(&program, [number, 0x4000_0003]);
            assert_eq!(found, libc::SECCOMP_RET_KILL_PROCESS);
        }
    }

    #[test]
    fn more_calls_than_jumps_reach_are_an_error() {
        let calls: Vec<i64> = (0..400).step_by(2).collect();
        assert!(permit_first(&calls, 436, Vec::new()).is_err());
        assert!(permit_first(&[], 436, Vec::new()).is_err());
    }

    /// The verdict about a call with this number and architecture.
    fn verdict(program: &[sock_filter], words: [u32; 2]) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            let over = match step.code {
                LOAD => {
                    loaded = words[step.k as usize / 4];
                    0
                }
                RETURN => return step.k,
                JUMP_IF_EQUAL if loaded == step.k => step.jt,
                JUMP_IF_NOT_BELOW if loaded >= step.k => step.jt,
                JUMP_IF_EQUAL | JUMP_IF_NOT_BELOW => step.jf,
                other => panic!("{other:#x}"),
            };
            at += usize::from(over);
        }
    }
}
