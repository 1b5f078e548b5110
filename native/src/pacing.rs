//! When the transactions of an open loop are meant to start, and which connection starts each.
//!
//! The schedule does not wait for the server: what is due and not started is the backlog. A connection that has
//! nothing to do *reserves* the next arrival and sleeps until exactly then, so that no thread is woken for another.
//! If it does not wake up in time, the next connection that asks for work starts the arrival.
//! All times are nanoseconds of the monotonic clock.

use std::collections::{BTreeSet, VecDeque};

use crate::mt19937::Mt19937;
use crate::sys::NS_PER_SECOND;

/// A reserved arrival that is so late may be started by another connection: the one that holds it has no processor.
const OVERDUE_NS: i64 = 100_000;

/// Draws arrivals: with exponential gaps (a Poisson process), or evenly spaced from a share of the gap on.
pub struct Pacer {
    random: Mt19937,
    is_constant: bool,
    phase: f64,
    rate: f64,
    next: Option<i64>,
}

impl Pacer {
    pub fn new(random: Mt19937, is_constant: bool, phase: f64) -> Self {
        Self { random, is_constant, phase, rate: 0.0, next: None }
    }

    fn begin(&mut self, now: i64) {
        self.next = None;
        if self.rate > 0.0 {
            let even = (self.phase * NS_PER_SECOND as f64 / self.rate) as i64;
            self.next = Some(now + if self.is_constant { even } else { self.gap() });
        }
    }

    fn gap(&mut self) -> i64 {
        let seconds = if self.is_constant { 1.0 / self.rate } else { self.random.exponential(self.rate) };
        ((seconds * NS_PER_SECOND as f64) as i64).max(1)
    }

    fn draw(&mut self) -> Option<i64> {
        let next = self.next?;
        self.next = Some(next + self.gap());
        Some(next)
    }
}

/// What a connection that asks for work gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Due work, with its intended start.
    Start(i64),
    /// As soon as it can, in a closed loop.
    StartUnasked,
    /// This arrival is reserved for it.
    At(i64),
    /// Nothing, until it is woken.
    Nothing,
}

/// What one worker is to do. `left` is how much more may be scheduled, None without a limit.
pub struct Arrivals {
    pacer: Pacer,
    is_held: bool,
    left: Option<u64>,
    /// How much has come due.
    scheduled: u64,
    backlog: VecDeque<i64>,
    /// Drawn and not reserved.
    future: VecDeque<i64>,
    /// The time and the connection.
    reserved: BTreeSet<(i64, i64)>,
}

/// Work for another worker: what is due, and how much more it may schedule.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HandOver {
    pub due: Vec<i64>,
    pub allowed: u64,
}

impl Arrivals {
    pub fn new(pacer: Pacer, limit: Option<u64>) -> Self {
        Self {
            pacer,
            is_held: false,
            left: limit,
            scheduled: 0,
            backlog: VecDeque::new(),
            future: VecDeque::new(),
            reserved: BTreeSet::new(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.pacer.rate > 0.0
    }

    pub fn is_limited(&self) -> bool {
        self.left.is_some()
    }

    /// Whether nothing waits, and nothing may come any more.
    pub fn is_finished(&self) -> bool {
        self.left == Some(0) && self.backlog.is_empty() && self.reserved.is_empty()
    }

    /// How much has come due, and how much of it is not started.
    pub fn counts(&mut self, now: i64) -> (u64, u64) {
        self.arrive(now);
        let waking = self.reserved.iter().take_while(|&&(at, _)| at <= now).count() as u64;
        (self.scheduled + waking, self.backlog.len() as u64 + waking)
    }

    /// Work for a connection that has none.
    pub fn take(&mut self, now: i64, connection: i64) -> Turn {
        if !self.is_open() {
            return self.take_unasked();
        }
        self.arrive(now);
        self.reclaim_overdue(now);
        if let Some(intended) = self.backlog.pop_front() {
            return Turn::Start(intended);
        }
        if self.is_held || self.unreserved() == Some(0) {
            return Turn::Nothing;
        }
        self.draw_ahead();
        match self.future.pop_front() {
            Some(at) => {
                self.reserved.insert((at, connection));
                Turn::At(at)
            }
            None => Turn::Nothing,
        }
    }

    fn take_unasked(&mut self) -> Turn {
        match &mut self.left {
            Some(0) => return Turn::Nothing,
            Some(left) => *left -= 1,
            None => {}
        }
        Turn::StartUnasked
    }

    /// The oldest due work, when a reserved arrival has come; None if the reservation is void.
    pub fn claim(&mut self, at: i64, connection: i64, now: i64) -> Option<i64> {
        if !self.reserved.remove(&(at, connection)) {
            return None;
        }
        self.schedule(at);
        self.arrive(now);
        self.reclaim_overdue(now);
        self.backlog.pop_front()
    }

    /// Voids the reservations of connections that did not wake up in time.
    fn reclaim_overdue(&mut self, now: i64) {
        while let Some(&(at, connection)) = self.reserved.iter().next() {
            if at + OVERDUE_NS > now {
                return;
            }
            self.reserved.remove(&(at, connection));
            self.schedule(at);
        }
    }

    /// Whether the arrival is still reserved for the connection.
    pub fn holds(&self, at: i64, connection: i64) -> bool {
        self.reserved.contains(&(at, connection))
    }

    /// The connection will not start what it reserved. True if others must look for it.
    pub fn release_reserved(&mut self, at: i64, connection: i64) -> bool {
        let was_there = self.reserved.remove(&(at, connection));
        if was_there {
            self.future.push_front(at);
            self.unreserve();
        }
        was_there
    }

    /// From now on this many a second, or a closed loop for 0, which forgets the backlog: how much that was.
    pub fn set_rate(&mut self, rate: f64, now: i64) -> u64 {
        self.arrive(now);
        if rate == self.pacer.rate {
            return 0;
        }
        self.unreserve();
        self.arrive(now);
        let before = std::mem::replace(&mut self.pacer.rate, rate);
        if rate <= 0.0 {
            self.future.clear();
            self.pacer.next = None;
            return self.forget();
        }
        if self.is_held {
            return 0;
        }
        if before <= 0.0 {
            self.pacer.begin(now);
        } else {
            // What is left of each gap shrinks or grows: a ramp neither adds arrivals nor loses any.
            let scaled = |at: i64| now + ((at - now) as f64 * before / rate) as i64;
            self.future.iter_mut().for_each(|at| *at = scaled(*at));
            self.pacer.next = self.pacer.next.map(scaled);
        }
        0
    }

    /// From now on so much may be scheduled, None for no limit.
    pub fn allow(&mut self, more: Option<u64>) {
        self.unreserve();
        self.left = more;
    }

    /// Nothing comes due until `release`.
    pub fn hold(&mut self, now: i64) {
        self.unreserve();
        self.arrive(now);
        self.is_held = true;
        self.future.clear();
        self.pacer.next = None;
    }

    pub fn release(&mut self, now: i64) {
        if std::mem::take(&mut self.is_held) {
            self.pacer.begin(now);
        }
    }

    /// Drops what is due; how much that was.
    pub fn drop_backlog(&mut self, now: i64) -> u64 {
        self.unreserve();
        self.arrive(now);
        self.forget()
    }

    fn forget(&mut self) -> u64 {
        let dropped = self.backlog.len() as u64;
        self.backlog.clear();
        dropped
    }

    /// Gives away what is due and what may still be scheduled.
    pub fn hand_over(&mut self, now: i64) -> HandOver {
        self.unreserve();
        self.arrive(now);
        let due: Vec<i64> = self.backlog.drain(..).collect();
        self.scheduled -= due.len() as u64;
        let allowed = self.left.as_mut().map_or(0, std::mem::take);
        HandOver { due, allowed }
    }

    /// Makes another worker's work its own; what is due longest is done first.
    pub fn take_over(&mut self, work: &HandOver, now: i64) {
        self.unreserve();
        self.arrive(now);
        let due: &[i64] = if self.is_open() { &work.due } else { &[] };
        if let Some(left) = &mut self.left {
            *left += work.allowed + (work.due.len() - due.len()) as u64;
        }
        self.scheduled += due.len() as u64;
        self.backlog.extend(due);
        self.backlog.make_contiguous().sort_unstable();
    }

    /// Moves what has come due into the backlog.
    fn arrive(&mut self, now: i64) {
        while self.unreserved() != Some(0) {
            self.draw_ahead();
            match self.future.front() {
                Some(&at) if at <= now => {
                    self.future.pop_front();
                    self.schedule(at);
                }
                _ => return,
            }
        }
    }

    fn schedule(&mut self, at: i64) {
        self.scheduled += 1;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        let place = self.backlog.partition_point(|&other| other <= at);
        self.backlog.insert(place, at);
    }

    /// How many arrivals may still be reserved or come due.
    fn unreserved(&self) -> Option<u64> {
        self.left.map(|left| left.saturating_sub(self.reserved.len() as u64))
    }

    fn draw_ahead(&mut self) {
        if self.future.is_empty() {
            self.future.extend(self.pacer.draw());
        }
    }

    /// All reservations are void; those who hold one must be woken.
    fn unreserve(&mut self) {
        let mut times: Vec<i64> = std::mem::take(&mut self.reserved).into_iter().map(|(at, _)| at).collect();
        times.extend(self.future.drain(..));
        times.sort_unstable();
        self.future.extend(times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn evenly(limit: Option<u64>) -> Arrivals {
        Arrivals::new(Pacer::new(Mt19937::from_key(&[1]), true, 0.0), limit)
    }

    #[test]
    fn in_a_closed_loop_work_is_there_until_the_limit() {
        let mut arrivals = evenly(Some(2));
        let turns = [(); 3].map(|()| arrivals.take(0, 0));
        assert_eq!(turns, [Turn::StartUnasked, Turn::StartUnasked, Turn::Nothing]);
        assert!(arrivals.is_finished());
    }

    #[test]
    fn idle_connections_reserve_one_arrival_each() {
        let mut arrivals = evenly(None);
        arrivals.set_rate(1_000.0, 0);
        assert_eq!(arrivals.take(0, 1), Turn::Start(0));
        assert_eq!(arrivals.take(0, 2), Turn::At(MS));
        assert_eq!(arrivals.take(0, 3), Turn::At(2 * MS));
        assert_eq!(arrivals.counts(MS), (2, 1));
        assert_eq!(arrivals.claim(MS, 2, MS), Some(MS));
        assert_eq!(arrivals.counts(MS), (2, 0));
    }

    #[test]
    fn what_nobody_reserved_becomes_backlog() {
        let mut arrivals = evenly(Some(4));
        arrivals.set_rate(1_000.0, 0);
        assert_eq!(arrivals.counts(10 * MS), (4, 4));
        assert_eq!(arrivals.drop_backlog(10 * MS), 4);
        assert!(arrivals.is_finished());
    }

    #[test]
    fn an_arrival_that_is_overdue_is_started_by_the_next_that_asks() {
        let mut arrivals = evenly(None);
        arrivals.set_rate(1_000.0, 0);
        arrivals.take(0, 1);
        assert_eq!(arrivals.take(0, 2), Turn::At(MS));
        assert_eq!(arrivals.take(0, 3), Turn::At(2 * MS));
        assert_eq!(arrivals.claim(2 * MS, 3, 2 * MS), Some(MS));
        assert_eq!(arrivals.claim(MS, 2, 2 * MS + 1), None);
        assert_eq!(arrivals.take(2 * MS + 1, 2), Turn::Start(2 * MS));
        assert_eq!(arrivals.counts(2 * MS + 1), (3, 0));
    }

    #[test]
    fn an_arrival_that_is_only_just_due_stays_reserved() {
        let mut arrivals = evenly(None);
        arrivals.set_rate(1_000.0, 0);
        arrivals.take(0, 1);
        assert_eq!(arrivals.take(0, 2), Turn::At(MS));
        assert_eq!(arrivals.take(MS + OVERDUE_NS - 1, 1), Turn::At(2 * MS));
        assert_eq!(arrivals.claim(MS, 2, MS + OVERDUE_NS), Some(MS));
    }

    #[test]
    fn a_change_of_rate_voids_reservations_and_loses_no_arrival() {
        let mut arrivals = evenly(None);
        arrivals.set_rate(1_000.0, 0);
        arrivals.take(0, 1);
        assert_eq!(arrivals.take(0, 2), Turn::At(MS));
        arrivals.set_rate(500.0, 0);
        assert_eq!(arrivals.claim(MS, 2, MS), None);
        assert_eq!(arrivals.take(0, 2), Turn::At(2 * MS));
    }

    #[test]
    fn while_held_nothing_comes_due() {
        let mut arrivals = evenly(None);
        arrivals.set_rate(1_000.0, 0);
        arrivals.hold(MS);
        let before = arrivals.counts(MS);
        assert_eq!(arrivals.counts(50 * MS), before);
        arrivals.release(50 * MS);
        assert_eq!(arrivals.counts(50 * MS).0, before.0 + 1);
    }

    #[test]
    fn work_that_is_handed_over_counts_where_it_is_done() {
        let (mut from, mut to) = (evenly(Some(5)), evenly(Some(1)));
        from.set_rate(1_000.0, 0);
        from.counts(2 * MS);
        let work = from.hand_over(2 * MS);
        assert_eq!((work.due.len(), work.allowed), (3, 2));
        assert_eq!(from.counts(9 * MS), (0, 0));
        to.set_rate(1_000.0, 9 * MS);
        to.take_over(&work, 9 * MS);
        assert_eq!(to.counts(9 * MS), (4, 4));
        assert_eq!(to.take(9 * MS, 0), Turn::Start(0));
    }
}
