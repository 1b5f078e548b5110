//! The stream of transactions of one connection: which comes next, with which values, after which pause.
//!
//! A stream outlives its connection: one that comes back goes on with it, so that numbers that are to be unique
//! stay so. It depends on the run's seed and the connection's number alone.

use std::sync::Arc;

use crate::compile::{compile, Body, Code, Keyring};
use crate::machine::{Memory, Row, Sink};
use crate::mt19937::Mt19937;
use crate::program::{Program, Transaction, Turns};
use crate::value::{Fault, Value};

/// No one thinks longer than so many means.
const LONGEST_MEANS: f64 = 10.0;

pub struct Stream {
    pub program: Arc<Program>,
    code: Arc<Code>,
    memory: Memory,
    chooser: Chooser,
    think: Option<Mt19937>,
    turns_done: usize,
    left_at: usize,
    pub weights_version: u64,
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
        keys: Keyring<'_>,
        shared: Option<Arc<Code>>,
    ) -> Result<Self, Fault> {
        let code = match shared {
            Some(code) if !code.is_own => code,
            _ => Arc::new(compile(&program, seed, connection, keys)?),
        };
        let random = Mt19937::from_key(&keys(&format!("tuibench:{seed}:{connection}")));
        let thinks =
            program.transactions.iter().any(|one| one.keying_seconds > 0.0 || one.think_seconds > 0.0);
        let think = thinks.then(|| Mt19937::from_key(&keys(&format!("tuibench:{seed}:{connection}:think"))));
        let memory = Memory::new(random, code.counters.clone(), program.tables);
        let weights: Vec<f64> = program.transactions.iter().map(|transaction| transaction.weight).collect();
        let chooser = Chooser::new(&program, &weights);
        Ok(Self { program, code, memory, chooser, think, turns_done: 0, left_at: 0, weights_version: 0 })
    }

    /// The stream's code, for others of this program and seed.
    pub fn code(&self) -> Arc<Code> {
        self.code.clone()
    }

    pub fn transaction(&self, which: usize) -> &Transaction {
        &self.program.transactions[which]
    }

    /// What the transactions weigh from now on. What is left of a deck is laid aside; turns stay.
    pub fn set_weights(&mut self, weights: &[f64]) {
        self.chooser = Chooser::new(&self.program, weights);
    }

    /// The next transaction.
    pub fn draw(&mut self) -> usize {
        let random = &mut self.memory.random;
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
                        left.swap(place, random.below(place as i64 + 1) as usize);
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

    /// Whether this connection has had all its turns.
    pub fn is_spent(&self) -> bool {
        self.program.turns.as_ref().map_or(false, |turns| self.turns_done >= turns.total())
    }

    /// Whether the connection logs in again before the next transaction; true once for each.
    pub fn takes_leave(&mut self) -> bool {
        let done = self.turns_done;
        let leaves = self.program.turns.as_ref().map_or(false, |turns| turns.leaves_at(done));
        if !leaves || done == self.left_at {
            return false;
        }
        self.left_at = done;
        true
    }

    /// Whether there are pauses between transactions.
    pub fn rests(&self) -> bool {
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

    /// All calls of a transaction that takes no rows back, with fresh values.
    pub fn calls(&mut self, which: usize, sink: &mut dyn Sink) -> Result<(), Fault> {
        let code = self.code.clone();
        match &code.bodies[which] {
            Body::Simple(steps) => self.memory.simple(steps, sink),
            Body::Scoped(script) => {
                self.memory.begin(script);
                while let Some(statement) = self.memory.next(script, None)? {
                    sink.call(statement, self.memory.values())?;
                }
                Ok(())
            }
        }
    }

    /// Begins a transaction whose calls are asked for one by one with [`Stream::next`]; not a simple one.
    pub fn begin(&mut self, which: usize) {
        if let Body::Scoped(script) = &self.code.bodies[which] {
            self.memory.begin(script);
        }
    }

    /// The next call of the transaction that was begun, given the rows of the one before; None at its end.
    pub fn next(&mut self, which: usize, rows: Option<Vec<Row>>) -> Result<Option<usize>, Fault> {
        match &self.code.bodies[which] {
            Body::Scoped(script) => self.memory.next(script, rows),
            Body::Simple(_) => Ok(None),
        }
    }

    /// The values of the last call.
    pub fn values(&self) -> &[Value] {
        self.memory.values()
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
        done > 0 && done < self.count && self.anew.contains(&(done % self.cycle.len()))
    }
}
