//! What lies between a connection's packets and its socket while the engine has it: compression, encryption.

use std::io;
use std::os::unix::io::RawFd;
use std::sync::{Arc, Mutex};

use crate::panics::lock;
use crate::protocol::compression::Compression;
use crate::sys;
use crate::tls::records::{Content, Records};

/// Where the records of a connection are kept while Python has it.
pub type RecordsCell = Arc<Mutex<Option<Records>>>;

/// Sealed at a time.
const MOST_SEALED_BYTES: usize = 1 << 16;

/// The records of a connection with TLS.
pub struct Encryption {
    records: Records,
    cell: RecordsCell,
}

impl Encryption {
    /// Takes the records from their cell; None if they are not there.
    pub fn taken_from(cell: RecordsCell) -> Option<Self> {
        let records = lock(&cell).take()?;
        Some(Self { records, cell })
    }

    fn give_back(self) {
        *lock(&self.cell) = Some(self.records);
    }
}

/// What was received is not encrypted or compressed as agreed, or nothing was asked for: a final message of the
/// server, or garbage.
pub struct Unusable;

/// The layers of a connection that has any, and what is packed but not sent yet.
pub struct Layers {
    encryption: Option<Encryption>,
    compression: Option<Compression>,
    output: Vec<u8>,
    sent: usize,
}

impl Layers {
    /// None without a layer.
    pub fn new(encryption: Option<Encryption>, is_compressed: bool) -> Option<Box<Self>> {
        let compression = is_compressed.then(Compression::default);
        let is_any = is_compressed || encryption.is_some();
        is_any.then(|| Box::new(Self { encryption, compression, output: Vec::new(), sent: 0 }))
    }

    pub fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Gives the records back.
    pub fn give_back(self) {
        if let Some(encryption) = self.encryption {
            encryption.give_back();
        }
    }

    /// Whether there are packed bytes that are not sent.
    pub fn has_output(&self) -> bool {
        self.sent < self.output.len()
    }

    /// Packs and sends bytes, which begin with a packet, as long as the socket accepts them; returns how many were
    /// packed. What is packed is sent before anything else.
    pub fn send(&mut self, fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
        let mut packed = 0;
        loop {
            if !self.has_output() {
                let rest = &bytes[packed..];
                if rest.is_empty() {
                    return Ok(packed);
                }
                packed += self.pack(rest);
            }
            match sys::send(fd, &self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => return Ok(packed),
                    _ => return Err(error),
                },
            }
        }
    }

    /// Makes output of the first bytes; returns how many.
    fn pack(&mut self, bytes: &[u8]) -> usize {
        self.output.clear();
        self.sent = 0;
        let (compression, encryption) = (&mut self.compression, &mut self.encryption);
        match (compression, encryption) {
            (Some(compression), Some(encryption)) => {
                let mut frames = Vec::new();
                compression.pack(bytes, &mut frames);
                encryption.records.seal(&frames, &mut self.output);
                bytes.len()
            }
            (Some(compression), None) => {
                compression.pack(bytes, &mut self.output);
                bytes.len()
            }
            (None, Some(encryption)) => {
                let piece = &bytes[..bytes.len().min(MOST_SEALED_BYTES)];
                encryption.records.seal(piece, &mut self.output);
                piece.len()
            }
            (None, None) => unreachable!("there is a layer"),
        }
    }

    /// The length of the incomplete record before the bytes that are received next.
    pub fn partial_bytes(&self) -> usize {
        self.encryption.as_ref().map_or(0, |encryption| encryption.records.partial_bytes())
    }

    /// Whether part of a record or frame has been received.
    pub fn has_partial(&self) -> bool {
        self.partial_bytes() > 0
            || self.compression.as_ref().map_or(false, |compression| compression.has_partial())
    }

    /// Passes on what received bytes contain. True if the server sends nothing more.
    pub fn open(
        &mut self,
        received: &mut [u8],
        mut take: impl FnMut(&[u8]) -> Result<(), Unusable>,
    ) -> Result<bool, Unusable> {
        let compression = &mut self.compression;
        let mut unpacked = |data: &[u8]| match compression {
            Some(compression) => take(compression.unpack(data).ok_or(Unusable)?),
            None => take(data),
        };
        let records = match &mut self.encryption {
            Some(encryption) => &mut encryption.records,
            None => return unpacked(received).map(|()| false),
        };
        records.take_partial(received);
        let (mut place, mut is_closed) = (0, false);
        while let Some((content, length)) = records.open(&mut received[place..]).map_err(|_| Unusable)? {
            match content {
                Content::Data(data) => unpacked(&received[place..][data])?,
                Content::Closed => is_closed = true,
                Content::None => {}
            }
            place += length;
        }
        records.keep_partial(&received[place..]);
        Ok(is_closed)
    }
}
