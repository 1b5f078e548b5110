//! Limits of the values of a transaction: those of `tuibench/workload/limits.py`, with the same messages.

use crate::values::decimal::Decimal;
use crate::values::evaluate::are_equal;
use crate::values::value::{ProfileError, Value};

const INTEGER_LIMIT: u128 = 100_000_000_000_000_000_000_000_000_000_000_000_000;
const MOST_DECIMAL_DIGITS: i32 = 100;
const MOST_CHARACTERS: usize = 1_000_000;
pub const MOST_ITEMS: usize = 100_000;
const MOST_DISTINCT_ITEMS: i64 = 1_000;
/// How often an item of a list without duplicates may be drawn until it is none.
const MOST_TRIES: i64 = 100;
pub const MOST_CAPTURED_BYTES: usize = 1 << 24;
const MOST_BOUND_CHARACTERS: usize = 1 << 24;
const MOST_DRAWN_CHARACTERS: usize = 1 << 26;

const TOO_MANY_DIGITS: &str = "a whole number has more than 38 digits";
const TOO_LARGE_DECIMAL: &str = "a decimal number has more than 100 digits before or after the point";
const TOO_LONG: &str = "a text has more than 1,000,000 characters";
const TOO_MANY_BYTES: &str = "a value has more than 1,000,000 bytes";
pub const TOO_MANY_ITEMS: &str = "a list has more than 100,000 items";
const TOO_MANY_DISTINCT: &str = "a list has more than 1,000 distinct items";
const TOO_FEW_DISTINCT: &str = "a list of distinct items has more of them than are drawn";
pub const TOO_MANY_VALUES: &str = "a captured result has more than 100,000 values";
pub const TOO_MANY_REPETITIONS: &str = "a step is repeated more than 100,000 times";
const TOO_DEEP: &str = "an item of a list is a list of lists";
const TOO_MUCH_BOUND: &str = "the texts of a statement have more than 16,777,216 characters";
const TOO_MUCH_DRAWN: &str = "the texts of a transaction have more than 67,108,864 characters";

type Checked<T> = Result<T, ProfileError>;

fn exceeded<T>(message: &str) -> Checked<T> {
    Err(ProfileError::values(message))
}

/// A whole number, None if it was too large to be calculated.
pub fn integer(number: Option<i128>) -> Checked<i128> {
    match number {
        Some(number) if number.unsigned_abs() < INTEGER_LIMIT => Ok(number),
        _ => exceeded(TOO_MANY_DIGITS),
    }
}

pub fn decimal(number: Decimal) -> Checked<Decimal> {
    if number.adjusted() >= MOST_DECIMAL_DIGITS || number.exponent() < -MOST_DECIMAL_DIGITS {
        return exceeded(TOO_LARGE_DECIMAL);
    }
    Ok(number)
}

/// Whether texts of so many bytes have more characters than this; `count` counts them.
fn has_more(bytes: usize, most: usize, count: impl FnOnce() -> usize) -> bool {
    bytes > most && count() > most
}

/// A text of two pieces.
pub fn text(left: &str, right: &str) -> Checked<Value> {
    let count = || left.chars().count() + right.chars().count();
    if has_more(left.len() + right.len(), MOST_CHARACTERS, count) {
        return exceeded(TOO_LONG);
    }
    Ok(Value::Text([left, right].concat().into()))
}

pub fn bytes(left: &[u8], right: &[u8]) -> Checked<Value> {
    if left.len() + right.len() > MOST_CHARACTERS {
        return exceeded(TOO_MANY_BYTES);
    }
    Ok(Value::Bytes([left, right].concat().into()))
}

pub fn list(left: &[Value], right: &[Value]) -> Checked<Value> {
    if left.len() + right.len() > MOST_ITEMS {
        return exceeded(TOO_MANY_ITEMS);
    }
    Ok(Value::List([left, right].concat().into()))
}

/// An item of a list: lists that contain themselves, one in the other, would be too deep to compare or to drop.
pub fn item(value: Value) -> Checked<Value> {
    match &value {
        Value::List(items) if items.iter().any(|inner| matches!(inner, Value::List(_))) => exceeded(TOO_DEEP),
        _ => Ok(value),
    }
}

/// A value of a row that the server sent.
pub fn captured(value: Value) -> Checked<Value> {
    match value {
        Value::Decimal(number) => decimal(number).map(Value::Decimal),
        Value::Text(text) if has_more(text.len(), MOST_CHARACTERS, || text.chars().count()) => {
            exceeded(TOO_LONG)
        }
        Value::Bytes(bytes) if bytes.len() > MOST_CHARACTERS => exceeded(TOO_MANY_BYTES),
        _ => Ok(value),
    }
}

/// A number of repetitions or items.
pub fn repetitions(value: &Value, too_many: &str) -> Checked<i64> {
    let number = match value {
        Value::Bool(is) => i128::from(*is),
        Value::Int(number) => *number,
        Value::Decimal(number) if number.is_beyond(MOST_ITEMS as i128) => return exceeded(too_many),
        Value::Decimal(number) => number.to_int().unwrap_or(0),
        _ => return Err(ProfileError::Values(format!("a {} is no number", value.kind()))),
    };
    if number > MOST_ITEMS as i128 {
        return exceeded(too_many);
    }
    Ok(number.max(0) as i64)
}

/// So many different values, in the order in which they were drawn first.
pub fn distinct_items(count: i64, mut draw: impl FnMut() -> Value) -> Checked<Vec<Value>> {
    if count > MOST_DISTINCT_ITEMS {
        return exceeded(TOO_MANY_DISTINCT);
    }
    let mut found = Vec::with_capacity(count as usize);
    for _ in 0..count * MOST_TRIES {
        if found.len() as i64 == count {
            break;
        }
        let value = draw();
        if !found.iter().any(|earlier| are_equal(earlier, &value)) {
            found.push(value);
        }
    }
    if (found.len() as i64) < count {
        return exceeded(TOO_FEW_DISTINCT);
    }
    Ok(found)
}

/// The length of the texts among values: in bytes, and in characters where that is much.
fn length(values: &[Value]) -> usize {
    let size = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    values.iter().map(size).sum()
}

fn characters(values: &[Value]) -> usize {
    let size = |value: &Value| match value {
        Value::Text(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    values.iter().map(size).sum()
}

/// The values of a statement, as far as they are known.
#[derive(Default)]
pub struct Bound {
    checked: usize,
    bytes: usize,
}

impl Bound {
    pub fn check(&mut self, values: &[Value]) -> Checked<()> {
        self.bytes += length(&values[self.checked..]);
        self.checked = values.len();
        if has_more(self.bytes, MOST_BOUND_CHARACTERS, || characters(values)) {
            return exceeded(TOO_MUCH_BOUND);
        }
        Ok(())
    }
}

/// The statements that are drawn at once.
#[derive(Default)]
pub struct DrawnAtOnce {
    characters: usize,
}

impl DrawnAtOnce {
    pub fn check(&mut self, values: &[Value]) -> Checked<()> {
        self.characters += if length(values) > 0 { characters(values) } else { 0 };
        if self.characters > MOST_DRAWN_CHARACTERS {
            return exceeded(TOO_MUCH_DRAWN);
        }
        Ok(())
    }
}
