//! The rows of a result in the text format, read one by one.

use crate::protocol::response::{number, packet_size, HEADER_BYTES};

const NULL: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
const OK: u8 = 0;
const WHOLE: usize = 0xff_ffff;
const LONGEST_EOF: usize = 8;

/// The response to the last query, and the place of the next row.
#[derive(Default)]
pub struct Rows {
    pub bytes: Vec<u8>,
    pub fields: u64,
    place: usize,
    without_eof: bool,
}

/// A row: the text of each column, None for NULL.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    payload: &'a [u8],
    place: usize,
    left: u64,
}

impl<'a> Iterator for Cells<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if self.payload.get(self.place) == Some(&NULL) {
            self.place += 1;
            return Some(None);
        }
        let (size, begin) = number(self.payload, self.place)?;
        self.place = begin.checked_add(usize::try_from(size).ok()?)?;
        Some(Some(self.payload.get(begin..self.place)?))
    }
}

impl Rows {
    /// Begins with the response that is in `bytes`. The rows of a prepared statement are not read: as in sysbench, it
    /// has none.
    pub fn begin(&mut self, without_eof: bool, is_text: bool) {
        self.without_eof = without_eof;
        self.fields = 0;
        self.place = self.bytes.len();
        if is_text {
            if let Some((fields, place)) = self.head() {
                self.fields = fields;
                self.place = place;
            }
        }
    }

    /// How many columns there are, and where the rows begin; None if the response is no result.
    fn head(&self) -> Option<(u64, usize)> {
        let (first, mut place) = packet(&self.bytes, 0)?;
        if matches!(first.first()?, &OK | &ERR) {
            return None;
        }
        let (fields, _) = number(first, 0)?;
        for _ in 0..fields + u64::from(!self.without_eof) {
            place = packet(&self.bytes, place)?.1;
        }
        Some((fields, place))
    }

    /// The next row.
    pub fn next(&mut self) -> Option<Cells<'_>> {
        let longest_eof = if self.without_eof { WHOLE - 1 } else { LONGEST_EOF };
        let (first, _) = packet(&self.bytes, self.place)?;
        if first.first() == Some(&ERR) || (first.first() == Some(&EOF) && first.len() <= longest_eof) {
            self.place = self.bytes.len();
            return None;
        }
        let row = self.join()?;
        let payload = &self.bytes[row];
        let cells = Cells { payload, place: 0, left: self.fields };
        // A row that is cut is none.
        (cells.clone().count() as u64 == self.fields).then_some(cells)
    }

    /// Where the payload of the next row is. If it has several packets, they are joined in their place.
    fn join(&mut self) -> Option<std::ops::Range<usize>> {
        let (start, mut end) = (self.place + HEADER_BYTES, self.place + HEADER_BYTES);
        loop {
            let (payload, after) = packet(&self.bytes, self.place)?;
            let size = payload.len();
            if end > start {
                self.bytes.copy_within(after - size..after, end);
            }
            end += size;
            self.place = after;
            if size < WHOLE {
                return Some(start..end);
            }
        }
    }
}

fn packet(data: &[u8], place: usize) -> Option<(&[u8], usize)> {
    let rest = data.get(place..)?;
    let size = packet_size(rest)?;
    Some((rest.get(HEADER_BYTES..HEADER_BYTES + size)?, place + HEADER_BYTES + size))
}

/// The SQL state of an error packet, the last of a response.
pub fn sql_state(response: &[u8]) -> String {
    let mut place = 0;
    while let Some((payload, end)) = packet(response, place) {
        if payload.first() == Some(&ERR) && payload.get(3) == Some(&b'#') {
            if let Some(state) = payload.get(4..9) {
                return String::from_utf8_lossy(state).into_owned();
            }
        }
        place = end;
    }
    "HY000".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut all = Vec::new();
        for (number, payload) in payloads.iter().enumerate() {
            all.extend_from_slice(&(payload.len() as u32 | (number as u32 + 1) << 24).to_le_bytes());
            all.extend_from_slice(payload);
        }
        all
    }

    const COLUMN: &[u8] = &[3, b'd', b'e', b'f'];
    const END: &[u8] = &[0xfe, 0, 0, 2, 0];

    #[test]
    fn rows_are_texts_and_nulls() {
        for without_eof in [true, false] {
            let mut payloads: Vec<&[u8]> = vec![&[2], COLUMN, COLUMN];
            if !without_eof {
                payloads.push(END);
            }
            payloads.extend_from_slice(&[&[1, b'a', NULL], &[0, 2, b'b', b'c'], END]);
            let mut rows = Rows { bytes: packets(&payloads), ..Rows::default() };
            rows.begin(without_eof, true);
            assert_eq!(rows.fields, 2);
            let mut next = || rows.next().map(|cells| cells.map(|cell| cell.map(<[u8]>::to_vec)).collect());
            assert_eq!(next(), Some(vec![Some(b"a".to_vec()), None]));
            assert_eq!(next(), Some(vec![Some(b"".to_vec()), Some(b"bc".to_vec())]));
            assert_eq!((next(), next()), (None, None));
        }
    }

    #[test]
    fn a_row_of_several_packets_is_read() {
        let text = vec![b'x'; 2 * WHOLE];
        let mut row = vec![0xfe];
        row.extend_from_slice(&(text.len() as u64).to_le_bytes());
        row.extend_from_slice(&text);
        let mut payloads: Vec<&[u8]> = vec![&[1], COLUMN];
        payloads.extend(row.chunks(WHOLE));
        payloads.extend_from_slice(&[&[1, b'a'], END]);
        let mut rows = Rows { bytes: packets(&payloads), ..Rows::default() };
        rows.begin(true, true);
        let mut next = || rows.next().map(|cells| cells.flatten().next().map(<[u8]>::to_vec));
        assert!(next() == Some(Some(text)));
        assert_eq!((next(), next()), (Some(Some(b"a".to_vec())), None));
    }

    #[test]
    fn a_response_without_rows_has_no_fields() {
        let mut rows = Rows { bytes: packets(&[&[0, 3, 0, 2, 0, 0, 0]]), ..Rows::default() };
        rows.begin(true, true);
        assert!(rows.fields == 0 && rows.next().is_none());
    }

    #[test]
    fn cut_rows_end_the_result() {
        let whole = packets(&[&[1], COLUMN, &[9, b'a'], END]);
        for size in 0..whole.len() {
            let mut rows = Rows { bytes: whole[..size].to_vec(), ..Rows::default() };
            rows.begin(true, true);
            assert!(rows.next().is_none());
        }
    }

    #[test]
    fn the_state_of_an_error_is_read() {
        assert_eq!(sql_state(&packets(&[b"\xff\xbd\x04#40001Deadlock"])), "40001");
        assert_eq!(sql_state(&packets(&[b"\xff\xbd\x04Deadlock"])), "HY000");
    }
}
