//! Run delay of threads: how long they waited for a processor and how long they had one, by Linux's counters.

use std::collections::HashMap;

/// Scheduler statistics of a thread: nanoseconds on a processor, nanoseconds of waiting for one, and time slices.
#[derive(Clone, Copy, Default)]
struct Schedule {
    ran_ns: u64,
    waited_ns: u64,
    turns: u64,
}

impl Schedule {
    fn since(self, before: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            turns: self.turns.saturating_sub(before.turns),
        }
    }
}

/// The maximum over some threads since the last call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Busy {
    /// The longest mean wait for a processor.
    pub run_delay_ns: u64,
    /// The longest time on one.
    pub ran_ns: u64,
}

/// Reads the statistics of threads from time to time.
#[derive(Default)]
pub struct RunDelay {
    before: HashMap<i32, Schedule>,
}

impl RunDelay {
    /// The maximum over these threads since the last call.
    pub fn take(&mut self, threads: &[i32]) -> Busy {
        let mut busy = Busy::default();
        for &tid in threads {
            if let Some(now) = read(tid) {
                let since = now.since(self.before.insert(tid, now).unwrap_or_default());
                let delay_ns = since.waited_ns.checked_div(since.turns).unwrap_or(0);
                busy.run_delay_ns = busy.run_delay_ns.max(delay_ns);
                busy.ran_ns = busy.ran_ns.max(since.ran_ns);
            }
        }
        busy
    }
}

/// None where the system has no such statistics.
fn read(tid: i32) -> Option<Schedule> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some(Schedule {
        ran_ns: numbers.next()?.ok()?,
        waited_ns: numbers.next()?.ok()?,
        turns: numbers.next()?.ok()?,
    })
}
