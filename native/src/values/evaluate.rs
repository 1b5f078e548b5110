//! Expressions: an operator tree whose variables are places in a row of values.
//!
//! The rules are Python's, as tuibench's `workload` defines them: texts are joined with `+`, `/` divides exactly,
//! `//` and `%` of whole numbers round down, a comparison of unlike values fails unless it is for equality.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::values::decimal::{Decimal, Undefined};
use crate::values::limits;
use crate::values::value::{ProfileError, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    WholeDivide,
    Rest,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Not,
    Negative,
    Pick,
    Min,
    Max,
    Length,
    And,
    Or,
}

impl Operator {
    /// The operator by its name in programs.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "//" => Self::WholeDivide,
            "%" => Self::Rest,
            "==" => Self::Equal,
            "!=" => Self::Unequal,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "not" => Self::Not,
            "negative" => Self::Negative,
            "pick" => Self::Pick,
            "min" => Self::Min,
            "max" => Self::Max,
            "len" => Self::Length,
            "and" => Self::And,
            "or" => Self::Or,
            _ => return None,
        })
    }

    pub fn operands(self) -> usize {
        if matches!(self, Self::Not | Self::Negative | Self::Length) {
            1
        } else {
            2
        }
    }
}

/// An expression ready to be evaluated.
#[derive(Clone, Debug)]
pub enum Formula {
    Constant(Value),
    Place(usize),
    One(Operator, Box<Formula>),
    Two(Operator, Box<[Formula; 2]>),
    /// Test, yes, no.
    Choose(Box<[Formula; 3]>),
    Items(Vec<Formula>),
}

impl Formula {
    pub fn value(&self, row: &[Value]) -> Result<Value, ProfileError> {
        match self {
            Formula::Constant(value) => Ok(value.clone()),
            Formula::Place(place) => Ok(row[*place].clone()),
            Formula::One(operator, operand) => one(*operator, &operand.value(row)?),
            Formula::Two(operator, operands) => two(*operator, operands, row),
            Formula::Choose(parts) => {
                let [test, yes, no] = &**parts;
                if test.value(row)?.is_true() {
                    yes.value(row)
                } else {
                    no.value(row)
                }
            }
            Formula::Items(items) => {
                let made: Result<Vec<Value>, ProfileError> =
                    items.iter().map(|item| item.value(row).and_then(limits::item)).collect();
                Ok(Value::List(made?.into()))
            }
        }
    }
}

fn one(operator: Operator, operand: &Value) -> Result<Value, ProfileError> {
    match (operator, operand) {
        (Operator::Not, _) => Ok(Value::Bool(!operand.is_true())),
        (Operator::Length, Value::List(items)) => Ok(Value::Int(items.len() as i128)),
        (Operator::Length, Value::Text(text)) => Ok(Value::Int(text.chars().count() as i128)),
        (Operator::Length, Value::Bytes(bytes)) => Ok(Value::Int(bytes.len() as i128)),
        (Operator::Length, _) => {
            Err(ProfileError::Values(format!("object of type '{}' has no len()", operand.kind())))
        }
        (_, Value::Bool(_) | Value::Int(_)) => Ok(Value::Int(-operand.to_int()?)),
        (_, Value::Decimal(number)) => limits::decimal(number.negated()).map(Value::Decimal),
        _ => Err(ProfileError::Values(format!("bad operand type for unary -: '{}'", operand.kind()))),
    }
}

fn two(operator: Operator, operands: &[Formula; 2], row: &[Value]) -> Result<Value, ProfileError> {
    let [left, right] = operands;
    let left = left.value(row)?;
    match operator {
        Operator::And => return Ok(Value::Bool(left.is_true() && right.value(row)?.is_true())),
        Operator::Or => return Ok(Value::Bool(left.is_true() || right.value(row)?.is_true())),
        _ => {}
    }
    apply(operator, &left, &right.value(row)?)
}

/// An operator that needs both of its operands.
pub fn apply(operator: Operator, left: &Value, right: &Value) -> Result<Value, ProfileError> {
    use Operator as Op;
    match operator {
        Op::Add => add(left, right),
        Op::Subtract | Op::Multiply | Op::WholeDivide | Op::Rest => calculated(operator, left, right),
        Op::Divide => divide(left, right),
        Op::Equal => Ok(Value::Bool(are_equal(left, right))),
        Op::Unequal => Ok(Value::Bool(!are_equal(left, right))),
        Op::Less => Ok(Value::Bool(order(left, right, "<")? == Ordering::Less)),
        Op::LessOrEqual => Ok(Value::Bool(order(left, right, "<=")? != Ordering::Greater)),
        Op::Greater => Ok(Value::Bool(order(left, right, ">")? == Ordering::Greater)),
        Op::GreaterOrEqual => Ok(Value::Bool(order(left, right, ">=")? != Ordering::Less)),
        Op::Min => Ok(if order(right, left, "<")? == Ordering::Less { right } else { left }.clone()),
        Op::Max => Ok(if order(right, left, ">")? == Ordering::Greater { right } else { left }.clone()),
        Op::Pick => pick(left, right),
        Op::Not | Op::Negative | Op::Length | Op::And | Op::Or => unreachable!("not of two values"),
    }
}

/// The two as whole numbers, if both are; true and false count as 1 and 0.
fn whole(left: &Value, right: &Value) -> Option<(i128, i128)> {
    let of = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        Value::Bool(is) => Some(i128::from(*is)),
        _ => None,
    };
    Some((of(left)?, of(right)?))
}

fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Int(number) => Some(Decimal::from_int(*number)),
        Value::Bool(is) => Some(Decimal::from_int(i128::from(*is))),
        Value::Decimal(number) => Some(number.clone()),
        _ => None,
    }
}

fn decimals(left: &Value, right: &Value) -> Option<(Decimal, Decimal)> {
    Some((decimal(left)?, decimal(right)?))
}

fn unfit(sign: &str, left: &Value, right: &Value) -> ProfileError {
    ProfileError::Values(format!(
        "unsupported operand type(s) for {sign}: '{}' and '{}'",
        left.kind(),
        right.kind()
    ))
}

fn undefined(why: Undefined) -> ProfileError {
    ProfileError::Values(why.to_string())
}

pub fn add(left: &Value, right: &Value) -> Result<Value, ProfileError> {
    if let Some((a, b)) = whole(left, right) {
        return limits::integer(a.checked_add(b)).map(Value::Int);
    }
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => limits::text(a, b),
        (Value::List(a), Value::List(b)) => limits::list(a, b),
        (Value::Bytes(a), Value::Bytes(b)) => limits::bytes(a, b),
        _ => match decimals(left, right) {
            Some((a, b)) => limits::decimal(a.plus(&b)).map(Value::Decimal),
            None => Err(unfit("+", left, right)),
        },
    }
}

fn calculated(operator: Operator, left: &Value, right: &Value) -> Result<Value, ProfileError> {
    if let Some((a, b)) = whole(left, right) {
        return of_whole(operator, a, b);
    }
    let sign = match operator {
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::WholeDivide => "//",
        _ => "%",
    };
    let (a, b) = decimals(left, right).ok_or_else(|| unfit(sign, left, right))?;
    let made = match operator {
        Operator::Subtract => Ok(a.minus(&b)),
        Operator::Multiply => Ok(a.times(&b)),
        Operator::WholeDivide => a.whole_quotient(&b),
        _ => a.rest(&b),
    };
    made.map_err(undefined).and_then(limits::decimal).map(Value::Decimal)
}

fn of_whole(operator: Operator, a: i128, b: i128) -> Result<Value, ProfileError> {
    let made = match operator {
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        _ if b == 0 => return Err(undefined(Undefined::DivisionByZero)),
        Operator::WholeDivide => a.checked_div(b).map(|q| q - i128::from(a % b != 0 && (a < 0) != (b < 0))),
        _ => a.checked_rem(b).map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }),
    };
    limits::integer(made).map(Value::Int)
}

fn divide(left: &Value, right: &Value) -> Result<Value, ProfileError> {
    let (a, b) = decimals(left, right).ok_or_else(|| unfit("/", left, right))?;
    a.divided_by(&b).map_err(undefined).and_then(limits::decimal).map(Value::Decimal)
}

fn pick(items: &Value, place: &Value) -> Result<Value, ProfileError> {
    let place =
        decimal(place).ok_or_else(|| ProfileError::Values(format!("a {} is no number", place.kind())))?;
    let is_below = place.compare(&Decimal::from_int(0)) == Ordering::Less;
    let index = place.to_int().and_then(|index| usize::try_from(index).ok());
    let index = if is_below { usize::MAX } else { index.unwrap_or(usize::MAX) };
    let found = match items {
        Value::List(list) => list.get(index).cloned(),
        Value::Text(text) => text.chars().nth(index).map(|c| Value::text(c.encode_utf8(&mut [0; 4]))),
        Value::Bytes(bytes) => bytes.get(index).map(|&byte| Value::Int(i128::from(byte))),
        _ => return Err(ProfileError::Values(format!("'{}' object is not subscriptable", items.kind()))),
    };
    found.ok_or_else(|| ProfileError::values("list index out of range"))
}

pub fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| are_equal(a, b))
        }
        _ => known_order(left, right) == Some(Ordering::Equal),
    }
}

/// How values compare. Fails for those that have no order, as numbers and texts.
pub fn order(left: &Value, right: &Value, sign: &str) -> Result<Ordering, ProfileError> {
    if let (Value::List(a), Value::List(b)) = (left, right) {
        for (a, b) in a.iter().zip(b.iter()) {
            if !are_equal(a, b) {
                return order(a, b, sign);
            }
        }
        return Ok(a.len().cmp(&b.len()));
    }
    known_order(left, right).ok_or_else(|| {
        let (one, other) = (left.kind(), right.kind());
        ProfileError::Values(format!("'{sign}' not supported between instances of '{one}' and '{other}'"))
    })
}

fn known_order(left: &Value, right: &Value) -> Option<Ordering> {
    if let Some((a, b)) = whole(left, right) {
        return Some(a.cmp(&b));
    }
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Moment(a), Value::Moment(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::Span(a), Value::Span(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        _ => decimals(left, right).map(|(a, b)| a.compare(&b)),
    }
}

/// The items that a loop goes over.
pub fn items(value: &Value) -> Result<Arc<[Value]>, ProfileError> {
    match value {
        Value::List(list) => Ok(list.clone()),
        Value::Text(text) if text.chars().nth(limits::MOST_ITEMS).is_some() => {
            Err(ProfileError::values(limits::TOO_MANY_ITEMS))
        }
        Value::Text(text) => Ok(text.chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4]))).collect()),
        _ => Err(ProfileError::Values(format!("'{}' object is not iterable", value.kind()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole_of(operator: Operator, left: i128, right: i128) -> i128 {
        apply(operator, &Value::Int(left), &Value::Int(right)).unwrap().to_int().unwrap()
    }

    #[test]
    fn whole_numbers_are_divided_downwards() {
        assert_eq!(whole_of(Operator::WholeDivide, -7, 2), -4);
        assert_eq!(whole_of(Operator::Rest, -7, 2), 1);
        assert_eq!(whole_of(Operator::Rest, 7, -2), -1);
    }

    #[test]
    fn unlike_values_are_unequal_and_have_no_order() {
        assert!(!are_equal(&Value::Int(1), &Value::text("1")));
        assert!(order(&Value::Int(1), &Value::text("1"), "<").is_err());
        assert!(are_equal(&Value::Bool(true), &Value::Int(1)));
    }

    #[test]
    fn an_item_must_be_there() {
        let list = Value::List(Arc::from([Value::Int(4)]));
        assert!(pick(&list, &Value::Int(0)).is_ok());
        assert!(pick(&list, &Value::Int(1)).is_err());
        assert!(pick(&list, &Value::Int(-1)).is_err());
    }
}
