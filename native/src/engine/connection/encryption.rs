//! The encryption of a connection while the engine has it.

use std::io;
use std::os::unix::io::RawFd;
use std::sync::{Arc, Mutex};

use crate::engine::shared::lock;
use crate::sys;
use crate::tls::records::Records;

/// Where the records of a connection are kept while Python has it.
pub type RecordsCell = Arc<Mutex<Option<Records>>>;

/// Sealed at a time.
const MOST_SEALED_BYTES: usize = 1 << 16;

/// The records of a connection, and what is sealed but not sent yet.
pub struct Encryption {
    pub records: Records,
    output: Vec<u8>,
    sent: usize,
    cell: RecordsCell,
}

impl Encryption {
    /// Takes the records from their cell; None if they are not there.
    pub fn taken_from(cell: RecordsCell) -> Option<Self> {
        let records = lock(&cell).take()?;
        Some(Self { records, output: Vec::new(), sent: 0, cell })
    }

    /// Puts the records back.
    pub fn give_back(self) {
        *lock(&self.cell) = Some(self.records);
    }

    /// Whether there are sealed bytes that are not sent.
    pub fn has_output(&self) -> bool {
        self.sent < self.output.len()
    }

    /// Seals and sends bytes as long as the socket accepts them; returns how many were sealed. What is sealed is sent
    /// before anything else.
    pub fn send(&mut self, fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
        let mut sealed = 0;
        loop {
            if !self.has_output() {
                let piece = &bytes[sealed..bytes.len().min(sealed + MOST_SEALED_BYTES)];
                if piece.is_empty() {
                    return Ok(sealed);
                }
                self.output.clear();
                self.sent = 0;
                self.records.seal(piece, &mut self.output);
                sealed += piece.len();
            }
            match sys::send(fd, &self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => return Ok(sealed),
                    _ => return Err(error),
                },
            }
        }
    }
}
