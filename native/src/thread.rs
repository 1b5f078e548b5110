//! A thread of the engine: its connections, and what wakes them.
//!
//! One connection or thousands: the loop is the same. It waits for bytes, for the next time that one of them has
//! to go on, and for its bell, which rings for messages and when all are to look up.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

use crate::connection::{Connection, Next, Turnout, Wish};
use crate::priority_lock::PriorityLock;
use crate::recorder::Recorder;
use crate::shared::{lock, Parted, Shared};
use crate::sys::{self, Bell};
use crate::wait::{Waiter, BELL};
use crate::wakeup_lead::WakeupLead;

/// Received at a time; larger answers take several turns.
const SCRATCH_BYTES: usize = 1 << 16;

pub enum Message {
    Attach(Box<Connection>),
    Wish(i64, Wish),
    /// All connections look up from their waiting.
    Look,
    Stop,
}

/// What others see of a thread.
pub struct Desk {
    pub messages: Mutex<Vec<Message>>,
    pub bell: Bell,
    pub recorder: PriorityLock<Recorder>,
    /// The system's number of the thread, 0 before it runs.
    pub tid: AtomicI32,
}

impl Desk {
    pub fn new(shared: &Shared) -> io::Result<Self> {
        Ok(Self {
            messages: Mutex::new(Vec::new()),
            bell: Bell::new()?,
            recorder: PriorityLock::new(Recorder::new(&shared.program)),
            tid: AtomicI32::new(0),
        })
    }

    pub fn send(&self, message: Message) {
        lock(&self.messages).push(message);
        self.bell.ring();
    }
}

/// Runs a thread until it is stopped. `all` are the desks of all threads.
pub fn run(desk: &Arc<Desk>, shared: &Arc<Shared>, all: &Arc<Mutex<Vec<Arc<Desk>>>>) {
    desk.tid.store(sys::prepare_thread(), Ordering::Release);
    let mut thread = Thread {
        shared: shared.clone(),
        desk: desk.clone(),
        all: all.clone(),
        waiter: Waiter::new(desk.bell.fd()),
        places: Vec::new(),
        free: Vec::new(),
        by_number: HashMap::new(),
        alarms: BinaryHeap::new(),
        lead: WakeupLead::default(),
        scratch: vec![0; SCRATCH_BYTES],
        is_stopped: false,
    };
    if catch_unwind(AssertUnwindSafe(|| thread.work())).is_err() {
        let words = "a thread of the native engine broke down".to_string();
        for number in thread.by_number.keys() {
            shared.tell(*number, Parted::Faulty { words: words.clone(), is_usage: false });
        }
    }
}

/// A connection, and the time at which it goes on if nothing comes before.
struct Place {
    connection: Box<Connection>,
    alarm: Option<i64>,
    wants_room: bool,
}

struct Thread {
    shared: Arc<Shared>,
    desk: Arc<Desk>,
    all: Arc<Mutex<Vec<Arc<Desk>>>>,
    waiter: Waiter,
    places: Vec<Option<Place>>,
    free: Vec<usize>,
    by_number: HashMap<i64, usize>,
    alarms: BinaryHeap<Reverse<(i64, usize)>>,
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
                if token == BELL {
                    self.desk.bell.silence();
                    self.read_messages();
                } else {
                    self.turn(token, Connection::readable);
                }
            }
            self.ring_alarms();
        }
    }

    /// Waits for bytes, the bell or the next alarm.
    fn wait(&mut self, ready: &mut Vec<usize>) -> io::Result<()> {
        let at = match self.next_alarm() {
            Some(at) => at,
            None => return self.waiter.wait(None, ready),
        };
        let now = sys::now_ns();
        let ahead = (at - now).max(0);
        // With more connections than one, others' answers would have to wait until it is over.
        if self.by_number.len() != 1 {
            return self.waiter.wait(Some(ahead), ready);
        }
        let timeout = self.lead.timeout_ns(ahead);
        self.waiter.wait(Some(timeout), ready)?;
        if ready.is_empty() {
            self.lead.finish(now, timeout, at);
        }
        Ok(())
    }

    /// The earliest alarm that is not void.
    fn next_alarm(&mut self) -> Option<i64> {
        while let Some(Reverse((at, token))) = self.alarms.peek().copied() {
            if self.place(token).map_or(false, |place| place.alarm == Some(at)) {
                return Some(at);
            }
            self.alarms.pop();
        }
        None
    }

    fn ring_alarms(&mut self) {
        while let Some(at) = self.next_alarm() {
            if at > sys::now_ns() {
                return;
            }
            if let Some(Reverse((_, token))) = self.alarms.pop() {
                self.turn(token, Connection::go_on);
            }
        }
    }

    fn place(&mut self, token: usize) -> Option<&mut Place> {
        self.places.get_mut(token).and_then(Option::as_mut)
    }

    fn read_messages(&mut self) {
        let messages = std::mem::take(&mut *lock(&self.desk.messages));
        for message in messages {
            match message {
                Message::Attach(connection) => self.attach(connection),
                Message::Wish(number, wish) => {
                    if let Some(&token) = self.by_number.get(&number) {
                        self.turn(token, |connection, turn| match connection.wish(wish, turn) {
                            Some(parted) => Next::Part(parted),
                            None => connection.go_on(turn),
                        });
                    }
                }
                Message::Look => {
                    for token in 0..self.places.len() {
                        self.turn(token, Connection::go_on);
                    }
                }
                Message::Stop => self.is_stopped = true,
            }
        }
    }

    fn attach(&mut self, connection: Box<Connection>) {
        let token = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        let (number, fd) = (connection.number, connection.fd());
        self.by_number.insert(number, token);
        self.places[token] = Some(Place { connection, alarm: None, wants_room: false });
        if self.waiter.add(fd, token).is_err() {
            self.part(token, Parted::Lost);
            return;
        }
        self.turn(token, Connection::go_on);
    }

    /// Has a connection do something, sends what it has to say, and notes what it waits for then.
    fn turn(&mut self, token: usize, act: impl FnOnce(&mut Connection, &mut Turnout<'_>) -> Next) {
        let mut next = match self.act(token, act) {
            Some(next) => next,
            None => return,
        };
        if !matches!(next, Next::Part(_)) && !self.send_rest(token) {
            next = self.act(token, Connection::unsendable).unwrap_or(next);
        }
        match next {
            Next::Bytes => self.set_alarm(token, None),
            Next::Time(at) => self.set_alarm(token, Some(at)),
            Next::Part(parted) => self.part(token, parted),
        }
        self.look_at_room(token);
    }

    /// Has a connection do something while the recorder is locked; None if there is no such connection.
    fn act(
        &mut self,
        token: usize,
        act: impl FnOnce(&mut Connection, &mut Turnout<'_>) -> Next,
    ) -> Option<Next> {
        let place = self.places.get_mut(token).and_then(Option::as_mut)?;
        let mut recorder = self.desk.recorder.lock();
        let mut turn = Turnout {
            shared: &self.shared,
            recorder: &mut recorder,
            scratch: &mut self.scratch,
            wakes_all: false,
        };
        let next = act(&mut place.connection, &mut turn);
        let wakes_all = turn.wakes_all;
        drop(recorder);
        if wakes_all {
            wake_all(&self.all);
        }
        Some(next)
    }

    /// Sends what a connection has left to send; false if that is not possible any more.
    fn send_rest(&mut self, token: usize) -> bool {
        match self.place(token) {
            Some(place) if place.connection.wants_room() => place.connection.send_rest().is_ok(),
            _ => true,
        }
    }

    fn set_alarm(&mut self, token: usize, alarm: Option<i64>) {
        if let Some(place) = self.place(token) {
            place.alarm = alarm;
        }
        if let Some(at) = alarm {
            self.alarms.push(Reverse((at, token)));
        }
    }

    fn look_at_room(&mut self, token: usize) {
        if let Some(Some(place)) = self.places.get_mut(token) {
            let wanted = place.connection.wants_room();
            if wanted != place.wants_room {
                place.wants_room = wanted;
                let fd = place.connection.fd();
                if self.waiter.want_room(fd, wanted).is_err() {
                    self.part(token, Parted::Lost);
                }
            }
        }
    }

    /// Gives a connection back to Python.
    fn part(&mut self, token: usize, parted: Parted) {
        if let Some(place) = self.places[token].take() {
            let number = place.connection.number;
            self.waiter.remove(place.connection.fd());
            self.by_number.remove(&number);
            self.free.push(token);
            lock(&self.shared.streams).insert(number, place.connection.into_stream());
            self.shared.tell(number, parted);
        }
    }
}

/// Has the connections of all threads look up.
pub fn wake_all(all: &Mutex<Vec<Arc<Desk>>>) {
    for desk in lock(all).iter() {
        desk.send(Message::Look);
    }
}
