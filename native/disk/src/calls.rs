//! The C library's functions that the server calls instead, and what they have in common.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering::Relaxed};

use libc::{c_int, c_long, c_uint, c_void, iovec, off_t, size_t, ssize_t};

use crate::kind::{classify, Kind};
use crate::page::{text, Operation, Page, MAGIC, SIZE};

const ENVIRONMENT: &[u8] = b"TUIBENCH_DISK\0";
const PATH_BYTES: usize = 4096;
/// A private server opens fewer files.
const FILES: usize = 65_536;
/// The kind of a descriptor's file plus one, and whether each write is a flush; 0 if not known yet.
static KNOWN: [AtomicU8; FILES] = [UNKNOWN; FILES];
#[allow(clippy::declare_interior_mutable_const)]
const UNKNOWN: AtomicU8 = AtomicU8::new(0);
const IS_SYNCHRONOUS: u8 = 0x80;
static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// How long a change of the delays takes at most to end a sleep that has begun.
const SLICE_NS: u64 = 20_000_000;
const NS_PER_SECOND: u64 = 1_000_000_000;
/// An argument of a system call, in the width of a register as all those that the kernel takes as long.
const NOTHING: c_long = 0;
/// Marks the sleeps of this library; `tuibench/observe/wait_sampler.py` looks for it.
const PROLONGS: c_long = 0x0074_7569_6469_736b;

#[used]
#[link_section = ".init_array"]
static ATTACH: extern "C" fn() = attach;

/// Maps the page; without one, all calls are as without this library.
extern "C" fn attach() {
    // SAFETY: a path that the environment holds, and memory that the kernel maps; the page stays mapped.
    unsafe {
        let path = libc::getenv(ENVIRONMENT.as_ptr().cast());
        if path.is_null() {
            return;
        }
        let flags = libc::O_RDWR | libc::O_CLOEXEC;
        let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0);
        if fd < 0 {
            return;
        }
        let access = c_long::from(libc::PROT_READ | libc::PROT_WRITE);
        let page =
            libc::syscall(libc::SYS_mmap, NOTHING, SIZE, access, c_long::from(libc::MAP_SHARED), fd, NOTHING);
        libc::syscall(libc::SYS_close, fd);
        let page = page as usize as *mut Page;
        if page as isize != -1 && (*page).magic.load(Relaxed) == MAGIC {
            PAGE.store(page, Relaxed);
        }
    }
}

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * NS_PER_SECOND + time.tv_nsec as u64
}

/// Kind and synchrony of a descriptor's file; read once for each descriptor until it is closed.
fn file_of(page: &Page, fd: c_int) -> u8 {
    let known = match KNOWN.get(fd as usize) {
        Some(entry) => entry.load(Relaxed),
        None => 0,
    };
    if known != 0 {
        return known;
    }
    let found = find(page, fd);
    if let Some(entry) = KNOWN.get(fd as usize) {
        entry.store(found, Relaxed);
    }
    found
}

#[cold]
fn find(page: &Page, fd: c_int) -> u8 {
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut digits = [0u8; 10];
    let (mut rest, mut count) = (fd.max(0), 0);
    loop {
        digits[count] = b'0' + (rest % 10) as u8;
        (rest, count) = (rest / 10, count + 1);
        if rest == 0 {
            break;
        }
    }
    for place in 0..count {
        link[14 + place] = digits[count - 1 - place];
    }
    let mut path = [0u8; PATH_BYTES];
    // SAFETY: the kernel writes at most so many bytes into the buffer.
    let (length, flags) = unsafe {
        let at = libc::AT_FDCWD;
        let length = libc::syscall(libc::SYS_readlinkat, at, link.as_ptr(), path.as_mut_ptr(), PATH_BYTES);
        (length, libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFL))
    };
    let path = path.get(..length.max(0) as usize).unwrap_or(&[]);
    let kind = classify(path, text(&page.binlog), text(&page.tmpdir));
    let is_synchronous = flags >= 0 && flags & c_long::from(libc::O_DSYNC) != 0;
    (kind as u8 + 1) | if is_synchronous { IS_SYNCHRONOUS } else { 0 }
}

fn forget(fd: c_int) {
    if let Some(entry) = KNOWN.get(fd as usize) {
        entry.store(0, Relaxed);
    }
}

/// Makes a call on a file and waits as long as the page says; returns the kernel's result, with its errno.
fn slowly(fd: c_int, operation: Operation, call: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: the page stays mapped, and all of it that changes is atomic.
    let page = match unsafe { PAGE.load(Relaxed).as_ref() } {
        Some(page) if fd >= 0 => page,
        _ => return call(),
    };
    // SAFETY: errno is of this thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above; what finds the kind of the file must not change it.
    let before = unsafe { *errno };
    let file = file_of(page, fd);
    // SAFETY: as above.
    unsafe { *errno = before };
    let kind = Kind::of_number((file & !IS_SYNCHRONOUS) - 1);
    if kind == Kind::Other {
        return call();
    }
    let begun_ns = now_ns();
    let result = call();
    // SAFETY: as above.
    let after = unsafe { *errno };
    let done_ns = now_ns();
    let mut due_ns = page.due_ns(kind, operation, done_ns);
    let is_flushed = file & IS_SYNCHRONOUS != 0 && operation == Operation::Write;
    if is_flushed {
        due_ns = page.due_ns(kind, Operation::Flush, due_ns);
    }
    if due_ns > done_ns {
        sleep_until(page, due_ns, fd, operation);
    }
    let delayed_ns = if due_ns > done_ns { now_ns() - done_ns } else { 0 };
    page.count(kind, operation, done_ns - begun_ns, delayed_ns);
    if is_flushed {
        page.count(kind, Operation::Flush, 0, 0);
    }
    // SAFETY: as above.
    unsafe { *errno = after };
    result
}

/// Sleeps until a time, or until the delays change. The kernel wakes a thread up to its timer slack too late:
/// 50 µs unless it is asked for less.
///
/// The kernel shows a call's arguments in `/proc`, also those that it does not use. So they say which call on which
/// file the sleep prolongs, for the account of time.
fn sleep_until(page: &Page, due_ns: u64, fd: c_int, operation: Operation) {
    let prolonged = match operation {
        Operation::Read => libc::SYS_pread64,
        Operation::Write => libc::SYS_pwrite64,
        Operation::Flush => libc::SYS_fsync,
    };
    let told = prolonged << 32 | c_long::from(fd);
    let generation = page.generation.load(Relaxed);
    // SAFETY: all pointers are to our own memory.
    unsafe {
        let slack_ns =
            libc::syscall(libc::SYS_prctl, libc::PR_GET_TIMERSLACK, NOTHING, NOTHING, NOTHING, NOTHING);
        libc::syscall(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, 1 as c_long, NOTHING, NOTHING, NOTHING);
        loop {
            let now_ns = now_ns();
            if now_ns >= due_ns || page.generation.load(Relaxed) != generation {
                break;
            }
            let until_ns = due_ns.min(now_ns + SLICE_NS);
            let (seconds, ns) = (until_ns / NS_PER_SECOND, until_ns % NS_PER_SECOND);
            let until = libc::timespec { tv_sec: seconds as libc::time_t, tv_nsec: ns as c_long };
            let (clock, flags) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
            libc::syscall(libc::SYS_clock_nanosleep, clock, flags, &until, NOTHING, PROLONGS, told);
        }
        if slack_ns > 0 {
            libc::syscall(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, slack_ns, NOTHING, NOTHING, NOTHING);
        }
    }
}

/// Defines functions of the C library by system calls; the first argument of each is the descriptor.
macro_rules! interposed {
    ($($operation:ident: $name:ident($fd:ident $(, $argument:ident: $kind:ty)*) -> $result:ty = $call:ident($($passed:expr),*);)+) => {$(
        /// # Safety
        /// As the function of the C library.
        #[no_mangle]
        pub unsafe extern "C" fn $name($fd: c_int $(, $argument: $kind)*) -> $result {
            // SAFETY: the caller's arguments go to the kernel unchanged.
            slowly($fd, Operation::$operation, || unsafe { libc::syscall(libc::$call, $($passed),*) }) as $result
        }
    )+};
}

type In = *mut c_void;
type Out = *const c_void;
type Parts = *const iovec;

// The kernel takes the offset of vectors in two halves, of which the second is for systems of 32 bits.

interposed! {
    Flush: fsync(fd) -> c_int = SYS_fsync(fd);
    Flush: fdatasync(fd) -> c_int = SYS_fdatasync(fd);
    Read: read(fd, to: In, size: size_t) -> ssize_t = SYS_read(fd, to, size);
    Read: readv(fd, parts: Parts, count: c_int) -> ssize_t = SYS_readv(fd, parts, c_long::from(count));
    Read: pread(fd, to: In, size: size_t, at: off_t) -> ssize_t = SYS_pread64(fd, to, size, at);
    Read: pread64(fd, to: In, size: size_t, at: off_t) -> ssize_t = SYS_pread64(fd, to, size, at);
    Read: preadv(fd, parts: Parts, count: c_int, at: off_t) -> ssize_t = SYS_preadv(fd, parts, c_long::from(count), at, NOTHING);
    Read: preadv64(fd, parts: Parts, count: c_int, at: off_t) -> ssize_t = SYS_preadv(fd, parts, c_long::from(count), at, NOTHING);
    Read: preadv2(fd, parts: Parts, count: c_int, at: off_t, flags: c_int) -> ssize_t
        = SYS_preadv2(fd, parts, c_long::from(count), at, NOTHING, flags);
    Read: preadv64v2(fd, parts: Parts, count: c_int, at: off_t, flags: c_int) -> ssize_t
        = SYS_preadv2(fd, parts, c_long::from(count), at, NOTHING, flags);
    Write: write(fd, from: Out, size: size_t) -> ssize_t = SYS_write(fd, from, size);
    Write: writev(fd, parts: Parts, count: c_int) -> ssize_t = SYS_writev(fd, parts, c_long::from(count));
    Write: pwrite(fd, from: Out, size: size_t, at: off_t) -> ssize_t = SYS_pwrite64(fd, from, size, at);
    Write: pwrite64(fd, from: Out, size: size_t, at: off_t) -> ssize_t = SYS_pwrite64(fd, from, size, at);
    Write: pwritev(fd, parts: Parts, count: c_int, at: off_t) -> ssize_t = SYS_pwritev(fd, parts, c_long::from(count), at, NOTHING);
    Write: pwritev64(fd, parts: Parts, count: c_int, at: off_t) -> ssize_t = SYS_pwritev(fd, parts, c_long::from(count), at, NOTHING);
    Write: pwritev2(fd, parts: Parts, count: c_int, at: off_t, flags: c_int) -> ssize_t
        = SYS_pwritev2(fd, parts, c_long::from(count), at, NOTHING, flags);
    Write: pwritev64v2(fd, parts: Parts, count: c_int, at: off_t, flags: c_int) -> ssize_t
        = SYS_pwritev2(fd, parts, c_long::from(count), at, NOTHING, flags);
}

/// A flush if it waits for the disk; otherwise it only begins to write.
///
/// # Safety
/// As the function of the C library.
#[no_mangle]
pub unsafe extern "C" fn sync_file_range(fd: c_int, at: off_t, size: off_t, flags: c_uint) -> c_int {
    // SAFETY: the caller's arguments go to the kernel unchanged.
    let call = || unsafe { libc::syscall(libc::SYS_sync_file_range, fd, at, size, flags) };
    if flags & libc::SYNC_FILE_RANGE_WAIT_AFTER == 0 {
        return call() as c_int;
    }
    slowly(fd, Operation::Flush, call) as c_int
}

/// # Safety
/// As the function of the C library.
#[no_mangle]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    forget(fd);
    // SAFETY: the caller's argument goes to the kernel unchanged.
    unsafe { libc::syscall(libc::SYS_close, fd) as c_int }
}

/// # Safety
/// As the function of the C library.
#[no_mangle]
pub unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    // Of two equal numbers the kernel only checks that the file is open.
    if old == new {
        // SAFETY: the caller's argument goes to the kernel unchanged.
        return if unsafe { libc::syscall(libc::SYS_fcntl, old, libc::F_GETFD) } < 0 { -1 } else { new };
    }
    // SAFETY: the same function.
    unsafe { dup3(old, new, 0) }
}

/// # Safety
/// As the function of the C library.
#[no_mangle]
pub unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    forget(new);
    // SAFETY: the caller's arguments go to the kernel unchanged.
    unsafe { libc::syscall(libc::SYS_dup3, old, new, flags) as c_int }
}
