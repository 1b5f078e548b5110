//! A session with the server: its socket, the layers on it, and the response that is read from it.

use std::io;
use std::os::unix::io::{AsRawFd, OwnedFd, RawFd};

use crate::engine::connection::layers::{Layers, Unusable};
use crate::engine::connection::script::MOST_RESPONSE_BYTES;
use crate::program::script::Encoding;
use crate::protocol::response::{Outcome, Response};
use crate::sys;

/// The socket of a session. `layers` are TLS and compression, None for a plain socket.
pub struct Link {
    pub fd: OwnedFd,
    pub layers: Option<Box<Layers>>,
    pub response: Response,
}

impl Link {
    pub fn new(fd: OwnedFd, layers: Option<Box<Layers>>, without_eof: bool) -> Self {
        let is_compressed = layers.as_ref().map_or(false, |layers| layers.is_compressed());
        Self { fd, layers, response: Response::new(without_eof, !is_compressed) }
    }

    /// Sends what the socket accepts; returns how much was taken.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fd = self.fd.as_raw_fd();
        if let Some(layers) = &mut self.layers {
            return layers.send(fd, bytes);
        }
        match sys::send(fd, bytes) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(0)
            }
            sent => sent,
        }
    }

    pub fn has_output(&self) -> bool {
        self.layers.as_ref().map_or(false, |layers| layers.has_output())
    }

    /// The length of an incomplete record before the bytes that are received next.
    pub fn partial_bytes(&self) -> usize {
        self.layers.as_ref().map_or(0, |layers| layers.partial_bytes())
    }

    /// Decrypts and decompresses received bytes and passes them to the response. Returns the outcome if the response
    /// is complete. `is_asking` is false between two requests, when the server must not send anything.
    pub fn feed(&mut self, received: &mut [u8], is_asking: bool) -> Result<Option<Outcome>, Unusable> {
        let layers = match &mut self.layers {
            Some(layers) => layers,
            None if is_asking => return Ok(self.response.feed(received)),
            None => return Err(Unusable),
        };
        let (response, mut outcome) = (&mut self.response, None);
        let is_closed = layers.open(received, |data| {
            match outcome {
                Some(_) => response.keep_back(data),
                None if is_asking => outcome = response.feed(data),
                None if data.is_empty() => {}
                None => return Err(Unusable),
            }
            Ok(())
        })?;
        if is_closed && outcome.is_none() {
            return Err(Unusable);
        }
        Ok(outcome)
    }
}

/// A session that a script has opened beside the one of its connection.
pub struct FurtherLink {
    pub link: Link,
    pub encoding: Encoding,
    /// True until the script has been told that the session is open.
    pub is_new: bool,
}

impl FurtherLink {
    pub fn new(mut link: Link, encoding: Encoding) -> Self {
        link.response.keep_at_most(MOST_RESPONSE_BYTES);
        Self { link, encoding, is_new: true }
    }
}

/// Sends a request and waits for its response, at most for `longest_ns`. It blocks the thread, so that no thread of
/// the engine calls it.
pub fn exchange(
    link: &mut Link,
    packet: &[u8],
    longest_ns: i64,
    scratch: &mut [u8],
) -> Result<Outcome, &'static str> {
    let until = sys::now_ns() + longest_ns;
    let lost = "the connection to the server was lost";
    let mut sent = 0;
    loop {
        if sent < packet.len() || link.has_output() {
            sent += link.send(&packet[sent..]).map_err(|_| lost)?;
        }
        let is_sending = sent < packet.len() || link.has_output();
        let waiting = link.partial_bytes();
        match sys::receive(link.fd.as_raw_fd(), &mut scratch[waiting..]) {
            Ok(0) => return Err(lost),
            Ok(count) => {
                if let Some(outcome) =
                    link.feed(&mut scratch[..waiting + count], true).map_err(|Unusable| lost)?
                {
                    return Ok(outcome);
                }
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Err(lost),
        }
        let left = until - sys::now_ns();
        if left <= 0 {
            return Err("the server does not answer in time");
        }
        let fd: RawFd = link.fd.as_raw_fd();
        let events = if is_sending { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        let mut polled = [libc::pollfd { fd, events, revents: 0 }];
        match sys::poll(&mut polled, Some(left)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(lost),
            _ => {}
        }
    }
}
