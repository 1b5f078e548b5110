//! Statements as packets: COM_QUERY with the values written into the text, or COM_STMT_EXECUTE with binary ones.
//!
//! The bytes are those that tuibench's Python client sends.

use std::fmt::Write;

use crate::values::value::{python_float, Date, Moment, ProfileError, Span, Value};

pub const COM_QUERY: u8 = 0x03;
pub const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
pub const COM_STMT_CLOSE: u8 = 0x19;
/// A packet of this size goes on in the next one.
pub const WHOLE: usize = 0xff_ffff;
const HEADER_BYTES: usize = 4;

const TINY: u8 = 1;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const LONGLONG: u8 = 8;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const NEWDECIMAL: u8 = 246;
const BLOB: u8 = 252;
const VAR_STRING: u8 = 253;
const UNSIGNED: u8 = 0x80;

/// Statements with more values than these name a type for each, even if all are whole numbers.
const MOST_WHOLE_NUMBERS: usize = 64;

/// How a connection sends a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Prepared(u32),
    Text,
}

/// Appends the packet of a statement in text: its pieces with the values between them.
pub fn write_text(
    pieces: &[Vec<u8>],
    values: &[Value],
    no_backslash_escapes: bool,
    to: &mut Vec<u8>,
) -> Result<(), ProfileError> {
    let start = begin(to);
    to.push(COM_QUERY);
    if pieces.len() != values.len() + 1 {
        return Err(ProfileError::values("a statement has as many values as placeholders"));
    }
    refuse_lists(values)?;
    for (number, piece) in pieces.iter().enumerate() {
        if number > 0 {
            write_literal(&values[number - 1], no_backslash_escapes, to)?;
        }
        to.extend_from_slice(piece);
    }
    finish(start, to);
    Ok(())
}

/// Appends the packet of a command with its text or number.
pub fn write_command(command: u8, payload: &[u8], to: &mut Vec<u8>) {
    let start = begin(to);
    to.push(command);
    to.extend_from_slice(payload);
    finish(start, to);
}

/// Appends the packet that executes a prepared statement.
pub fn write_execution(identity: u32, values: &[Value], to: &mut Vec<u8>) -> Result<(), ProfileError> {
    let start = begin(to);
    to.push(COM_STMT_EXECUTE);
    to.extend_from_slice(&identity.to_le_bytes());
    to.extend_from_slice(&[0, 1, 0, 0, 0]);
    if !values.is_empty() && !write_whole_numbers(values, to) {
        refuse_lists(values)?;
        write_parameters(values, to)?;
    }
    finish(start, to);
    Ok(())
}

fn refuse_lists(values: &[Value]) -> Result<(), ProfileError> {
    if values.iter().any(|value| matches!(value, Value::List(_))) {
        return Err(ProfileError::values("a list is no value of a statement"));
    }
    Ok(())
}

/// All values as whole numbers of 64 bits, if they are; else false, and nothing is written.
fn write_whole_numbers(values: &[Value], to: &mut Vec<u8>) -> bool {
    let number = |value: &Value| match value {
        Value::Int(number) => i64::try_from(*number).ok(),
        Value::Bool(is) => Some(i64::from(*is)),
        _ => None,
    };
    if values.len() > MOST_WHOLE_NUMBERS || !values.iter().all(|value| number(value).is_some()) {
        return false;
    }
    to.resize(to.len() + (values.len() + 7) / 8, 0);
    to.push(1);
    for _ in values {
        to.extend_from_slice(&[LONGLONG, 0]);
    }
    for value in values {
        to.extend_from_slice(&number(value).unwrap_or(0).to_le_bytes());
    }
    true
}

/// The null bitmap, a type for each value, and the values.
fn write_parameters(values: &[Value], to: &mut Vec<u8>) -> Result<(), ProfileError> {
    let bitmap = to.len();
    to.resize(bitmap + (values.len() + 7) / 8, 0);
    for (number, value) in values.iter().enumerate() {
        if matches!(value, Value::Null) {
            to[bitmap + number / 8] |= 1 << (number % 8);
        }
    }
    to.push(1);
    for value in values {
        to.extend_from_slice(&parameter_type(value));
    }
    values.iter().try_for_each(|value| write_parameter(value, to))
}

fn parameter_type(value: &Value) -> [u8; 2] {
    match value {
        Value::Null => [NULL, 0],
        Value::Bool(_) => [TINY, 0],
        Value::Int(number) => [LONGLONG, if *number > i128::from(i64::MAX) { UNSIGNED } else { 0 }],
        Value::Float(_) => [DOUBLE, 0],
        Value::Decimal(_) => [NEWDECIMAL, 0],
        Value::Text(_) | Value::List(_) => [VAR_STRING, 0],
        Value::Bytes(_) => [BLOB, 0],
        Value::Moment(_) => [DATETIME, 0],
        Value::Date(_) => [DATE, 0],
        Value::Span(_) => [TIME, 0],
    }
}

fn write_parameter(value: &Value, to: &mut Vec<u8>) -> Result<(), ProfileError> {
    match value {
        Value::Null => {}
        Value::Bool(is) => to.push(u8::from(*is)),
        Value::Int(number) => {
            let bits = i64::try_from(*number).map(|number| number as u64).or_else(|_| u64::try_from(*number));
            let bits = bits.map_err(|_| {
                ProfileError::Values(format!("int parameter out of 64-bit range for MySQL: {number}"))
            })?;
            to.extend_from_slice(&bits.to_le_bytes());
        }
        Value::Float(number) => to.extend_from_slice(&number.to_le_bytes()),
        Value::Decimal(number) => write_sized(number.to_string().as_bytes(), to),
        Value::Text(text) => write_sized(text.as_bytes(), to),
        Value::Bytes(bytes) => write_sized(bytes, to),
        Value::Moment(moment) => write_moment(moment, to),
        Value::Date(date) => {
            to.push(4);
            write_date(date, to);
        }
        Value::Span(span) => write_span(*span, to),
        Value::List(_) => unreachable!("lists are refused before"),
    }
    Ok(())
}

fn write_date(date: &Date, to: &mut Vec<u8>) {
    to.extend_from_slice(&date.year.to_le_bytes());
    to.extend_from_slice(&[date.month, date.day]);
}

fn write_moment(moment: &Moment, to: &mut Vec<u8>) {
    to.push(11);
    write_date(&moment.date, to);
    to.extend_from_slice(&[moment.hour, moment.minute, moment.second]);
    to.extend_from_slice(&moment.microsecond.to_le_bytes());
}

const US_PER_SECOND: i64 = 1_000_000;
const US_PER_DAY: i64 = 86_400 * US_PER_SECOND;

fn write_span(span: Span, to: &mut Vec<u8>) {
    let size = span.0.abs();
    let (days, rest) = (size / US_PER_DAY, size % US_PER_DAY);
    let (seconds, micros) = (rest / US_PER_SECOND, rest % US_PER_SECOND);
    to.extend_from_slice(&[12, u8::from(span.0 < 0)]);
    to.extend_from_slice(&(days as u32).to_le_bytes());
    to.extend_from_slice(&[(seconds / 3600) as u8, (seconds % 3600 / 60) as u8, (seconds % 60) as u8]);
    to.extend_from_slice(&(micros as u32).to_le_bytes());
}

/// A length of one to nine bytes, and the bytes.
fn write_sized(bytes: &[u8], to: &mut Vec<u8>) {
    let size = bytes.len();
    match size {
        0..=250 => to.push(size as u8),
        251..=0xffff => {
            to.push(0xfc);
            to.extend_from_slice(&(size as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            to.push(0xfd);
            to.extend_from_slice(&(size as u32).to_le_bytes()[..3]);
        }
        _ => {
            to.push(0xfe);
            to.extend_from_slice(&(size as u64).to_le_bytes());
        }
    }
    to.extend_from_slice(bytes);
}

/// A value as an SQL literal.
fn write_literal(value: &Value, no_backslash_escapes: bool, to: &mut Vec<u8>) -> Result<(), ProfileError> {
    match value {
        Value::Null => to.extend_from_slice(b"NULL"),
        Value::Bool(is) => to.push(if *is { b'1' } else { b'0' }),
        Value::Int(number) => push(format_args!("{number}"), to),
        Value::Float(number) => write_float(*number, to)?,
        Value::Decimal(number) => push(format_args!("{number}"), to),
        Value::Text(text) => write_quoted(text.as_bytes(), no_backslash_escapes, to),
        Value::Bytes(bytes) => {
            to.extend_from_slice(b"_binary");
            write_quoted(bytes, false, to);
        }
        Value::Moment(moment) => {
            let (date, micros) = (&moment.date, fraction(moment.microsecond));
            let (hour, minute, second) = (moment.hour, moment.minute, moment.second);
            push(format_args!("'{} {hour:02}:{minute:02}:{second:02}{micros}'", day(date)), to);
        }
        Value::Date(date) => push(format_args!("'{}'", day(date)), to),
        Value::Span(span) => {
            let (sign, size) = (if span.0 < 0 { "-" } else { "" }, span.0.abs());
            let (seconds, micros) = (size / US_PER_SECOND, fraction((size % US_PER_SECOND) as u32));
            let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
            push(format_args!("'{sign}{hours:02}:{minutes:02}:{:02}{micros}'", seconds % 60), to);
        }
        Value::List(_) => unreachable!("lists are refused before"),
    }
    Ok(())
}

fn day(date: &Date) -> String {
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}

fn fraction(microsecond: u32) -> String {
    if microsecond == 0 {
        String::new()
    } else {
        format!(".{microsecond:06}")
    }
}

fn write_float(number: f64, to: &mut Vec<u8>) -> Result<(), ProfileError> {
    if !number.is_finite() {
        return Err(ProfileError::Values(format!("{number} can not be used with MySQL")));
    }
    let text = python_float(number);
    to.extend_from_slice(text.as_bytes());
    if !text.contains('e') {
        to.extend_from_slice(b"e0");
    }
    Ok(())
}

fn write_quoted(bytes: &[u8], no_backslash_escapes: bool, to: &mut Vec<u8>) {
    to.push(b'\'');
    for &byte in bytes {
        match byte {
            b'\'' if no_backslash_escapes => to.extend_from_slice(b"''"),
            _ if no_backslash_escapes => to.push(byte),
            0 => to.extend_from_slice(b"\\0"),
            b'\n' => to.extend_from_slice(b"\\n"),
            b'\r' => to.extend_from_slice(b"\\r"),
            0x1a => to.extend_from_slice(b"\\Z"),
            b'\\' | b'"' | b'\'' => to.extend_from_slice(&[b'\\', byte]),
            _ => to.push(byte),
        }
    }
    to.push(b'\'');
}

fn push(text: std::fmt::Arguments<'_>, to: &mut Vec<u8>) {
    struct Bytes<'a>(&'a mut Vec<u8>);
    impl Write for Bytes<'_> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.extend_from_slice(text.as_bytes());
            Ok(())
        }
    }
    // Writing into a vector cannot fail.
    let _ = Bytes(to).write_fmt(text);
}

/// Leaves room for a packet's header; returns where it begins.
fn begin(to: &mut Vec<u8>) -> usize {
    let start = to.len();
    to.resize(start + HEADER_BYTES, 0);
    start
}

/// Writes the header; a payload that is too large for one packet becomes several.
fn finish(start: usize, to: &mut Vec<u8>) {
    let size = to.len() - start - HEADER_BYTES;
    if size < WHOLE {
        to[start..start + HEADER_BYTES].copy_from_slice(&(size as u32).to_le_bytes());
        return;
    }
    let payload = to.split_off(start + HEADER_BYTES);
    to.truncate(start);
    for number in 0..=payload.len() / WHOLE {
        let piece = &payload[number * WHOLE..payload.len().min((number + 1) * WHOLE)];
        to.extend_from_slice(&(piece.len() as u32 | (number as u32 & 0xff) << 24).to_le_bytes());
        to.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_packed_at_once() {
        let mut packet = Vec::new();
        write_execution(7, &[Value::Int(-1)], &mut packet).unwrap();
        let head = [22, 0, 0, 0, COM_STMT_EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0];
        assert_eq!(packet[..14], head);
        assert_eq!(packet[14..18], [0, 1, LONGLONG, 0]);
        assert_eq!(packet[18..], [0xff; 8]);
    }

    #[test]
    fn a_payload_of_the_largest_packet_is_followed_by_an_empty_one() {
        let mut packet = Vec::new();
        write_text(&[vec![b'x'; WHOLE - 1]], &[], false, &mut packet).unwrap();
        assert_eq!(packet.len(), WHOLE + 2 * HEADER_BYTES);
        assert_eq!(packet[..4], [0xff, 0xff, 0xff, 0]);
        assert_eq!(packet[packet.len() - 4..], [0, 0, 0, 1]);
    }

    #[test]
    fn texts_are_escaped_as_the_session_reads_them() {
        let quoted = |no_backslash_escapes| {
            let mut to = Vec::new();
            write_quoted(b"a'b\\c\n", no_backslash_escapes, &mut to);
            String::from_utf8(to).unwrap()
        };
        assert_eq!(quoted(false), "'a\\'b\\\\c\\n'");
        assert_eq!(quoted(true), "'a''b\\c\n'");
    }
}
