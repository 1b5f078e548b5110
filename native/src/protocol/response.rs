//! Parser of the server's response to one statement: where it ends, and its outcome.
//!
//! Bytes in, outcome out; no I/O. A response is a sequence of packets (three bytes of length, one of sequence):
//!
//! ```text
//! OK                                  the statement has no rows; its packet counts the affected ones
//! ERR                                 the statement failed
//! count, columns, [EOF], rows, EOF    a result
//! ```
//!
//! If both sides agreed on DEPRECATE_EOF, the first EOF is left out, and the last one is an OK packet whose first byte
//! is that of an EOF. If the flag MORE_RESULTS is set in the status, another response follows, as after a CALL. MariaDB omits the columns if a flag
//! after the count marks them as unchanged. The rules are those of `mysql/packets.py`.

use crate::values::limits::MOST_CAPTURED_BYTES;

const OK: u8 = 0x00;
const INFILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
pub const HEADER_BYTES: usize = 4;
const WHOLE: usize = 0xff_ffff;
const LONGEST_EOF: usize = 8;
const MORE_RESULTS: u16 = 0x0008;
const SQL_STATE_BYTES: usize = 6;

/// The outcome of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rows affected, or returned.
    Done(u64),
    /// The server's error code and message.
    ServerError(u16, String),
    /// The bytes are not a valid response: the connection is unusable.
    Broken(&'static str),
}

const OUT_OF_ORDER: &str = "its packets are out of order";
const WANTS_FILE: &str = "it asks for a file";
const TOO_SHORT: &str = "a packet is shorter than its header says";
const TOO_WIDE: &str = "it announces more than 65,535 columns";
const TOO_LONG: &str = "its response has more than 16 MiB";
/// The servers' own limit is 4096 for a table; a prepared statement cannot announce more than this.
const MOST_COLUMNS: u64 = 0xffff;
/// A buffer that has grown larger is not kept for the next response.
const LARGE_BYTES: usize = 1 << 18;

/// Parses one response after the other. With `keeps`, the bytes of the response are kept for its reader.
pub struct Response {
    without_eof: bool,
    left: Vec<u8>,
    kept: Vec<u8>,
    keeps: bool,
    received: usize,
    affected: u64,
    earlier: Option<u64>,
    in_rows: bool,
    is_result: bool,
    /// Whether the packets are numbered in order: within compressed frames they are not.
    is_numbered: bool,
    sequence: u8,
    /// Packets to skip: columns, or the rest of a large row.
    skip: u64,
    is_preparation: bool,
    most_kept: usize,
}

impl Response {
    pub fn new(without_eof: bool, is_numbered: bool) -> Self {
        Self {
            without_eof,
            left: Vec::new(),
            kept: Vec::new(),
            keeps: false,
            received: 0,
            affected: 0,
            earlier: None,
            in_rows: false,
            is_result: false,
            is_numbered,
            sequence: 1,
            skip: 0,
            is_preparation: false,
            most_kept: MOST_CAPTURED_BYTES,
        }
    }

    /// The largest response that is kept.
    pub fn keep_at_most(&mut self, bytes: usize) {
        self.most_kept = bytes;
    }

    /// Begins the response to COM_STMT_PREPARE. Its outcome is `Done`, with the statement's number in the lower 32 bits
    /// and the number of its parameters in the upper ones.
    pub fn begin_preparation(&mut self, request: &[u8]) {
        self.begin(false, request);
        self.is_preparation = true;
    }

    /// Begins the response to a request. Its packets are numbered from the one after the last packet of the request.
    pub fn begin(&mut self, keeps: bool, request: &[u8]) {
        self.keeps = keeps;
        self.kept.clear();
        self.kept.shrink_to(LARGE_BYTES);
        self.received = self.left.len();
        self.affected = 0;
        self.earlier = None;
        self.in_rows = false;
        self.is_result = false;
        self.sequence = after(request);
        self.skip = 0;
        self.is_preparation = false;
    }

    /// The bytes of the response, if they are kept.
    pub fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// Whether the response has columns.
    pub fn is_result(&self) -> bool {
        self.is_result
    }

    pub fn kept_mut(&mut self) -> &mut Vec<u8> {
        &mut self.kept
    }

    /// Whether bytes of the response were received.
    pub fn has_begun(&self) -> bool {
        self.received > 0
    }

    /// Whether bytes were received that belong to no response.
    pub fn has_more(&self) -> bool {
        !self.left.is_empty()
    }

    /// Feeds received bytes; returns the outcome with the last byte of the response.
    pub fn feed(&mut self, data: &[u8]) -> Option<Outcome> {
        self.received += data.len();
        if self.keeps && self.received > self.most_kept {
            return Some(Outcome::Broken(TOO_LONG));
        }
        if self.left.is_empty() {
            let (outcome, used) = self.read(data);
            self.left.extend_from_slice(&data[used..]);
            return outcome;
        }
        let mut whole = std::mem::take(&mut self.left);
        whole.extend_from_slice(data);
        let (outcome, used) = self.read(&whole);
        whole.drain(..used);
        whole.shrink_to(if whole.is_empty() { LARGE_BYTES } else { whole.capacity() });
        self.left = whole;
        outcome
    }

    /// Keeps bytes that follow a complete response for the next one.
    pub fn keep_back(&mut self, data: &[u8]) {
        self.left.extend_from_slice(data);
    }

    /// Parses the complete packets; returns their size in bytes.
    fn read(&mut self, data: &[u8]) -> (Option<Outcome>, usize) {
        let mut place = 0;
        while let Some(header) = data.get(place..place + HEADER_BYTES) {
            let size = size_of(header);
            let sequence = header[3];
            let payload = match data.get(place + HEADER_BYTES..place + HEADER_BYTES + size) {
                Some(payload) => payload,
                None => break,
            };
            let end = place + HEADER_BYTES + size;
            // An error is always kept, for its SQL state.
            if self.keeps || payload.first() == Some(&ERR) {
                self.kept.extend_from_slice(&data[place..end]);
            }
            place = end;
            if let Some(outcome) = self.packet(payload, sequence) {
                return (Some(outcome), place);
            }
        }
        (None, place)
    }

    fn packet(&mut self, payload: &[u8], sequence: u8) -> Option<Outcome> {
        if sequence != self.sequence || payload.is_empty() {
            // A packet out of sequence may be the final message of a server that disconnects; an empty packet only ends a large one.
            let is_allowed = match payload.first() {
                Some(&kind) => kind == ERR || !self.is_numbered,
                None => self.skip > 0,
            };
            if !is_allowed {
                return Some(Outcome::Broken(OUT_OF_ORDER));
            }
        }
        self.sequence = sequence.wrapping_add(1);
        if self.skip > 0 {
            self.skip -= u64::from(payload.len() < WHOLE);
            return (self.is_preparation && self.skip == 0).then_some(Outcome::Done(self.affected));
        }
        if self.in_rows && !self.is_last(payload) {
            self.affected += 1;
            self.skip = u64::from(payload.len() == WHOLE);
            return None;
        }
        self.first_or_last(payload)
    }

    fn is_last(&self, payload: &[u8]) -> bool {
        let longest = if self.without_eof { WHOLE - 1 } else { LONGEST_EOF };
        payload[0] == ERR || (payload[0] == EOF && payload.len() <= longest)
    }

    fn first_or_last(&mut self, payload: &[u8]) -> Option<Outcome> {
        let read = match payload[0] {
            ERR => refusal(payload).map(Some),
            _ if self.in_rows => self.end_of_rows(payload),
            OK if self.is_preparation => self.prepared(payload),
            OK => self.ok(payload),
            INFILE => return Some(Outcome::Broken(WANTS_FILE)),
            _ => self.head(payload),
        };
        read.unwrap_or(Some(Outcome::Broken(TOO_SHORT)))
    }

    fn end_of_rows(&mut self, payload: &[u8]) -> Option<Option<Outcome>> {
        self.in_rows = false;
        let status = if self.without_eof { ok_status(payload)? } else { word(payload, 3)? };
        Some(self.over(status))
    }

    /// The statement's number; definitions of its parameters and columns follow.
    fn prepared(&mut self, payload: &[u8]) -> Option<Option<Outcome>> {
        let identity = u32::from_le_bytes(payload.get(1..5)?.try_into().ok()?);
        let (columns, parameters) = (word(payload, 5)?, word(payload, 7)?);
        let with_end = |count: u16| u64::from(count) + u64::from(count > 0 && !self.without_eof);
        self.affected = preparation(identity, parameters);
        self.skip = with_end(parameters) + with_end(columns);
        Some((self.skip == 0).then_some(Outcome::Done(self.affected)))
    }

    fn ok(&mut self, payload: &[u8]) -> Option<Option<Outcome>> {
        self.affected = number(payload, 1)?.0;
        let status = ok_status(payload)?;
        Some(self.over(status))
    }

    /// The head of a result: how many columns, and whether they follow.
    fn head(&mut self, payload: &[u8]) -> Option<Option<Outcome>> {
        let (columns, behind) = number(payload, 0)?;
        if columns > MOST_COLUMNS {
            return Some(Some(Outcome::Broken(TOO_WIDE)));
        }
        let follow = payload.get(behind).map_or(true, |&byte| byte != 0);
        self.in_rows = true;
        self.is_result = true;
        self.skip = if follow { columns } else { 0 } + u64::from(!self.without_eof);
        Some(None)
    }

    /// The outcome at the end; of several responses to one statement the first one counts.
    fn over(&mut self, status: u16) -> Option<Outcome> {
        let first = self.earlier.unwrap_or(self.affected);
        if status & MORE_RESULTS != 0 {
            self.earlier = Some(first);
            self.affected = 0;
            return None;
        }
        Some(Outcome::Done(first))
    }
}

/// The outcome of a preparation as one number, see [`Response::begin_preparation`].
fn preparation(identity: u32, parameters: u16) -> u64 {
    u64::from(parameters) << 32 | u64::from(identity)
}

fn size_of(header: &[u8]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// The number after that of the last of these packets.
fn after(mut packets: &[u8]) -> u8 {
    let mut number = 0;
    while let Some(header) = packets.get(..HEADER_BYTES) {
        number = header[3];
        packets = packets.get(HEADER_BYTES + size_of(header)..).unwrap_or_default();
    }
    number.wrapping_add(1)
}

/// The size of the packet that begins here.
pub fn packet_size(data: &[u8]) -> Option<usize> {
    data.get(..HEADER_BYTES).map(size_of)
}

/// A number of one to nine bytes, and where it ends.
pub fn number(data: &[u8], place: usize) -> Option<(u64, usize)> {
    let first = *data.get(place)?;
    let width = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        INFILE | ERR => return None,
        _ => return Some((u64::from(first), place + 1)),
    };
    let bytes = data.get(place + 1..place + 1 + width)?;
    let number = bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    Some((number, place + 1 + width))
}

fn word(data: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*data.get(place)?, *data.get(place + 1)?]))
}

/// The status of an OK packet follows the affected rows and the last insert id.
fn ok_status(payload: &[u8]) -> Option<u16> {
    let (_, behind) = number(payload, 1)?;
    word(payload, number(payload, behind)?.1)
}

fn refusal(payload: &[u8]) -> Option<Outcome> {
    let code = word(payload, 1)?;
    let mut message = payload.get(3..)?;
    if message.first() == Some(&b'#') {
        message = message.get(SQL_STATE_BYTES..).unwrap_or(&[]);
    }
    Some(Outcome::ServerError(code, String::from_utf8_lossy(message).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::packet::{write_command, COM_QUERY};

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut all = Vec::new();
        for (number, payload) in payloads.iter().enumerate() {
            all.extend_from_slice(&(payload.len() as u32 | (number as u32 + 1) << 24).to_le_bytes());
            all.extend_from_slice(payload);
        }
        all
    }

    const OK_OF_3: &[u8] = &[0, 3, 0, 2, 0, 0, 0];
    const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

    fn examples() -> Vec<(Vec<u8>, Outcome)> {
        let column: &[u8] = &[3, b'd', b'e', b'f'];
        let more: &[u8] = &[0, 1, 0, 10, 0, 0, 0];
        vec![
            (packets(&[OK_OF_3]), Outcome::Done(3)),
            (packets(&[&[1], column, &[1, b'a'], &[1, b'b'], END]), Outcome::Done(2)),
            (packets(&[&[1, 0], &[1, b'a'], END]), Outcome::Done(1)),
            (packets(&[&[2, 1], column, column, END]), Outcome::Done(0)),
            (packets(&[more, OK_OF_3]), Outcome::Done(1)),
            (packets(&[b"\xff\xbd\x04#40001Deadlock"]), Outcome::ServerError(1213, "Deadlock".into())),
            (packets(&[&[0xfb, b'x']]), Outcome::Broken(WANTS_FILE)),
        ]
    }

    #[test]
    fn responses_are_parsed_however_they_are_cut() {
        for (bytes, outcome) in examples() {
            for cut in 1..=bytes.len() {
                let mut response = Response::new(true, true);
                response.begin(true, &[]);
                let told: Vec<Outcome> = bytes.chunks(cut).filter_map(|piece| response.feed(piece)).collect();
                assert_eq!(told, std::slice::from_ref(&outcome), "cut every {cut} bytes");
                assert!(!response.has_more());
                assert_eq!(response.kept(), bytes);
            }
        }
    }

    #[test]
    fn with_eofs_a_result_has_two() {
        let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
        let bytes = packets(&[&[1], &[3, b'd', b'e', b'f'], eof, &[1, b'a'], eof]);
        let mut response = Response::new(false, true);
        assert_eq!(response.feed(&bytes), Some(Outcome::Done(1)));
    }

    #[test]
    fn bytes_after_a_response_are_kept_for_the_next() {
        let mut response = Response::new(true, true);
        let mut two = packets(&[OK_OF_3]);
        two.extend(packets(&[OK_OF_3]));
        assert_eq!(response.feed(&two), Some(Outcome::Done(3)));
        assert!(response.has_more());
    }

    #[test]
    fn a_response_follows_the_last_packet_of_its_request() {
        let mut request = Vec::new();
        write_command(COM_QUERY, &vec![b'x'; 2 * WHOLE], &mut request);
        let mut answer = packets(&[OK_OF_3]);
        answer[3] = 3;
        for (sequence, outcome) in [(3, Outcome::Done(3)), (1, Outcome::Broken(OUT_OF_ORDER))] {
            answer[3] = sequence;
            let mut response = Response::new(true, true);
            response.begin(false, &request);
            assert_eq!(response.feed(&answer), Some(outcome));
        }
        assert_eq!(Response::new(true, false).feed(&answer), Some(Outcome::Done(3)));
    }

    #[test]
    fn a_row_of_several_packets_is_one_row() {
        let row = vec![0xfe; WHOLE];
        let rows: [&[u8]; 8] = [&[1], &[3, b'd', b'e', b'f'], &row, &row, &row[..9], &row, &[], END];
        let bytes = packets(&rows);
        let mut response = Response::new(true, true);
        let told: Vec<Outcome> = bytes.chunks(1 << 20).filter_map(|piece| response.feed(piece)).collect();
        assert_eq!(told, [Outcome::Done(2)]);
    }

    /// Every byte of valid responses is changed in many ways: none of the results makes the parser panic.
    #[test]
    fn damaged_responses_do_no_harm() {
        let mut state = 0x2545_f491_4f6c_dd1du64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for (bytes, _) in examples() {
            for _ in 0..3_000 {
                let mut damaged = bytes.clone();
                for _ in 0..=random() % 4 {
                    let place = random() as usize % damaged.len();
                    damaged[place] = random() as u8;
                }
                damaged.truncate(1 + random() as usize % damaged.len());
                let mut response = Response::new(random() % 2 == 0, true);
                for piece in damaged.chunks(1 + random() as usize % 16) {
                    if response.feed(piece).is_some() {
                        response.begin(random() % 2 == 0, &[]);
                    }
                }
            }
        }
    }
}
