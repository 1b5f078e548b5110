//! A thread of the engine: its connections, and what wakes them.
//!
//! One connection or thousands: the loop is the same. It waits for bytes, for the earliest timer of a connection,
//! and for its notifier, which signals messages.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::os::unix::io::RawFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

use crate::engine::connection::{Command, Connection, Next, ThreadContext};
use crate::engine::priority_lock::PriorityLock;
use crate::engine::shared::{ReturnReason, Shared};
use crate::engine::wait::{Poller, NOTIFIER};
use crate::engine::wakeup_lead::WakeupLead;
use crate::measure::recorder::{Counters, Recorder};
use crate::panics::caught;
use crate::panics::lock;
use crate::sys::{self, Notifier};

/// So long connections run by their timers, before messages and bytes are looked for.
const LONGEST_ROUND_NS: i64 = 200_000;
/// So often a connection that waits for nothing goes on, before others are looked at.
const MOST_IN_A_ROW: usize = 16;
/// Received at a time; larger responses take several reads.
const SCRATCH_BYTES: usize = 1 << 16;

pub enum Message {
    Attach(Box<Connection>),
    Command(i64, Command),
    /// All connections check whether there is work.
    WakeUp,
    Stop,
}

/// What other threads use of a thread.
pub struct ThreadHandle {
    pub messages: Mutex<Vec<Message>>,
    pub notifier: Notifier,
    pub recorder: PriorityLock<Recorder>,
    /// Its counters at the last report.
    pub reported: Mutex<Counters>,
    /// The thread's ID in the system, 0 before it runs.
    pub tid: AtomicI32,
}

impl ThreadHandle {
    pub fn new(shared: &Shared) -> io::Result<Self> {
        Ok(Self {
            messages: Mutex::new(Vec::new()),
            notifier: Notifier::new()?,
            recorder: PriorityLock::new(shared.program.recorder()),
            reported: Mutex::new(shared.program.recorder().counters),
            tid: AtomicI32::new(0),
        })
    }

    pub fn send(&self, message: Message) {
        lock(&self.messages).push(message);
        self.notifier.notify();
    }
}

/// Runs a thread until it is stopped. `all` are the handles of all threads.
pub fn run(handle: &Arc<ThreadHandle>, shared: &Arc<Shared>, all: &Arc<Mutex<Vec<Arc<ThreadHandle>>>>) {
    handle.tid.store(sys::prepare_thread(), Ordering::Release);
    let mut thread = Thread {
        shared: shared.clone(),
        handle: handle.clone(),
        all: all.clone(),
        poller: Poller::new(handle.notifier.fd()),
        slots: Vec::new(),
        free: Vec::new(),
        by_number: HashMap::new(),
        timers: BinaryHeap::new(),
        lead: WakeupLead::default(),
        scratch: vec![0; SCRATCH_BYTES],
        is_stopped: false,
    };
    if let Err(message) = caught(|| thread.work()) {
        thread.give_up(&message);
    }
}

/// A connection, and the time at which it continues if nothing happens before.
struct Slot {
    connection: Box<Connection>,
    /// The descriptor that is waited for.
    fd: RawFd,
    timer: Option<i64>,
    wants_to_send: bool,
}

struct Thread {
    shared: Arc<Shared>,
    handle: Arc<ThreadHandle>,
    all: Arc<Mutex<Vec<Arc<ThreadHandle>>>>,
    poller: Poller,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    by_number: HashMap<i64, usize>,
    timers: BinaryHeap<Reverse<(i64, usize)>>,
    lead: WakeupLead,
    scratch: Vec<u8>,
    is_stopped: bool,
}

impl Thread {
    fn work(&mut self) {
        let mut ready = Vec::new();
        while !self.is_stopped {
            if self.wait(&mut ready).is_err() {
                return;
            }
            for &token in &ready {
                if token == NOTIFIER {
                    self.handle.notifier.drain();
                    self.read_messages();
                } else {
                    self.run_connection(token, Connection::readable);
                }
            }
            self.fire_timers();
        }
    }

    /// Waits for bytes, the notifier or the next timer.
    fn wait(&mut self, ready: &mut Vec<usize>) -> io::Result<()> {
        let at = match self.next_timer() {
            Some(at) => at,
            None => return self.poller.wait(None, ready),
        };
        let now = sys::now_ns();
        let ahead = (at - now).max(0);
        // With several connections, a spin would delay the responses of the others.
        if self.by_number.len() != 1 {
            return self.poller.wait(Some(ahead), ready);
        }
        let timeout = self.lead.timeout_ns(ahead);
        self.poller.wait(Some(timeout), ready)?;
        if ready.is_empty() {
            self.lead.finish(now, timeout, at);
        }
        Ok(())
    }

    /// The earliest timer that is still valid.
    fn next_timer(&mut self) -> Option<i64> {
        while let Some(Reverse((at, token))) = self.timers.peek().copied() {
            if self.slot(token).map_or(false, |slot| slot.timer == Some(at)) {
                return Some(at);
            }
            self.timers.pop();
        }
        None
    }

    /// Runs the connections whose time has come. Those that need no server are due again at once: messages and bytes
    /// come in between.
    fn fire_timers(&mut self) {
        let mut until = None;
        while let Some(at) = self.next_timer() {
            let now = sys::now_ns();
            if at > now || now > *until.get_or_insert(now + LONGEST_ROUND_NS) {
                return;
            }
            if let Some(Reverse((_, token))) = self.timers.pop() {
                self.run_connection(token, Connection::advance);
            }
        }
    }

    fn slot(&mut self, token: usize) -> Option<&mut Slot> {
        self.slots.get_mut(token).and_then(Option::as_mut)
    }

    fn read_messages(&mut self) {
        let messages = std::mem::take(&mut *lock(&self.handle.messages));
        for message in messages {
            match message {
                Message::Attach(connection) => self.attach(connection),
                Message::Command(number, command) => {
                    if let Some(&token) = self.by_number.get(&number) {
                        self.run_connection(token, |connection, run_connection| {
                            match connection.command(command, run_connection) {
                                Some(returned) => Next::Return(returned),
                                None => connection.advance(run_connection),
                            }
                        });
                    }
                }
                Message::WakeUp => {
                    for token in 0..self.slots.len() {
                        self.run_connection(token, Connection::advance);
                    }
                }
                Message::Stop => self.is_stopped = true,
            }
        }
    }

    fn attach(&mut self, connection: Box<Connection>) {
        let token = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let (number, fd) = (connection.number, connection.fd());
        self.by_number.insert(number, token);
        self.slots[token] = Some(Slot { connection, fd, timer: None, wants_to_send: false });
        if self.poller.add(fd, token).is_err() {
            self.give_back(token, ReturnReason::Lost);
            return;
        }
        self.run_connection(token, Connection::advance);
    }

    /// Runs an action of a connection, sends its output, and sets its timer.
    fn run_connection(
        &mut self,
        token: usize,
        act: impl FnOnce(&mut Connection, &mut ThreadContext<'_>) -> Next,
    ) {
        let act_in_a_row = |connection: &mut Connection, context: &mut ThreadContext<'_>| {
            let mut next = act(connection, context);
            for _ in 0..MOST_IN_A_ROW {
                if !matches!(next, Next::Again) {
                    break;
                }
                next = connection.advance(context);
            }
            next
        };
        let mut next = match self.act(token, act_in_a_row) {
            Some(next) => next,
            None => return,
        };
        if !matches!(next, Next::Return(_)) {
            if !self.follow_link(token) {
                next = Next::Return(ReturnReason::Lost);
            } else if !self.send_rest(token) {
                next = self.act(token, Connection::unsendable).unwrap_or(next);
            }
        }
        match next {
            Next::Bytes => self.set_timer(token, None),
            Next::Again => self.set_timer(token, Some(sys::now_ns())),
            Next::Time(at) => self.set_timer(token, Some(at)),
            Next::Return(returned) => self.give_back(token, returned),
        }
        self.update_send_interest(token);
    }

    /// Runs an action of a connection with the recorder locked; None if there is no such connection.
    fn act(
        &mut self,
        token: usize,
        act: impl FnOnce(&mut Connection, &mut ThreadContext<'_>) -> Next,
    ) -> Option<Next> {
        let slot = self.slots.get_mut(token).and_then(Option::as_mut)?;
        let mut recorder = self.handle.recorder.lock();
        let mut run_connection = ThreadContext {
            shared: &self.shared,
            recorder: &mut recorder,
            scratch: &mut self.scratch,
            ended_ns: None,
            wakes_all: false,
        };
        let connection = &mut slot.connection;
        let next = caught(|| act(connection, &mut run_connection))
            .unwrap_or_else(|message| connection.panicked(message, &mut run_connection));
        let wakes_all = run_connection.wakes_all;
        drop(recorder);
        if wakes_all {
            wake_all(&self.all);
        }
        Some(next)
    }

    /// Waits for the session that a script uses now; false if that is impossible.
    fn follow_link(&mut self, token: usize) -> bool {
        if let Some(Some(slot)) = self.slots.get_mut(token) {
            let fd = slot.connection.fd();
            if fd != slot.fd {
                self.poller.remove(slot.fd);
                slot.fd = fd;
                slot.wants_to_send = false;
                return self.poller.add(fd, token).is_ok();
            }
        }
        true
    }

    /// Sends the rest of a connection's output; false if the connection cannot send any more.
    fn send_rest(&mut self, token: usize) -> bool {
        match self.slot(token) {
            Some(slot) if slot.connection.wants_to_send() => slot.connection.send_rest().is_ok(),
            _ => true,
        }
    }

    fn set_timer(&mut self, token: usize, timer: Option<i64>) {
        if let Some(slot) = self.slot(token) {
            slot.timer = timer;
        }
        if let Some(at) = timer {
            self.timers.push(Reverse((at, token)));
        }
    }

    fn update_send_interest(&mut self, token: usize) {
        if let Some(Some(slot)) = self.slots.get_mut(token) {
            let wanted = slot.connection.wants_to_send();
            if wanted != slot.wants_to_send {
                slot.wants_to_send = wanted;
                let fd = slot.connection.fd();
                if self.poller.set_send_interest(fd, wanted).is_err() {
                    self.give_back(token, ReturnReason::Lost);
                }
            }
        }
    }

    /// Gives all connections back after a panic, also those that are still to be attached.
    fn give_up(&mut self, message: &str) {
        for token in 0..self.slots.len() {
            self.run_connection(token, |connection, context| connection.panicked(message.into(), context));
        }
        for waiting in std::mem::take(&mut *lock(&self.handle.messages)) {
            if let Message::Attach(connection) = waiting {
                self.shared.report_return(connection.number, ReturnReason::Panicked(message.into()));
            }
        }
    }

    /// Gives a connection back to Python.
    fn give_back(&mut self, token: usize, returned: ReturnReason) {
        if let Some(slot) = self.slots[token].take() {
            let number = slot.connection.number;
            self.poller.remove(slot.fd);
            self.by_number.remove(&number);
            self.free.push(token);
            let (stream, further) = slot.connection.into_parts(&returned);
            lock(&self.shared.streams).insert(number, stream);
            if !further.is_empty() {
                lock(&self.shared.further).insert(number, further);
            }
            self.shared.report_return(number, returned);
        }
    }
}

/// Makes the connections of all threads check whether there is work.
pub fn wake_all(all: &Mutex<Vec<Arc<ThreadHandle>>>) {
    for handle in lock(all).iter() {
        handle.send(Message::WakeUp);
    }
}
