//! The work queue: when the transactions of an open loop start, and which connection starts each.
//!
//! The schedule does not wait for the server: work that is due and not started is the backlog. An idle connection
//! *reserves* the next arrival and sleeps until its time, so that no thread wakes another.
//! If it does not wake up in time, the next connection that asks for work starts the arrival.
//! With users that share the connections, an arrival is the request of a user, who asks again after its transaction.
//! All times are nanoseconds of the monotonic clock.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use crate::callers::{Callers, Order, Policy};
use crate::sys::NS_PER_SECOND;
use crate::values::mt19937::Mt19937;

/// A reserved arrival that is this late may be started by another connection: its holder has no processor.
const OVERDUE_NS: i64 = 100_000;

/// Draws arrivals: with exponential gaps (a Poisson process), or evenly spaced from a share of the gap on.
pub struct ArrivalSchedule {
    random: Mt19937,
    is_constant: bool,
    phase: f64,
    rate: f64,
    next: Option<i64>,
}

impl ArrivalSchedule {
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

/// The response to a connection that requests work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkGrant {
    /// Due work, with its intended start.
    Start(i64),
    /// A transaction of a closed loop.
    StartAtOnce,
    /// This arrival is reserved for it.
    Reserved(i64),
    /// Nothing, until it is woken.
    Nothing,
}

/// The work of one worker. `left` is how much more may be scheduled, None without a limit.
pub struct WorkQueue {
    arrivals: ArrivalSchedule,
    is_held: bool,
    left: Option<u64>,
    /// How much has come due.
    scheduled: u64,
    /// How much of it was not started because of its callers: refused, or shed after its deadline.
    abandoned: u64,
    callers: Callers,
    backlog: VecDeque<i64>,
    /// Arrivals drawn and not reserved: with users, their next requests.
    future: BinaryHeap<Reverse<i64>>,
    /// The time and the connection.
    reserved: BTreeSet<(i64, i64)>,
    /// How many share the connections; 0 without a pool.
    users: u64,
    /// How many of them leave at the end of their transaction.
    leaving: u64,
    /// Whether a connection got nothing since the last call of `wakes_idle`.
    has_idle: bool,
}

/// Work for another worker: what is due, and how much more it may schedule.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reassignment {
    pub due: Vec<i64>,
    pub quota: u64,
}

impl WorkQueue {
    /// `random` spreads the pauses of callers.
    pub fn new(arrivals: ArrivalSchedule, limit: Option<u64>, random: Mt19937) -> Self {
        Self {
            arrivals,
            abandoned: 0,
            callers: Callers::new(random),
            is_held: false,
            left: limit,
            scheduled: 0,
            backlog: VecDeque::new(),
            future: BinaryHeap::new(),
            reserved: BTreeSet::new(),
            users: 0,
            leaving: 0,
            has_idle: false,
        }
    }

    pub fn is_open(&self) -> bool {
        self.arrivals.rate > 0.0 || self.users > 0
    }

    /// Whether due work is the request of a user.
    pub fn has_users(&self) -> bool {
        self.users > 0
    }

    pub fn is_limited(&self) -> bool {
        self.left.is_some()
    }

    /// Whether the backlog is empty and nothing more is scheduled.
    pub fn is_finished(&self) -> bool {
        self.left == Some(0) && self.backlog.is_empty() && self.reserved.is_empty()
    }

    /// How much of what came due was abandoned because of its callers, and how much of it was sent again by them.
    pub fn callers_counts(&self) -> (u64, u64) {
        (self.abandoned, self.callers.resent)
    }

    /// Sets what callers do. All connections must check for work.
    pub fn set_callers(&mut self, policy: Policy, now: i64) {
        self.unreserve();
        self.arrive(now);
        self.callers.set_policy(policy);
        self.arrive(now);
    }

    /// Whether `answered` must be called for all work that has ended.
    pub fn follows_ends(&self) -> bool {
        self.callers.follows_ends()
    }

    fn follows_attempts(&self) -> bool {
        self.callers.policy.follows_attempts()
    }

    /// Work with this intended start has succeeded.
    pub fn answered(&mut self, intended: i64, started: i64, ended: i64) {
        self.callers.answered(intended, started, ended);
    }

    /// When the holder of a reserved arrival must look for work: before it, if a further attempt may come due until
    /// then. An attempt that comes due later than now is missed after the holder has looked again.
    pub fn wake_time(&self, at: i64, now: i64) -> i64 {
        match self.follows_attempts() {
            true => at.min(self.callers.next()).min(now.saturating_add(self.callers.policy.patience())),
            false => at,
        }
    }

    /// How much has come due, and how much of it is not started.
    pub fn counts(&mut self, now: i64) -> (u64, u64) {
        self.arrive(now);
        let waking = self.reserved.iter().take_while(|&&(at, _)| at <= now).count() as u64;
        (self.scheduled + waking, self.backlog.len() as u64 + waking)
    }

    /// Work for an idle connection.
    pub fn take(&mut self, now: i64, connection: i64) -> WorkGrant {
        if !self.is_open() {
            return self.take_at_once();
        }
        self.arrive(now);
        self.reclaim_overdue(now);
        if let Some(intended) = self.next_of_backlog(now) {
            return WorkGrant::Start(intended);
        }
        if !self.is_held && self.unreserved() != Some(0) {
            self.draw_ahead();
            if let Some(Reverse(at)) = self.future.pop() {
                self.reserved.insert((at, connection));
                return WorkGrant::Reserved(at);
            }
        }
        self.has_idle = true;
        WorkGrant::Nothing
    }

    fn take_at_once(&mut self) -> WorkGrant {
        match &mut self.left {
            Some(0) => return WorkGrant::Nothing,
            Some(left) => *left -= 1,
            None => {}
        }
        WorkGrant::StartAtOnce
    }

    /// The oldest due work at the time of a reserved arrival; None if the reservation is void.
    pub fn claim(&mut self, at: i64, connection: i64, now: i64) -> Option<i64> {
        if !self.reserved.remove(&(at, connection)) {
            return None;
        }
        self.schedule(at);
        self.arrive(now);
        self.reclaim_overdue(now);
        self.next_of_backlog(now)
    }

    fn next_of_backlog(&mut self, now: i64) -> Option<i64> {
        match self.callers.policy.order {
            Order::Oldest => self.backlog.pop_front(),
            Order::Newest => self.backlog.pop_back(),
            Order::Shed => {
                self.shed(now);
                self.backlog.pop_front()
            }
        }
    }

    /// Abandons what would not end in time any more.
    fn shed(&mut self, now: i64) {
        let startable = self.callers.startable();
        let past = self.backlog.partition_point(|&intended| intended + startable <= now);
        self.backlog.drain(..past);
        self.abandoned += past as u64;
        self.return_users(past as u64, now);
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

    /// Whether work waits that is not reserved.
    pub fn has_due(&mut self, now: i64) -> bool {
        self.follows_attempts() && {
            self.arrive(now);
            !self.backlog.is_empty()
        }
    }

    /// Whether the arrival is still reserved for the connection.
    pub fn holds(&self, at: i64, connection: i64) -> bool {
        self.reserved.contains(&(at, connection))
    }

    /// Gives up a reservation. True if other connections must check for work.
    pub fn release_reserved(&mut self, at: i64, connection: i64) -> bool {
        let was_there = self.reserved.remove(&(at, connection));
        if was_there {
            self.future.push(Reverse(at));
            self.unreserve();
        }
        was_there
    }

    /// Sets the rate per second. 0 is a closed loop, which drops the backlog; returns how much that was.
    pub fn set_rate(&mut self, rate: f64, now: i64) -> u64 {
        self.arrive(now);
        if rate == self.arrivals.rate {
            return 0;
        }
        self.unreserve();
        self.arrive(now);
        let before = std::mem::replace(&mut self.arrivals.rate, rate);
        if self.users > 0 {
            return 0;
        }
        if rate <= 0.0 {
            self.future.clear();
            self.arrivals.next = None;
            return self.forget(now);
        }
        if self.is_held {
            return 0;
        }
        if before <= 0.0 {
            self.arrivals.begin(now);
        } else {
            // The rest of each gap is scaled: a ramp neither adds arrivals nor loses any.
            let scaled = |at: i64| now + ((at - now) as f64 * before / rate) as i64;
            self.future = self.future.drain().map(|Reverse(at)| Reverse(scaled(at))).collect();
            self.arrivals.next = self.arrivals.next.map(scaled);
        }
        0
    }

    /// Sets how much may be scheduled, None for no limit.
    pub fn grant_quota(&mut self, more: Option<u64>) {
        self.unreserve();
        self.left = more;
    }

    /// Nothing comes due until `release`.
    pub fn hold(&mut self, now: i64) {
        self.unreserve();
        self.arrive(now);
        self.callers.forget();
        self.is_held = true;
        if self.users == 0 {
            self.future.clear();
            self.arrivals.next = None;
        }
    }

    pub fn release(&mut self, now: i64) {
        if !std::mem::take(&mut self.is_held) {
            return;
        }
        if self.users > 0 {
            self.future = self.future.drain().map(|Reverse(at)| Reverse(at.max(now))).collect();
        } else {
            self.arrivals.begin(now);
        }
    }

    /// Sets how many users share the connections, instead of a schedule. New ones ask at once; those leave first that
    /// would ask last, then the last that wait for a connection, then others at the end of their transaction.
    pub fn set_users(&mut self, users: u64, now: i64) {
        self.unreserve();
        self.arrive(now);
        let before = std::mem::replace(&mut self.users, users);
        if before == 0 && users > 0 {
            self.future.clear();
            self.arrivals.next = None;
        }
        let more = users.saturating_sub(before);
        let returning = self.leaving.min(more);
        self.leaving -= returning;
        self.future.extend((returning..more).map(|_| Reverse(now)));
        let mut fewer = before.saturating_sub(users);
        if fewer > 0 {
            let mut times = std::mem::take(&mut self.future).into_sorted_vec();
            let leaving = times.len().min(fewer as usize);
            self.future = times.split_off(leaving).into();
            fewer -= leaving as u64;
        }
        while fewer > 0 && self.backlog.pop_back().is_some() {
            self.unschedule(1);
            fewer -= 1;
        }
        self.leaving += fewer;
        if before > 0 && users == 0 && !self.is_held {
            self.arrivals.begin(now);
        }
    }

    /// The transaction of a user has ended; the user asks again at this time, unless it leaves.
    pub fn user_came_back(&mut self, at: i64) {
        if self.leaving > 0 {
            self.leaving -= 1;
        } else if self.users > 0 {
            self.future.push(Reverse(at));
        }
    }

    /// Whether idle connections must check for work: that of a user whose connection takes no more.
    pub fn wakes_idle(&mut self) -> bool {
        self.users > 0 && !self.future.is_empty() && std::mem::take(&mut self.has_idle)
    }

    /// Drops the backlog; returns how much that was.
    pub fn drop_backlog(&mut self, now: i64) -> u64 {
        self.unreserve();
        self.arrive(now);
        self.forget(now)
    }

    fn forget(&mut self, now: i64) -> u64 {
        let dropped = self.backlog.len() as u64;
        self.backlog.clear();
        self.callers.forget();
        self.return_users(dropped, now);
        dropped
    }

    /// Users that waited for a connection ask again.
    fn return_users(&mut self, count: u64, now: i64) {
        if self.users > 0 {
            (0..count).for_each(|_| self.user_came_back(now));
        }
    }

    /// Gives the backlog and the remaining quota to another worker. Users stay, and ask again.
    pub fn reassign(&mut self, now: i64) -> Reassignment {
        self.unreserve();
        self.arrive(now);
        let mut due: Vec<i64> = self.backlog.drain(..).collect();
        self.callers.forget();
        if self.users > 0 {
            self.unschedule(due.len() as u64);
            self.return_users(due.len() as u64, now);
            due.clear();
        }
        self.scheduled -= due.len() as u64;
        let quota = self.left.as_mut().map_or(0, std::mem::take);
        Reassignment { due, quota }
    }

    /// Takes over another worker's work; the oldest comes first.
    pub fn take_over(&mut self, work: &Reassignment, now: i64) {
        self.unreserve();
        self.arrive(now);
        let due: &[i64] = if self.is_open() { &work.due } else { &[] };
        if let Some(left) = &mut self.left {
            *left += work.quota + (work.due.len() - due.len()) as u64;
        }
        self.scheduled += due.len() as u64;
        self.backlog.extend(due);
        self.backlog.make_contiguous().sort_unstable();
    }

    /// Moves what has come due into the backlog.
    fn arrive(&mut self, now: i64) {
        while !self.is_held && self.unreserved() != Some(0) {
            self.draw_ahead();
            let arrival = self.future.peek().map_or(i64::MAX, |&Reverse(at)| at);
            let of_callers = self.callers.next();
            if arrival.min(of_callers) > now {
                break;
            }
            if of_callers <= arrival {
                if let Some(at) = self.callers.step() {
                    self.enqueue(at);
                }
            } else {
                self.future.pop();
                self.schedule(arrival);
            }
        }
        if self.callers.policy.order == Order::Shed {
            self.shed(now);
        }
    }

    /// An arrival comes due: it is a first attempt.
    fn schedule(&mut self, at: i64) {
        if !self.follows_attempts() || self.users > 0 {
            return self.enqueue(at);
        }
        match self.callers.arrive(at) {
            Some(at) => self.enqueue(at),
            None => {
                self.count_scheduled();
                self.abandoned += 1;
            }
        }
    }

    fn count_scheduled(&mut self) {
        self.scheduled += 1;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
    }

    fn enqueue(&mut self, at: i64) {
        self.count_scheduled();
        let place = self.backlog.partition_point(|&other| other <= at);
        self.backlog.insert(place, at);
    }

    fn unschedule(&mut self, count: u64) {
        self.scheduled -= count;
        if let Some(left) = &mut self.left {
            *left += count;
        }
    }

    /// How many arrivals may still be reserved or come due.
    fn unreserved(&self) -> Option<u64> {
        self.left.map(|left| left.saturating_sub(self.reserved.len() as u64))
    }

    fn draw_ahead(&mut self) {
        if self.future.is_empty() && self.users == 0 {
            self.future.extend(self.arrivals.draw().map(Reverse));
        }
    }

    /// Voids all reservations; their holders must be woken.
    fn unreserve(&mut self) {
        self.future.extend(std::mem::take(&mut self.reserved).into_iter().map(|(at, _)| Reverse(at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn evenly(limit: Option<u64>) -> WorkQueue {
        WorkQueue::new(
            ArrivalSchedule::new(Mt19937::from_key(&[1]), true, 0.0),
            limit,
            Mt19937::from_key(&[2]),
        )
    }

    #[test]
    fn in_a_closed_loop_work_is_there_until_the_limit() {
        let mut queue = evenly(Some(2));
        let grants = [(); 3].map(|()| queue.take(0, 0));
        assert_eq!(grants, [WorkGrant::StartAtOnce, WorkGrant::StartAtOnce, WorkGrant::Nothing]);
        assert!(queue.is_finished());
    }

    #[test]
    fn idle_connections_reserve_one_arrival_each() {
        let mut queue = evenly(None);
        queue.set_rate(1_000.0, 0);
        assert_eq!(queue.take(0, 1), WorkGrant::Start(0));
        assert_eq!(queue.take(0, 2), WorkGrant::Reserved(MS));
        assert_eq!(queue.take(0, 3), WorkGrant::Reserved(2 * MS));
        assert_eq!(queue.counts(MS), (2, 1));
        assert_eq!(queue.claim(MS, 2, MS), Some(MS));
        assert_eq!(queue.counts(MS), (2, 0));
    }

    #[test]
    fn unreserved_arrivals_become_backlog() {
        let mut queue = evenly(Some(4));
        queue.set_rate(1_000.0, 0);
        assert_eq!(queue.counts(10 * MS), (4, 4));
        assert_eq!(queue.drop_backlog(10 * MS), 4);
        assert!(queue.is_finished());
    }

    #[test]
    fn an_arrival_that_is_overdue_is_started_by_the_next_that_asks() {
        let mut queue = evenly(None);
        queue.set_rate(1_000.0, 0);
        queue.take(0, 1);
        assert_eq!(queue.take(0, 2), WorkGrant::Reserved(MS));
        assert_eq!(queue.take(0, 3), WorkGrant::Reserved(2 * MS));
        assert_eq!(queue.claim(2 * MS, 3, 2 * MS), Some(MS));
        assert_eq!(queue.claim(MS, 2, 2 * MS + 1), None);
        assert_eq!(queue.take(2 * MS + 1, 2), WorkGrant::Start(2 * MS));
        assert_eq!(queue.counts(2 * MS + 1), (3, 0));
    }

    #[test]
    fn an_arrival_that_is_only_just_due_stays_reserved() {
        let mut queue = evenly(None);
        queue.set_rate(1_000.0, 0);
        queue.take(0, 1);
        assert_eq!(queue.take(0, 2), WorkGrant::Reserved(MS));
        assert_eq!(queue.take(MS + OVERDUE_NS - 1, 1), WorkGrant::Reserved(2 * MS));
        assert_eq!(queue.claim(MS, 2, MS + OVERDUE_NS), Some(MS));
    }

    #[test]
    fn a_change_of_rate_voids_reservations_and_loses_no_arrival() {
        let mut queue = evenly(None);
        queue.set_rate(1_000.0, 0);
        queue.take(0, 1);
        assert_eq!(queue.take(0, 2), WorkGrant::Reserved(MS));
        queue.set_rate(500.0, 0);
        assert_eq!(queue.claim(MS, 2, MS), None);
        assert_eq!(queue.take(0, 2), WorkGrant::Reserved(2 * MS));
    }

    #[test]
    fn while_held_nothing_comes_due() {
        let mut queue = evenly(None);
        queue.set_rate(1_000.0, 0);
        queue.hold(MS);
        let before = queue.counts(MS);
        assert_eq!(queue.counts(50 * MS), before);
        queue.release(50 * MS);
        assert_eq!(queue.counts(50 * MS).0, before.0 + 1);
    }

    #[test]
    fn work_that_is_handed_over_counts_where_it_is_done() {
        let (mut from, mut to) = (evenly(Some(5)), evenly(Some(1)));
        from.set_rate(1_000.0, 0);
        from.counts(2 * MS);
        let work = from.reassign(2 * MS);
        assert_eq!((work.due.len(), work.quota), (3, 2));
        assert_eq!(from.counts(9 * MS), (0, 0));
        to.set_rate(1_000.0, 9 * MS);
        to.take_over(&work, 9 * MS);
        assert_eq!(to.counts(9 * MS), (4, 4));
        assert_eq!(to.take(9 * MS, 0), WorkGrant::Start(0));
    }

    fn impatient(attempts: u32, order: Order) -> WorkQueue {
        let mut queue = evenly(None);
        queue.set_callers(Policy { deadline_us: 2_500, attempts, order, ..Policy::default() }, 0);
        queue.set_rate(1_000.0, 0);
        queue
    }

    #[test]
    fn the_newest_first_or_only_what_is_before_its_deadline() {
        for (order, expected, abandoned) in
            [(Order::Oldest, 0, 0), (Order::Newest, 9 * MS, 0), (Order::Shed, 7 * MS, 7)]
        {
            let mut queue = impatient(1, order);
            assert_eq!(queue.take(9 * MS, 1), WorkGrant::Start(expected));
            assert_eq!(queue.callers_counts(), (abandoned, 0));
            assert_eq!(queue.counts(9 * MS), (10, 9 - abandoned));
        }
    }

    #[test]
    fn the_holder_of_an_arrival_looks_for_further_attempts_before_it() {
        let mut queue = impatient(2, Order::Oldest);
        queue.set_rate(10.0, 0);
        assert_eq!(queue.take(0, 1), WorkGrant::Start(0));
        assert_eq!(queue.take(0, 2), WorkGrant::Reserved(100 * MS));
        let missed = 2_501_000;
        assert_eq!(queue.wake_time(100 * MS, 0), missed);
        assert_eq!(queue.take(missed, 3), WorkGrant::Start(missed));
        assert_eq!((queue.counts(missed), queue.callers_counts()), ((2, 0), (0, 1)));
        queue.answered(missed, missed, missed + 1);
        assert_eq!(queue.wake_time(100 * MS, missed), 2 * missed);
    }

    fn taken(queue: &mut WorkQueue, now: i64) -> Vec<i64> {
        std::iter::from_fn(|| match queue.take(now, 9) {
            WorkGrant::Start(intended) => Some(intended),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn each_user_asks_again_after_its_pause() {
        let mut queue = evenly(None);
        queue.set_users(3, 5);
        assert_eq!(queue.take(7, 1), WorkGrant::Start(5));
        assert_eq!(queue.counts(7), (3, 2));
        queue.user_came_back(7 + 4 * MS);
        assert_eq!(taken(&mut queue, 8), [5, 5]);
        queue.user_came_back(8 + 2 * MS);
        assert_eq!(queue.take(9, 1), WorkGrant::Reserved(8 + 2 * MS));
        queue.unreserve();
        assert_eq!(taken(&mut queue, 5 * MS), [8 + 2 * MS, 7 + 4 * MS]);
        assert_eq!(queue.counts(9 * MS), (5, 0));
    }

    #[test]
    fn users_that_think_leave_first_then_those_that_wait() {
        let mut queue = evenly(Some(100));
        queue.set_users(5, 0);
        queue.take(0, 1);
        queue.take(0, 2);
        queue.user_came_back(9 * MS);
        queue.set_users(3, MS);
        assert_eq!(queue.counts(20 * MS), (4, 2));
        queue.set_users(1, 20 * MS);
        assert_eq!(queue.counts(20 * MS), (2, 0));
        queue.set_users(2, 21 * MS);
        queue.user_came_back(22 * MS);
        assert_eq!(queue.counts(30 * MS), (4, 2));
        queue.set_users(0, 30 * MS);
        queue.user_came_back(31 * MS);
        assert_eq!((queue.counts(40 * MS), queue.is_open()), ((2, 0), false));
    }

    #[test]
    fn users_ask_again_when_their_requests_are_dropped_or_their_worker_gives_up_its_work() {
        let mut queue = evenly(Some(10));
        queue.set_users(4, 0);
        assert_eq!(queue.drop_backlog(MS), 4);
        assert_eq!(queue.counts(MS), (8, 4));
        let work = queue.reassign(2 * MS);
        assert_eq!((work.due.len(), work.quota), (0, 6));
        queue.take_over(&Reassignment { due: Vec::new(), quota: 3 }, 3 * MS);
        assert_eq!(queue.counts(4 * MS), (7, 3));
    }

    #[test]
    fn while_held_no_user_asks() {
        let mut queue = evenly(None);
        queue.set_users(2, 0);
        queue.take(0, 1);
        queue.user_came_back(3 * MS);
        queue.hold(MS);
        assert_eq!(queue.counts(9 * MS), (2, 1));
        queue.release(10 * MS);
        assert_eq!(taken(&mut queue, 11 * MS), [0, 10 * MS]);
    }

    #[test]
    fn an_idle_connection_takes_the_request_that_another_leaves() {
        let mut queue = evenly(None);
        queue.set_users(1, 0);
        queue.take(0, 1);
        assert!(!queue.wakes_idle());
        assert_eq!(queue.take(0, 2), WorkGrant::Nothing);
        assert!(!queue.wakes_idle());
        queue.user_came_back(MS);
        assert!(queue.wakes_idle());
        assert_eq!(queue.take(0, 2), WorkGrant::Reserved(MS));
        assert!(!queue.wakes_idle());
    }
}
