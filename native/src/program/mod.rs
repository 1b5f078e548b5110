//! A program as tuibench compiles it from a profile: transactions of steps of statements.
//!
//! The fields are those of the Python structs of the same names; `decode` fills them in.

pub mod bytecode;
pub mod compile;
mod formulas;
pub mod machine;
pub mod script;
pub mod stream;

use std::sync::Arc;

use crate::measure::recorder::{Class, Recorder};
use crate::program::script::ScriptSource;
use crate::values::distribution::Distribution;
use crate::values::evaluate::Operator;
use crate::values::value::Value;

#[derive(Clone, Debug)]
pub enum Expression {
    Constant(Value),
    Variable(String),
    Apply(Operator, Vec<Expression>),
    /// Test, yes, no.
    Choose(Box<[Expression; 3]>),
    Items(Vec<Expression>),
}

/// A number, or an expression of the connection's own number.
#[derive(Clone, Debug)]
pub enum Bound {
    Number(i128),
    Computed(Expression),
}

#[derive(Clone, Debug)]
pub enum Draw {
    Key { low: Bound, high: Bound, distribution: Distribution },
    Nurand { a: i128, low: i128, high: i128, loaded_c: Option<i128> },
    Money { low: i128, high: i128, places: u32 },
    Digits { groups: usize },
    Chance { percent: f64 },
    Serial { first: i128 },
    Unique { connections: i64 },
}

/// What a variable is made of.
#[derive(Clone, Debug)]
pub enum Make {
    Draw(Draw),
    Many { of: Draw, count: Expression, ordered: bool, distinct: bool },
    Sum { variables: Vec<String>, constant: i128 },
    Formula(Expression),
}

impl Make {
    /// Whether it depends on other variables.
    pub fn is_derived(&self) -> bool {
        !matches!(self, Make::Draw(_))
    }
}

pub type Lets = Vec<(String, Make)>;

/// A piece of SQL that is repeated in its statement, with variables of its own.
#[derive(Clone, Debug)]
pub struct Part {
    pub repeat: usize,
    pub before: usize,
    /// The variable that counts the repetitions; empty without one.
    pub index: String,
    pub lets: Lets,
    pub bind: Vec<Expression>,
}

/// `first` is the place of its first table in the flat list of statements; its `tables` follow each other.
#[derive(Clone, Debug)]
pub struct Statement {
    pub name: String,
    pub first: usize,
    pub tables: usize,
    pub bind: Vec<Expression>,
    pub capture: Vec<String>,
    pub rows: String,
    pub part: Option<Part>,
}

impl Statement {
    pub fn captures(&self) -> bool {
        !self.capture.is_empty() || !self.rows.is_empty()
    }

    /// Whether its packet differs from call to call.
    pub fn varies(&self) -> bool {
        self.tables > 1 || !self.bind.is_empty() || self.part.is_some()
    }
}

#[derive(Clone, Debug)]
pub enum Repeat {
    Times(i64),
    Counted(Expression),
    /// Over the items of a list.
    Each(Expression),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub repeat: Repeat,
    pub lets: Lets,
    pub statements: Vec<Statement>,
    pub when: Option<Expression>,
    pub names: Vec<String>,
    pub index: String,
    pub table: Option<Expression>,
    pub steps: Vec<Step>,
    pub rollback: f64,
}

/// The steps of a `simple` one are independent of each other and of the server's responses; in an `interactive` one
/// the next statement depends on rows.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub name: String,
    pub weight: f64,
    pub explicit: bool,
    /// Whether it has a statement that inserts, updates or deletes.
    pub writes: bool,
    pub simple: bool,
    pub interactive: bool,
    pub steps: Vec<Step>,
    pub keying_seconds: f64,
    pub think_seconds: f64,
}

/// What each connection does, in this order.
#[derive(Clone, Debug)]
pub struct Turns {
    pub cycle: Vec<usize>,
    pub count: usize,
    pub ending: Vec<usize>,
    pub reconnect_at: Vec<usize>,
}

/// An entry of the flat list: a statement for one table. Statements of one name share the histogram `latency`.
/// Its text is cut at the placeholders.
#[derive(Clone, Debug)]
pub struct Flat {
    pub class: Class,
    pub captures: bool,
    pub is_rollback: bool,
    pub is_commit: bool,
    pub latency: usize,
    pub pieces: Vec<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub profile: String,
    pub tables: usize,
    pub transactions: Vec<Transaction>,
    pub deck: bool,
    pub turns: Option<Turns>,
    pub flat: Vec<Flat>,
    /// The names of statements, as their histograms are numbered.
    pub names: Vec<String>,
    /// The script that replaces the transactions' steps.
    pub script: Option<Arc<dyn ScriptSource>>,
}

impl Program {
    /// A recorder of its statements and transactions, with nothing counted.
    pub fn recorder(&self) -> Recorder {
        Recorder::new(self.names.len(), self.transactions.len())
    }

    /// The names of statements, as their histograms are numbered.
    pub fn statement_names(&self) -> Vec<String> {
        self.script.as_ref().map_or_else(|| self.names.clone(), |script| script.names())
    }
}

/// The variable that every transaction has: the number of its connection.
pub const CONNECTION: &str = "connection";
