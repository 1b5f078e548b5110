//! State that all threads of an engine share: the error policy, the work queue, and the connections that return to Python.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::engine::connection::link::FurtherLink;
use crate::measure::gaps::CompletionGaps;
use crate::pacing::WorkQueue;
use crate::panics::lock;
use crate::program::stream::Stream;
use crate::program::Program;
use crate::sys::{self, Notifier};

/// Handling of SQL errors. `ignored` codes are retried; None ignores all.
pub struct ErrorPolicy {
    pub ignored: Option<HashSet<u16>>,
    pub max_retries: u64,
    pub stops_on_error: bool,
}

impl ErrorPolicy {
    pub fn ignores(&self, code: u16) -> bool {
        self.ignored.as_ref().map_or(true, |codes| codes.contains(&code))
    }
}

/// Why a connection returns to Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReturnReason {
    /// On request, or at the end of the load.
    Left,
    /// On request, to get new session settings.
    Parked,
    /// Its next transaction is to run on a new login.
    NewLogin,
    /// It has run as many transactions as a login is for.
    LoginDue,
    /// Its script asks for a new login, on which the event in flight goes on: in place of the connection's own (0), or
    /// beside it.
    Reconnecting(usize),
    /// The connection was lost.
    Lost,
    /// What the server sent is no response.
    Broken(String),
    /// A thread of the engine panicked.
    Panicked(String),
    /// The connection was aborted.
    Aborted,
    /// An error of the server ends the load.
    ServerError(u16, String),
    /// An error in a script.
    ScriptFault(String),
    /// An error of the profile. `is_usage` if the shape of rows does not fit.
    Faulty { message: String, is_usage: bool },
}

pub struct Shared {
    pub program: Arc<Program>,
    pub error_policy: ErrorPolicy,
    /// A connection logs in again after this number of transactions; 0 for never.
    pub reconnect: u64,
    pub queue: Mutex<WorkQueue>,
    /// Copies of the queue's state, read without its lock.
    pub is_open: AtomicBool,
    pub is_limited: AtomicBool,
    pub is_paused: AtomicBool,
    pub is_failed: AtomicBool,
    pub delay_ns: AtomicU64,
    /// How long callers wait for a transaction; 0 without a deadline.
    pub deadline_us: AtomicU64,
    /// A copy of the queue's `follows_ends`.
    pub follows_ends: AtomicBool,
    /// How long a connection waits for the rest of a response; 0 for ever.
    pub net_timeout_ns: AtomicU64,
    pub gaps: CompletionGaps,
    pub weights: Mutex<Arc<[f64]>>,
    pub weights_version: AtomicU64,
    /// The streams of the connections that are with Python at present, for example to log in.
    pub streams: Mutex<HashMap<i64, Stream>>,
    /// The sessions that scripts have beside those of their connections, by the connection's number.
    pub further: Mutex<HashMap<i64, HashMap<usize, FurtherLink>>>,
    pub returned: Mutex<Vec<(i64, ReturnReason)>>,
    /// Signals Python that `returned` has entries.
    pub notifier: Notifier,
}

impl Shared {
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Whether no further transaction starts. Not while the load is paused.
    pub fn is_over(&self) -> bool {
        self.is_failed.load(Ordering::Acquire)
            || (self.is_limited.load(Ordering::Acquire)
                && !self.is_paused()
                && lock(&self.queue).is_finished())
    }

    /// Changes the queue, and the copies of its state.
    pub fn with_queue<T>(&self, change: impl FnOnce(&mut WorkQueue) -> T) -> T {
        let mut queue = lock(&self.queue);
        let result = change(&mut queue);
        self.is_open.store(queue.is_open(), Ordering::Release);
        self.is_limited.store(queue.is_limited(), Ordering::Release);
        self.follows_ends.store(queue.follows_ends(), Ordering::Release);
        result
    }

    /// When the holder of a reserved arrival must look for work.
    pub fn wake_time(&self, at: i64) -> i64 {
        match self.follows_ends.load(Ordering::Acquire) {
            true => lock(&self.queue).wake_time(at, sys::now_ns()),
            false => at,
        }
    }

    /// Updates the weights of a stream.
    pub fn update_weights(&self, stream: &mut Stream) {
        let version = self.weights_version.load(Ordering::Acquire);
        if stream.weights_version != version {
            stream.set_weights(&lock(&self.weights));
            stream.weights_version = version;
        }
    }

    pub fn report_return(&self, connection: i64, why: ReturnReason) {
        lock(&self.returned).push((connection, why));
        self.notifier.notify();
    }
}
