//! Counters and latencies of the connections of one thread.
//!
//! Counters are cumulative; histograms are taken with each report. The names are those of tuibench's `Counters`,
//! and so is the identity: all that was started is completed, failed, abandoned or in flight.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::measure::histogram::Histogram;

/// What a statement does with tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Read,
    Write,
    Other,
}

#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Transactions started in a closed loop.
    pub closed_loop_starts: u64,
    /// Of what was scheduled, further attempts of callers: the queue of work counts them.
    pub resent: u64,
    pub in_flight: u64,
    pub completed: u64,
    /// Of those that completed while there was a deadline: in time, and later.
    pub good: u64,
    pub late: u64,
    pub failed: u64,
    pub abandoned: u64,
    /// COMMITs and statements that write whose connection was lost before the answer.
    pub unknown_commits: u64,
    pub commits: u64,
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    /// Statements that failed on the server.
    pub rejected: u64,
    /// Statements whose response was not read.
    pub unanswered: u64,
    /// Statements of a script outside its events.
    pub besides: u64,
    pub retries: u64,
    pub errors: BTreeMap<u16, u64>,
    /// By the kind of transaction.
    pub retried: Vec<u64>,
    pub rolled_back: Vec<u64>,
}

impl Counters {
    pub fn add(&mut self, other: &Self) {
        self.closed_loop_starts += other.closed_loop_starts;
        self.in_flight += other.in_flight;
        self.completed += other.completed;
        self.good += other.good;
        self.late += other.late;
        self.failed += other.failed;
        self.abandoned += other.abandoned;
        self.unknown_commits += other.unknown_commits;
        self.commits += other.commits;
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.rejected += other.rejected;
        self.unanswered += other.unanswered;
        self.besides += other.besides;
        self.retries += other.retries;
        for (code, times) in &other.errors {
            *self.errors.entry(*code).or_insert(0) += times;
        }
        add_each(&mut self.retried, &other.retried);
        add_each(&mut self.rolled_back, &other.rolled_back);
    }

    /// A statement that returned. A write that changed nothing is counted among the others.
    pub fn count_statement(&mut self, class: Class, affected: u64) {
        match class {
            Class::Read => self.reads += 1,
            Class::Write if affected > 0 => self.writes += 1,
            _ => self.others += 1,
        }
    }

    pub fn count_error(&mut self, code: u16) {
        *self.errors.entry(code).or_insert(0) += 1;
    }
}

fn add_each(sums: &mut Vec<u64>, more: &[u64]) {
    if sums.len() < more.len() {
        sums.resize(more.len(), 0);
    }
    for (sum, one) in sums.iter_mut().zip(more) {
        *sum += one;
    }
}

/// How many of the slowest transactions are kept in an interval.
pub const SLOWEST: usize = 3;

/// Maximum number of statements that are kept of one transaction.
pub const MOST_TIMED: usize = 256;

/// A statement of a transaction: index of its name, duration, and error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    pub name: u32,
    pub us: u32,
    pub error: u16,
}

/// A transaction that took long, with its statements in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowTransaction {
    pub which: usize,
    pub response_us: u64,
    pub busy_us: u64,
    pub statements: Vec<Timed>,
}

/// The slowest transactions of an interval, the slowest first.
#[derive(Clone, Debug, Default)]
pub struct Slowest {
    pub kept: Vec<SlowTransaction>,
}

impl Slowest {
    pub fn offer(&mut self, which: usize, response_us: u64, busy_us: u64, statements: &[Timed]) {
        let is_full = self.kept.len() == SLOWEST;
        if is_full && matches!(self.kept.last(), Some(last) if response_us <= last.response_us) {
            return;
        }
        self.add(SlowTransaction { which, response_us, busy_us, statements: statements.to_vec() });
    }

    fn add(&mut self, one: SlowTransaction) {
        let place = self.kept.partition_point(|other| other.response_us >= one.response_us);
        self.kept.insert(place, one);
        self.kept.truncate(SLOWEST);
    }

    pub fn take_from(&mut self, other: &mut Self) {
        for one in other.kept.drain(..) {
            self.add(one);
        }
    }
}

/// So many latencies are listed before they are counted.
const MOST_RECENT: usize = 256;

/// What a latency is of: a statement by its name, or a kind of transaction.
#[derive(Clone, Copy, Debug)]
enum Recent {
    Statement(u32),
    Response(u32),
}

/// Latencies of an interval: by statement name, by kind of transaction from the intended start, and of all from
/// the real one (in an open loop only). `wait` is how long users waited for a connection, `late` how late connections
/// woke up for a scheduled arrival.
///
/// Latencies of statements and responses are first listed in `recent`: to write behind the last one needs no memory that
/// is not in the processor's cache, which buckets mostly are not when the server has run in between.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    recent: Vec<(Recent, u64)>,
    pub statements: Vec<Histogram>,
    pub responses: Vec<Histogram>,
    pub service: Histogram,
    pub wait: Histogram,
    pub late: Histogram,
    pub slowest: Slowest,
}

impl Latencies {
    /// Without a value yet, for so many names of statements and kinds of transactions.
    pub fn new(names: usize, kinds: usize) -> Self {
        Self {
            statements: vec![Histogram::default(); names],
            responses: vec![Histogram::default(); kinds],
            ..Self::default()
        }
    }

    pub fn record_statement(&mut self, name: usize, us: u64) {
        self.list(Recent::Statement(name as u32), us);
    }

    pub fn record_response(&mut self, which: usize, us: u64) {
        self.list(Recent::Response(which as u32), us);
    }

    fn list(&mut self, of: Recent, us: u64) {
        self.recent.push((of, us));
        if self.recent.len() == MOST_RECENT {
            self.count();
        }
    }

    /// Counts what is listed. The names of a script's statements become known with their first call.
    fn count(&mut self) {
        let Self { recent, statements, responses, .. } = self;
        for (of, us) in recent.drain(..) {
            match of {
                Recent::Statement(name) => {
                    let name = name as usize;
                    if statements.len() <= name {
                        statements.resize(name + 1, Histogram::default());
                    }
                    statements[name].record(us);
                }
                Recent::Response(which) => responses[which as usize].record(us),
            }
        }
    }

    pub fn take_from(&mut self, other: &mut Self) {
        other.count();
        if self.statements.len() < other.statements.len() {
            self.statements.resize(other.statements.len(), Histogram::default());
        }
        for (own, more) in self.statements.iter_mut().zip(&mut other.statements) {
            own.take_from(more);
        }
        for (own, more) in self.responses.iter_mut().zip(&mut other.responses) {
            own.take_from(more);
        }
        self.service.take_from(&mut other.service);
        self.wait.take_from(&mut other.wait);
        self.late.take_from(&mut other.late);
        self.slowest.take_from(&mut other.slowest);
    }
}

pub struct Recorder {
    pub counters: Counters,
    pub latencies: Latencies,
}

impl Recorder {
    /// With nothing counted yet, for so many names of statements and kinds of transactions.
    pub fn new(names: usize, kinds: usize) -> Self {
        let counters =
            Counters { retried: vec![0; kinds], rolled_back: vec![0; kinds], ..Counters::default() };
        Self { counters, latencies: Latencies::new(names, kinds) }
    }
}

/// The figures of one connection: transactions that succeeded, and their total time.
#[derive(Debug, Default)]
pub struct Figures {
    pub events: AtomicU64,
    pub busy_us: AtomicU64,
}

impl Figures {
    pub fn add(&self, busy_us: u64) {
        self.events.fetch_add(1, Ordering::Relaxed);
        self.busy_us.fetch_add(busy_us, Ordering::Relaxed);
    }

    pub fn read(&self) -> (u64, u64) {
        (self.events.load(Ordering::Relaxed), self.busy_us.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::{Latencies, Slowest, Timed, MOST_RECENT, SLOWEST};
    use crate::measure::histogram::Histogram;

    #[test]
    fn listed_latencies_are_counted_when_they_are_taken() {
        let empty = Latencies { responses: vec![Histogram::default(); 2], ..Latencies::default() };
        let (mut sum, mut one) = (empty.clone(), empty);
        for us in 0..MOST_RECENT as u64 + 3 {
            one.record_statement(1, us);
        }
        one.record_response(1, 70);
        sum.take_from(&mut one);
        sum.take_from(&mut one);
        assert_eq!((sum.statements[0].count, sum.statements[1].count), (0, MOST_RECENT as u64 + 3));
        assert_eq!((sum.responses[0].count, sum.responses[1].sum_us), (0, 70));
    }

    #[test]
    fn the_slowest_are_kept_with_their_statements() {
        let mut first = Slowest::default();
        for us in [5, 900, 30, 700, 20, 800] {
            first.offer(0, us, us, &[Timed { name: 1, us: us as u32, error: 0 }]);
        }
        let mut other = Slowest::default();
        other.offer(1, 850, 40, &[]);
        first.take_from(&mut other);
        assert_eq!(first.kept.iter().map(|one| one.response_us).collect::<Vec<_>>(), [900, 850, 800]);
        assert_eq!(first.kept[0].statements[0].us, 900);
        assert_eq!(first.kept.len(), SLOWEST);
        assert!(other.kept.is_empty());
    }
}
