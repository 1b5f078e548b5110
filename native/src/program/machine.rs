//! Interpreter of compiled transactions: draws values, and returns the statements to send with their values.
//!
//! Each connection has an interpreter; the code may be shared. A simple transaction returns all its calls at once;
//! bytecode stops at each statement, and continues when it is called again, with the rows of a statement that
//! captures them.

use std::sync::Arc;

use crate::program::bytecode::{Bytecode, Keep, Loop, Operation, Repeated, Sent, Setter, SimpleStep, Table};
use crate::program::formulas::is_less;
use crate::values::evaluate::{items, Formula};
use crate::values::limits::{
    distinct_items, repetitions, Bound, DrawnAtOnce, TOO_MANY_ITEMS, TOO_MANY_REPETITIONS,
};
use crate::values::mt19937::Mt19937;
use crate::values::value::{captured, ProfileError, Row, Value};

/// Receives the calls of a transaction: a statement's index in the flat list, and its values.
pub trait Sink {
    fn call(&mut self, statement: usize, values: &[Value]) -> Result<(), ProfileError>;
}

/// A running loop.
#[derive(Clone, Default)]
struct Round {
    items: Option<Arc<[Value]>>,
    done: i64,
    times: i64,
}

/// The state of a connection's transactions: random stream, counters, variables.
pub struct Interpreter {
    pub random: Mt19937,
    pub counters: Vec<i128>,
    tables_of_program: i128,
    row: Row,
    values: Row,
    tables: Vec<usize>,
    rounds: Vec<Round>,
    place: usize,
    waiting: Option<usize>,
}

impl Interpreter {
    pub fn new(random: Mt19937, counters: Vec<i128>, tables: usize) -> Self {
        Self {
            random,
            counters,
            tables_of_program: tables as i128,
            row: Row::new(),
            values: Row::new(),
            tables: Vec::new(),
            rounds: Vec::new(),
            place: 0,
            waiting: None,
        }
    }

    /// All calls of a simple transaction.
    pub fn simple(&mut self, steps: &[SimpleStep], sink: &mut dyn Sink) -> Result<(), ProfileError> {
        for step in steps {
            let table = match step.table {
                Table::Drawn => self.draw_table(),
                Table::Fixed(number) => number,
                _ => 0,
            };
            let mut drawn = DrawnAtOnce::default();
            for _ in 0..step.repeat {
                self.row.clear();
                for setter in &step.lets {
                    let value = self.made(setter)?;
                    self.row.push(value);
                }
                for sent in &step.sent {
                    self.bind(sent)?;
                    drawn.check(&self.values)?;
                    sink.call(sent.first + if sent.per_table { table } else { 0 }, &self.values)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a transaction; [`Interpreter::next`] returns its calls.
    pub fn begin(&mut self, bytecode: &Bytecode) {
        self.place = 0;
        self.waiting = None;
        self.row.clear();
        self.row.resize(bytecode.width, Value::Null);
        self.tables.clear();
        self.tables.resize(bytecode.tables, 0);
        self.rounds.clear();
        self.rounds.resize(bytecode.loops, Round::default());
    }

    /// The next call: the statement, its values being in [`Interpreter::values`]. None at the end. `rows` are those of
    /// the last call if its statement captures.
    pub fn next(
        &mut self,
        bytecode: &Bytecode,
        rows: Option<Vec<Row>>,
    ) -> Result<Option<usize>, ProfileError> {
        if let Some(place) = self.waiting.take() {
            if let Operation::Send { sent: Sent { keep: Some(keep), .. }, .. } = &bytecode.operations[place] {
                self.keep(keep, rows.unwrap_or_default())?;
            }
        }
        loop {
            let place = self.place;
            self.place += 1;
            match &bytecode.operations[place] {
                Operation::End => {
                    self.place = place;
                    return Ok(None);
                }
                Operation::Send { table, sent } => {
                    self.bind(sent)?;
                    self.waiting = Some(place);
                    let number = if sent.per_table { self.tables[*table] } else { 0 };
                    return Ok(Some(sent.first + number));
                }
                other => self.perform(other)?,
            }
        }
    }

    /// The values of the last call.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    fn perform(&mut self, operation: &Operation) -> Result<(), ProfileError> {
        match operation {
            Operation::When(test, end) => {
                if !test.value(&self.row)?.is_true() {
                    self.place = *end;
                }
            }
            Operation::Chance(chance, end) => {
                if self.random.random() >= *chance {
                    self.place = *end;
                }
            }
            Operation::Table(number, table) => self.tables[*number] = self.table(table)?,
            Operation::Loop(number, kind) => self.rounds[*number] = self.round(kind)?,
            Operation::Next { number, names, index, end } => {
                if !self.repeat(*number, names, *index)? {
                    self.place = *end;
                }
            }
            Operation::Let(place, setter) => self.row[*place] = self.made(setter)?,
            Operation::Jump(target) => self.place = *target,
            Operation::Send { .. } | Operation::End => unreachable!("these stop the machine"),
        }
        Ok(())
    }

    fn draw_table(&mut self) -> usize {
        self.random.below(self.tables_of_program) as usize
    }

    fn table(&mut self, table: &Table) -> Result<usize, ProfileError> {
        Ok(match table {
            Table::First => 0,
            Table::Fixed(number) => *number,
            Table::Drawn => self.draw_table(),
            Table::Computed(formula) => {
                let number = formula.value(&self.row)?.to_int()?;
                number.rem_euclid(self.tables_of_program.max(1)) as usize
            }
        })
    }

    fn round(&mut self, kind: &Loop) -> Result<Round, ProfileError> {
        Ok(match kind {
            Loop::Times(times) => Round { times: *times, ..Round::default() },
            Loop::Counted(count) => {
                let times = repetitions(&count.value(&self.row)?, TOO_MANY_REPETITIONS)?;
                Round { times, ..Round::default() }
            }
            Loop::Each(list) => {
                let list = items(&list.value(&self.row)?)?;
                Round { times: list.len() as i64, items: Some(list), done: 0 }
            }
        })
    }

    /// Sets the variables of the next repetition; false if there is none.
    fn repeat(&mut self, number: usize, names: &[usize], index: Option<usize>) -> Result<bool, ProfileError> {
        let round = &mut self.rounds[number];
        if round.done >= round.times {
            return Ok(false);
        }
        let item = round.items.as_ref().map(|list| list[round.done as usize].clone());
        round.done += 1;
        let done = round.done;
        match item {
            Some(Value::List(columns)) => self.spread(names, &columns, "each")?,
            Some(value) => self.spread(names, &[value], "each")?,
            None => {}
        }
        if let Some(place) = index {
            self.row[place] = Value::Int(i128::from(done));
        }
        Ok(true)
    }

    fn keep(&mut self, keep: &Keep, rows: Vec<Row>) -> Result<(), ProfileError> {
        let checked = |row: Row| row.into_iter().map(captured).collect::<Result<Row, ProfileError>>();
        let rows = rows.into_iter().map(checked).collect::<Result<Vec<Row>, ProfileError>>()?;
        if !keep.columns.is_empty() {
            let nothing = vec![Value::Null; keep.columns.len()];
            self.spread(&keep.columns, rows.first().unwrap_or(&nothing), &keep.statement)?;
        }
        if let Some(place) = keep.rows {
            self.row[place] = Value::List(rows.into_iter().map(|row| Value::List(row.into())).collect());
        }
        Ok(())
    }

    fn spread(&mut self, places: &[usize], values: &[Value], from: &str) -> Result<(), ProfileError> {
        if values.len() < places.len() {
            let (given, wanted) = (values.len(), places.len());
            return Err(ProfileError::Shape(format!(
                "'{from}' gives {given} columns, {wanted} variables are declared"
            )));
        }
        for (place, value) in places.iter().zip(values) {
            self.row[*place] = value.clone();
        }
        Ok(())
    }

    fn made(&mut self, setter: &Setter) -> Result<Value, ProfileError> {
        match setter {
            Setter::Drawn(drawn) => Ok(drawn.draw(&mut self.random, &mut self.counters)),
            Setter::Formula(formula) => formula.value(&self.row),
            Setter::Many { of, count, ordered, distinct } => {
                let times = repetitions(&count.value(&self.row)?, TOO_MANY_ITEMS)?;
                let mut draw = || of.draw(&mut self.random, &mut self.counters);
                let mut many: Row = if *distinct {
                    distinct_items(times, draw)?
                } else {
                    (0..times).map(|_| draw()).collect()
                };
                if *ordered {
                    many.sort_by(|a, b| is_less(b, a).cmp(&is_less(a, b)));
                }
                Ok(Value::List(many.into()))
            }
        }
    }

    /// Puts the values of a statement's placeholders into `values`.
    fn bind(&mut self, sent: &Sent) -> Result<(), ProfileError> {
        self.values.clear();
        let before = sent.part.as_ref().map_or(sent.bind.len(), |part| part.before.min(sent.bind.len()));
        self.bind_all(&sent.bind[..before])?;
        let mut bound = Bound::default();
        if let Some(part) = &sent.part {
            self.bind_part(part, &mut bound)?;
        }
        self.bind_all(&sent.bind[before..])?;
        bound.check(&self.values)
    }

    /// The part's variables are set behind those of the row, once for each repetition.
    fn bind_part(&mut self, part: &Repeated, bound: &mut Bound) -> Result<(), ProfileError> {
        let width = self.row.len();
        self.row.resize(width.max(part.from + 1 + part.lets.len()), Value::Null);
        for repetition in 1..=part.repeat {
            self.row[part.from] = Value::Int(repetition as i128);
            for (number, setter) in part.lets.iter().enumerate() {
                self.row[part.from + 1 + number] = self.made(setter)?;
            }
            self.bind_all(&part.bind)?;
            bound.check(&self.values)?;
        }
        self.row.truncate(width);
        Ok(())
    }

    fn bind_all(&mut self, formulas: &[Formula]) -> Result<(), ProfileError> {
        for formula in formulas {
            self.values.push(formula.value(&self.row)?);
        }
        Ok(())
    }
}
