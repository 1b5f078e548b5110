//! Wakes a thread slightly before the time it waits for, so that work starts on time.
//!
//! A timer of the system fires late: by some 5 µs on a processor that is awake, by 50 µs and more on one that has to be
//! woken, above all in a virtual machine. The thread therefore waits until the lateness it has seen before the
//! time, and spins for what is left. The lead follows the upper quartile of the lateness, by the step of Robbins
//! and Monro (1951), so that one of four timers is late and the others spin for some microseconds. What is later than
//! any lead tells of a thread that had to wait for a processor, and teaches nothing: a spin would take it from others.

use std::hint::spin_loop;

use crate::sys;

/// The share of timers that wake the thread before its time.
const EARLY_SHARE: f64 = 0.75;
const STEP_NS: f64 = 4_000.0;
/// The longest lead, and therefore the longest spin.
const LONGEST_NS: f64 = 150_000.0;

#[derive(Default)]
pub struct WakeupLead {
    lead_ns: f64,
}

impl WakeupLead {
    /// How long to wait for a time that is so far ahead.
    pub fn timeout_ns(&self, ahead_ns: i64) -> i64 {
        (ahead_ns - self.lead_ns as i64).max(0)
    }

    /// After a wait of `timeout_ns` from `before_ns` on: learns how late the timer was, and spins until `at_ns`. A time
    /// that is further ahead than any lead is left alone.
    pub fn finish(&mut self, before_ns: i64, timeout_ns: i64, at_ns: i64) {
        let now = sys::now_ns();
        let late_ns = (now - before_ns - timeout_ns) as f64;
        if timeout_ns > 0 && late_ns <= LONGEST_NS {
            self.learn(late_ns);
        }
        if at_ns - now <= LONGEST_NS as i64 {
            while sys::now_ns() < at_ns {
                spin_loop();
            }
        }
    }

    fn learn(&mut self, late_ns: f64) {
        let step = if late_ns < self.lead_ns { EARLY_SHARE - 1.0 } else { EARLY_SHARE };
        self.lead_ns = (self.lead_ns + step * STEP_NS).clamp(0.0, LONGEST_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_settles_at_the_upper_quartile_of_the_lateness() {
        let mut lead = WakeupLead::default();
        for round in 0..4_000 {
            // Evenly spread from 40 to 80 µs.
            lead.learn(40_000.0 + f64::from(round * 7 % 41) * 1_000.0);
        }
        assert!((lead.lead_ns - 70_000.0).abs() < 8_000.0, "{}", lead.lead_ns);
        assert_eq!(lead.timeout_ns(1_000_000), 1_000_000 - lead.lead_ns as i64);
        assert_eq!(lead.timeout_ns(1_000), 0);
    }

    #[test]
    fn a_wait_for_a_processor_teaches_nothing() {
        let mut lead = WakeupLead { lead_ns: 30_000.0 };
        let at = sys::now_ns();
        lead.finish(at - 2 * LONGEST_NS as i64, 1, at);
        assert_eq!(lead.lead_ns, 30_000.0);
        lead.finish(at, 1, at);
        assert!(lead.lead_ns != 30_000.0);
    }

    #[test]
    fn work_is_not_begun_before_its_time() {
        let mut lead = WakeupLead { lead_ns: LONGEST_NS };
        let before = sys::now_ns();
        let at = before + 100_000;
        lead.finish(before, lead.timeout_ns(100_000), at);
        assert!(sys::now_ns() >= at);
    }

    #[test]
    fn a_time_far_ahead_is_not_waited_for() {
        let mut lead = WakeupLead::default();
        let before = sys::now_ns();
        lead.finish(before, 0, before + 60 * sys::NS_PER_SECOND);
        assert!(sys::now_ns() - before < 30 * sys::NS_PER_SECOND);
    }
}
