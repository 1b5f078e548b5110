//! A lock between a thread that takes it for every response and a reader that takes it once a second.
//!
//! A plain mutex goes to the thread that runs. The owner unlocks and locks again at once, and on a busy host it is
//! mostly preempted while it holds the lock, because its `send` wakes the server. The reader, woken by the unlock,
//! finds the lock taken, possibly for seconds. Here the owner waits as soon as a reader requests the lock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use crate::panics::lock;
use crate::sys;

const RETRY: Duration = Duration::from_millis(1);

pub struct PriorityLock<T> {
    value: Mutex<T>,
    /// Held by a reader until it has the value.
    queue: Mutex<()>,
    readers: AtomicUsize,
}

impl<T> PriorityLock<T> {
    pub fn new(value: T) -> Self {
        Self { value: Mutex::new(value), queue: Mutex::new(()), readers: AtomicUsize::new(0) }
    }

    /// For the owner: readers that wait go first.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        while self.readers.load(Ordering::Acquire) > 0 {
            drop(lock(&self.queue));
            std::thread::yield_now();
        }
        lock(&self.value)
    }

    /// For a reader: from now on the owner takes the lock at most once more before it. A reader of many locks
    /// queues up at all of them before it locks the first: their owners end their turns at the same time.
    pub fn enqueue(&self) -> QueuedReader<'_, T> {
        self.readers.fetch_add(1, Ordering::AcqRel);
        QueuedReader { of: self, _queue: lock(&self.queue) }
    }
}

/// A reader's place before the owner.
pub struct QueuedReader<'a, T> {
    of: &'a PriorityLock<T>,
    _queue: MutexGuard<'a, ()>,
}

impl<'a, T> QueuedReader<'a, T> {
    pub fn lock(self) -> MutexGuard<'a, T> {
        lock(&self.of.value)
    }

    /// None if the owner keeps it until `deadline_ns`.
    pub fn lock_until(self, deadline_ns: i64) -> Option<MutexGuard<'a, T>> {
        loop {
            match self.of.value.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if sys::now_ns() >= deadline_ns => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY),
            }
        }
    }
}

impl<T> Drop for QueuedReader<'_, T> {
    fn drop(&mut self) {
        self.of.readers.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    #[test]
    fn a_reader_waits_for_one_lock_of_the_owner_at_most() {
        let turns = Arc::new(PriorityLock::new(0u64));
        let is_over = Arc::new(AtomicBool::new(false));
        let owner = {
            let (turns, is_over) = (turns.clone(), is_over.clone());
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    let mut turn = turns.lock();
                    *turn += 1;
                    // The owner yields the processor while it holds the lock, as it does in `send`.
                    std::thread::yield_now();
                }
            })
        };
        let place = turns.enqueue();
        let asked_at = *lock(&turns.value);
        for _ in 0..100 {
            std::thread::yield_now();
        }
        let turns_since = *lock(&turns.value) - asked_at;
        drop(place.lock());
        for _ in 0..100 {
            drop(turns.enqueue().lock());
        }
        is_over.store(true, Ordering::Release);
        assert!(owner.join().is_ok());
        assert!(turns_since <= 1, "{} turns", turns_since);
    }
}
