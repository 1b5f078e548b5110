//! The code of compiled transactions.

use crate::values::draw::Drawn;
use crate::values::evaluate::Formula;

/// The code of all transactions, and what the counters of serial and unique numbers begin with. `is_own` if it
/// depends on the connection's number.
pub struct Code {
    pub bodies: Vec<Body>,
    pub counters: Vec<i128>,
    pub is_own: bool,
}

pub enum Body {
    Simple(Vec<SimpleStep>),
    Bytecode(Bytecode),
}

pub struct SimpleStep {
    pub repeat: i64,
    pub table: Table,
    /// In the order of their places.
    pub lets: Vec<Setter>,
    pub sent: Vec<Sent>,
}

/// `First` is for statements that name no table: none is drawn for them.
#[derive(Clone, Debug)]
pub enum Table {
    First,
    Fixed(usize),
    Drawn,
    Computed(Formula),
}

/// How a variable gets its value.
#[derive(Clone, Debug)]
pub enum Setter {
    Drawn(Drawn),
    Many { of: Drawn, count: Formula, ordered: bool, distinct: bool },
    Formula(Formula),
}

/// How a statement is sent, and where its rows go.
#[derive(Clone, Debug)]
pub struct Sent {
    pub first: usize,
    pub per_table: bool,
    pub bind: Vec<Formula>,
    pub part: Option<Repeated>,
    pub keep: Option<Keep>,
}

/// The part of a statement that is repeated behind the first `before` values. The number of the repetition has the place
/// `from`, its variables those behind.
#[derive(Clone, Debug)]
pub struct Repeated {
    pub before: usize,
    pub repeat: usize,
    pub from: usize,
    pub lets: Vec<Setter>,
    pub bind: Vec<Formula>,
}

#[derive(Clone, Debug)]
pub struct Keep {
    pub statement: String,
    pub columns: Vec<usize>,
    pub rows: Option<usize>,
}

/// A transaction for the interpreter. `tables` and `loops` are their maximum numbers.
pub struct Bytecode {
    pub operations: Vec<Operation>,
    pub width: usize,
    pub tables: usize,
    pub loops: usize,
}

pub enum Operation {
    /// Jumps unless the test is true.
    When(Formula, usize),
    /// Jumps unless it happens, with this chance.
    Chance(f64, usize),
    Table(usize, Table),
    Loop(usize, Loop),
    /// The next repetition of a loop; jumps behind it at its end.
    Next {
        number: usize,
        names: Vec<usize>,
        index: Option<usize>,
        end: usize,
    },
    Let(usize, Setter),
    Send {
        table: usize,
        sent: Sent,
    },
    Jump(usize),
    End,
}

pub enum Loop {
    Times(i64),
    Counted(Formula),
    Each(Formula),
}

impl Sent {
    /// How many places a row needs for the variables of its part.
    pub fn width(&self) -> usize {
        self.part.as_ref().map_or(0, |part| part.from + 1 + part.lets.len())
    }
}
