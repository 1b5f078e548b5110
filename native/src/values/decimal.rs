//! Exact decimal numbers as Python's `decimal` calculates them: 28 digits, half to even.
//!
//! A number is a sign, a coefficient and an exponent of ten; trailing zeros and the sign of a zero are kept. The
//! exponents of results follow the General Decimal Arithmetic specification, as Python's do.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::values::digits::{self, Digits};

const PRECISION: usize = 28;
const POWERS: [u128; 39] = powers();

const fn powers() -> [u128; 39] {
    let mut powers = [1u128; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
}

/// Operations without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    DivisionByZero,
    LongQuotient,
}

impl fmt::Display for Undefined {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Undefined::DivisionByZero => "division by zero",
            Undefined::LongQuotient => "a quotient has more than 28 digits",
        })
    }
}

/// Large coefficients are those that 128 bits do not hold; only values from a server or a profile have them.
#[derive(Clone, Debug)]
enum Coefficient {
    Small(u128),
    Large(Arc<[u8]>),
}

#[derive(Clone, Debug)]
pub struct Decimal {
    negative: bool,
    coefficient: Coefficient,
    exponent: i32,
}

impl Decimal {
    pub fn new(negative: bool, coefficient: u128, exponent: i32) -> Self {
        Self { negative, coefficient: Coefficient::Small(coefficient), exponent }
    }

    pub fn from_int(number: i128) -> Self {
        Self::new(number < 0, number.unsigned_abs(), 0)
    }

    /// `Decimal(text)`; None for anything but a finite number.
    ///
    /// An exponent that is far out of the limits remains so, but is no larger than what sums and lengths are added to.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(place) => (&text[..place], exponent_of(&text[place + 1..])?),
            None => (text, 0),
        };
        let (whole, fraction) = match mantissa.find('.') {
            Some(place) => (&mantissa[..place], &mantissa[place + 1..]),
            None => (mantissa, ""),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut made = Digits::with_capacity(whole.len() + fraction.len());
        for byte in whole.bytes().chain(fraction.bytes()) {
            made.push(if byte.is_ascii_digit() { byte - b'0' } else { return None });
        }
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Self::from_digits(negative, digits::trimmed(&made), exponent))
    }

    fn from_digits(negative: bool, made: &[u8], exponent: i32) -> Self {
        let coefficient = match digits::to_number(made) {
            Some(number) => Coefficient::Small(number),
            None => Coefficient::Large(made.into()),
        };
        Self { negative, coefficient, exponent }
    }

    fn digits(&self) -> Digits {
        match &self.coefficient {
            Coefficient::Small(number) => digits::from_number(*number),
            Coefficient::Large(long) => long.to_vec(),
        }
    }

    pub fn is_zero(&self) -> bool {
        matches!(self.coefficient, Coefficient::Small(0))
    }

    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The exponent of the first digit.
    pub fn adjusted(&self) -> i32 {
        self.exponent + self.length() as i32 - 1
    }

    /// How many digits the coefficient has; a zero has one.
    fn length(&self) -> usize {
        match &self.coefficient {
            Coefficient::Small(number) => length_of(*number),
            Coefficient::Large(long) => long.len(),
        }
    }

    /// Whether the number is larger than a whole number.
    pub fn is_beyond(&self, limit: i128) -> bool {
        self.compare(&Self::from_int(limit)) == Ordering::Greater
    }

    /// The whole number towards zero; None where 128 bits do not hold it.
    pub fn to_int(&self) -> Option<i128> {
        let made = self.digits();
        let whole = if self.exponent >= 0 {
            if self.exponent > 40 && !made.is_empty() {
                return None;
            }
            digits::shifted(&made, self.exponent as usize)
        } else {
            made[..made.len().saturating_sub(self.exponent.unsigned_abs() as usize)].to_vec()
        };
        let number = i128::try_from(digits::to_number(&whole)?).ok()?;
        Some(if self.negative { -number } else { number })
    }

    pub fn negated(&self) -> Self {
        let mut made = self.clone();
        made.negative = !self.negative && !self.is_zero();
        made.rounded()
    }

    pub fn plus(&self, other: &Self) -> Self {
        if let Some((left, right, exponent)) = small_aligned(self, other) {
            let (negative, sum) = signed_sum((self.negative, left), (other.negative, right));
            return Self::new(negative, sum, exponent).rounded();
        }
        let (left, right, exponent) = aligned(self, other);
        let (negative, sum) = if self.negative == other.negative {
            (self.negative, digits::add(&left, &right))
        } else {
            match digits::compare(&left, &right) {
                Ordering::Equal => (false, Digits::new()),
                Ordering::Greater => (self.negative, digits::subtract(&left, &right)),
                Ordering::Less => (other.negative, digits::subtract(&right, &left)),
            }
        };
        Self::from_digits(negative, &sum, exponent).rounded()
    }

    pub fn minus(&self, other: &Self) -> Self {
        let mut opposite = other.clone();
        opposite.negative = !other.negative;
        self.plus(&opposite)
    }

    pub fn times(&self, other: &Self) -> Self {
        let (negative, exponent) = (self.negative != other.negative, self.exponent + other.exponent);
        if let (Coefficient::Small(a), Coefficient::Small(b)) = (&self.coefficient, &other.coefficient) {
            if let Some(product) = a.checked_mul(*b) {
                return Self::new(negative, product, exponent).rounded();
            }
        }
        Self::from_digits(negative, &digits::multiply(&self.digits(), &other.digits()), exponent).rounded()
    }

    pub fn divided_by(&self, other: &Self) -> Result<Self, Undefined> {
        if other.is_zero() {
            return Err(Undefined::DivisionByZero);
        }
        let (negative, ideal) = (self.negative != other.negative, self.exponent - other.exponent);
        if self.is_zero() {
            return Ok(Self::new(negative, 0, ideal).rounded());
        }
        let shift = other.length() as i32 - self.length() as i32 + PRECISION as i32 + 1;
        let mut exponent = ideal - shift;
        let (left, right) = if shift >= 0 {
            (digits::shifted(&self.digits(), shift as usize), other.digits())
        } else {
            (self.digits(), digits::shifted(&other.digits(), shift.unsigned_abs() as usize))
        };
        let (mut quotient, rest) = digits::divide(&left, &right);
        if rest.is_empty() {
            while exponent < ideal && quotient.last() == Some(&0) {
                quotient.pop();
                exponent += 1;
            }
        } else if let Some(last) = quotient.last_mut() {
            // What follows is not zero: the last digit must not look like a tie, nor like an exact end.
            *last += u8::from(*last % 5 == 0);
        }
        Ok(Self::from_digits(negative, &quotient, exponent).rounded())
    }

    /// `left // right`: towards zero.
    pub fn whole_quotient(&self, other: &Self) -> Result<Self, Undefined> {
        let (quotient, _) = self.quotient_and_rest(other)?;
        Ok(Self::from_digits(self.negative != other.negative, &quotient, 0))
    }

    /// `left % right`: with the sign of the left one.
    pub fn rest(&self, other: &Self) -> Result<Self, Undefined> {
        let (_, rest) = self.quotient_and_rest(other)?;
        let exponent = self.exponent.min(other.exponent);
        Ok(Self::from_digits(self.negative, &rest, exponent).rounded())
    }

    fn quotient_and_rest(&self, other: &Self) -> Result<(Digits, Digits), Undefined> {
        if other.is_zero() {
            return Err(Undefined::DivisionByZero);
        }
        if !self.is_zero() && self.adjusted() - other.adjusted() > PRECISION as i32 {
            return Err(Undefined::LongQuotient);
        }
        let (left, right, _) = aligned(self, other);
        let (quotient, rest) = digits::divide(&left, &right);
        if quotient.len() > PRECISION {
            return Err(Undefined::LongQuotient);
        }
        Ok((quotient, rest))
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        if self.is_zero() && other.is_zero() {
            return Ordering::Equal;
        }
        let negative = |one: &Self| one.negative && !one.is_zero();
        let order = match (negative(self), negative(other)) {
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => self.compare_sizes(other),
        };
        if negative(self) {
            order.reverse()
        } else {
            order
        }
    }

    fn compare_sizes(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => self.adjusted().cmp(&other.adjusted()).then_with(|| {
                let (left, right, _) = aligned(self, other);
                digits::compare(&left, &right)
            }),
        }
    }

    /// The number with at most 28 digits, half to even.
    fn rounded(self) -> Self {
        let extra = self.length().saturating_sub(PRECISION);
        if extra == 0 {
            return self;
        }
        let made = self.digits();
        let (kept, dropped) = made.split_at(PRECISION);
        let is_tie = dropped[0] == 5 && dropped[1..].iter().all(|&digit| digit == 0);
        let is_up = if is_tie { kept[PRECISION - 1] % 2 == 1 } else { dropped[0] >= 5 };
        let mut kept = kept.to_vec();
        let mut exponent = self.exponent + extra as i32;
        if is_up {
            kept = digits::add(&kept, &[1]);
            if kept.len() > PRECISION {
                kept.pop();
                exponent += 1;
            }
        }
        Self::from_digits(self.negative, &kept, exponent)
    }
}

/// As `format(number, "f")` writes it.
impl fmt::Display for Decimal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text: String = self.digits().iter().map(|&digit| char::from(digit + b'0')).collect();
        if text.is_empty() {
            text.push('0');
        } else if self.exponent > 0 {
            text.extend(std::iter::repeat('0').take(self.exponent as usize));
        }
        if self.negative {
            to.write_str("-")?;
        }
        let places = self.exponent.min(0).unsigned_abs() as usize;
        if places == 0 {
            return to.write_str(&text);
        }
        if text.len() <= places {
            return write!(to, "0.{}{}", "0".repeat(places - text.len()), text);
        }
        let (whole, fraction) = text.split_at(text.len() - places);
        write!(to, "{whole}.{fraction}")
    }
}

/// The exponent of a number in text: a sign, and up to twelve digits.
fn exponent_of(text: &str) -> Option<i32> {
    const FAR: i64 = 1_000_000_000;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || digits.len() > 12 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse::<i64>().ok()?.clamp(-FAR, FAR) as i32)
}

fn length_of(number: u128) -> usize {
    // The length of a number is how many powers of ten it reaches.
    POWERS.partition_point(|&power| power <= number).max(1)
}

/// Both coefficients at the smaller exponent, if 127 bits hold them.
fn small_aligned(left: &Decimal, right: &Decimal) -> Option<(u128, u128, i32)> {
    let (a, b) = match (&left.coefficient, &right.coefficient) {
        (Coefficient::Small(a), Coefficient::Small(b)) => (a, b),
        _ => return None,
    };
    let exponent = left.exponent.min(right.exponent);
    let scale = |number: u128, by: i32| {
        let power = POWERS.get(by as usize)?;
        number.checked_mul(*power).filter(|&scaled| scaled <= u128::MAX / 2)
    };
    Some((scale(*a, left.exponent - exponent)?, scale(*b, right.exponent - exponent)?, exponent))
}

fn aligned(left: &Decimal, right: &Decimal) -> (Digits, Digits, i32) {
    let exponent = left.exponent.min(right.exponent);
    let scale = |one: &Decimal| digits::shifted(&one.digits(), (one.exponent - exponent) as usize);
    (scale(left), scale(right), exponent)
}

/// The sum of two numbers of sign and size; a zero from opposite signs is positive.
fn signed_sum(left: (bool, u128), right: (bool, u128)) -> (bool, u128) {
    if left.0 == right.0 {
        return (left.0, left.1 + right.1);
    }
    match left.1.cmp(&right.1) {
        Ordering::Equal => (false, 0),
        Ordering::Greater => (left.0, left.1 - right.1),
        Ordering::Less => (right.0, right.1 - left.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    fn shown(made: Result<Decimal, Undefined>) -> String {
        made.map_or_else(|why| why.to_string(), |number| number.to_string())
    }

    #[test]
    fn results_are_those_of_python() {
        assert_eq!(number("1.20").plus(&number("3.4")).to_string(), "4.60");
        assert_eq!(number("1.5").minus(&number("1.50")).to_string(), "0.00");
        assert_eq!(number("0.00").times(&number("-1")).to_string(), "-0.00");
        assert_eq!(shown(number("1").divided_by(&number("3"))), "0.3333333333333333333333333333");
        assert_eq!(shown(number("2").divided_by(&number("3"))), "0.6666666666666666666666666667");
        assert_eq!(shown(number("10").divided_by(&number("4"))), "2.5");
        assert_eq!(shown(number("-7").whole_quotient(&number("2"))), "-3");
        assert_eq!(shown(number("-7").rest(&number("2.50"))), "-2.00");
    }

    #[test]
    fn long_numbers_are_rounded_half_to_even_only_when_they_are_calculated_with() {
        let long = "12345678901234567890123456785000000000000000";
        assert_eq!(number(long).to_string(), long);
        let sum = number(long).plus(&number("0"));
        assert_eq!(sum.to_string(), "12345678901234567890123456780000000000000000");
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", ".", "1e", "abc", "nan", "1.2.3", " 1", "1e+-1", "1e9999999999999"] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }
}
