//! The system calls of the engine, each behind a safe function.
//!
//! All `unsafe` of the crate is in this file.

use std::io;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};

pub const NS_PER_SECOND: i64 = 1_000_000_000;

/// The monotonic clock in nanoseconds, the same that Python's `time.monotonic_ns` reads.
pub fn now_ns() -> i64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// The processor time of this thread.
pub fn thread_cpu_ns() -> i64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

// On platforms of 32 bits, these are narrower.
#[allow(clippy::useless_conversion)]
fn read_clock(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own, which the call fills in.
    unsafe { libc::clock_gettime(clock, &mut time) };
    i64::from(time.tv_sec) * NS_PER_SECOND + i64::from(time.tv_nsec)
}

fn checked(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Receives what has arrived, without waiting; 0 bytes at the end of the connection.
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a slice that is ours to write.
    checked(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) })
}

#[cfg(target_os = "linux")]
const SEND_FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
/// Without MSG_NOSIGNAL; CPython ignores SIGPIPE.
#[cfg(not(target_os = "linux"))]
const SEND_FLAGS: libc::c_int = libc::MSG_DONTWAIT;

/// Sends what the socket accepts, without waiting.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a slice.
    checked(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), SEND_FLAGS) })
}

/// A second descriptor of the same socket.
pub fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointers; a descriptor that is none gives an error.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    owned(copy)
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made by the system for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A pipe that wakes the thread that polls its reading end.
pub struct Notifier {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Notifier {
    pub fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for the two descriptors that the call writes.
        if unsafe { libc::pipe(ends.as_mut_ptr()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let notifier = Self { reader: owned(ends[0])?, writer: owned(ends[1])? };
        for fd in ends {
            // SAFETY: the descriptors are open, and the flags take no pointers.
            unsafe {
                libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
        Ok(notifier)
    }

    /// Wakes the reader. If the pipe is full, it is awake already.
    pub fn notify(&self) {
        // SAFETY: the pointer is to one byte of our own.
        unsafe { libc::write(self.writer.as_raw_fd(), [1u8].as_ptr().cast(), 1) };
    }

    /// Clears all notifications.
    pub fn drain(&self) {
        let mut bytes = [0u8; 64];
        // SAFETY: pointer and length are those of an array of our own.
        while unsafe { libc::read(self.fd(), bytes.as_mut_ptr().cast(), bytes.len()) } == 64 {}
    }

    /// The end to poll.
    pub fn fd(&self) -> RawFd {
        self.reader.as_raw_fd()
    }
}

/// Waits for these descriptors like `poll`, with a timeout in nanoseconds.
pub fn poll(fds: &mut [libc::pollfd], timeout_ns: Option<i64>) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    let ready = {
        let time = timeout_ns.map(|ns| libc::timespec {
            tv_sec: (ns / NS_PER_SECOND) as libc::time_t,
            tv_nsec: (ns % NS_PER_SECOND) as libc::c_long,
        });
        let time = time.as_ref().map_or(std::ptr::null(), |time| time as *const libc::timespec);
        // SAFETY: pointer and length are those of a slice; the time is null or lives until after the call.
        unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, time, std::ptr::null()) }
    };
    #[cfg(not(target_os = "linux"))]
    let ready = {
        let ms = timeout_ns.map_or(-1, |ns| ((ns + 999_999) / 1_000_000) as libc::c_int);
        // SAFETY: pointer and length are those of a slice.
        unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms) }
    };
    checked(ready as libc::ssize_t)
}

/// An epoll set: descriptors, each with a token.
#[cfg(target_os = "linux")]
pub struct Epoll(OwnedFd);

#[cfg(target_os = "linux")]
impl Epoll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointers.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Self)
    }

    pub fn add(&self, fd: RawFd, token: usize) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, libc::EPOLLIN)
    }

    pub fn change(&self, fd: RawFd, token: usize, wants_to_send: bool) -> io::Result<()> {
        let events = if wants_to_send { libc::EPOLLIN | libc::EPOLLOUT } else { libc::EPOLLIN };
        self.control(libc::EPOLL_CTL_MOD, fd, token, events)
    }

    pub fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    fn control(&self, what: libc::c_int, fd: RawFd, token: usize, events: libc::c_int) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: token as u64 };
        // SAFETY: the pointer is to an event of our own, which the call only reads.
        let done = unsafe { libc::epoll_ctl(self.0.as_raw_fd(), what, fd, &mut event) };
        checked(done as libc::ssize_t).map(|_| ())
    }

    /// Waits up to the timeout; stores the tokens of the descriptors that are ready.
    pub fn wait(&self, timeout_ns: Option<i64>, ready: &mut Vec<usize>) -> io::Result<()> {
        let mut timeout_ms = -1;
        if timeout_ns.is_some() {
            // Milliseconds are too coarse for a schedule: the set itself is polled, which knows nanoseconds.
            let mut own = [libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
            poll(&mut own, timeout_ns)?;
            timeout_ms = 0;
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 256];
        // SAFETY: the array has room for the number of events passed to the call.
        let count = unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), events.len() as libc::c_int, timeout_ms)
        };
        for event in &events[..checked(count as libc::ssize_t)?] {
            ready.push(event.u64 as usize);
        }
        Ok(())
    }
}

/// Makes the system wake this thread on time; by default it may be 50 µs late. Returns the thread's ID.
pub fn prepare_thread() -> i32 {
    #[cfg(target_os = "linux")]
    // SAFETY: neither call takes pointers; a refusal does no harm.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0);
        libc::syscall(libc::SYS_gettid) as i32
    }
    #[cfg(not(target_os = "linux"))]
    0
}
