//! Gaps between completions of transactions, over all threads: see `load/messages.py`.
//!
//! A completion replaces the time of the last one. Only a gap of half a second or more takes a lock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::Mutex;

use crate::panics::lock;

const SHORTEST_NS: i64 = 500_000_000;
const MOST_GAPS: usize = 64;

/// Start and end, and the time from which a transaction was in flight or due.
pub type Gap = (i64, i64, i64);

#[derive(Default)]
pub struct CompletionGaps {
    last_ns: AtomicI64,
    woken_ns: AtomicI64,
    in_flight: AtomicI64,
    is_held: AtomicBool,
    kept: Mutex<VecDeque<Gap>>,
}

impl CompletionGaps {
    /// A transaction starts, which came due at this time.
    pub fn started(&self, due_ns: i64) {
        if self.in_flight.fetch_add(1, Ordering::AcqRel) == 0 && !self.is_woken() {
            self.woken_ns.store(due_ns, Ordering::Release);
        }
    }

    pub fn completed(&self, now_ns: i64) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        let last_ns = self.last_ns.fetch_max(now_ns, Ordering::AcqRel);
        if now_ns - last_ns >= SHORTEST_NS && !self.is_held.load(Ordering::Acquire) {
            self.keep(self.gap(last_ns, now_ns));
        }
    }

    /// A failed transaction does not end a gap, and its work is still wanted.
    pub fn failed(&self) {
        self.woken_ns.fetch_max(self.last_ns.load(Ordering::Acquire) + 1, Ordering::AcqRel);
        self.abandoned();
    }

    pub fn abandoned(&self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// No connection is left: nothing is wanted.
    pub fn all_left(&self) {
        self.woken_ns.store(0, Ordering::Release);
    }

    /// A pause begins: nothing is wanted until `release`.
    pub fn hold(&self, now_ns: i64, backlog: u64) {
        if let Some(gap) = self.open(now_ns, backlog) {
            self.keep(gap);
        }
        self.is_held.store(true, Ordering::Release);
    }

    pub fn release(&self, now_ns: i64) {
        self.last_ns.store(now_ns, Ordering::Release);
        self.is_held.store(false, Ordering::Release);
    }

    /// The last gaps, with the one that is still open.
    pub fn report(&self, now_ns: i64, backlog: u64) -> Vec<Gap> {
        lock(&self.kept).iter().copied().chain(self.open(now_ns, backlog)).collect()
    }

    fn open(&self, now_ns: i64, backlog: u64) -> Option<Gap> {
        let last_ns = self.last_ns.load(Ordering::Acquire);
        if self.is_held.load(Ordering::Acquire) || now_ns - last_ns < SHORTEST_NS {
            return None;
        }
        let has_work = backlog > 0 || self.in_flight.load(Ordering::Acquire) > 0 || self.is_woken();
        Some(if has_work { self.gap(last_ns, now_ns) } else { (last_ns, now_ns, now_ns) })
    }

    /// Whether there has been work since the last completion.
    fn is_woken(&self) -> bool {
        self.woken_ns.load(Ordering::Acquire) > self.last_ns.load(Ordering::Acquire)
    }

    fn gap(&self, last_ns: i64, now_ns: i64) -> Gap {
        (last_ns, now_ns, self.woken_ns.load(Ordering::Acquire).clamp(last_ns, now_ns))
    }

    fn keep(&self, gap: Gap) {
        let mut kept = lock(&self.kept);
        if kept.len() == MOST_GAPS {
            kept.pop_front();
        }
        kept.push_back(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::CompletionGaps;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_gap_reaches_from_a_completion_to_the_next() {
        let gaps = CompletionGaps::default();
        for (start, end) in [(100, 110), (110, 300), (300, 1200), (1200, 1210), (1300, 1310)] {
            gaps.started(start * MS);
            gaps.completed(end * MS);
        }
        assert_eq!(gaps.report(1700 * MS, 0), [(300 * MS, 1200 * MS, 300 * MS)]);
    }

    #[test]
    fn a_gap_without_work_is_told_from_one_with() {
        let gaps = CompletionGaps::default();
        gaps.started(0);
        gaps.completed(10 * MS);
        assert_eq!(gaps.report(900 * MS, 0), [(10 * MS, 900 * MS, 900 * MS)]);
        gaps.started(1000 * MS);
        assert_eq!(gaps.report(1100 * MS, 0), [(10 * MS, 1100 * MS, 1000 * MS)]);
        gaps.completed(1900 * MS);
        assert_eq!(gaps.report(1901 * MS, 0), [(10 * MS, 1900 * MS, 1000 * MS)]);
    }

    #[test]
    fn a_failure_does_not_end_a_gap() {
        let gaps = CompletionGaps::default();
        gaps.started(0);
        gaps.completed(10 * MS);
        gaps.started(10 * MS);
        gaps.failed();
        gaps.started(2000 * MS);
        gaps.completed(2010 * MS);
        assert_eq!(gaps.report(2020 * MS, 0), [(10 * MS, 2010 * MS, 10 * MS + 1)]);
    }

    #[test]
    fn a_pause_divides_a_gap_and_is_none() {
        let gaps = CompletionGaps::default();
        gaps.started(0);
        gaps.hold(700 * MS, 0);
        assert_eq!(gaps.report(2000 * MS, 0), [(0, 700 * MS, 0)]);
        gaps.release(3000 * MS);
        gaps.completed(3600 * MS);
        assert_eq!(gaps.report(3600 * MS, 0)[1..], [(3000 * MS, 3600 * MS, 3000 * MS)]);
    }
}
