//! Values of variables: in expressions, in statements and in result rows.

use std::fmt;
use std::sync::Arc;

use crate::values::decimal::Decimal;
use crate::values::limits;

#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i128),
    /// A number that no DECIMAL holds: it can be passed on, not calculated with.
    Float(f64),
    Decimal(Decimal),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    List(Arc<[Value]>),
    Moment(Moment),
    Date(Date),
    Span(Span),
}

/// A row of a result.
pub type Row = Vec<Value>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

impl Date {
    /// The date, None if it is invalid.
    pub fn checked(year: u16, month: u8, day: u8) -> Option<Self> {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 => 28 + u8::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        ((1..=9999).contains(&year) && (1..=days).contains(&day)).then_some(Self { year, month, day })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub date: Date,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// A length of time in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub i64);

/// Why a value cannot be computed: an error of the profile, not of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// Values that do not fit an operator.
    Values(String),
    /// A list or a row whose length does not match its variables.
    Shape(String),
}

impl ProfileError {
    pub fn values(message: impl Into<String>) -> Self {
        ProfileError::Values(message.into())
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ProfileError::Values(message) | ProfileError::Shape(message)) = self;
        to.write_str(message)
    }
}

impl Value {
    pub fn text(text: &str) -> Self {
        Value::Text(text.into())
    }

    /// What Python calls the type of such a value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Decimal(_) => "decimal.Decimal",
            Value::Text(_) => "str",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "list",
            Value::Moment(_) => "datetime.datetime",
            Value::Date(_) => "datetime.date",
            Value::Span(_) => "datetime.timedelta",
        }
    }

    pub fn is_true(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Decimal(value) => !value.is_zero(),
            Value::Text(value) => !value.is_empty(),
            Value::Bytes(value) => !value.is_empty(),
            Value::List(value) => !value.is_empty(),
            Value::Moment(_) | Value::Date(_) => true,
            Value::Span(value) => value.0 != 0,
        }
    }

    /// The whole part of a number.
    pub fn to_int(&self) -> Result<i128, ProfileError> {
        match self {
            Value::Bool(value) => Ok(i128::from(*value)),
            Value::Int(value) => Ok(*value),
            Value::Decimal(value) => limits::integer(value.to_int()),
            _ => Err(ProfileError::Values(format!("a {} is no number", self.kind()))),
        }
    }
}

/// A float as Python writes it: its shortest digits, with an exponent where it is very large or small.
pub fn python_float(value: f64) -> String {
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    match text.find('e') {
        None => text,
        Some(place) => {
            let (mantissa, exponent) = (&text[..place], &text[place + 1..]);
            let (sign, size) = match exponent.strip_prefix('-') {
                Some(size) => ('-', size),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{size:0>2}")
        }
    }
}

/// Digits before and after the point that every server's DECIMAL holds.
const DECIMAL_WHOLES: i32 = 35;
const DECIMAL_PLACES: i32 = 30;

/// A value that a server sent, as the program's expressions see it: floats that a DECIMAL holds are exact.
pub fn captured(value: Value) -> Result<Value, ProfileError> {
    if let Value::Float(float) = value {
        if let Some(number) = Decimal::parse(&python_float(float)) {
            if number.exponent() >= -DECIMAL_PLACES && number.adjusted() < DECIMAL_WHOLES {
                return Ok(Value::Decimal(number));
            }
        }
    }
    limits::captured(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_does() {
        let written = [
            (0.1, "0.1"),
            (100.0, "100.0"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
            (1e22, "1e+22"),
            (123456789012345.6, "123456789012345.6"),
            (-0.0001, "-0.0001"),
        ];
        for (value, text) in written {
            assert_eq!(python_float(value), text);
        }
    }

    #[test]
    fn dates_that_no_calendar_has_are_none() {
        assert!(Date::checked(2024, 2, 29).is_some());
        for (year, month, day) in [(2023, 2, 29), (0, 1, 1), (2024, 13, 1), (2024, 0, 1), (2024, 4, 31)] {
            assert!(Date::checked(year, month, day).is_none());
        }
    }
}
