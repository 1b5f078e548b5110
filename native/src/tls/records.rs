//! Records: the bytes of the connection sealed for the server, and those of the server opened.

use std::fmt;
use std::ops::Range;

use crate::tls::suite::{Keys, Suite, Version, NONCE_BYTES, TAG_BYTES};

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

const HEADER_BYTES: usize = 5;
/// What is sent explicitly of a nonce of TLS 1.2.
const EXPLICIT_BYTES: usize = 8;
/// Most plaintext of a record.
const MOST_PLAINTEXT: usize = 1 << 14;
/// What a cipher may add to a record.
const MOST_EXPANSION_12: usize = 2048;
const MOST_EXPANSION_13: usize = 256;
/// The longest record with its header; a buffer for opening must be larger.
pub const MOST_RECORD_BYTES: usize = HEADER_BYTES + MOST_PLAINTEXT + MOST_EXPANSION_12;

const HELLO_REQUEST: u8 = 0;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;
const MESSAGE_HEADER_BYTES: usize = 4;
/// Longest message besides application data: tickets are far shorter.
const MOST_MESSAGE_BYTES: usize = 1 << 16;
/// Most records in succession that carry no application data: OpenSSL's limit of empty ones is 32.
const MOST_IDLE_RECORDS: u32 = 64;

const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
const NO_RENEGOTIATION: u8 = 100;

/// Records after which the sending key is replaced, below the limit of AES-GCM (RFC 8446, 5.5).
const MOST_RECORDS_OF_KEY: u64 = 1 << 24;

/// The bytes received are not those of TLS, or not of this connection; it is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A record that was changed on the way, or is encrypted otherwise.
    BadRecord,
    /// A record longer than allowed.
    TooLong,
    /// A record or message that has no place here.
    Unexpected,
    /// The peer ends the connection with a fatal alert.
    Alert(u8),
}

impl fmt::Display for Violation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRecord => to.write_str("a TLS record cannot be decrypted"),
            Self::TooLong => to.write_str("a TLS record is too long"),
            Self::Unexpected => to.write_str("an unexpected TLS message"),
            Self::Alert(number) => write!(to, "TLS alert {number}"),
        }
    }
}

/// What a record contained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Application data, at this place of the buffer.
    Data(Range<usize>),
    /// Nothing for the application.
    None,
    /// The peer sends nothing more.
    Closed,
}

/// One direction: its keys, and the number of its next record.
struct Direction {
    keys: Keys,
    /// From which the keys were derived; empty for TLS 1.2.
    secret: Vec<u8>,
    sequence: u64,
}

impl Direction {
    fn of_secret(suite: &Suite, secret: Vec<u8>) -> Self {
        Self { keys: suite.keys(&secret), secret, sequence: 0 }
    }

    fn update(&mut self, suite: &Suite) {
        *self = Self::of_secret(suite, suite.next_secret(&self.secret));
    }
}

/// The records of one connection, after its handshake.
pub struct Records {
    suite: Suite,
    sending: Direction,
    receiving: Direction,
    /// Added to the sequence number for the explicit part of a nonce.
    explicit_base: u64,
    /// Whether a key update must precede the next data.
    owes_key_update: bool,
    most_records_of_key: u64,
    /// The start of a record that has not arrived completely.
    partial: Vec<u8>,
    /// The start of a handshake message that spans records.
    message: Vec<u8>,
    idle_records: u32,
}

impl Records {
    /// TLS 1.3, from the first traffic secrets.
    pub fn of_tls13(suite: Suite, client_secret: Vec<u8>, server_secret: Vec<u8>) -> Self {
        let (sending, receiving) =
            (Direction::of_secret(&suite, client_secret), Direction::of_secret(&suite, server_secret));
        Self::new(suite, sending, receiving, 0)
    }

    /// TLS 1.2, from the master secret. The first record of each direction was the end of the handshake, the client's
    /// with the explicit nonce `finished_nonce`; those that follow it are counted on from there, so that none repeats.
    pub fn of_tls12(
        suite: Suite,
        master_secret: &[u8],
        client_random: &[u8],
        server_random: &[u8],
        finished_nonce: u64,
    ) -> Self {
        let (client, server) = suite.key_block(master_secret, client_random, server_random);
        let direction = |keys| Direction { keys, secret: Vec::new(), sequence: 1 };
        Self::new(suite, direction(client), direction(server), finished_nonce)
    }

    fn new(suite: Suite, sending: Direction, receiving: Direction, explicit_base: u64) -> Self {
        Self {
            suite,
            sending,
            receiving,
            explicit_base,
            owes_key_update: false,
            most_records_of_key: MOST_RECORDS_OF_KEY,
            partial: Vec::new(),
            message: Vec::new(),
            idle_records: 0,
        }
    }

    /// Encrypts application data: appends its records.
    pub fn seal(&mut self, data: &[u8], to: &mut Vec<u8>) {
        for piece in data.chunks(MOST_PLAINTEXT) {
            self.seal_key_update(to);
            self.seal_record(APPLICATION_DATA, piece, to);
        }
    }

    /// Replaces the sending key if the peer asked for it, or the key was used often enough.
    fn seal_key_update(&mut self, to: &mut Vec<u8>) {
        let is_worn =
            self.suite.version == Version::Tls13 && self.sending.sequence >= self.most_records_of_key;
        if std::mem::take(&mut self.owes_key_update) || is_worn {
            self.seal_record(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], to);
            self.sending.update(&self.suite);
        }
    }

    fn seal_record(&mut self, kind: u8, piece: &[u8], to: &mut Vec<u8>) {
        let start = to.len();
        let sequence = self.sending.sequence;
        self.sending.sequence += 1;
        if self.suite.version == Version::Tls13 {
            write_header(APPLICATION_DATA, piece.len() + 1 + TAG_BYTES, to);
            to.extend_from_slice(piece);
            to.push(kind);
            let (header, text) = to[start..].split_at_mut(HEADER_BYTES);
            let tag = self.sending.keys.seal(&self.sending.keys.nonce(sequence), header, text);
            to.extend_from_slice(&tag);
            return;
        }
        let mut number = sequence;
        if self.suite.has_explicit_nonce() {
            number = self.explicit_base.wrapping_add(sequence);
            write_header(kind, EXPLICIT_BYTES + piece.len() + TAG_BYTES, to);
            to.extend_from_slice(&number.to_be_bytes());
        } else {
            write_header(kind, piece.len() + TAG_BYTES, to);
        }
        let text_start = to.len();
        to.extend_from_slice(piece);
        let aad = aad_of_tls12(sequence, kind, piece.len());
        let tag = self.sending.keys.seal(&self.sending.keys.nonce(number), &aad, &mut to[text_start..]);
        to.extend_from_slice(&tag);
    }

    /// How many bytes there are of an incomplete record.
    pub fn partial_bytes(&self) -> usize {
        self.partial.len()
    }

    /// Moves the start of an incomplete record to the start of the buffer, where the bytes received next follow it.
    pub fn take_partial(&mut self, buffer: &mut [u8]) {
        buffer[..self.partial.len()].copy_from_slice(&self.partial);
        self.partial.clear();
    }

    /// Keeps the rest of a buffer, which has no complete record.
    pub fn keep_partial(&mut self, rest: &[u8]) {
        self.partial.extend_from_slice(rest);
    }

    /// Opens the first record in place; returns its content and its length, None if it is not complete.
    pub fn open(&mut self, buffer: &mut [u8]) -> Result<Option<(Content, usize)>, Violation> {
        let (header, rest) = match buffer {
            [kind, major, minor, high, low, rest @ ..] => ([*kind, *major, *minor, *high, *low], rest),
            _ => return Ok(None),
        };
        let is_tls13 = self.suite.version == Version::Tls13;
        let is_kind = if is_tls13 {
            header[0] == APPLICATION_DATA
        } else {
            (ALERT..=APPLICATION_DATA).contains(&header[0])
        };
        if header[1] != 3 || !is_kind {
            return Err(Violation::Unexpected);
        }
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if length > MOST_PLAINTEXT + if is_tls13 { MOST_EXPANSION_13 } else { MOST_EXPANSION_12 } {
            return Err(Violation::TooLong);
        }
        let fragment = match rest.get_mut(..length) {
            Some(fragment) => fragment,
            None => return Ok(None),
        };
        let (kind, text) = if is_tls13 {
            self.open_tls13(&header, fragment)?
        } else {
            self.open_tls12(header[0], fragment)?
        };
        let data = HEADER_BYTES + text.start..HEADER_BYTES + text.end;
        let content = match kind {
            APPLICATION_DATA => Content::Data(data),
            ALERT => self.alert(&buffer[data])?,
            HANDSHAKE => self.handshake(&buffer[data])?,
            _ => return Err(Violation::Unexpected),
        };
        if matches!(&content, Content::Data(data) if !data.is_empty()) {
            self.idle_records = 0;
        } else {
            self.idle_records += 1;
            if self.idle_records > MOST_IDLE_RECORDS {
                return Err(Violation::Unexpected);
            }
        }
        Ok(Some((content, HEADER_BYTES + length)))
    }

    fn open_tls13(&mut self, header: &[u8], fragment: &mut [u8]) -> Result<(u8, Range<usize>), Violation> {
        let length = fragment.len().checked_sub(TAG_BYTES).ok_or(Violation::BadRecord)?;
        let nonce = self.receiving.keys.nonce(self.receiving.sequence);
        self.decrypt(&nonce, header, fragment, length)?;
        // The last byte that is not padding is the kind.
        let end = fragment[..length].iter().rposition(|byte| *byte != 0).ok_or(Violation::Unexpected)?;
        if end > MOST_PLAINTEXT {
            return Err(Violation::TooLong);
        }
        Ok((fragment[end], 0..end))
    }

    fn open_tls12(&mut self, kind: u8, fragment: &mut [u8]) -> Result<(u8, Range<usize>), Violation> {
        let explicit_bytes = if self.suite.has_explicit_nonce() { EXPLICIT_BYTES } else { 0 };
        let length = fragment.len().checked_sub(explicit_bytes + TAG_BYTES).ok_or(Violation::BadRecord)?;
        if length > MOST_PLAINTEXT {
            return Err(Violation::TooLong);
        }
        let (explicit, sealed) = fragment.split_at_mut(explicit_bytes);
        let number = match <[u8; EXPLICIT_BYTES]>::try_from(&*explicit) {
            Ok(bytes) => u64::from_be_bytes(bytes),
            Err(_) => self.receiving.sequence,
        };
        let aad = aad_of_tls12(self.receiving.sequence, kind, length);
        let nonce = self.receiving.keys.nonce(number);
        self.decrypt(&nonce, &aad, sealed, length)?;
        Ok((kind, explicit_bytes..explicit_bytes + length))
    }

    fn decrypt(
        &mut self,
        nonce: &[u8; NONCE_BYTES],
        aad: &[u8],
        sealed: &mut [u8],
        length: usize,
    ) -> Result<(), Violation> {
        let (text, tag) = sealed.split_at_mut(length);
        if !self.receiving.keys.open(nonce, aad, text, tag) {
            return Err(Violation::BadRecord);
        }
        self.receiving.sequence += 1;
        Ok(())
    }

    fn alert(&self, body: &[u8]) -> Result<Content, Violation> {
        match *body {
            [_, CLOSE_NOTIFY] => Ok(Content::Closed),
            [_, USER_CANCELED] | [1, NO_RENEGOTIATION] => Ok(Content::None),
            [_, number] => Err(Violation::Alert(number)),
            _ => Err(Violation::Unexpected),
        }
    }

    /// Messages after the handshake: tickets are not used, a request to renegotiate may be ignored.
    fn handshake(&mut self, body: &[u8]) -> Result<Content, Violation> {
        self.message.extend_from_slice(body);
        while let &[kind, high, middle, low, ..] = &self.message[..] {
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            if length > MOST_MESSAGE_BYTES {
                return Err(Violation::TooLong);
            }
            let end = MESSAGE_HEADER_BYTES + length;
            if self.message.len() < end {
                return Ok(Content::None);
            }
            let is_last = self.message.len() == end;
            match (self.suite.version, kind, &self.message[MESSAGE_HEADER_BYTES..end]) {
                (Version::Tls12, HELLO_REQUEST, []) | (Version::Tls13, NEW_SESSION_TICKET, _) => {}
                (Version::Tls13, KEY_UPDATE, &[is_requested @ 0..=1]) if is_last => {
                    self.receiving.update(&self.suite);
                    self.owes_key_update |= is_requested == 1;
                }
                _ => return Err(Violation::Unexpected),
            }
            self.message.drain(..end);
        }
        Ok(Content::None)
    }
}

fn write_header(kind: u8, length: usize, to: &mut Vec<u8>) {
    to.extend_from_slice(&[kind, 3, 3]);
    to.extend_from_slice(&(length as u16).to_be_bytes());
}

fn aad_of_tls12(sequence: u64, kind: u8, length: usize) -> [u8; 13] {
    let mut aad = [0; 13];
    aad[..8].copy_from_slice(&sequence.to_be_bytes());
    aad[8..11].copy_from_slice(&[kind, 3, 3]);
    aad[11..].copy_from_slice(&(length as u16).to_be_bytes());
    aad
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITES: [(&str, &str); 6] = [
        ("TLSv1.3", "TLS_AES_128_GCM_SHA256"),
        ("TLSv1.3", "TLS_AES_256_GCM_SHA384"),
        ("TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256"),
        ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLSv1.2", "ECDHE-RSA-CHACHA20-POLY1305"),
    ];

    /// Client and server of one connection.
    fn pair((version, cipher): (&str, &str)) -> (Records, Records) {
        let suite = Suite::named(version, cipher).unwrap();
        if suite.version == Version::Tls12 {
            let of = || Records::of_tls12(suite, &[7; 48], &[1; 32], &[2; 32], u64::MAX);
            let (client, mut server) = (of(), of());
            std::mem::swap(&mut server.sending, &mut server.receiving);
            return (client, server);
        }
        let (client, server) = (vec![3; suite.hash_bytes()], vec![4; suite.hash_bytes()]);
        (Records::of_tls13(suite, client.clone(), server.clone()), Records::of_tls13(suite, server, client))
    }

    /// Opens all records of these bytes, as they come in pieces of a size; returns the data.
    fn opened(by: &mut Records, bytes: &[u8], piece: usize) -> Result<Vec<u8>, Violation> {
        let mut data = Vec::new();
        let mut buffer = vec![0; MOST_RECORD_BYTES + piece];
        for arrived in bytes.chunks(piece) {
            let start = by.partial_bytes();
            let end = start + arrived.len();
            by.take_partial(&mut buffer);
            buffer[start..end].copy_from_slice(arrived);
            let mut place = 0;
            while let Some((content, length)) = by.open(&mut buffer[place..end])? {
                if let Content::Data(range) = content {
                    data.extend_from_slice(&buffer[place..][range]);
                }
                place += length;
            }
            by.keep_partial(&buffer[place..end]);
        }
        Ok(data)
    }

    #[test]
    fn data_of_any_size_arrives_in_pieces_of_any_size() {
        for suite in SUITES {
            for size in [0, 1, 300, MOST_PLAINTEXT, MOST_PLAINTEXT + 1, 100_000] {
                let (mut client, mut server) = pair(suite);
                let sent: Vec<u8> = (0..size).map(|number| number as u8).collect();
                for piece in [7, 1000, 70_000] {
                    let mut sealed = Vec::new();
                    client.seal(&sent, &mut sealed);
                    assert_eq!(
                        opened(&mut server, &sealed, piece).unwrap(),
                        sent,
                        "{suite:?} {size} {piece}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_changed_repeated_or_missing_record_is_refused() {
        for suite in SUITES {
            let sealed = |client: &mut Records| {
                let mut bytes = Vec::new();
                client.seal(b"SELECT 1", &mut bytes);
                bytes
            };
            let (mut client, _) = pair(suite);
            let (first, second) = (sealed(&mut client), sealed(&mut client));
            for place in HEADER_BYTES..first.len() {
                let mut changed = first.clone();
                changed[place] ^= 1;
                let (_, mut server) = pair(suite);
                assert_eq!(
                    opened(&mut server, &changed, 100),
                    Err(Violation::BadRecord),
                    "{suite:?} {place}"
                );
            }
            let (_, mut server) = pair(suite);
            assert_eq!(opened(&mut server, &second, 100), Err(Violation::BadRecord));
            let (_, mut server) = pair(suite);
            assert_eq!(opened(&mut server, &first, 100).unwrap(), b"SELECT 1");
            assert_eq!(opened(&mut server, &first, 100), Err(Violation::BadRecord));
        }
    }

    #[test]
    fn both_sides_may_change_their_keys() {
        for suite in &SUITES[..3] {
            let (mut client, mut server) = pair(*suite);
            client.most_records_of_key = 3;
            server.owes_key_update = true;
            for round in 0..10_u8 {
                for (from, to) in [(0, 1), (1, 0)] {
                    let both = [&mut client, &mut server];
                    let mut sealed = Vec::new();
                    both[from].seal(&[round], &mut sealed);
                    assert_eq!(opened(both[to], &sealed, 1000).unwrap(), [round]);
                }
            }
            let mut request = Vec::new();
            server.seal_record(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 1], &mut request);
            server.sending.update(&server.suite);
            let before = client.sending.secret.clone();
            assert_eq!(opened(&mut client, &request, 1000).unwrap(), b"");
            let mut sealed = Vec::new();
            client.seal(b"after the update", &mut sealed);
            assert_ne!(client.sending.secret, before);
            assert_eq!(opened(&mut server, &sealed, 1000).unwrap(), b"after the update");
        }
    }

    #[test]
    fn tickets_may_span_records_and_nothing_else_is_accepted() {
        let ticket = [&[NEW_SESSION_TICKET, 0, 0, 5][..], b"12345"].concat();
        let said = |kind: u8, bodies: &[&[u8]]| {
            let (mut client, mut server) = pair(SUITES[0]);
            let mut sealed = Vec::new();
            bodies.iter().for_each(|body| server.seal_record(kind, body, &mut sealed));
            opened(&mut client, &sealed, 100)
        };
        assert_eq!(said(HANDSHAKE, &[&ticket[..3], &ticket[3..], &ticket]), Ok(Vec::new()));
        assert_eq!(said(HANDSHAKE, &[&[13, 0, 0, 0]]), Err(Violation::Unexpected));
        assert_eq!(said(HANDSHAKE, &[&[KEY_UPDATE, 0, 0, 1, 2]]), Err(Violation::Unexpected));
        assert_eq!(said(HANDSHAKE, &[&[KEY_UPDATE, 0, 0, 1, 0, 4]]), Err(Violation::Unexpected));
        assert_eq!(said(HANDSHAKE, &[&[NEW_SESSION_TICKET, 1, 0, 1]]), Err(Violation::TooLong));
        assert_eq!(said(20, &[&[1]]), Err(Violation::Unexpected));
        assert_eq!(said(ALERT, &[&[2, 40]]), Err(Violation::Alert(40)));
        assert_eq!(said(ALERT, &[&[2]]), Err(Violation::Unexpected));
        let empty: Vec<&[u8]> = vec![b""; MOST_IDLE_RECORDS as usize + 1];
        assert_eq!(said(APPLICATION_DATA, &empty[1..]), Ok(Vec::new()));
        assert_eq!(said(APPLICATION_DATA, &empty), Err(Violation::Unexpected));
    }

    #[test]
    fn the_end_is_announced() {
        for suite in SUITES {
            let (mut client, mut server) = pair(suite);
            let mut sealed = Vec::new();
            server.seal_record(ALERT, &[1, CLOSE_NOTIFY], &mut sealed);
            let length = sealed.len();
            assert_eq!(client.open(&mut sealed), Ok(Some((Content::Closed, length))));
        }
    }

    #[test]
    fn a_long_or_foreign_record_is_refused_by_its_header() {
        for suite in SUITES {
            let (mut client, _) = pair(suite);
            assert_eq!(client.open(&mut [23, 3, 3, 0x48, 1]), Err(Violation::TooLong));
            for mut header in [[20, 3, 3, 0, 1], [24, 3, 3, 0, 1], *b"\xff\x15\x04ab", [23, 2, 3, 0, 1]] {
                assert_eq!(client.open(&mut header), Err(Violation::Unexpected));
            }
        }
    }
}
