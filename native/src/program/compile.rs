//! Compiles a program to code: variables become places of a row, steps become operations. Connections share code
//! that does not depend on their number.
//!
//! Two forms, as in Python. A simple transaction is a list of [`SimpleStep`]s whose calls are all drawn before
//! the first is sent. Any other is [`Bytecode`] for the interpreter in `machine`: a flat list of operations
//! with jumps, which can stop at each statement and continue with the server's rows.

use std::cell::Cell;
use std::collections::HashMap;

use crate::program::bytecode::{
    Body, Bytecode, Code, Keep, Loop, Operation, Repeated, Sent, Setter, SimpleStep, Table,
};
use crate::program::formulas::{constant, folded, formula, sum};
use crate::program::{
    Bound, Draw, Expression, Lets, Make, Part, Program, Repeat, Statement, Step, Transaction, CONNECTION,
};
use crate::values::distribution::Keys;
use crate::values::draw::{nurand_constants, unique_numbers, Drawn};
use crate::values::evaluate::Formula;
use crate::values::mt19937::Mt19937;
use crate::values::value::{ProfileError, Value};

/// Returns the key of the stream that Python seeds with a text (see `mt19937`).
pub type SeedKey<'a> = &'a dyn Fn(&str) -> Vec<u8>;

pub type Places = HashMap<String, usize>;

/// Compiles the program for a connection.
pub fn compile(
    program: &Program,
    seed: &str,
    connection: i64,
    keys: SeedKey<'_>,
) -> Result<Code, ProfileError> {
    let mut compiler =
        Compiler { program, seed, connection, keys, counters: Vec::new(), is_own: Cell::new(false) };
    let bodies: Result<Vec<Body>, ProfileError> =
        program.transactions.iter().map(|transaction| compiler.transaction(transaction)).collect();
    Ok(Code { bodies: bodies?, counters: compiler.counters, is_own: compiler.is_own.get() })
}

struct Compiler<'a> {
    program: &'a Program,
    seed: &'a str,
    connection: i64,
    keys: SeedKey<'a>,
    counters: Vec<i128>,
    is_own: Cell<bool>,
}

impl Compiler<'_> {
    fn transaction(&mut self, transaction: &Transaction) -> Result<Body, ProfileError> {
        if transaction.simple {
            let steps: Result<Vec<SimpleStep>, ProfileError> =
                transaction.steps.iter().map(|step| self.simple_step(step)).collect();
            return steps.map(Body::Simple);
        }
        let places = variables(&transaction.steps);
        let mut bytecode = Bytecode { operations: Vec::new(), width: places.len(), tables: 0, loops: 0 };
        for step in &transaction.steps {
            self.step(step, &places, &mut bytecode)?;
        }
        bytecode.operations.push(Operation::End);
        Ok(Body::Bytecode(bytecode))
    }

    /// A step's own variables come in the order of being set: those that are drawn, then those derived.
    fn simple_step(&mut self, step: &Step) -> Result<SimpleStep, ProfileError> {
        let repeat = if let Repeat::Times(times) = step.repeat { times } else { 0 };
        let (derived, drawn): (Vec<_>, Vec<_>) = step.lets.iter().partition(|(_, make)| make.is_derived());
        let ordered: Lets = drawn.into_iter().chain(derived).cloned().collect();
        let places: Places =
            ordered.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
        let sent: Result<Vec<Sent>, ProfileError> =
            step.statements.iter().map(|statement| self.sent(statement, &places)).collect();
        let is_constant = step.lets.is_empty() && !step.statements.iter().any(Statement::varies);
        let table = match &step.table {
            _ if is_constant => Table::First,
            Some(expression) => Table::Fixed(self.fixed_table(expression)?),
            None => Table::Drawn,
        };
        let lets: Result<Vec<Setter>, ProfileError> =
            ordered.iter().map(|(_, make)| self.setter(make, &places)).collect();
        Ok(SimpleStep { repeat, table, lets: lets?, sent: sent? })
    }

    fn fixed_table(&self, expression: &Expression) -> Result<usize, ProfileError> {
        let number = constant(&self.own(expression)?)?.to_int()?;
        Ok(number.rem_euclid(self.program.tables.max(1) as i128) as usize)
    }

    fn step(&mut self, step: &Step, places: &Places, bytecode: &mut Bytecode) -> Result<(), ProfileError> {
        let mut skips = Vec::new();
        if let Some(when) = &step.when {
            skips.push(bytecode.operations.len());
            bytecode.operations.push(Operation::When(self.formula(when, places)?, 0));
        }
        if 0.0 < step.rollback && step.rollback < 1.0 {
            skips.push(bytecode.operations.len());
            bytecode.operations.push(Operation::Chance(step.rollback, 0));
        }
        let table = bytecode.tables;
        bytecode.tables += 1;
        bytecode.operations.push(Operation::Table(table, self.table(step, places)?));
        self.repetitions(step, places, bytecode, table)?;
        if step.rollback > 0.0 {
            bytecode.operations.push(Operation::End);
        }
        let end = bytecode.operations.len();
        for skip in skips {
            match &mut bytecode.operations[skip] {
                Operation::When(_, target) | Operation::Chance(_, target) => *target = end,
                _ => unreachable!("only these skip a step"),
            }
        }
        Ok(())
    }

    fn repetitions(
        &mut self,
        step: &Step,
        places: &Places,
        bytecode: &mut Bytecode,
        table: usize,
    ) -> Result<(), ProfileError> {
        let number = bytecode.loops;
        bytecode.loops += 1;
        let kind = match &step.repeat {
            Repeat::Times(times) => Loop::Times(*times),
            Repeat::Counted(count) => Loop::Counted(self.formula(count, places)?),
            Repeat::Each(items) => Loop::Each(self.formula(items, places)?),
        };
        bytecode.operations.push(Operation::Loop(number, kind));
        let start = bytecode.operations.len();
        let names = step.names.iter().map(|name| places[name]).collect();
        let index = places.get(&step.index).copied();
        bytecode.operations.push(Operation::Next { number, names, index, end: 0 });
        for (name, make) in &step.lets {
            let setter = self.setter(make, places)?;
            bytecode.operations.push(Operation::Let(places[name], setter));
        }
        for statement in &step.statements {
            let sent = self.sent(statement, places)?;
            bytecode.width = bytecode.width.max(sent.width());
            bytecode.operations.push(Operation::Send { table, sent });
        }
        for inner in &step.steps {
            self.step(inner, places, bytecode)?;
        }
        bytecode.operations.push(Operation::Jump(start));
        let behind = bytecode.operations.len();
        if let Operation::Next { end, .. } = &mut bytecode.operations[start] {
            *end = behind;
        }
        Ok(())
    }

    /// A table is drawn only for statements that have one.
    fn table(&mut self, step: &Step, places: &Places) -> Result<Table, ProfileError> {
        match &step.table {
            Some(expression) => Ok(Table::Computed(self.formula(expression, places)?)),
            None if step.statements.iter().any(|statement| statement.tables > 1) => Ok(Table::Drawn),
            None => Ok(Table::First),
        }
    }

    fn sent(&mut self, statement: &Statement, places: &Places) -> Result<Sent, ProfileError> {
        let part = match &statement.part {
            Some(part) => Some(self.repeated(part, places)?),
            None => None,
        };
        let keep = statement.captures().then(|| Keep {
            statement: statement.name.clone(),
            columns: statement.capture.iter().map(|name| places[name]).collect(),
            rows: places.get(&statement.rows).copied(),
        });
        Ok(Sent {
            first: statement.first,
            per_table: statement.tables > 1,
            bind: self.formulas(&statement.bind, places)?,
            part,
            keep,
        })
    }

    fn repeated(&mut self, part: &Part, places: &Places) -> Result<Repeated, ProfileError> {
        let from = places.values().map(|place| place + 1).max().unwrap_or(0);
        let mut extended = places.clone();
        let names = Some(&part.index).into_iter().chain(part.lets.iter().map(|(name, _)| name));
        extended.extend(names.enumerate().map(|(number, name)| (name.clone(), from + number)));
        let lets: Result<Vec<Setter>, ProfileError> =
            part.lets.iter().map(|(_, make)| self.setter(make, &extended)).collect();
        let bind = self.formulas(&part.bind, &extended)?;
        Ok(Repeated { before: part.before, repeat: part.repeat, from, lets: lets?, bind })
    }

    fn setter(&mut self, make: &Make, places: &Places) -> Result<Setter, ProfileError> {
        Ok(match make {
            Make::Draw(draw) => Setter::Drawn(self.draw(draw)?),
            Make::Many { of, count, ordered, distinct } => Setter::Many {
                of: self.draw(of)?,
                count: self.formula(count, places)?,
                ordered: *ordered,
                distinct: *distinct,
            },
            Make::Sum { variables, constant } => Setter::Formula(sum(variables, *constant, places)?),
            Make::Formula(expression) => Setter::Formula(self.formula(expression, places)?),
        })
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, ProfileError> {
        Ok(match draw {
            Draw::Key { low, high, distribution } => {
                let low = self.bound(low)?;
                let high = self.bound(high)?.max(low);
                if high.checked_sub(low).and_then(|span| span.checked_add(1)).is_none() {
                    return Err(too_large_bound());
                }
                Drawn::Key(Keys::new(distribution, low, high))
            }
            Draw::Nurand { a, low, high, loaded_c } => {
                let c = self.nurand_constant(*a, *loaded_c)?;
                Drawn::Nurand { numbers: a + 1, low: *low, keys: high - low + 1, c }
            }
            Draw::Money { low, high, places } => {
                let (low, amounts) = amounts(*low, *high, *places).ok_or_else(too_large_bound)?;
                Drawn::Money { low, amounts, places: *places }
            }
            Draw::Digits { groups } => Drawn::Digits { groups: *groups },
            Draw::Chance { percent } => Drawn::Chance { share: percent / 100.0 },
            Draw::Serial { first } => Drawn::Serial { counter: self.counter(*first) },
            Draw::Unique { connections } => self.unique(*connections),
        })
    }

    fn nurand_constant(&self, a: i128, loaded_c: Option<i128>) -> Result<i128, ProfileError> {
        let allowed = nurand_constants(a, loaded_c);
        let mut random = self.stream(&format!("tuibench:{}:nurand:{a}", self.seed));
        let chosen = random.below(allowed.len() as i128) as usize;
        allowed
            .get(chosen)
            .copied()
            .ok_or_else(|| ProfileError::values("TPC-C allows no constant for NURand here"))
    }

    fn unique(&mut self, connections: i64) -> Drawn {
        let mut random = self.stream(&format!("tuibench:{}:unique", self.seed));
        let (first, offset) = (random.word(), random.word());
        let (start, step) = unique_numbers(first, self.connection.into(), connections.into());
        self.is_own.set(true);
        Drawn::Unique { counter: self.counter(start), step, offset }
    }

    fn stream(&self, text: &str) -> Mt19937 {
        Mt19937::from_key(&(self.keys)(text))
    }

    fn counter(&mut self, start: i128) -> usize {
        self.counters.push(start);
        self.counters.len() - 1
    }

    fn bound(&self, bound: &Bound) -> Result<i128, ProfileError> {
        match bound {
            Bound::Number(number) => Ok(*number),
            Bound::Computed(expression) => {
                let number = constant(&self.own(expression)?)?.to_int()?;
                Ok(number)
            }
        }
    }

    fn formulas(&self, expressions: &[Expression], places: &Places) -> Result<Vec<Formula>, ProfileError> {
        expressions.iter().map(|expression| self.formula(expression, places)).collect()
    }

    fn formula(&self, expression: &Expression, places: &Places) -> Result<Formula, ProfileError> {
        formula(&self.own(expression)?, places)
    }

    /// The expression as it is on this connection: its number put in, and computed as far as that goes.
    fn own(&self, expression: &Expression) -> Result<Expression, ProfileError> {
        folded(&self.with_connection(expression))
    }

    fn with_connection(&self, expression: &Expression) -> Expression {
        match expression {
            Expression::Variable(name) if name == CONNECTION => {
                self.is_own.set(true);
                Expression::Constant(Value::Int(i128::from(self.connection)))
            }
            Expression::Apply(operator, operands) => Expression::Apply(
                *operator,
                operands.iter().map(|operand| self.with_connection(operand)).collect(),
            ),
            Expression::Choose(parts) => {
                let [test, yes, no] = &**parts;
                Expression::Choose(Box::new([test, yes, no].map(|part| self.with_connection(part))))
            }
            Expression::Items(items) => {
                Expression::Items(items.iter().map(|item| self.with_connection(item)).collect())
            }
            Expression::Constant(_) | Expression::Variable(_) => expression.clone(),
        }
    }
}

fn too_large_bound() -> ProfileError {
    ProfileError::values("a bound is too large")
}

/// The lowest amount in units of the last decimal, and the number of amounts.
fn amounts(low: i128, high: i128, places: u32) -> Option<(i128, i128)> {
    let unit = 10i128.checked_pow(places)?;
    let amounts = high.checked_sub(low)?.checked_mul(unit)?.checked_add(1)?;
    Some((low.checked_mul(unit)?, amounts))
}

/// A place for every name that is set anywhere in a transaction.
pub fn variables(steps: &[Step]) -> Places {
    let mut places = Places::new();
    collect(steps, &mut places);
    places
}

fn collect(steps: &[Step], places: &mut Places) {
    for step in steps {
        let names = step.names.iter().chain(Some(&step.index)).chain(step.lets.iter().map(|(name, _)| name));
        let captured = step.statements.iter().flat_map(|one| one.capture.iter().chain(Some(&one.rows)));
        for name in names.chain(captured) {
            if !name.is_empty() && name != CONNECTION {
                let next = places.len();
                places.entry(name.clone()).or_insert(next);
            }
        }
        collect(&step.steps, places);
    }
}
