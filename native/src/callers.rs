//! The callers of a worker: which attempts have not ended in time, and when they are sent again.
//!
//! `tuibench/load/callers.py` is the reference and explains the states; `tuibench/model/callers.py` says what callers
//! do. An attempt that has not ended is kept by its intended start, which no two of them share. All times are
//! nanoseconds of the monotonic clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::sys::NS_PER_SECOND;
use crate::values::mt19937::Mt19937;

const NS_PER_US: i64 = 1000;
const NEVER: i64 = i64::MAX;
/// Unused retry budget that is kept, in attempts.
const MOST_TOKENS: f64 = 10.0;
const WINDOW_NS: i64 = NS_PER_SECOND;
/// A breaker judges the attempts that ended within a window, once there are so many.
const FEWEST_ENDED: u64 = 10;

/// Which work that waits is started next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Oldest,
    Newest,
    /// The oldest that would still end in time; older work is abandoned.
    Shed,
}

/// What callers do. `deadline_us` is 0 without a deadline, `retry_budget` a share of the first attempts, `breaker` the
/// share that opens it and how long it stays open.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub deadline_us: u64,
    pub attempts: u32,
    pub first_pause_ns: f64,
    pub factor: f64,
    pub has_jitter: bool,
    pub order: Order,
    pub retry_budget: Option<f64>,
    pub breaker: Option<(f64, i64)>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            deadline_us: 0,
            attempts: 1,
            first_pause_ns: 0.0,
            factor: 1.0,
            has_jitter: false,
            order: Order::Oldest,
            retry_budget: None,
            breaker: None,
        }
    }
}

impl Policy {
    /// Whether it matters if a single attempt ends in time.
    pub fn follows_attempts(&self) -> bool {
        self.deadline_us > 0 && (self.attempts > 1 || self.breaker.is_some())
    }

    /// How long after its intended start work has not ended in time. Latencies are whole µs, and one that equals the
    /// deadline is in time.
    pub fn patience(&self) -> i64 {
        match self.deadline_us {
            0 => NEVER / 2,
            us => (us as i64 + 1) * NS_PER_US,
        }
    }
}

/// How long work takes from its actual start, as RFC 6298 estimates a round trip.
#[derive(Default)]
struct ServiceTime {
    mean: f64,
    deviation: f64,
}

impl ServiceTime {
    fn add(&mut self, service: f64) {
        if self.mean == 0.0 {
            *self = Self { mean: service, deviation: service / 2.0 };
            return;
        }
        self.deviation += ((self.mean - service).abs() - self.deviation) / 4.0;
        self.mean += (service - self.mean) / 8.0;
    }

    /// What little work exceeds; 0 before the first.
    fn most(&self) -> i64 {
        (self.mean + 4.0 * self.deviation) as i64
    }
}

#[derive(Default)]
struct CircuitBreaker {
    open_until: i64,
    window_end: i64,
    ended: u64,
    missed: u64,
}

impl CircuitBreaker {
    fn count(&mut self, (share, open_ns): (f64, i64), now: i64, is_missed: bool) {
        if now < self.open_until {
            return;
        }
        if now >= self.window_end {
            *self = Self { window_end: now + WINDOW_NS, open_until: self.open_until, ended: 0, missed: 0 };
        }
        self.ended += 1;
        self.missed += u64::from(is_missed);
        if self.ended >= FEWEST_ENDED && self.missed as f64 >= share * self.ended as f64 {
            self.open_until = now + open_ns;
            self.window_end = 0;
        }
    }
}

/// The attempts of all callers of one worker.
pub struct Callers {
    pub policy: Policy,
    /// Attempts after the first ones, since the start.
    pub resent: u64,
    random: Mt19937,
    breaker: CircuitBreaker,
    service: ServiceTime,
    tokens: f64,
    /// The number of each attempt that has not ended, by its intended start.
    numbers: BTreeMap<i64, u32>,
    /// When a further attempt comes due, and its number.
    pauses: BinaryHeap<Reverse<(i64, u32)>>,
}

impl Callers {
    pub fn new(random: Mt19937) -> Self {
        Self {
            policy: Policy::default(),
            resent: 0,
            random,
            breaker: CircuitBreaker::default(),
            service: ServiceTime::default(),
            tokens: 0.0,
            numbers: BTreeMap::new(),
            pauses: BinaryHeap::new(),
        }
    }

    pub fn set_policy(&mut self, policy: Policy) {
        if policy.breaker != self.policy.breaker {
            self.breaker = CircuitBreaker::default();
        }
        if policy.retry_budget != self.policy.retry_budget {
            self.tokens = 0.0;
        }
        self.policy = policy;
        if !self.policy.follows_attempts() {
            self.forget();
        }
    }

    /// Whether `answered` must be called for all work that ends.
    pub fn follows_ends(&self) -> bool {
        self.policy.follows_attempts() || self.policy.order == Order::Shed
    }

    /// How long after its intended start work that starts would still end in time; at least half of the deadline.
    pub fn startable(&self) -> i64 {
        let patience = self.policy.patience();
        patience - self.service.most().min(patience / 2)
    }

    /// The present callers wait no longer, and send nothing again.
    pub fn forget(&mut self) {
        self.numbers.clear();
        self.pauses.clear();
    }

    fn next_missed(&self) -> i64 {
        self.numbers.keys().next().map_or(NEVER, |intended| intended.saturating_add(self.policy.patience()))
    }

    /// When the next attempt is missed or comes due, if nothing ends before.
    pub fn next(&self) -> i64 {
        self.next_missed().min(self.pauses.peek().map_or(NEVER, |Reverse((at, _))| *at))
    }

    /// Does what happens at `next`. Some with an intended start if a further attempt comes due.
    pub fn step(&mut self) -> Option<i64> {
        let missed = self.next_missed();
        if missed != NEVER && missed == self.next() {
            let intended = missed - self.policy.patience();
            self.miss(intended);
            return None;
        }
        let Reverse((at, number)) = self.pauses.pop()?;
        self.send(at, number)
    }

    /// A first attempt comes due: its intended start, which may be moved; None if the open breaker refuses it.
    pub fn arrive(&mut self, at: i64) -> Option<i64> {
        if let Some(share) = self.policy.retry_budget {
            self.tokens = MOST_TOKENS.min(self.tokens + share);
        }
        self.send(at, 1)
    }

    fn send(&mut self, mut at: i64, number: u32) -> Option<i64> {
        if at < self.breaker.open_until {
            return None;
        }
        while self.numbers.contains_key(&at) {
            at += 1;
        }
        self.numbers.insert(at, number);
        self.resent += u64::from(number > 1);
        Some(at)
    }

    /// An attempt has ended: in time, or its caller has waited too long.
    pub fn answered(&mut self, intended: i64, started: i64, ended: i64) {
        self.service.add((ended - started) as f64);
        if !self.numbers.contains_key(&intended) {
            return;
        }
        if ended - intended >= self.policy.patience() {
            self.miss(intended);
            return;
        }
        self.numbers.remove(&intended);
        if let Some(breaker) = self.policy.breaker {
            self.breaker.count(breaker, ended, false);
        }
    }

    /// The deadline of an attempt has passed: its caller pauses before the next one, or gives up.
    fn miss(&mut self, intended: i64) {
        let number = match self.numbers.remove(&intended) {
            Some(number) => number,
            None => return,
        };
        let missed = intended + self.policy.patience();
        if let Some(breaker) = self.policy.breaker {
            self.breaker.count(breaker, missed, true);
        }
        if number >= self.policy.attempts {
            return;
        }
        if self.policy.retry_budget.is_some() {
            if self.tokens < 1.0 {
                return;
            }
            self.tokens -= 1.0;
        }
        let pause = self.pause(number);
        self.pauses.push(Reverse((missed + pause, number + 1)));
    }

    fn pause(&mut self, number: u32) -> i64 {
        let share = if self.policy.has_jitter { self.random.random() } else { 1.0 };
        (self.policy.first_pause_ns * self.policy.factor.powi(number as i32 - 1) * share) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn callers(policy: Policy) -> Callers {
        let mut made = Callers::new(Mt19937::from_key(&[1]));
        made.set_policy(policy);
        made
    }

    fn impatient(attempts: u32) -> Policy {
        Policy { deadline_us: 100_000, attempts, ..Policy::default() }
    }

    /// All attempts that come due until a time.
    fn until(callers: &mut Callers, now: i64) -> Vec<i64> {
        let mut due = Vec::new();
        while callers.next() <= now {
            due.extend(callers.step());
        }
        due
    }

    #[test]
    fn what_is_not_answered_in_time_is_sent_again_after_growing_pauses() {
        let policy = Policy { first_pause_ns: 50e6, factor: 2.0, ..impatient(3) };
        let mut callers = callers(policy);
        let patience = callers.policy.patience();
        assert_eq!(callers.arrive(0), Some(0));
        let second = patience + 50 * MS;
        let third = second + patience + 100 * MS;
        assert_eq!(until(&mut callers, 10_000 * MS), [second, third]);
        assert_eq!((callers.resent, callers.next()), (2, NEVER));
    }

    #[test]
    fn what_is_answered_in_time_is_not_sent_again_and_what_is_answered_late_is() {
        let mut callers = callers(impatient(2));
        let patience = callers.policy.patience();
        callers.arrive(0);
        callers.arrive(1);
        callers.answered(0, 0, patience - 1);
        callers.answered(1, 1, patience + 1);
        assert_eq!(until(&mut callers, 10_000 * MS), [patience + 1]);
    }

    #[test]
    fn no_two_attempts_have_the_same_intended_start() {
        let mut callers = callers(impatient(2));
        assert_eq!([callers.arrive(5), callers.arrive(5), callers.arrive(6)], [Some(5), Some(6), Some(7)]);
    }

    #[test]
    fn a_budget_is_a_share_of_the_first_attempts() {
        let mut callers = callers(Policy { retry_budget: Some(0.1), ..impatient(4) });
        let due: usize = (0..1000)
            .map(|n| {
                callers.arrive(n * MS);
                until(&mut callers, n * MS).len()
            })
            .sum();
        assert_eq!(callers.resent as usize, due);
        assert!((80..=100).contains(&due), "{due}");
    }

    #[test]
    fn an_open_breaker_refuses_until_its_time_is_over() {
        let mut callers = callers(Policy { breaker: Some((0.5, 1_000 * MS)), ..impatient(1) });
        for n in 0..10 {
            callers.arrive(n * MS);
        }
        let patience = callers.policy.patience();
        assert!(until(&mut callers, patience + 9 * MS).is_empty());
        let opened = patience + 9 * MS;
        assert_eq!(callers.arrive(opened + 999 * MS), None);
        assert_eq!(callers.arrive(opened + 1_000 * MS), Some(opened + 1_000 * MS));
    }
}
