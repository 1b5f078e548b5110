//! What a thread waits for: bytes on its connections, its notifier, a time.
//!
//! A few descriptors are passed to `poll` each time; many are kept in an epoll set. Both wait before `recv`: a
//! blocking `recv` on a Unix socket wakes up twice for each response.

use std::io;
use std::os::unix::io::RawFd;

use crate::sys;

/// More descriptors than these are kept in an epoll set, where there is one.
#[cfg(target_os = "linux")]
const FEW: usize = 8;

/// The token of the notifier.
pub const NOTIFIER: usize = usize::MAX;

pub struct Poller {
    polled: Vec<libc::pollfd>,
    tokens: Vec<usize>,
    #[cfg(target_os = "linux")]
    epoll: Option<sys::Epoll>,
}

impl Poller {
    pub fn new(notifier: RawFd) -> Self {
        Self {
            polled: vec![libc::pollfd { fd: notifier, events: libc::POLLIN, revents: 0 }],
            tokens: vec![NOTIFIER],
            #[cfg(target_os = "linux")]
            epoll: None,
        }
    }

    pub fn add(&mut self, fd: RawFd, token: usize) -> io::Result<()> {
        self.polled.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        self.tokens.push(token);
        #[cfg(target_os = "linux")]
        match &self.epoll {
            Some(epoll) => epoll.add(fd, token)?,
            None if self.polled.len() > FEW => self.keep_in_set()?,
            None => {}
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn keep_in_set(&mut self) -> io::Result<()> {
        let epoll = sys::Epoll::new()?;
        for (one, token) in self.polled.iter().zip(&self.tokens) {
            epoll.add(one.fd, *token)?;
            if one.events & libc::POLLOUT != 0 {
                epoll.change(one.fd, *token, true)?;
            }
        }
        self.epoll = Some(epoll);
        Ok(())
    }

    pub fn remove(&mut self, fd: RawFd) {
        if let Some(place) = self.polled.iter().position(|one| one.fd == fd) {
            self.polled.swap_remove(place);
            self.tokens.swap_remove(place);
        }
        #[cfg(target_os = "linux")]
        if let Some(epoll) = &self.epoll {
            // A descriptor that is not in the set needs no removal.
            let _ = epoll.remove(fd);
        }
    }

    /// Whether to wake up also when the socket can send.
    pub fn set_send_interest(&mut self, fd: RawFd, wanted: bool) -> io::Result<()> {
        if let Some(place) = self.polled.iter().position(|one| one.fd == fd) {
            self.polled[place].events = if wanted { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
            #[cfg(target_os = "linux")]
            if let Some(epoll) = &self.epoll {
                epoll.change(fd, self.tokens[place], wanted)?;
            }
        }
        Ok(())
    }

    /// Waits; stores the tokens of the descriptors that are ready.
    pub fn wait(&mut self, timeout_ns: Option<i64>, ready: &mut Vec<usize>) -> io::Result<()> {
        ready.clear();
        #[cfg(target_os = "linux")]
        if let Some(epoll) = &self.epoll {
            return unless_interrupted(epoll.wait(timeout_ns, ready));
        }
        unless_interrupted(sys::poll(&mut self.polled, timeout_ns).map(|_| ()))?;
        for (one, token) in self.polled.iter_mut().zip(&self.tokens) {
            if std::mem::take(&mut one.revents) != 0 {
                ready.push(*token);
            }
        }
        Ok(())
    }
}

fn unless_interrupted(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => other,
    }
}
