//! Packets in frames, compressed with zlib.
//!
//! A frame has three bytes of length, one of sequence, and three of the length before compression: 0 for a payload that
//! is as it was. Each packet has a frame of its own, several if it is too long for one. A connection changes hands only
//! between two exchanges, when nothing of a frame is left: so there is no state to hand over.

use flate2::{Compress, Compression as Level, Decompress, FlushCompress, FlushDecompress, Status};

use crate::protocol::packet::WHOLE;

const FRAME_HEADER_BYTES: usize = 7;
const PACKET_HEADER_BYTES: usize = 4;
/// A shorter payload is sent as it is, as the MySQL clients do.
const LEAST_COMPRESSED_BYTES: usize = 50;
/// What zlib may need for a payload that it cannot compress.
const SPARE_BYTES: usize = 64;
/// Buffers are not kept larger than this.
const LARGE_BYTES: usize = 1 << 20;

/// The frames of one connection.
pub struct Compression {
    deflate: Compress,
    inflate: Decompress,
    sequence: u8,
    /// The start of a frame that has not arrived completely.
    partial: Vec<u8>,
    unpacked: Vec<u8>,
}

impl Default for Compression {
    fn default() -> Self {
        let (deflate, inflate) = (Compress::new(Level::fast(), true), Decompress::new(true));
        Self { deflate, inflate, sequence: 0, partial: Vec::new(), unpacked: Vec::new() }
    }
}

impl Compression {
    /// Appends the frames of whole packets. One that begins an exchange begins the sequence.
    pub fn pack(&mut self, packets: &[u8], to: &mut Vec<u8>) {
        let mut rest = packets;
        while rest.len() >= PACKET_HEADER_BYTES {
            let size = PACKET_HEADER_BYTES + number(&rest[..3]);
            let (packet, after) = rest.split_at(size.min(rest.len()));
            if packet[3] == 0 {
                self.sequence = 0;
            }
            packet.chunks(WHOLE).for_each(|payload| self.pack_frame(payload, to));
            rest = after;
        }
    }

    fn pack_frame(&mut self, payload: &[u8], to: &mut Vec<u8>) {
        let start = to.len();
        to.resize(start + FRAME_HEADER_BYTES, 0);
        let mut length = payload.len();
        if !self.deflated(payload, to) {
            to.truncate(start + FRAME_HEADER_BYTES);
            to.extend_from_slice(payload);
            length = 0;
        }
        let size = to.len() - start - FRAME_HEADER_BYTES;
        to[start..start + 3].copy_from_slice(&size.to_le_bytes()[..3]);
        to[start + 3] = self.sequence;
        to[start + 4..start + FRAME_HEADER_BYTES].copy_from_slice(&length.to_le_bytes()[..3]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Appends a payload compressed; false if it is no shorter then.
    fn deflated(&mut self, payload: &[u8], to: &mut Vec<u8>) -> bool {
        if payload.len() < LEAST_COMPRESSED_BYTES {
            return false;
        }
        let before = to.len();
        to.reserve(payload.len() + SPARE_BYTES);
        self.deflate.reset();
        let status = self.deflate.compress_vec(payload, to, FlushCompress::Finish);
        matches!(status, Ok(Status::StreamEnd)) && to.len() - before < payload.len()
    }

    /// Whether part of a frame has been received.
    pub fn has_partial(&self) -> bool {
        !self.partial.is_empty()
    }

    /// What the complete frames in received bytes contain; None if they are not frames.
    pub fn unpack(&mut self, received: &[u8]) -> Option<&[u8]> {
        self.unpacked.clear();
        self.unpacked.shrink_to(LARGE_BYTES);
        self.partial.extend_from_slice(received);
        let mut place = 0;
        while let Some(header) = self.partial.get(place..place + FRAME_HEADER_BYTES) {
            let (size, length) = (number(&header[..3]), number(&header[4..]));
            let sequence = header[3];
            let start = place + FRAME_HEADER_BYTES;
            let payload = match self.partial.get(start..start + size) {
                Some(payload) => payload,
                None => break,
            };
            self.sequence = sequence.wrapping_add(1);
            if length == 0 {
                self.unpacked.extend_from_slice(payload);
            } else {
                let before = self.unpacked.len();
                self.unpacked.resize(before + length, 0);
                self.inflate.reset(true);
                let to = &mut self.unpacked[before..];
                let status = self.inflate.decompress(payload, to, FlushDecompress::Finish);
                if !matches!(status, Ok(Status::StreamEnd)) || self.inflate.total_out() != length as u64 {
                    return None;
                }
            }
            place = start + size;
        }
        self.partial.drain(..place);
        Some(&self.unpacked)
    }
}

/// A whole number, little end first.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::packet::{write_command, COM_QUERY};

    fn packets(sizes: &[usize]) -> Vec<u8> {
        let mut to = Vec::new();
        for size in sizes {
            let text: Vec<u8> = (0..*size).map(|place| b'a' + (place * place % 7) as u8).collect();
            write_command(COM_QUERY, &text, &mut to);
        }
        to
    }

    #[test]
    fn packets_of_any_size_arrive_in_pieces_of_any_size() {
        let sent = packets(&[0, 40, 45, 46, 300, 70_001, WHOLE + 5]);
        for piece in [1, 7, 1000, 70_000] {
            if piece == 1 && sent.len() > LARGE_BYTES {
                continue;
            }
            let (mut client, mut server) = (Compression::default(), Compression::default());
            let (mut frames, mut arrived) = (Vec::new(), Vec::new());
            client.pack(&sent, &mut frames);
            assert!(frames.len() < sent.len() / 2);
            for part in frames.chunks(piece) {
                arrived.extend_from_slice(server.unpack(part).expect("frames"));
            }
            assert!(arrived == sent);
            assert!(server.partial.is_empty());
        }
    }

    #[test]
    fn each_exchange_begins_its_sequence() {
        let (mut frames, mut client) = (Vec::new(), Compression::default());
        client.pack(&packets(&[10, 20]), &mut frames);
        assert_eq!((frames[3], frames[7 + 15 + 3]), (0, 0));
        frames.clear();
        client.pack(&packets(&[WHOLE]), &mut frames);
        let second = FRAME_HEADER_BYTES + number(&frames[..3]);
        assert_eq!((frames[3], frames[second + 3]), (0, 1));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let mut frames = Vec::new();
        Compression::default().pack(&packets(&[300]), &mut frames);
        for (place, value) in [(4, 1), (5, 200), (9, 0x55), (FRAME_HEADER_BYTES, 0)] {
            let mut changed = frames.clone();
            changed[place] = value;
            assert!(Compression::default().unpack(&changed).is_none(), "byte {place}");
        }
    }
}
