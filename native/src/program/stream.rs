//! The stream of transactions of one connection: their order, values and think times.
//!
//! A stream outlives its connection: after a reconnect it continues, so that unique numbers stay unique. It
//! depends only on the run's seed and the connection's number.

use std::sync::Arc;

use crate::program::bytecode::{Body, Code};
use crate::program::compile::{compile, SeedKey};
use crate::program::machine::{Interpreter, Sink};
use crate::program::script::Scripted;
use crate::program::{Program, Transaction, Turns};
use crate::values::limits::DrawnAtOnce;
use crate::values::mt19937::Mt19937;
use crate::values::value::Row;
use crate::values::value::{ProfileError, Value};

/// The maximum of a think time, as a multiple of its mean.
const LONGEST_MEANS: f64 = 10.0;

pub struct Stream {
    pub program: Arc<Program>,
    code: Arc<Code>,
    interpreter: Interpreter,
    chooser: Chooser,
    think: Option<Mt19937>,
    turns_done: usize,
    left_at: usize,
    /// Transactions since the login.
    pub since_login: u64,
    pub weights_version: u64,
    pub script: Option<Scripted>,
}

/// How the next transaction is chosen.
enum Chooser {
    Only,
    ByWeight(Vec<f64>),
    Deck { cards: Vec<usize>, left: Vec<usize> },
    Turns,
}

impl Stream {
    /// `shared` is the code of another stream of this program and seed, if there is one.
    pub fn new(
        program: Arc<Program>,
        seed: &str,
        connection: i64,
        keys: SeedKey<'_>,
        shared: Option<Arc<Code>>,
    ) -> Result<Self, ProfileError> {
        let code = match shared {
            Some(code) if !code.is_own => code,
            _ => Arc::new(compile(&program, seed, connection, keys)?),
        };
        let random = Mt19937::from_key(&keys(&format!("tuibench:{seed}:{connection}")));
        let thinks =
            program.transactions.iter().any(|one| one.keying_seconds > 0.0 || one.think_seconds > 0.0);
        let think = thinks.then(|| Mt19937::from_key(&keys(&format!("tuibench:{seed}:{connection}:think"))));
        let script = match &program.script {
            Some(source) => Some(Scripted::new(source.script(connection, random.clone())?)),
            None => None,
        };
        let interpreter = Interpreter::new(random, code.counters.clone(), program.tables);
        let weights: Vec<f64> = program.transactions.iter().map(|transaction| transaction.weight).collect();
        let chooser = Chooser::new(&program, &weights);
        Ok(Self {
            program,
            code,
            interpreter,
            chooser,
            think,
            turns_done: 0,
            left_at: 0,
            since_login: 0,
            weights_version: 0,
            script,
        })
    }

    /// The stream's code, for others of this program and seed.
    pub fn code(&self) -> Arc<Code> {
        self.code.clone()
    }

    pub fn transaction(&self, which: usize) -> &Transaction {
        &self.program.transactions[which]
    }

    /// Sets the weights of the transactions. The rest of a deck is dropped; turns stay.
    pub fn set_weights(&mut self, weights: &[f64]) {
        self.chooser = Chooser::new(&self.program, weights);
    }

    /// The next transaction.
    pub fn draw(&mut self) -> usize {
        let random = &mut self.interpreter.random;
        match &mut self.chooser {
            Chooser::Only => 0,
            Chooser::ByWeight(limits) => {
                let point = random.random() * limits.last().copied().unwrap_or(0.0);
                limits.iter().position(|&limit| point < limit).unwrap_or(limits.len() - 1)
            }
            Chooser::Deck { cards, left } => {
                if left.is_empty() {
                    left.extend_from_slice(cards);
                    for place in (1..left.len()).rev() {
                        left.swap(place, random.below(place as i128 + 1) as usize);
                    }
                }
                left.pop().unwrap_or(0)
            }
            Chooser::Turns => self.take_turn(),
        }
    }

    fn take_turn(&mut self) -> usize {
        let done = self.turns_done;
        self.turns_done += 1;
        match &self.program.turns {
            Some(turns) if done < turns.count => turns.cycle[done % turns.cycle.len()],
            Some(turns) => turns.ending[done - turns.count],
            None => 0,
        }
    }

    /// Whether this connection has used all its turns.
    pub fn is_spent(&self) -> bool {
        self.program.turns.as_ref().map_or(false, |turns| self.turns_done >= turns.total())
    }

    /// Whether the connection logs in again before the next transaction; true once per reconnect.
    pub fn takes_leave(&mut self) -> bool {
        let done = self.turns_done;
        let leaves = self.program.turns.as_ref().map_or(false, |turns| turns.leaves_at(done));
        if !leaves || done == self.left_at {
            return false;
        }
        self.left_at = done;
        true
    }

    /// Whether there are think times between transactions.
    pub fn has_think_time(&self) -> bool {
        self.think.is_some()
    }

    /// Seconds between a transaction and the one that follows.
    pub fn pause(&mut self, last: Option<usize>, following: usize) -> f64 {
        let mean = last.map_or(0.0, |which| self.transaction(which).think_seconds);
        let keying = self.transaction(following).keying_seconds;
        match &mut self.think {
            Some(random) if mean > 0.0 => {
                (-mean * (1.0 - random.random()).ln()).min(LONGEST_MEANS * mean) + keying
            }
            _ => keying,
        }
    }

    pub fn is_simple(&self, which: usize) -> bool {
        matches!(self.code.bodies[which], Body::Simple(_))
    }

    /// All calls of a transaction that reads no rows, with new values.
    pub fn calls(&mut self, which: usize, sink: &mut dyn Sink) -> Result<(), ProfileError> {
        let code = self.code.clone();
        match &code.bodies[which] {
            Body::Simple(steps) => self.interpreter.simple(steps, sink),
            Body::Bytecode(bytecode) => {
                self.interpreter.begin(bytecode);
                let mut drawn = DrawnAtOnce::default();
                while let Some(statement) = self.interpreter.next(bytecode, None)? {
                    drawn.check(self.interpreter.values())?;
                    sink.call(statement, self.interpreter.values())?;
                }
                Ok(())
            }
        }
    }

    /// Begins a transaction whose calls [`Stream::next`] returns one by one; not a simple one.
    pub fn begin(&mut self, which: usize) {
        if let Body::Bytecode(bytecode) = &self.code.bodies[which] {
            self.interpreter.begin(bytecode);
        }
    }

    /// The next call of the current transaction, given the rows of the previous one; None at its end.
    pub fn next(&mut self, which: usize, rows: Option<Vec<Row>>) -> Result<Option<usize>, ProfileError> {
        match &self.code.bodies[which] {
            Body::Bytecode(bytecode) => self.interpreter.next(bytecode, rows),
            Body::Simple(_) => Ok(None),
        }
    }

    /// The values of the last call.
    pub fn values(&self) -> &[Value] {
        self.interpreter.values()
    }
}

impl Chooser {
    /// A single transaction takes no random number.
    fn new(program: &Program, weights: &[f64]) -> Self {
        if program.turns.is_some() {
            return Chooser::Turns;
        }
        if weights.len() == 1 {
            return Chooser::Only;
        }
        if program.deck {
            let cards = weights
                .iter()
                .enumerate()
                .flat_map(|(which, &weight)| std::iter::repeat(which).take(weight as usize))
                .collect();
            return Chooser::Deck { cards, left: Vec::new() };
        }
        let limits = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Chooser::ByWeight(limits.collect())
    }
}

impl Turns {
    /// Transactions of one connection.
    pub fn total(&self) -> usize {
        self.count + self.ending.len()
    }

    fn leaves_at(&self, done: usize) -> bool {
        done > 0 && done < self.count && self.reconnect_at.contains(&(done % self.cycle.len()))
    }
}
