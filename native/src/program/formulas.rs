//! Expressions compiled to formulas over the places of a row; constant parts are folded.

use crate::program::compile::Places;
use crate::program::Expression;
use crate::values::evaluate::{apply, Formula, Operator};
use crate::values::value::{ProfileError, Value};

/// One variable and a constant are added in this order, more of them to the constant one after the other.
pub fn sum(variables: &[String], constant: i128, places: &Places) -> Result<Formula, ProfileError> {
    let constant = Formula::Constant(Value::Int(constant));
    let mut terms = Vec::new();
    for name in variables {
        terms.push(Formula::Place(place_of(name, places)?));
    }
    if terms.len() == 1 {
        return Ok(added(terms.remove(0), constant));
    }
    Ok(terms.into_iter().fold(constant, added))
}

fn added(left: Formula, right: Formula) -> Formula {
    Formula::Two(Operator::Add, Box::new([left, right]))
}

fn place_of(name: &str, places: &Places) -> Result<usize, ProfileError> {
    places.get(name).copied().ok_or_else(|| ProfileError::Values(format!("there is no variable '{name}'")))
}

pub fn formula(expression: &Expression, places: &Places) -> Result<Formula, ProfileError> {
    Ok(match expression {
        Expression::Constant(value) => Formula::Constant(value.clone()),
        Expression::Variable(name) => Formula::Place(place_of(name, places)?),
        Expression::Apply(operator, operands) => match operands.as_slice() {
            [operand] => Formula::One(*operator, Box::new(formula(operand, places)?)),
            [left, right] => {
                Formula::Two(*operator, Box::new([formula(left, places)?, formula(right, places)?]))
            }
            _ => return Err(ProfileError::values("an operator has one or two operands")),
        },
        Expression::Choose(parts) => {
            let [test, yes, no] = &**parts;
            let parts = [formula(test, places)?, formula(yes, places)?, formula(no, places)?];
            Formula::Choose(Box::new(parts))
        }
        Expression::Items(items) => {
            let made: Result<Vec<Formula>, ProfileError> =
                items.iter().map(|item| formula(item, places)).collect();
            let made = Formula::Items(made?);
            if is_fixed(expression) {
                Formula::Constant(made.value(&[])?)
            } else {
                made
            }
        }
    })
}

/// Whether it is constant: it names no variable.
fn is_fixed(expression: &Expression) -> bool {
    match expression {
        Expression::Constant(_) => true,
        Expression::Variable(_) => false,
        Expression::Apply(_, parts) | Expression::Items(parts) => parts.iter().all(is_fixed),
        Expression::Choose(parts) => parts.iter().all(is_fixed),
    }
}

/// The value of a constant expression.
pub fn constant(expression: &Expression) -> Result<Value, ProfileError> {
    let made = formula(expression, &Places::new()).and_then(|formula| formula.value(&[]));
    made.map_err(|fault| ProfileError::Shape(format!("an expression has no value: {fault}")))
}

/// The expression with its constant parts computed.
pub fn folded(expression: &Expression) -> Result<Expression, ProfileError> {
    match expression {
        Expression::Choose(parts) => {
            let [test, yes, no] = &**parts;
            if is_fixed(test) {
                return folded(if constant(test)?.is_true() { yes } else { no });
            }
            Ok(Expression::Choose(Box::new([folded(test)?, folded(yes)?, folded(no)?])))
        }
        Expression::Apply(operator, operands) => {
            let operands: Result<Vec<Expression>, ProfileError> = operands.iter().map(folded).collect();
            let inner = Expression::Apply(*operator, operands?);
            if is_fixed(&inner) {
                return constant(&inner).map(Expression::Constant);
            }
            decided(inner)
        }
        Expression::Items(items) => {
            let items: Result<Vec<Expression>, ProfileError> = items.iter().map(folded).collect();
            Ok(Expression::Items(items?))
        }
        Expression::Constant(_) | Expression::Variable(_) => Ok(expression.clone()),
    }
}

/// `a and false`, `true and a` and the like are decided before they run.
fn decided(expression: Expression) -> Result<Expression, ProfileError> {
    let (operator, operands) = match &expression {
        Expression::Apply(operator @ (Operator::And | Operator::Or), operands) => (*operator, operands),
        _ => return Ok(expression),
    };
    let settling = operator == Operator::Or;
    let mut open = Vec::new();
    for operand in operands {
        if !is_fixed(operand) {
            open.push(operand);
        } else if constant(operand)?.is_true() == settling {
            return Ok(Expression::Constant(Value::Bool(settling)));
        }
    }
    Ok(if open.len() == 1 { open[0].clone() } else { expression })
}

/// Whether a value is below another, for lists in ascending order.
pub fn is_less(left: &Value, right: &Value) -> bool {
    matches!(apply(Operator::Less, left, right), Ok(Value::Bool(true)))
}
