//! Decodes a program from Python: the built-in types that msgspec makes of its structs.
//!
//! Structs are dicts, unions have their tag as `type`, values of variables as `make`. For anything unknown, the error names it, and the asyncio engine
//! runs the program.

#[cfg(feature = "lua")]
use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};

use crate::measure::recorder::Class;
use crate::program::script::ScriptSource;
use crate::program::{
    Bound, Draw, Expression, Flat, Lets, Make, Part, Program, Repeat, Statement, Step, Transaction, Turns,
};
#[cfg(feature = "lua")]
use crate::script::{Distributions, General, LuaSource, Settings, MOST_CPU_NS, MOST_MEMORY};
use crate::values::decimal::Decimal;
use crate::values::distribution::Distribution;
use crate::values::evaluate::Operator;
use crate::values::value::Value;

pub type Given<'py> = pyo3::Bound<'py, PyAny>;

/// The name of the statement that ends a transaction rolled back by intent.
const INTENDED_ROLLBACK: &str = "rollback";

/// The name of the statement that commits an explicit transaction.
const COMMIT: &str = "commit";

pub fn unsupported(what: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{what} is not known to the native engine"))
}

/// A field of a dict.
fn field<'py>(from: &Given<'py>, name: &str) -> PyResult<Given<'py>> {
    from.get_item(name)
}

pub fn get<'py, T: FromPyObject<'py>>(from: &Given<'py>, name: &str) -> PyResult<T> {
    field(from, name)?.extract()
}

fn list<'py, T>(from: &Given<'py>, read: impl Fn(&Given<'py>) -> PyResult<T>) -> PyResult<Vec<T>> {
    from.try_iter()?.map(|item| read(&item?)).collect()
}

fn optional<'py, T>(from: &Given<'py>, read: impl Fn(&Given<'py>) -> PyResult<T>) -> PyResult<Option<T>> {
    if from.is_none() {
        Ok(None)
    } else {
        read(from).map(Some)
    }
}

/// The dict has `program` (the struct), `firsts` (the flat index of each statement, in order), `simple`,
/// `interactive` and `writes` (for each transaction), `statements` (name, class, captures, pieces of text).
pub fn program(from: &Given<'_>) -> PyResult<Program> {
    let given = field(from, "program")?;
    let (flat, names) = flat(&field(from, "statements")?)?;
    let firsts: Vec<usize> = get(from, "firsts")?;
    let mut firsts = firsts.into_iter();
    let mut transactions = Vec::new();
    let (simple, interactive): (Vec<bool>, Vec<bool>) = (get(from, "simple")?, get(from, "interactive")?);
    let writes: Vec<bool> = get(from, "writes")?;
    for (number, one) in field(&given, "transactions")?.try_iter()?.enumerate() {
        let kind = (simple[number], interactive[number], writes[number]);
        transactions.push(transaction(&one?, kind, &mut firsts)?);
    }
    Ok(Program {
        profile: get(&given, "profile")?,
        tables: field(&given, "tables")?.len()?,
        transactions,
        deck: get(&given, "deck")?,
        turns: optional(&field(&given, "turns")?, turns)?,
        flat,
        names,
        script: script(from)?,
    })
}

/// The script in place of the transactions' steps, if there is one.
#[cfg(feature = "lua")]
fn script(from: &Given<'_>) -> PyResult<Option<Arc<dyn ScriptSource>>> {
    let given = field(from, "script")?;
    if given.is_none() {
        return Ok(None);
    }
    Ok(Some(Arc::new(script_source(&given)?)))
}

#[cfg(not(feature = "lua"))]
fn script(from: &Given<'_>) -> PyResult<Option<Arc<dyn ScriptSource>>> {
    match field(from, "script")?.is_none() {
        true => Ok(None),
        false => Err(unsupported("a Lua script")),
    }
}

/// A script and its options; the dict has the fields of [`Settings`].
#[cfg(feature = "lua")]
pub fn script_source(given: &Given<'_>) -> PyResult<LuaSource> {
    let mut general = HashMap::new();
    for (name, value) in field(given, "general")?.downcast::<PyDict>()? {
        general.insert(name.extract()?, general_option(&value)?);
    }
    let distributions = field(given, "distributions")?;
    Ok(LuaSource::new(Settings {
        path: get(given, "path")?,
        text: get(given, "text")?,
        command: get(given, "command")?,
        search: get(given, "search")?,
        given: get(given, "given")?,
        general,
        distributions: Distributions {
            default: get(&distributions, "default")?,
            iterations: get(&distributions, "iterations")?,
            hot_width: get(&distributions, "hot_width")?,
            hot_share: get(&distributions, "hot_share")?,
            pareto_h: get(&distributions, "pareto_h")?,
            zipfian_exponent: get(&distributions, "zipfian_exponent")?,
        },
        connections: get(given, "connections")?,
        is_prepared: get(given, "is_prepared")?,
        allows_io: get(given, "allows_io")?,
        most_cpu_ns: MOST_CPU_NS,
        most_memory: MOST_MEMORY,
    }))
}

#[cfg(feature = "lua")]
fn general_option(from: &Given<'_>) -> PyResult<General> {
    if from.is_instance_of::<PyBool>() {
        Ok(General::Switch(from.extract()?))
    } else if from.is_instance_of::<PyString>() {
        Ok(General::Text(from.extract()?))
    } else if from.is_instance_of::<PyList>() {
        Ok(General::List(from.extract()?))
    } else {
        Ok(General::Number(from.extract()?))
    }
}

fn flat(from: &Given<'_>) -> PyResult<(Vec<Flat>, Vec<String>)> {
    let mut names: Vec<String> = Vec::new();
    let mut flat = Vec::new();
    for one in from.try_iter()? {
        let (name, class, captures, pieces): (String, String, bool, Vec<Vec<u8>>) = one?.extract()?;
        let latency = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        let class = match class.as_str() {
            "read" => Class::Read,
            "write" => Class::Write,
            "other" => Class::Other,
            _ => return Err(unsupported(class)),
        };
        let (is_rollback, is_commit) = (name == INTENDED_ROLLBACK, name == COMMIT);
        flat.push(Flat { class, captures, is_rollback, is_commit, latency, pieces });
    }
    Ok((flat, names))
}

fn turns(from: &Given<'_>) -> PyResult<Turns> {
    Ok(Turns {
        cycle: get(from, "cycle")?,
        count: get(from, "count")?,
        ending: get(from, "ending")?,
        reconnect_at: list(&field(from, "reconnect_at")?, |one| one.extract())?,
    })
}

type Firsts = std::vec::IntoIter<usize>;

fn transaction(
    from: &Given<'_>,
    (simple, interactive, writes): (bool, bool, bool),
    firsts: &mut Firsts,
) -> PyResult<Transaction> {
    Ok(Transaction {
        name: get(from, "name")?,
        weight: get(from, "weight")?,
        explicit: get(from, "explicit")?,
        writes,
        simple,
        interactive,
        steps: steps(&field(from, "steps")?, firsts)?,
        keying_seconds: get(from, "keying_seconds")?,
        think_seconds: get(from, "think_seconds")?,
    })
}

fn steps(from: &Given<'_>, firsts: &mut Firsts) -> PyResult<Vec<Step>> {
    let mut made = Vec::new();
    for one in from.try_iter()? {
        made.push(step(&one?, firsts)?);
    }
    Ok(made)
}

fn step(from: &Given<'_>, firsts: &mut Firsts) -> PyResult<Step> {
    let (repeat, each) = (field(from, "repeat")?, field(from, "each")?);
    let repeat = if !each.is_none() {
        Repeat::Each(expression(&each)?)
    } else if repeat.is_instance_of::<PyInt>() {
        Repeat::Times(repeat.extract()?)
    } else {
        Repeat::Counted(expression(&repeat)?)
    };
    let mut statements = Vec::new();
    for one in field(from, "statements")?.try_iter()? {
        statements.push(statement(&one?, firsts)?);
    }
    Ok(Step {
        repeat,
        lets: lets(&field(from, "let")?)?,
        statements,
        when: optional(&field(from, "when")?, expression)?,
        names: get(from, "names")?,
        index: get(from, "index")?,
        table: optional(&field(from, "table")?, expression)?,
        steps: steps(&field(from, "steps")?, firsts)?,
        rollback: get(from, "rollback")?,
    })
}

fn statement(from: &Given<'_>, firsts: &mut Firsts) -> PyResult<Statement> {
    Ok(Statement {
        name: get(from, "name")?,
        first: firsts.next().ok_or_else(|| unsupported("a statement without a place"))?,
        tables: field(from, "sql")?.len()?,
        bind: list(&field(from, "bind")?, bound_value)?,
        capture: get(from, "capture")?,
        rows: get(from, "rows")?,
        part: optional(&field(from, "part")?, part)?,
    })
}

fn part(from: &Given<'_>) -> PyResult<Part> {
    Ok(Part {
        repeat: get(from, "repeat")?,
        before: get(from, "before")?,
        index: get(from, "index")?,
        lets: lets(&field(from, "let")?)?,
        bind: list(&field(from, "bind")?, bound_value)?,
    })
}

/// A variable by its name, or an expression.
fn bound_value(from: &Given<'_>) -> PyResult<Expression> {
    if from.is_instance_of::<PyString>() {
        Ok(Expression::Variable(from.extract()?))
    } else {
        expression(from)
    }
}

fn lets(from: &Given<'_>) -> PyResult<Lets> {
    let mut made = Lets::new();
    for (name, value) in from.downcast::<PyDict>()?.iter() {
        made.push((name.extract()?, make(&value)?));
    }
    Ok(made)
}

fn make(from: &Given<'_>) -> PyResult<Make> {
    let tag: String = get(from, "make")?;
    Ok(match tag.as_str() {
        "list" => Make::Many {
            of: draw(&field(from, "of")?)?,
            count: match bound(&field(from, "count")?)? {
                Bound::Number(number) => Expression::Constant(Value::Int(number)),
                Bound::Computed(expression) => expression,
            },
            ordered: get(from, "ordered")?,
            distinct: get(from, "distinct")?,
        },
        "sum" => Make::Sum { variables: get(from, "variables")?, constant: get(from, "constant")? },
        "formula" => Make::Formula(expression(&field(from, "expression")?)?),
        _ => Make::Draw(draw(from)?),
    })
}

/// The distribution of a range of the kind `tag`; None if it is of another kind.
fn distribution(tag: &str, from: &Given<'_>) -> PyResult<Option<Distribution>> {
    Ok(Some(match tag {
        "uniform" => Distribution::Uniform,
        "gaussian" => Distribution::Gaussian { iterations: get(from, "iterations")? },
        "special" => Distribution::Special {
            iterations: get(from, "iterations")?,
            hot_width: get(from, "hot_width")?,
            hot_share: get(from, "hot_share")?,
        },
        "pareto" => Distribution::Pareto { h: get(from, "h")? },
        "zipfian" => Distribution::Zipfian { exponent: get(from, "exponent")? },
        _ => return Ok(None),
    }))
}

fn draw(from: &Given<'_>) -> PyResult<Draw> {
    let tag: String = get(from, "make")?;
    if let Some(distribution) = distribution(&tag, from)? {
        let (low, high) = (bound(&field(from, "low")?)?, bound(&field(from, "high")?)?);
        return Ok(Draw::Key { low, high, distribution });
    }
    Ok(match tag.as_str() {
        "nurand" => Draw::Nurand {
            a: get(from, "a")?,
            low: get(from, "low")?,
            high: get(from, "high")?,
            loaded_c: get(from, "loaded_c")?,
        },
        "decimal" => {
            Draw::Money { low: get(from, "low")?, high: get(from, "high")?, places: get(from, "places")? }
        }
        "digits" => Draw::Digits { groups: get(from, "groups")? },
        "chance" => Draw::Chance { percent: get(from, "percent")? },
        "serial" => Draw::Serial { first: get(from, "first")? },
        "unique" => Draw::Unique { connections: get(from, "connections")? },
        _ => return Err(unsupported(format!("a draw of the kind '{tag}'"))),
    })
}

fn bound(from: &Given<'_>) -> PyResult<Bound> {
    if from.is_instance_of::<PyInt>() {
        Ok(Bound::Number(from.extract()?))
    } else {
        expression(from).map(Bound::Computed)
    }
}

fn expression(from: &Given<'_>) -> PyResult<Expression> {
    let tag: String = get(from, "type")?;
    Ok(match tag.as_str() {
        "constant" => Expression::Constant(scalar(&field(from, "value")?)?),
        "exact" => {
            let text: String = get(from, "value")?;
            let number = Decimal::parse(&text).ok_or_else(|| unsupported(text))?;
            Expression::Constant(Value::Decimal(number))
        }
        "variable" => Expression::Variable(get(from, "name")?),
        "apply" => {
            let name: String = get(from, "operator")?;
            let operator = Operator::named(&name).ok_or_else(|| unsupported(&name))?;
            let operands = list(&field(from, "operands")?, expression)?;
            if operands.len() != operator.operands() {
                return Err(unsupported(format!("'{name}' with {} operands", operands.len())));
            }
            Expression::Apply(operator, operands)
        }
        "choose" => {
            let of = |name| expression(&field(from, name)?);
            Expression::Choose(Box::new([of("test")?, of("yes")?, of("no")?]))
        }
        "items" => Expression::Items(list(&field(from, "of")?, expression)?),
        _ => return Err(unsupported(format!("an expression of the kind '{tag}'"))),
    })
}

fn scalar(from: &Given<'_>) -> PyResult<Value> {
    if from.is_none() {
        Ok(Value::Null)
    } else if from.is_instance_of::<PyBool>() {
        Ok(Value::Bool(from.extract()?))
    } else if from.is_instance_of::<PyInt>() {
        Ok(Value::Int(from.extract()?))
    } else {
        Ok(Value::text(&from.extract::<String>()?))
    }
}

/// A value of a row, for tests that provide the server's responses themselves: `None`, `bool`, `int`, `float`, `str`,
/// `bytes`, `Decimal` and lists of them.
pub fn value(from: &Given<'_>) -> PyResult<Value> {
    if from.is_none() || from.is_instance_of::<PyInt>() || from.is_instance_of::<PyString>() {
        return scalar(from);
    }
    if from.is_instance_of::<PyList>() {
        return Ok(Value::List(list(from, value)?.into()));
    }
    match from.get_type().name()?.extract::<String>()?.as_str() {
        "float" => Ok(Value::Float(from.extract()?)),
        "bytes" => Ok(Value::Bytes(from.extract::<Vec<u8>>()?.into())),
        "Decimal" => {
            let text: String = from.str()?.extract()?;
            Decimal::parse(&text).map(Value::Decimal).ok_or_else(|| unsupported(text))
        }
        other => Err(unsupported(other)),
    }
}
