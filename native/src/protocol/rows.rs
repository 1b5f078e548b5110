//! Parser of the rows of a response, in the text or the binary format.
//!
//! `response` has found the end of the response and that it is no error; here its rows are parsed. The values are
//! those that tuibench's Python client makes of the same bytes.

use crate::protocol::response::{number, packet_size, HEADER_BYTES};
use crate::values::decimal::Decimal;
use crate::values::limits::MOST_ITEMS;
use crate::values::value::{Date, Moment, Row, Span, Value};

const WHOLE: usize = 0xff_ffff;
const OK: u8 = 0;
const NULL: u8 = 0xfb;
const EOF: u8 = 0xfe;
const LONGEST_EOF: usize = 8;
const EOF_BYTES: usize = HEADER_BYTES + 5;
/// Texts of a column's definition before its numbers.
const NAMES: usize = 6;
const UNSIGNED: u16 = 0x20;
const BINARY: u16 = 63;

mod kind {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
}

/// Why rows cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They do not match their columns: the connection is unusable.
    Malformed,
    /// A text is not in the connection's encoding.
    Encoding,
    /// More values than a transaction may capture.
    TooMany,
}

type Read<T> = Result<T, Unreadable>;

#[derive(Clone, Debug)]
pub struct Column {
    kind: u8,
    charset: u16,
    unsigned: bool,
    decimals: u8,
}

impl Column {
    /// Parses a column definition: the payload of its packet.
    pub fn parse(definition: &[u8]) -> Option<Self> {
        let mut place = 0;
        for _ in 0..NAMES {
            let (size, behind) = number(definition, place)?;
            place = behind.checked_add(usize::try_from(size).ok()?)?;
        }
        let numbers = definition.get(place.checked_add(1)?..)?.get(..10)?;
        Some(Self {
            charset: u16::from_le_bytes([numbers[0], numbers[1]]),
            kind: numbers[6],
            unsigned: u16::from_le_bytes([numbers[7], numbers[8]]) & UNSIGNED != 0,
            decimals: numbers[9],
        })
    }
}

/// Parses the responses to one statement. Columns are cached: MariaDB omits them later.
#[derive(Clone, Debug)]
pub struct RowReader {
    is_binary: bool,
    without_eof: bool,
    columns: Vec<Column>,
}

impl RowReader {
    /// `definitions` are those of the columns, if they are known before the first response.
    pub fn new(is_binary: bool, without_eof: bool, definitions: &[Vec<u8>]) -> Self {
        let columns = definitions.iter().filter_map(|definition| Column::parse(definition)).collect();
        Self { is_binary, without_eof, columns }
    }

    /// The rows of a whole response, of the first result if there are several; none if it is no result.
    pub fn read(&mut self, response: &[u8]) -> Read<Vec<Row>> {
        match self.head(response)? {
            Some(place) => self.rows(response, place + if self.without_eof { 0 } else { EOF_BYTES }),
            None => Ok(Vec::new()),
        }
    }

    /// The offset of the rows, or of the EOF before them; caches the columns. None if it is not a result.
    fn head(&mut self, response: &[u8]) -> Read<Option<usize>> {
        let (first, mut place) = packet(response, 0)?;
        if first.first() == Some(&OK) {
            return Ok(None);
        }
        let (width, behind) = number(first, 0).ok_or(Unreadable::Malformed)?;
        if first.get(behind).map_or(true, |&byte| byte != 0) {
            self.columns.clear();
            for _ in 0..width {
                let (definition, end) = packet(response, place)?;
                self.columns.push(Column::parse(definition).ok_or(Unreadable::Malformed)?);
                place = end;
            }
        }
        if self.columns.len() as u64 != width {
            return Err(Unreadable::Malformed);
        }
        Ok(Some(place))
    }

    fn rows(&self, response: &[u8], mut place: usize) -> Read<Vec<Row>> {
        let longest_eof = if self.without_eof { WHOLE - 1 } else { LONGEST_EOF };
        let most = MOST_ITEMS / self.columns.len().max(1);
        let mut rows = Vec::new();
        loop {
            if rows.len() > most {
                return Err(Unreadable::TooMany);
            }
            let (payload, end) = packet(response, place)?;
            place = end;
            if payload.first() == Some(&EOF) && payload.len() <= longest_eof {
                return Ok(rows);
            }
            if payload.len() < WHOLE {
                rows.push(self.row(payload)?);
                continue;
            }
            let mut large = payload.to_vec();
            let mut size = WHOLE;
            while size == WHOLE {
                let (more, end) = packet(response, place)?;
                place = end;
                size = more.len();
                large.extend_from_slice(more);
            }
            rows.push(self.row(&large)?);
        }
    }

    fn row(&self, payload: &[u8]) -> Read<Row> {
        let mut reader = Reader { data: payload, place: 0 };
        let row = if self.is_binary { self.binary_row(&mut reader)? } else { self.text_row(&mut reader)? };
        if reader.place == payload.len() {
            Ok(row)
        } else {
            Err(Unreadable::Malformed)
        }
    }

    fn text_row(&self, reader: &mut Reader<'_>) -> Read<Row> {
        self.columns.iter().map(|column| reader.nullable_text(column)).collect()
    }

    /// A zero, a bit for each null, and the values that are none.
    fn binary_row(&self, reader: &mut Reader<'_>) -> Read<Row> {
        let nulls = reader.take(1 + (self.columns.len() + 9) / 8)?;
        let is_null = |number: usize| nulls[1 + (number + 2) / 8] >> ((number + 2) % 8) & 1 == 1;
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(number, column)| if is_null(number) { Ok(Value::Null) } else { reader.binary(column) })
            .collect()
    }
}

/// The payload of a packet, and where it ends.
fn packet(data: &[u8], place: usize) -> Read<(&[u8], usize)> {
    let rest = data.get(place..).ok_or(Unreadable::Malformed)?;
    let size = packet_size(rest).ok_or(Unreadable::Malformed)?;
    let payload = rest.get(HEADER_BYTES..HEADER_BYTES + size).ok_or(Unreadable::Malformed)?;
    Ok((payload, place + HEADER_BYTES + size))
}

struct Reader<'a> {
    data: &'a [u8],
    place: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Read<&'a [u8]> {
        let end = self.place.checked_add(size).ok_or(Unreadable::Malformed)?;
        let taken = self.data.get(self.place..end).ok_or(Unreadable::Malformed)?;
        self.place = end;
        Ok(taken)
    }

    fn sized(&mut self) -> Read<&'a [u8]> {
        let (size, behind) = number(self.data, self.place).ok_or(Unreadable::Malformed)?;
        self.place = behind;
        self.take(usize::try_from(size).map_err(|_| Unreadable::Malformed)?)
    }

    /// The value of this number of little-endian bytes.
    fn unsigned(&mut self, size: usize) -> Read<u64> {
        Ok(self.take(size)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn nullable_text(&mut self, column: &Column) -> Read<Value> {
        if self.data.get(self.place) == Some(&NULL) {
            self.place += 1;
            return Ok(Value::Null);
        }
        of_text(column, self.sized()?)
    }

    fn binary(&mut self, column: &Column) -> Read<Value> {
        match column.kind {
            kind::TINY => self.whole(1, column),
            kind::SHORT => self.whole(2, column),
            kind::YEAR => Ok(Value::Int(i128::from(self.unsigned(2)?))),
            kind::INT24 | kind::LONG => self.whole(4, column),
            kind::LONGLONG => self.whole(8, column),
            kind::FLOAT => finite(f64::from(f32::from_bits(self.unsigned(4)? as u32))),
            kind::DOUBLE => finite(f64::from_bits(self.unsigned(8)?)),
            kind::TIMESTAMP | kind::DATETIME => self.moment(column.decimals),
            kind::DATE | kind::NEWDATE => self.day(),
            kind::TIME => self.span(),
            _ => {
                let text = self.sized()?;
                of_text(column, text)
            }
        }
    }

    fn whole(&mut self, size: usize, column: &Column) -> Read<Value> {
        let bits = self.unsigned(size)?;
        let unused = 64 - 8 * size as u32;
        let number =
            if column.unsigned { i128::from(bits) } else { i128::from((bits << unused) as i64 >> unused) };
        Ok(Value::Int(number))
    }

    /// The parts of a date or time, of which those at the end may be missing.
    fn calendar(&mut self) -> Read<(u16, [u8; 5], u32)> {
        let size = self.take(1)?[0];
        if !matches!(size, 0 | 4 | 7 | 11) {
            return Err(Unreadable::Malformed);
        }
        let year = if size >= 4 { self.unsigned(2)? as u16 } else { 0 };
        let mut parts = [0; 5];
        let given = if size >= 7 {
            5
        } else if size >= 4 {
            2
        } else {
            0
        };
        parts[..given].copy_from_slice(self.take(given)?);
        let micros = if size == 11 { self.unsigned(4)? as u32 } else { 0 };
        Ok((year, parts, micros))
    }

    /// A DATETIME or TIMESTAMP; an invalid date is a text, with this number of fractional digits.
    fn moment(&mut self, digits: u8) -> Read<Value> {
        let (year, [month, day, hour, minute, second], microsecond) = self.calendar()?;
        if let Some(date) = Date::checked(year, month, day) {
            if hour < 24 && minute < 60 && second < 60 && microsecond < 1_000_000 {
                return Ok(Value::Moment(Moment { date, hour, minute, second, microsecond }));
            }
        }
        let mut words = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
        if (1..=6).contains(&digits) {
            words.push_str(&format!(".{microsecond:06}")[..usize::from(digits) + 1]);
        }
        Ok(Value::text(&words))
    }

    fn day(&mut self) -> Read<Value> {
        let (year, [month, day, ..], _) = self.calendar()?;
        Ok(match Date::checked(year, month, day) {
            Some(date) => Value::Date(date),
            None => Value::text(&format!("{year:04}-{month:02}-{day:02}")),
        })
    }

    /// A TIME: whether it is negative, days, hours, minutes, seconds, microseconds.
    fn span(&mut self) -> Read<Value> {
        let size = self.take(1)?[0];
        if size == 0 {
            return Ok(Value::Span(Span(0)));
        }
        if !matches!(size, 8 | 12) {
            return Err(Unreadable::Malformed);
        }
        let negative = self.take(1)?[0] != 0;
        let days = self.unsigned(4)? as i64;
        let clock = self.take(3)?;
        let micros = if size == 12 { self.unsigned(4)? as i64 } else { 0 };
        let hours = days * 24 + i64::from(clock[0]);
        let clock = [hours, i64::from(clock[1]), i64::from(clock[2])];
        span(negative, clock, micros).map(Value::Span).ok_or(Unreadable::Malformed)
    }
}

/// All times of servers are shorter.
const LONGEST_TIME: i64 = 839 * 3600 * 1_000_000;

/// A time of hours, minutes, seconds and microseconds; None for one that no server has.
fn span(negative: bool, [hours, minutes, seconds]: [i64; 3], micros: i64) -> Option<Span> {
    let size = ((hours * 60 + minutes) * 60 + seconds).checked_mul(1_000_000)?.checked_add(micros)?;
    (size < LONGEST_TIME).then_some(Span(if negative { -size } else { size }))
}

fn finite(number: f64) -> Read<Value> {
    if number.is_finite() {
        Ok(Value::Float(number))
    } else {
        Err(Unreadable::Malformed)
    }
}

/// A whole number as servers write it: up to 38 digits.
fn integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || digits.len() > 38 {
        return None;
    }
    text.parse().ok()
}

/// A value as servers write it in text, and in binary for types without a width of their own.
fn of_text(column: &Column, bytes: &[u8]) -> Read<Value> {
    let is_text = column.charset != BINARY || column.kind == kind::JSON;
    let text = || std::str::from_utf8(bytes).map_err(|_| Unreadable::Encoding);
    let plain = || std::str::from_utf8(bytes).map_err(|_| Unreadable::Malformed);
    Ok(match column.kind {
        kind::TINY | kind::SHORT | kind::INT24 | kind::LONG | kind::LONGLONG | kind::YEAR => {
            Value::Int(integer(plain()?).ok_or(Unreadable::Malformed)?)
        }
        kind::FLOAT | kind::DOUBLE => {
            Decimal::parse(plain()?).ok_or(Unreadable::Malformed)?;
            finite(plain()?.parse().map_err(|_| Unreadable::Malformed)?)?
        }
        kind::DECIMAL | kind::NEWDECIMAL => {
            Value::Decimal(Decimal::parse(plain()?).ok_or(Unreadable::Malformed)?)
        }
        kind::TIMESTAMP | kind::DATETIME => moment_of(text()?).unwrap_or(Value::text(text()?)),
        kind::DATE | kind::NEWDATE => date_of(text()?).map_or(Value::text(text()?), Value::Date),
        kind::TIME => Value::Span(span_of(plain()?).ok_or(Unreadable::Malformed)?),
        _ if is_text => Value::text(text()?),
        _ => Value::Bytes(bytes.into()),
    })
}

fn date_of(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    Date::checked(digits(year)?.parse().ok()?, digits(month)?.parse().ok()?, digits(day)?.parse().ok()?)
}

/// The text, if it has digits only.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// The three parts of a time of day, of which the last two have two digits.
fn clock_of(clock: &str) -> Option<[u32; 3]> {
    let mut parts = clock.split(':');
    let (hour, minute, second) = (digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?);
    if parts.next().is_some() || (minute.len(), second.len()) != (2, 2) || !matches!(hour.len(), 2 | 3) {
        return None;
    }
    Some([hour.parse().ok()?, minute.parse().ok()?, second.parse().ok()?])
}

fn moment_of(text: &str) -> Option<Value> {
    let (day, clock) = text.split_once(' ')?;
    let (clock, micros) = fraction_of(clock)?;
    let [hour, minute, second] = clock_of(clock)?;
    if clock.len() != 8 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (hour, minute, second) = (hour as u8, minute as u8, second as u8);
    Some(Value::Moment(Moment { date: date_of(day)?, hour, minute, second, microsecond: micros }))
}

fn span_of(text: &str) -> Option<Span> {
    let (clock, micros) = fraction_of(text.strip_prefix('-').unwrap_or(text))?;
    span(text.starts_with('-'), clock_of(clock)?.map(i64::from), i64::from(micros))
}

/// The part before the point, and the microseconds after it.
fn fraction_of(clock: &str) -> Option<(&str, u32)> {
    match clock.split_once('.') {
        None => Some((clock, 0)),
        Some((whole, micros)) if micros.len() <= 6 => {
            Some((whole, format!("{:0<6}", digits(micros)?).parse().ok()?))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_sign_and_fraction() {
        assert_eq!(span_of("-01:02:03.5"), Some(Span(-3_723_500_000)));
        assert_eq!(span_of("838:59:59"), Some(Span(3_020_399_000_000)));
        assert_eq!(span_of("1:2"), None);
    }

    #[test]
    fn moments_that_no_calendar_has_stay_texts() {
        assert!(moment_of("2024-02-29 23:59:59.123").is_some());
        for text in ["0000-00-00 00:00:00", "2024-02-31 00:00:00", "2024-01-01", ""] {
            assert!(moment_of(text).is_none());
        }
    }

    #[test]
    fn damaged_definitions_and_answers_do_no_harm() {
        let mut state = 88_172_645_463_325_252u64;
        for round in 0..20_000 {
            let mut bytes = Vec::new();
            for _ in 0..round % 80 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                bytes.push(state as u8);
            }
            let _ = Column::parse(&bytes);
            let _ = RowReader::new(round % 2 == 0, round % 3 == 0, &[]).read(&bytes);
        }
    }
}
