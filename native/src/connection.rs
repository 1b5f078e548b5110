//! One connection of the load: its transactions with their retries, counted and timed.
//!
//! ```text
//!            ┌──────────────────────────────────────────────┐
//!            v                                              │
//!   Ready ──> Answering ──(last answer)─────────────────────┤
//!     │           │ error                                   │
//!     │           v                                         │
//!     │       RollingBack ──> BackingOff ──> next attempt    ├──> Ready
//!     │                  └──> given up ─────────────────────┘
//!     ├──> Resting, Due(at): until a time       Delayed: an answer that is handed on later
//!     └──> Idle: until it is woken
//! ```
//!
//! A connection never waits itself: [`Connection::go_on`] does what can be done, and says until when there is
//! nothing to do, or that the connection goes back to Python. The thread calls it when bytes, a time or a
//! message have come, and sends then what is [`unsent`](Connection::wants_room).
//!
//! An attempt's calls are all drawn before the first is sent, unless they hang on what the server answers: then
//! one by one, and an attempt that fails leaves the rest undrawn. This order is Python's, and keeps the streams
//! of both engines the same.

use std::collections::HashMap;
use std::io;
use std::os::unix::io::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::machine::{Row, Sink};
use crate::pacing::Turn;
use crate::packet::{write_execution, write_text, Form};
use crate::program::{Class, Program};
use crate::recorder::{Figures, Recorder, Timed, MOST_TIMED};
use crate::response::{Response, Verdict};
use crate::rows::{RowReader, Unreadable};
use crate::shared::{lock, Parted, Shared};
use crate::stream::Stream;
use crate::sys;
use crate::value::{Fault, Value};

const ROLLBACK: &[u8] = b"\x09\x00\x00\x00\x03ROLLBACK";
const INTERRUPTED: u16 = 1317;
const SERVER_GONE: u16 = 2006;
const SERVER_LOST: u16 = 2013;
const OUT_OF_SYNC: u16 = 2014;
/// Server shutdown, aborted or killed connection, server gone, connection lost, commands out of sync.
const LOST_CODES: [u16; 9] = [1053, 1077, 1152, 1927, SERVER_GONE, SERVER_LOST, OUT_OF_SYNC, 2055, 4031];

const FIRST_BACK_OFF_NS: u64 = 1_000_000;
const LONGEST_BACK_OFF_NS: u64 = 100_000_000;

/// How a connection sends its statements: one form for each entry of the flat list.
pub struct Forms {
    program: Arc<Program>,
    forms: Vec<Form>,
    no_backslash_escapes: bool,
}

impl Forms {
    pub fn new(program: Arc<Program>, forms: Vec<Form>, no_backslash_escapes: bool) -> Self {
        Self { program, forms, no_backslash_escapes }
    }

    pub fn write(&self, statement: usize, values: &[Value], to: &mut Vec<u8>) -> Result<(), Fault> {
        match self.forms[statement] {
            Form::Prepared(identity) => write_execution(identity, values, to),
            Form::Text => {
                write_text(&self.program.flat[statement].pieces, values, self.no_backslash_escapes, to)
            }
        }
    }
}

/// The packets of an attempt, one behind the other.
#[derive(Default)]
pub struct Calls {
    pub bytes: Vec<u8>,
    /// Each statement, and where its packet ends.
    pub ends: Vec<(usize, usize)>,
    next: usize,
}

impl Calls {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.next = 0;
    }
}

/// Writes calls as packets.
pub struct Writer<'a> {
    pub forms: &'a Forms,
    pub calls: &'a mut Calls,
}

impl Sink for Writer<'_> {
    fn call(&mut self, statement: usize, values: &[Value]) -> Result<(), Fault> {
        self.forms.write(statement, values, &mut self.calls.bytes)?;
        self.calls.ends.push((statement, self.calls.bytes.len()));
        Ok(())
    }
}

/// The transaction on its way. `is_lazy` if its calls are asked for one by one.
struct Running {
    which: usize,
    intended_ns: Option<i64>,
    started_ns: i64,
    attempt: u64,
    is_lazy: bool,
    statement: usize,
    sent_ns: i64,
}

enum State {
    Ready,
    Idle,
    Due(i64),
    Resting,
    Answering,
    /// With the error that the rollback is for.
    RollingBack(u16, String),
    BackingOff(i64),
    /// The verdict that is handed on at a time, and the rollback's error if it is of one.
    Delayed(i64, Verdict, Option<(u16, String)>),
}

/// What a connection waits for; `Time` is besides bytes and messages.
pub enum Next {
    Bytes,
    Time(i64),
    Part(Parted),
}

/// What a message has a connection do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// End after the transaction in flight.
    Leave,
    /// Come back to Python after it.
    Park,
    /// End at once.
    Abort,
    /// The next query that is interrupted is tried again, whatever the rules say.
    ExpectKill,
}

pub struct Connection {
    pub number: i64,
    fd: OwnedFd,
    stream: Stream,
    forms: Forms,
    readers: HashMap<usize, RowReader>,
    response: Response,
    figures: Arc<Figures>,
    state: State,
    running: Option<Running>,
    /// The statements of the transaction on its way that have returned, over all attempts.
    timed: Vec<Timed>,
    calls: Calls,
    /// How much of the packet on its way has been sent.
    unsent: std::ops::Range<usize>,
    is_rollback_unsent: bool,
    last: Option<usize>,
    /// What comes after the pause, which ends at `rested_at`.
    following: Option<usize>,
    rested_at: i64,
    is_leaving: bool,
    is_asked_for: bool,
    is_kill_expected: bool,
    jitter: u64,
}

/// What a connection works with while it is its turn.
pub struct Turnout<'a> {
    pub shared: &'a Shared,
    pub recorder: &'a mut Recorder,
    pub scratch: &'a mut [u8],
    /// Whether all connections should look up: the last work was taken.
    pub wakes_all: bool,
}

impl Connection {
    pub fn new(
        number: i64,
        fd: OwnedFd,
        stream: Stream,
        forms: Forms,
        readers: HashMap<usize, RowReader>,
        without_eof: bool,
        figures: Arc<Figures>,
    ) -> Self {
        Self {
            number,
            fd,
            stream,
            forms,
            readers,
            response: Response::new(without_eof),
            figures,
            state: State::Ready,
            running: None,
            timed: Vec::new(),
            calls: Calls::default(),
            unsent: 0..0,
            is_rollback_unsent: false,
            last: None,
            following: None,
            rested_at: 0,
            is_leaving: false,
            is_asked_for: false,
            is_kill_expected: false,
            jitter: (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Whether there is something left to send.
    pub fn wants_room(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The stream, for the connection that comes after this one.
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// Notes a message; Some if the connection ends at once.
    pub fn wish(&mut self, wish: Wish, turn: &mut Turnout<'_>) -> Option<Parted> {
        match wish {
            Wish::Leave => self.is_leaving = true,
            Wish::Park => self.is_asked_for = true,
            Wish::ExpectKill => self.is_kill_expected = true,
            Wish::Abort => return Some(self.aborted(turn)),
        }
        None
    }

    fn aborted(&mut self, turn: &mut Turnout<'_>) -> Parted {
        self.release_reserved(turn);
        if self.running.take().is_some() {
            let is_asking =
                matches!(self.state, State::Answering | State::RollingBack(..) | State::Delayed(..));
            turn.recorder.counters.in_flight -= 1;
            turn.recorder.counters.abandoned += 1;
            turn.recorder.counters.unanswered += u64::from(is_asking);
        }
        Parted::Aborted
    }

    /// Reads what has come, and goes on with it.
    pub fn readable(&mut self, turn: &mut Turnout<'_>) -> Next {
        loop {
            let received = sys::receive(self.fd(), turn.scratch);
            let count = match received {
                Ok(0) => return self.lost(SERVER_LOST, turn),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.go_on(turn),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.lost(SERVER_LOST, turn),
            };
            if !matches!(self.state, State::Answering | State::RollingBack(..)) {
                // Nobody asked: the server's last words, or nonsense.
                return self.lost(SERVER_LOST, turn);
            }
            let is_all = count < turn.scratch.len();
            if let Some(verdict) = self.response.feed(&turn.scratch[..count]) {
                return self.answered(verdict, turn);
            }
            if is_all {
                return Next::Bytes;
            }
        }
    }

    /// Does what can be done now.
    pub fn go_on(&mut self, turn: &mut Turnout<'_>) -> Next {
        match &mut self.state {
            State::Answering | State::RollingBack(..) => Next::Bytes,
            State::BackingOff(until) | State::Delayed(until, ..) if sys::now_ns() < *until => {
                Next::Time(*until)
            }
            State::BackingOff(_) => self.attempt(turn),
            State::Delayed(..) => match std::mem::replace(&mut self.state, State::Answering) {
                State::Delayed(_, verdict, rollback) => self.heard(verdict, rollback, turn),
                _ => unreachable!("the state was looked at above"),
            },
            State::Ready | State::Idle | State::Due(_) | State::Resting => self.look_for_work(turn),
        }
    }

    /// Between two transactions: leaves, waits, or starts the next one.
    fn look_for_work(&mut self, turn: &mut Turnout<'_>) -> Next {
        if let Some(parted) = self.reason_to_part(turn) {
            self.release_reserved(turn);
            return Next::Part(parted);
        }
        if turn.shared.is_paused() {
            self.release_reserved(turn);
            self.state = State::Idle;
            return Next::Bytes;
        }
        turn.shared.update_weights(&mut self.stream);
        if !turn.shared.is_open() {
            if let Some(until) = self.rest() {
                return Next::Time(until);
            }
        }
        match self.take_turn(turn) {
            Turn::Start(intended) => self.start(Some(intended), turn),
            Turn::StartUnasked => self.start(None, turn),
            Turn::At(at) => {
                self.state = State::Due(at);
                Next::Time(at)
            }
            Turn::Nothing => {
                self.state = State::Idle;
                // The last work may just have been taken: then this connection is done.
                self.reason_to_part(turn).map_or(Next::Bytes, Next::Part)
            }
        }
    }

    fn reason_to_part(&mut self, turn: &Turnout<'_>) -> Option<Parted> {
        if self.is_leaving || turn.shared.is_over() || self.stream.is_spent() {
            return Some(Parted::Left);
        }
        if self.stream.takes_leave() {
            return Some(Parted::NewLogin);
        }
        self.is_asked_for.then_some(Parted::Asked)
    }

    /// Until when the pause before the next transaction lasts, if it does.
    fn rest(&mut self) -> Option<i64> {
        if !self.stream.rests() {
            return None;
        }
        let now = sys::now_ns();
        if self.following.is_none() {
            let following = self.stream.draw();
            self.following = Some(following);
            let seconds = self.stream.pause(self.last, following);
            self.rested_at = now + (seconds * sys::NS_PER_SECOND as f64) as i64;
        }
        if now >= self.rested_at {
            return None;
        }
        self.state = State::Resting;
        Some(self.rested_at)
    }

    fn take_turn(&mut self, turn: &mut Turnout<'_>) -> Turn {
        let shared = turn.shared;
        if !shared.is_open() && !shared.is_limited.load(Ordering::Acquire) {
            return Turn::StartUnasked;
        }
        let now = sys::now_ns();
        let mut arrivals = lock(&shared.arrivals);
        if let State::Due(at) = self.state {
            if now < at && arrivals.is_open() && arrivals.holds(at, self.number) {
                return Turn::At(at);
            }
            self.state = State::Ready;
            let is_due = now >= at;
            if is_due {
                turn.recorder.latencies.late.record((now - at) as u64 / 1000);
            }
            if let Some(intended) = arrivals.claim(at, self.number, now) {
                turn.wakes_all |= arrivals.is_finished();
                return Turn::Start(intended);
            }
        }
        let given = arrivals.take(now, self.number);
        turn.wakes_all |= matches!(given, Turn::Start(_) | Turn::StartUnasked) && arrivals.is_finished();
        given
    }

    fn release_reserved(&mut self, turn: &mut Turnout<'_>) {
        if let State::Due(at) = self.state {
            self.state = State::Idle;
            turn.wakes_all |= lock(&turn.shared.arrivals).release_reserved(at, self.number);
        }
    }

    fn start(&mut self, intended_ns: Option<i64>, turn: &mut Turnout<'_>) -> Next {
        let counters = &mut turn.recorder.counters;
        counters.in_flight += 1;
        counters.unasked += u64::from(intended_ns.is_none());
        let which = self.following.take().unwrap_or_else(|| self.stream.draw());
        self.last = Some(which);
        self.timed.clear();
        self.running = Some(Running {
            which,
            intended_ns,
            started_ns: sys::now_ns(),
            attempt: 0,
            is_lazy: false,
            statement: 0,
            sent_ns: 0,
        });
        self.attempt(turn)
    }

    /// Begins an attempt: the first one, or another after a back-off, with new values.
    fn attempt(&mut self, turn: &mut Turnout<'_>) -> Next {
        let running = match &mut self.running {
            Some(running) => running,
            None => return self.look_for_work(turn),
        };
        let which = running.which;
        let is_first = running.attempt == 0;
        running.is_lazy =
            if is_first { self.stream.transaction(which).interactive } else { !self.stream.is_simple(which) };
        self.calls.clear();
        let drawn = if running.is_lazy {
            self.stream.begin(which);
            Ok(())
        } else {
            self.stream.calls(which, &mut Writer { forms: &self.forms, calls: &mut self.calls })
        };
        match drawn {
            Ok(()) => self.next_call(None, turn),
            Err(fault) => self.faulty(fault, turn),
        }
    }

    /// Has the next statement of an attempt sent, or ends the transaction.
    fn next_call(&mut self, rows: Option<Vec<Row>>, turn: &mut Turnout<'_>) -> Next {
        let is_lazy = self.running.as_ref().map_or(false, |running| running.is_lazy);
        if is_lazy {
            if let Err(fault) = self.draw_call(rows) {
                return self.faulty(fault, turn);
            }
        }
        let start = if self.calls.next == 0 { 0 } else { self.calls.ends[self.calls.next - 1].1 };
        match self.calls.ends.get(self.calls.next) {
            Some(&(statement, end)) => {
                self.calls.next += 1;
                self.response.begin(self.forms.program.flat[statement].captures);
                if let Some(running) = &mut self.running {
                    running.statement = statement;
                    running.sent_ns = sys::now_ns();
                }
                self.state = State::Answering;
                self.is_rollback_unsent = false;
                self.unsent = start..end;
                Next::Bytes
            }
            None => self.complete(turn),
        }
    }

    /// Draws the next call of a lazy attempt, if there is one.
    fn draw_call(&mut self, rows: Option<Vec<Row>>) -> Result<(), Fault> {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        self.calls.clear();
        if let Some(statement) = self.stream.next(which, rows)? {
            Writer { forms: &self.forms, calls: &mut self.calls }.call(statement, self.stream.values())?;
        }
        Ok(())
    }

    /// Sends what the socket takes. The thread calls it without the recorder's lock: a `send` wakes the server,
    /// and on a busy host its sender is preempted then, for seconds where thousands wait for a processor.
    pub fn send_rest(&mut self) -> io::Result<()> {
        let source = if self.is_rollback_unsent { ROLLBACK } else { &self.calls.bytes };
        match sys::send(self.fd.as_raw_fd(), &source[self.unsent.clone()]) {
            Ok(count) => self.unsent.start += count,
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
        Ok(())
    }

    /// Nothing can be sent any more.
    pub fn unsendable(&mut self, turn: &mut Turnout<'_>) -> Next {
        self.unsent = 0..0;
        self.lost(SERVER_GONE, turn)
    }

    /// The whole answer has come.
    fn answered(&mut self, verdict: Verdict, turn: &mut Turnout<'_>) -> Next {
        let rollback = match std::mem::replace(&mut self.state, State::Answering) {
            State::RollingBack(code, words) => Some((code, words)),
            _ => None,
        };
        let delay = turn.shared.delay_ns.load(Ordering::Relaxed) as i64;
        let is_lost = match &verdict {
            Verdict::Broken(_) => true,
            Verdict::Refused(code, _) => LOST_CODES.contains(code),
            Verdict::Done(_) => false,
        };
        if delay == 0 || is_lost {
            return self.heard(verdict, rollback, turn);
        }
        let until = sys::now_ns() + delay;
        self.state = State::Delayed(until, verdict, rollback);
        Next::Time(until)
    }

    fn heard(&mut self, verdict: Verdict, rollback: Option<(u16, String)>, turn: &mut Turnout<'_>) -> Next {
        match (verdict, rollback) {
            (Verdict::Broken(_), _) => self.lost(OUT_OF_SYNC, turn),
            (Verdict::Refused(code, _), _) if LOST_CODES.contains(&code) => self.lost(code, turn),
            (Verdict::Refused(code, words), rollback) => {
                turn.recorder.counters.count_error(code);
                turn.recorder.counters.rejected += 1;
                self.time(code);
                if rollback.is_some() {
                    return self.part_failing(Parted::Refused(code, words), turn);
                }
                self.refused(code, words, turn)
            }
            (Verdict::Done(_), Some((code, words))) => {
                turn.recorder.counters.others += 1;
                self.retry_or_give_up(code, words, turn)
            }
            (Verdict::Done(affected), None) => self.done(affected, turn),
        }
    }

    /// A statement of a transaction has returned.
    fn done(&mut self, affected: u64, turn: &mut Turnout<'_>) -> Next {
        let (statement, sent_ns) = match &self.running {
            Some(running) => (running.statement, running.sent_ns),
            None => return self.look_for_work(turn),
        };
        let flat = &self.forms.program.flat[statement];
        let latency_us = (sys::now_ns() - sent_ns).max(0) as u64 / 1000;
        if self.timed.len() < MOST_TIMED {
            self.timed.push(Timed { name: flat.latency as u32, us: latency_us as u32, error: 0 });
        }
        turn.recorder.latencies.statements[flat.latency].record(latency_us);
        let (class, captures) = (flat.class, flat.captures);
        if !captures {
            turn.recorder.counters.count_statement(class, affected);
            return self.next_call(None, turn);
        }
        self.captured(statement, class, turn)
    }

    /// Notes a statement that ended in an error.
    fn time(&mut self, error: u16) {
        if let (Some(running), true) = (&self.running, self.timed.len() < MOST_TIMED) {
            let us = (sys::now_ns() - running.sent_ns).max(0) / 1000;
            let name = self.forms.program.flat[running.statement].latency as u32;
            self.timed.push(Timed { name, us: us as u32, error });
        }
    }

    fn captured(&mut self, statement: usize, class: Class, turn: &mut Turnout<'_>) -> Next {
        let read = match self.readers.get_mut(&statement) {
            Some(reader) => reader.read(self.response.kept()),
            None => Err(Unreadable::Skewed),
        };
        match read {
            Ok(rows) => {
                turn.recorder.counters.count_statement(class, rows.len() as u64);
                self.next_call(Some(rows), turn)
            }
            Err(Unreadable::Skewed) => self.lost(OUT_OF_SYNC, turn),
            Err(Unreadable::Encoding(words)) => {
                let words = format!("the server sent a text that is not in utf8mb4: {words}");
                self.part_failing(Parted::Faulty { words, is_usage: false }, turn)
            }
        }
    }

    /// The transaction has come to its end.
    fn complete(&mut self, turn: &mut Turnout<'_>) -> Next {
        let running = match self.running.take() {
            Some(running) => running,
            None => return self.look_for_work(turn),
        };
        let ended_ns = sys::now_ns();
        let recorder = &mut *turn.recorder;
        recorder.counters.in_flight -= 1;
        recorder.counters.completed += 1;
        let transaction = &self.stream.program.transactions[running.which];
        if running.is_lazy && self.forms.program.flat[running.statement].is_rollback {
            recorder.counters.rolled_back[running.which] += 1;
        } else if transaction.explicit {
            recorder.counters.commits += 1;
        }
        let busy_us = (ended_ns - running.started_ns).max(0) as u64 / 1000;
        self.figures.add(busy_us);
        let response_us = match running.intended_ns {
            None => busy_us,
            Some(intended) => {
                recorder.latencies.service.record(busy_us);
                (ended_ns - intended).max(0) as u64 / 1000
            }
        };
        recorder.latencies.responses[running.which].record(response_us);
        recorder.latencies.slowest.offer(running.which, response_us, busy_us, &self.timed);
        self.go_on_after(running.sent_ns, turn)
    }

    /// Looks for the next transaction; one that sent nothing lets others have their turn first.
    fn go_on_after(&mut self, sent_ns: i64, turn: &mut Turnout<'_>) -> Next {
        self.state = State::Ready;
        if sent_ns == 0 {
            return Next::Time(sys::now_ns());
        }
        self.look_for_work(turn)
    }

    /// A statement was refused: first comes a rollback, if the transaction was begun.
    fn refused(&mut self, code: u16, words: String, turn: &mut Turnout<'_>) -> Next {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        if !self.stream.transaction(which).explicit {
            return self.retry_or_give_up(code, words, turn);
        }
        self.response.begin(false);
        self.state = State::RollingBack(code, words);
        self.is_rollback_unsent = true;
        self.unsent = 0..ROLLBACK.len();
        Next::Bytes
    }

    fn retry_or_give_up(&mut self, code: u16, words: String, turn: &mut Turnout<'_>) -> Next {
        let rules = &turn.shared.rules;
        let is_forgiven = rules.ignores(code) || self.was_expected(code);
        if !is_forgiven && rules.stops_on_error {
            return self.part_failing(Parted::Refused(code, words), turn);
        }
        let running = match &mut self.running {
            Some(running) => running,
            None => return self.look_for_work(turn),
        };
        let counters = &mut turn.recorder.counters;
        if !is_forgiven || running.attempt == rules.max_retries {
            counters.failed += 1;
            counters.in_flight -= 1;
            let sent_ns = running.sent_ns;
            self.running = None;
            return self.go_on_after(sent_ns, turn);
        }
        counters.retries += 1;
        counters.retried[running.which] += 1;
        let attempt = running.attempt;
        running.attempt += 1;
        let until = sys::now_ns() + self.back_off_ns(attempt);
        self.state = State::BackingOff(until);
        Next::Time(until)
    }

    /// Whether this is the interruption that was announced; it is forgiven once.
    fn was_expected(&mut self, code: u16) -> bool {
        code == INTERRUPTED && std::mem::take(&mut self.is_kill_expected)
    }

    /// Doubling, capped, and spread by chance.
    fn back_off_ns(&mut self, attempt: u64) -> i64 {
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let longest = (FIRST_BACK_OFF_NS << attempt.min(32)).min(LONGEST_BACK_OFF_NS);
        (longest / 2 + self.jitter % (longest / 2)) as i64
    }

    /// The connection broke, and with it the transaction in flight.
    fn lost(&mut self, code: u16, turn: &mut Turnout<'_>) -> Next {
        self.release_reserved(turn);
        if self.running.is_some() {
            turn.recorder.counters.count_error(code);
        }
        self.part_failing(Parted::Lost, turn)
    }

    fn faulty(&mut self, fault: Fault, turn: &mut Turnout<'_>) -> Next {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        let transaction = &self.stream.transaction(which).name;
        let parted = match fault {
            Fault::Shape(words) => Parted::Faulty { words, is_usage: true },
            Fault::Values(words) => {
                let profile = &self.stream.program.profile;
                let words = format!("{profile}: the transaction '{transaction}' cannot be computed: {words}");
                Parted::Faulty { words, is_usage: false }
            }
        };
        self.part_failing(parted, turn)
    }

    /// The transaction in flight has failed, and the connection goes back.
    fn part_failing(&mut self, parted: Parted, turn: &mut Turnout<'_>) -> Next {
        if self.running.take().is_some() {
            turn.recorder.counters.failed += 1;
            turn.recorder.counters.in_flight -= 1;
        }
        Next::Part(parted)
    }
}
