//! The engine: its threads, the connections that they run, and their reports.

pub mod connection;
pub mod priority_lock;
pub mod shared;
pub mod thread;
pub mod wait;
pub mod wakeup_lead;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use crate::callers::Policy;
use crate::engine::connection::{Command, Connection};
use crate::engine::priority_lock::QueuedReader;
use crate::engine::shared::{ReturnReason, Shared};
use crate::engine::thread::{wake_all, Message, ThreadHandle};
use crate::measure::gaps::Gap;
use crate::measure::lag::{Busy, RunDelay};
use crate::measure::recorder::{Counters, Figures, Latencies, Recorder};
use crate::pacing::Reassignment;
use crate::panics::lock;
use crate::sys;

const STACK_BYTES: usize = 256 << 10;
/// More than scripts may use: see `script::functions`.
const SCRIPT_STACK_BYTES: usize = 2 << 20;
/// The longest time that a report waits for a thread whose script computes.
const MOST_WAIT_NS: i64 = sys::NS_PER_SECOND / 2;

/// Count, sum and sum of squares of one value for each connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FairnessStats {
    pub n: u64,
    pub total: f64,
    pub squares: f64,
}

impl FairnessStats {
    fn add(&mut self, value: f64) {
        self.n += 1;
        self.total += value;
        self.squares += value * value;
    }
}

/// Distribution of the work over connections: transactions and busy seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionFairness {
    pub events: FairnessStats,
    pub seconds: FairnessStats,
}

impl ConnectionFairness {
    fn add(&mut self, (events, busy_us): (u64, u64)) {
        self.events.add(events as f64);
        self.seconds.add(busy_us as f64 / 1e6);
    }
}

/// A connection's figures, with their values at the start and at the last checkpoint.
struct Member {
    figures: Arc<Figures>,
    start: (u64, u64),
    checkpoint: (u64, u64),
}

impl Member {
    fn since(&self, from: (u64, u64)) -> (u64, u64) {
        let (events, busy_us) = self.figures.read();
        (events - from.0, busy_us - from.1)
    }
}

/// The figures of all connections, including those that have ended.
#[derive(Default)]
struct Members {
    present: HashMap<i64, Member>,
    left: ConnectionFairness,
    left_since: ConnectionFairness,
}

impl Members {
    fn shares(&self) -> (ConnectionFairness, ConnectionFairness) {
        let (mut whole, mut since) = (self.left, self.left_since);
        for member in self.present.values() {
            whole.add(member.since(member.start));
            since.add(member.since(member.checkpoint));
        }
        (whole, since)
    }
}

pub struct Report {
    pub counters: Counters,
    pub latencies: Latencies,
    pub scheduled: u64,
    pub backlog: u64,
    pub share: ConnectionFairness,
    pub since: ConnectionFairness,
    pub until_ns: i64,
    pub gaps: Vec<Gap>,
    pub late_us: u64,
    pub busy: Busy,
}

pub struct Engine {
    pub shared: Arc<Shared>,
    most_threads: usize,
    handles: Arc<Mutex<Vec<Arc<ThreadHandle>>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The thread of each connection that the engine runs.
    thread_by_connection: Mutex<HashMap<i64, usize>>,
    members: Mutex<Members>,
    run_delay: Mutex<RunDelay>,
}

impl Engine {
    pub fn new(shared: Shared, most_threads: usize) -> Self {
        Self {
            shared: Arc::new(shared),
            most_threads: most_threads.max(1),
            handles: Arc::default(),
            threads: Mutex::default(),
            thread_by_connection: Mutex::default(),
            members: Mutex::default(),
            run_delay: Mutex::default(),
        }
    }

    /// The figures of a connection, from its first login until [`Engine::dismiss`].
    pub fn admit(&self, number: i64) -> Arc<Figures> {
        let mut members = lock(&self.members);
        let member = members.present.entry(number).or_insert_with(|| Member {
            figures: Arc::default(),
            start: (0, 0),
            checkpoint: (0, 0),
        });
        member.figures.clone()
    }

    /// The connection has ended; its figures stay in the totals.
    pub fn dismiss(&self, number: i64) {
        let mut members = lock(&self.members);
        if let Some(member) = members.present.remove(&number) {
            members.left.add(member.since(member.start));
            members.left_since.add(member.since(member.checkpoint));
        }
        if members.present.is_empty() {
            self.shared.gaps.all_left();
        }
    }

    /// Runs a connection on the thread with the fewest, or on a new one.
    pub fn attach(&self, connection: Connection) -> io::Result<()> {
        let number = connection.number;
        let mut thread_by_connection = lock(&self.thread_by_connection);
        let thread = self.thread(&thread_by_connection)?;
        thread_by_connection.insert(number, thread);
        lock(&self.handles)[thread].send(Message::Attach(Box::new(connection)));
        Ok(())
    }

    fn thread(&self, thread_by_connection: &HashMap<i64, usize>) -> io::Result<usize> {
        let mut handles = lock(&self.handles);
        let mut loads = vec![0; handles.len()];
        thread_by_connection.values().for_each(|&thread| loads[thread] += 1);
        let least = (0..loads.len()).min_by_key(|&thread| loads[thread]);
        match least {
            Some(thread) if loads[thread] == 0 || loads.len() >= self.most_threads => Ok(thread),
            _ => {
                let handle = Arc::new(ThreadHandle::new(&self.shared)?);
                self.spawn(&handle)?;
                handles.push(handle);
                Ok(handles.len() - 1)
            }
        }
    }

    fn spawn(&self, handle: &Arc<ThreadHandle>) -> io::Result<()> {
        let (handle, shared, all) = (handle.clone(), self.shared.clone(), self.handles.clone());
        let name = "tuibench-load".to_string();
        let stack_bytes = if self.shared.program.script.is_some() { SCRIPT_STACK_BYTES } else { STACK_BYTES };
        let thread = std::thread::Builder::new()
            .name(name)
            .stack_size(stack_bytes)
            .spawn(move || thread::run(&handle, &shared, &all))?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// The connections that returned since the last call, each with its reason.
    pub fn returned(&self) -> Vec<(i64, ReturnReason)> {
        self.shared.notifier.drain();
        let returned = std::mem::take(&mut *lock(&self.shared.returned));
        let mut thread_by_connection = lock(&self.thread_by_connection);
        for (number, _) in &returned {
            thread_by_connection.remove(number);
        }
        returned
    }

    /// Sends a command to a connection that the engine runs.
    pub fn command(&self, number: i64, command: Command) {
        if let Some(&thread) = lock(&self.thread_by_connection).get(&number) {
            lock(&self.handles)[thread].send(Message::Command(number, command));
        }
    }

    /// Makes all connections check for work.
    pub fn wake_all(&self) {
        wake_all(&self.handles);
    }

    /// Stops starting transactions, and holds the schedule.
    pub fn pause(&self) {
        self.shared.is_paused.store(true, Ordering::Release);
        self.hold();
    }

    /// Holds the schedule: nothing becomes due.
    pub fn hold(&self) {
        let now = sys::now_ns();
        self.shared.with_queue(|queue| {
            self.shared.gaps.hold(now, queue.counts(now).1);
            queue.hold(now);
        });
        self.wake_all();
    }

    pub fn resume(&self) {
        self.shared.is_paused.store(false, Ordering::Release);
        self.shared.gaps.release(sys::now_ns());
        self.shared.with_queue(|queue| queue.release(sys::now_ns()));
        self.wake_all();
    }

    /// Sets the rate, 0 for a closed loop; returns how much of the backlog is dropped.
    pub fn set_rate(&self, rate: f64) -> u64 {
        let forgotten = self.shared.with_queue(|queue| queue.set_rate(rate, sys::now_ns()));
        self.wake_all();
        forgotten
    }

    /// Sets what callers do.
    pub fn set_callers(&self, policy: Policy) {
        self.shared.deadline_us.store(policy.deadline_us, Ordering::Relaxed);
        self.shared.with_queue(|queue| queue.set_callers(policy, sys::now_ns()));
        self.wake_all();
    }

    /// Sets how many users share the connections; 0 for none.
    pub fn set_users(&self, users: u64) {
        self.shared.with_queue(|queue| queue.set_users(users, sys::now_ns()));
        self.wake_all();
    }

    pub fn set_weights(&self, weights: &[f64]) {
        *lock(&self.shared.weights) = weights.into();
        self.shared.weights_version.fetch_add(1, Ordering::AcqRel);
    }

    /// Drops the backlog and each connection's figures, and sets how much may be scheduled, None for no limit.
    /// Returns how much was dropped. No transaction starts or ends during the call.
    pub fn reset_stats(&self, limit: Option<u64>) -> u64 {
        let handles: Vec<Arc<ThreadHandle>> = lock(&self.handles).clone();
        let held = self.recorders(&handles);
        let dropped = self.shared.with_queue(|queue| {
            let dropped = queue.drop_backlog(sys::now_ns());
            queue.grant_quota(limit);
            dropped
        });
        self.forget_figures();
        drop(held);
        self.wake_all();
        dropped
    }

    pub fn drop_backlog(&self) -> u64 {
        let dropped = self.shared.with_queue(|queue| queue.drop_backlog(sys::now_ns()));
        self.wake_all();
        dropped
    }

    pub fn reassign(&self) -> Reassignment {
        self.shared.with_queue(|queue| queue.reassign(sys::now_ns()))
    }

    pub fn take_over(&self, work: &Reassignment) {
        self.shared.with_queue(|queue| queue.take_over(work, sys::now_ns()));
        self.wake_all();
    }

    /// The load has failed: no further transaction starts.
    pub fn fail(&self) {
        self.shared.is_failed.store(true, Ordering::Release);
        self.wake_all();
    }

    /// Starts the figures of the next checkpoint.
    pub fn checkpoint(&self) {
        let mut members = lock(&self.members);
        members.left_since = ConnectionFairness::default();
        for member in members.present.values_mut() {
            member.checkpoint = member.figures.read();
        }
    }

    /// Resets each connection's figures.
    fn forget_figures(&self) {
        let mut members = lock(&self.members);
        members.left = ConnectionFairness::default();
        members.left_since = ConnectionFairness::default();
        for member in members.present.values_mut() {
            member.start = member.figures.read();
            member.checkpoint = member.start;
        }
    }

    /// The counters since the start and the latencies since the last report, all of the same moment.
    pub fn report(&self) -> Report {
        let handles: Vec<Arc<ThreadHandle>> = lock(&self.handles).clone();
        let Recorder { mut counters, mut latencies } = self.shared.program.recorder();
        let mut held = self.recorders(&handles);
        let until_ns = sys::now_ns();
        let (due, backlog, abandoned, resent) = {
            let mut queue = lock(&self.shared.queue);
            let ((due, backlog), (abandoned, resent)) = (queue.counts(until_ns), queue.callers_counts());
            (due, backlog, abandoned, resent)
        };
        let gaps = self.shared.gaps.report(until_ns, backlog);
        for (recorder, handle) in held.iter_mut().zip(&handles) {
            let mut reported = lock(&handle.reported);
            if let Some(recorder) = recorder {
                reported.clone_from(&recorder.counters);
                latencies.take_from(&mut recorder.latencies);
            }
            counters.add(&reported);
        }
        drop(held);
        counters.abandoned += abandoned;
        counters.resent = resent;
        let threads: Vec<i32> = handles.iter().map(|handle| handle.tid.load(Ordering::Acquire)).collect();
        let (share, since) = lock(&self.members).shares();
        Report {
            scheduled: due + counters.closed_loop_starts,
            backlog,
            share,
            since,
            until_ns,
            gaps,
            late_us: latencies.late.quantile(0.99),
            busy: lock(&self.run_delay).take(&threads),
            counters,
            latencies,
        }
    }

    /// The recorders of all threads, locked: no transaction starts or ends while they are. None for a thread whose
    /// script computes.
    fn recorders<'a>(&self, handles: &'a [Arc<ThreadHandle>]) -> Vec<Option<MutexGuard<'a, Recorder>>> {
        let places: Vec<_> = handles.iter().map(|handle| handle.recorder.enqueue()).collect();
        let deadline_ns = sys::now_ns() + MOST_WAIT_NS;
        let is_scripted = self.shared.program.script.is_some();
        let lock = |place: QueuedReader<'a, Recorder>| match is_scripted {
            true => place.lock_until(deadline_ns),
            false => Some(place.lock()),
        };
        places.into_iter().map(lock).collect()
    }

    /// The load ends: scripts that compute without end are stopped.
    pub fn end_scripts(&self) {
        if let Some(script) = &self.shared.program.script {
            script.end();
        }
    }

    /// Ends all threads; the connections that they still run are dropped.
    pub fn close(&self) {
        for handle in lock(&self.handles).iter() {
            handle.send(Message::Stop);
        }
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}
