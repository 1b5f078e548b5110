//! What all threads of an engine share: the rules, the work that is due, and what Python is to hear.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::pacing::Arrivals;
use crate::program::Program;
use crate::stream::Stream;
use crate::sys::Bell;

/// What errors do. `ignored` ones are tried again, None ignores all.
pub struct Rules {
    pub ignored: Option<HashSet<u16>>,
    pub max_retries: u64,
    pub stops_on_error: bool,
}

impl Rules {
    pub fn ignores(&self, code: u16) -> bool {
        self.ignored.as_ref().map_or(true, |codes| codes.contains(&code))
    }
}

/// Why a connection comes back to Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parted {
    /// It was asked to leave, or the load is over.
    Left,
    /// It was asked for, to be given new session settings.
    Asked,
    /// Its next transaction belongs to a new login.
    NewLogin,
    /// It broke.
    Lost,
    /// It was cut off.
    Aborted,
    /// An error of the server ends the load.
    Refused(u16, String),
    /// The profile's values do not fit; the words say where. `usage` if it is the shape of rows.
    Faulty { words: String, is_usage: bool },
}

pub struct Shared {
    pub program: Arc<Program>,
    pub rules: Rules,
    pub arrivals: Mutex<Arrivals>,
    /// Copies of what `arrivals` says, to be read without the lock.
    pub is_open: AtomicBool,
    pub is_limited: AtomicBool,
    pub is_paused: AtomicBool,
    pub is_failed: AtomicBool,
    pub delay_ns: AtomicU64,
    pub weights: Mutex<Arc<[f64]>>,
    pub weights_version: AtomicU64,
    /// The streams of connections that are not here now.
    pub streams: Mutex<HashMap<i64, Stream>>,
    pub parted: Mutex<Vec<(i64, Parted)>>,
    /// Rings when Python is to look at `parted`.
    pub bell: Bell,
}

/// A lock that a panic elsewhere does not close: the data are counters and queues, whole after each change.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Whether nobody may start anything any more. While the load is paused that is not decided.
    pub fn is_over(&self) -> bool {
        self.is_failed.load(Ordering::Acquire)
            || (self.is_limited.load(Ordering::Acquire)
                && !self.is_paused()
                && lock(&self.arrivals).is_finished())
    }

    /// Changes what is due, and the copies of what that says.
    pub fn with_arrivals<T>(&self, change: impl FnOnce(&mut Arrivals) -> T) -> T {
        let mut arrivals = lock(&self.arrivals);
        let result = change(&mut arrivals);
        self.is_open.store(arrivals.is_open(), Ordering::Release);
        self.is_limited.store(arrivals.is_limited(), Ordering::Release);
        result
    }

    /// Gives a stream the weights of now.
    pub fn update_weights(&self, stream: &mut Stream) {
        let version = self.weights_version.load(Ordering::Acquire);
        if stream.weights_version != version {
            stream.set_weights(&lock(&self.weights));
            stream.weights_version = version;
        }
    }

    pub fn tell(&self, connection: i64, why: Parted) {
        lock(&self.parted).push((connection, why));
        self.bell.ring();
    }
}
