//! The engine as a whole: its threads, the connections handed to them, and the reports of what they do.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use crate::connection::{Connection, Wish};
use crate::lag::{Busy, RunDelay};
use crate::pacing::HandOver;
use crate::priority_lock::Place;
use crate::recorder::{Counters, Figures, Latencies, Recorder};
use crate::shared::{lock, Parted, Shared};
use crate::sys;
use crate::thread::{self, wake_all, Desk, Message};

/// Count, sum and sum of squares of one value for each connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub n: u64,
    pub total: f64,
    pub squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.n += 1;
        self.total += value;
        self.squares += value * value;
    }
}

/// How the work is spread over connections: transactions and busy seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    pub events: Moments,
    pub seconds: Moments,
}

impl Share {
    fn add(&mut self, (events, busy_us): (u64, u64)) {
        self.events.add(events as f64);
        self.seconds.add(busy_us as f64 / 1e6);
    }
}

/// A connection's figures, and where they stood at the start and at the last checkpoint.
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

/// The figures of all connections, those that have left included.
#[derive(Default)]
struct Members {
    present: HashMap<i64, Member>,
    left: Share,
    left_since: Share,
}

impl Members {
    fn shares(&self) -> (Share, Share) {
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
    pub share: Share,
    pub since: Share,
    pub late_us: u64,
    pub busy: Busy,
}

pub struct Engine {
    pub shared: Arc<Shared>,
    most_threads: usize,
    desks: Arc<Mutex<Vec<Arc<Desk>>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The thread of each connection that is here.
    homes: Mutex<HashMap<i64, usize>>,
    members: Mutex<Members>,
    run_delay: Mutex<RunDelay>,
}

impl Engine {
    pub fn new(shared: Shared, most_threads: usize) -> Self {
        Self {
            shared: Arc::new(shared),
            most_threads: most_threads.max(1),
            desks: Arc::default(),
            threads: Mutex::default(),
            homes: Mutex::default(),
            members: Mutex::default(),
            run_delay: Mutex::default(),
        }
    }

    /// The figures of a connection, which it has from its first login until it is [`Engine::dismiss`]ed.
    pub fn admit(&self, number: i64) -> Arc<Figures> {
        let mut members = lock(&self.members);
        let member = members.present.entry(number).or_insert_with(|| Member {
            figures: Arc::default(),
            start: (0, 0),
            checkpoint: (0, 0),
        });
        member.figures.clone()
    }

    /// The connection has ended for good; its figures stay in the sums.
    pub fn dismiss(&self, number: i64) {
        let mut members = lock(&self.members);
        if let Some(member) = members.present.remove(&number) {
            members.left.add(member.since(member.start));
            members.left_since.add(member.since(member.checkpoint));
        }
    }

    /// Runs a connection on the thread that has the fewest, or on a new one.
    pub fn attach(&self, connection: Connection) -> io::Result<()> {
        let number = connection.number;
        let mut homes = lock(&self.homes);
        let home = self.home(&homes)?;
        homes.insert(number, home);
        lock(&self.desks)[home].send(Message::Attach(Box::new(connection)));
        Ok(())
    }

    fn home(&self, homes: &HashMap<i64, usize>) -> io::Result<usize> {
        let mut desks = lock(&self.desks);
        let mut loads = vec![0; desks.len()];
        homes.values().for_each(|&home| loads[home] += 1);
        let least = (0..loads.len()).min_by_key(|&home| loads[home]);
        match least {
            Some(home) if loads[home] == 0 || loads.len() >= self.most_threads => Ok(home),
            _ => {
                let desk = Arc::new(Desk::new(&self.shared)?);
                self.spawn(&desk)?;
                desks.push(desk);
                Ok(desks.len() - 1)
            }
        }
    }

    fn spawn(&self, desk: &Arc<Desk>) -> io::Result<()> {
        let (desk, shared, all) = (desk.clone(), self.shared.clone(), self.desks.clone());
        let name = "tuibench-load".to_string();
        let thread = std::thread::Builder::new()
            .name(name)
            .stack_size(256 << 10)
            .spawn(move || thread::run(&desk, &shared, &all))?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// The connections that came back since the last call, each with its reason.
    pub fn parted(&self) -> Vec<(i64, Parted)> {
        self.shared.bell.silence();
        let parted = std::mem::take(&mut *lock(&self.shared.parted));
        let mut homes = lock(&self.homes);
        for (number, _) in &parted {
            homes.remove(number);
        }
        parted
    }

    /// Passes a message to a connection that is here.
    pub fn wish(&self, number: i64, wish: Wish) {
        if let Some(&home) = lock(&self.homes).get(&number) {
            lock(&self.desks)[home].send(Message::Wish(number, wish));
        }
    }

    /// Has all connections look whether there is something to do.
    pub fn wake_all(&self) {
        wake_all(&self.desks);
    }

    /// Starts nothing more, and lets nothing come due.
    pub fn pause(&self) {
        self.shared.is_paused.store(true, Ordering::Release);
        self.hold();
    }

    /// Lets nothing come due.
    pub fn hold(&self) {
        self.shared.with_arrivals(|arrivals| arrivals.hold(sys::now_ns()));
        self.wake_all();
    }

    pub fn resume(&self) {
        self.shared.is_paused.store(false, Ordering::Release);
        self.shared.with_arrivals(|arrivals| arrivals.release(sys::now_ns()));
        self.wake_all();
    }

    /// Paces the load, or not for 0; returns how much of the backlog is forgotten.
    pub fn set_rate(&self, rate: f64) -> u64 {
        let forgotten = self.shared.with_arrivals(|arrivals| arrivals.set_rate(rate, sys::now_ns()));
        self.wake_all();
        forgotten
    }

    pub fn set_weights(&self, weights: &[f64]) {
        *lock(&self.shared.weights) = weights.into();
        self.shared.weights_version.fetch_add(1, Ordering::AcqRel);
    }

    /// Drops what is due, and each connection's figures; so much may be scheduled from now on, None for no limit.
    /// Returns how much was dropped. No transaction starts or ends meanwhile.
    pub fn reset_stats(&self, limit: Option<u64>) -> u64 {
        let desks: Vec<Arc<Desk>> = lock(&self.desks).clone();
        let held = recorders(&desks);
        let dropped = self.shared.with_arrivals(|arrivals| {
            let dropped = arrivals.drop_backlog(sys::now_ns());
            arrivals.allow(limit);
            dropped
        });
        self.forget_figures();
        drop(held);
        self.wake_all();
        dropped
    }

    pub fn drop_backlog(&self) -> u64 {
        let dropped = self.shared.with_arrivals(|arrivals| arrivals.drop_backlog(sys::now_ns()));
        self.wake_all();
        dropped
    }

    pub fn hand_over(&self) -> HandOver {
        self.shared.with_arrivals(|arrivals| arrivals.hand_over(sys::now_ns()))
    }

    pub fn take_over(&self, work: &HandOver) {
        self.shared.with_arrivals(|arrivals| arrivals.take_over(work, sys::now_ns()));
        self.wake_all();
    }

    /// The load has failed: nobody starts anything any more.
    pub fn fail(&self) {
        self.shared.is_failed.store(true, Ordering::Release);
        self.wake_all();
    }

    /// Each connection's figures count from here for the next checkpoint.
    pub fn checkpoint(&self) {
        let mut members = lock(&self.members);
        members.left_since = Share::default();
        for member in members.present.values_mut() {
            member.checkpoint = member.figures.read();
        }
    }

    /// Each connection's figures count from nothing.
    fn forget_figures(&self) {
        let mut members = lock(&self.members);
        members.left = Share::default();
        members.left_since = Share::default();
        for member in members.present.values_mut() {
            member.start = member.figures.read();
            member.checkpoint = member.start;
        }
    }

    /// The counters since the beginning and the latencies since the last report, all of the same moment.
    pub fn report(&self) -> Report {
        let desks: Vec<Arc<Desk>> = lock(&self.desks).clone();
        let Recorder { mut counters, mut latencies } = Recorder::new(&self.shared.program);
        let mut held = recorders(&desks);
        let (due, backlog) = lock(&self.shared.arrivals).counts(sys::now_ns());
        for recorder in &mut held {
            counters.add(&recorder.counters);
            latencies.take_from(&mut recorder.latencies);
        }
        drop(held);
        let threads: Vec<i32> = desks.iter().map(|desk| desk.tid.load(Ordering::Acquire)).collect();
        let (share, since) = lock(&self.members).shares();
        Report {
            scheduled: due + counters.unasked,
            backlog,
            share,
            since,
            late_us: latencies.late.quantile(0.99),
            busy: lock(&self.run_delay).take(&threads),
            counters,
            latencies,
        }
    }

    /// Ends all threads; connections that are still here are dropped.
    pub fn close(&self) {
        for desk in lock(&self.desks).iter() {
            desk.send(Message::Stop);
        }
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // A thread that broke down has said so already.
            let _ = thread.join();
        }
    }
}

/// The recorders of all threads, locked: no transaction starts or ends meanwhile.
fn recorders(desks: &[Arc<Desk>]) -> Vec<MutexGuard<'_, Recorder>> {
    let places: Vec<_> = desks.iter().map(|desk| desk.recorder.queue_up()).collect();
    places.into_iter().map(Place::lock).collect()
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}
