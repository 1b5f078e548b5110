//! One connection of the load: its transactions with their retries, counted and timed.
//!
//! ```text
//!            ┌──────────────────────────────────────────────┐
//!            v                                              │
//!   Ready ──> Answering ──(last reply)──────────────────────┤
//!     │           │ error                                   │
//!     │           v                                         │
//!     │       RollingBack ──> BackingOff ──> next attempt    ├──> Ready
//!     │                  └──> given up ─────────────────────┘
//!     ├──> Thinking, Due(at): until a time      Delayed: a response that is processed later
//!     └──> Idle: until it is woken
//! ```
//!
//! A connection never waits itself: [`Connection::advance`] does what can be done, and returns the time until which
//! there is nothing to do, or that the connection returns to Python. The thread calls it for bytes, timers and
//! messages, and then sends what is [`unsent`](Connection::wants_to_send).
//!
//! All calls of an attempt are drawn before the first is sent, unless they depend on the server's responses: then
//! they are drawn one by one, and an attempt that fails leaves the rest undrawn. This order is Python's, and keeps
//! the streams of both engines the same.

use std::collections::HashMap;
use std::io;
use std::os::unix::io::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::engine::shared::{lock, ReturnReason, Shared};
use crate::measure::recorder::{Figures, Recorder, Timed, MOST_TIMED};
use crate::pacing::WorkGrant;
use crate::program::machine::{Row, Sink};
use crate::program::stream::Stream;
use crate::program::{Class, Program};
use crate::protocol::packet::{write_execution, write_text, Form};
use crate::protocol::response::{Outcome, Response};
use crate::protocol::rows::{RowReader, Unreadable};
use crate::sys;
use crate::values::value::{ProfileError, Value};

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

    pub fn write(&self, statement: usize, values: &[Value], to: &mut Vec<u8>) -> Result<(), ProfileError> {
        match self.forms[statement] {
            Form::Prepared(identity) => write_execution(identity, values, to),
            Form::Text => {
                write_text(&self.program.flat[statement].pieces, values, self.no_backslash_escapes, to)
            }
        }
    }
}

/// The packets of an attempt, in sequence.
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
    fn call(&mut self, statement: usize, values: &[Value]) -> Result<(), ProfileError> {
        self.forms.write(statement, values, &mut self.calls.bytes)?;
        self.calls.ends.push((statement, self.calls.bytes.len()));
        Ok(())
    }
}

/// The transaction in flight. `is_lazy` if its calls are drawn one by one.
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
    Thinking,
    AwaitingResponse,
    /// With the error that caused the rollback.
    RollingBack(u16, String),
    BackingOff(i64),
    /// An outcome that is processed at a time, and the error that caused the rollback if it is that of a rollback.
    Delayed(i64, Outcome, Option<(u16, String)>),
}

/// What a connection waits for. `Time` includes bytes and messages.
pub enum Next {
    Bytes,
    Time(i64),
    Return(ReturnReason),
}

/// Commands to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// End after the transaction in flight.
    Leave,
    /// Return to Python after it.
    Park,
    /// End at once.
    Abort,
    /// Retry the next query that is interrupted, whatever the error policy.
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
    /// The completed statements of the transaction in flight, over all attempts.
    timed: Vec<Timed>,
    calls: Calls,
    /// The part of the current packet that is not sent yet.
    unsent: std::ops::Range<usize>,
    is_rollback_unsent: bool,
    last: Option<usize>,
    /// The transaction after the think time, which ends at `thinking_until`.
    following: Option<usize>,
    thinking_until: i64,
    is_leaving: bool,
    is_park_requested: bool,
    is_kill_expected: bool,
    jitter: u64,
}

/// What a connection uses of its thread.
pub struct ThreadContext<'a> {
    pub shared: &'a Shared,
    pub recorder: &'a mut Recorder,
    pub scratch: &'a mut [u8],
    /// Whether all connections must check for work: the last work was taken.
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
            thinking_until: 0,
            is_leaving: false,
            is_park_requested: false,
            is_kill_expected: false,
            jitter: (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Whether there is unsent output.
    pub fn wants_to_send(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The stream, for the next connection of this number.
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// Stores a command; Some if the connection ends at once.
    pub fn command(&mut self, command: Command, context: &mut ThreadContext<'_>) -> Option<ReturnReason> {
        match command {
            Command::Leave => self.is_leaving = true,
            Command::Park => self.is_park_requested = true,
            Command::ExpectKill => self.is_kill_expected = true,
            Command::Abort => return Some(self.aborted(context)),
        }
        None
    }

    fn aborted(&mut self, context: &mut ThreadContext<'_>) -> ReturnReason {
        self.release_reserved(context);
        if self.running.take().is_some() {
            let is_asking =
                matches!(self.state, State::AwaitingResponse | State::RollingBack(..) | State::Delayed(..));
            context.recorder.counters.in_flight -= 1;
            context.recorder.counters.abandoned += 1;
            context.recorder.counters.unanswered += u64::from(is_asking);
        }
        ReturnReason::Aborted
    }

    /// Reads the socket, and continues with the response.
    pub fn readable(&mut self, context: &mut ThreadContext<'_>) -> Next {
        loop {
            let received = sys::receive(self.fd(), context.scratch);
            let count = match received {
                Ok(0) => return self.lost(SERVER_LOST, context),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.advance(context),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.lost(SERVER_LOST, context),
            };
            if !matches!(self.state, State::AwaitingResponse | State::RollingBack(..)) {
                // No request is open: a final message of the server, or garbage.
                return self.lost(SERVER_LOST, context);
            }
            let is_all = count < context.scratch.len();
            if let Some(outcome) = self.response.feed(&context.scratch[..count]) {
                return self.response_complete(outcome, context);
            }
            if is_all {
                return Next::Bytes;
            }
        }
    }

    /// Does what can be done now.
    pub fn advance(&mut self, context: &mut ThreadContext<'_>) -> Next {
        match &mut self.state {
            State::AwaitingResponse | State::RollingBack(..) => Next::Bytes,
            State::BackingOff(until) | State::Delayed(until, ..) if sys::now_ns() < *until => {
                Next::Time(*until)
            }
            State::BackingOff(_) => self.attempt(context),
            State::Delayed(..) => match std::mem::replace(&mut self.state, State::AwaitingResponse) {
                State::Delayed(_, outcome, rollback) => self.handle_outcome(outcome, rollback, context),
                _ => unreachable!("the state was matched above"),
            },
            State::Ready | State::Idle | State::Due(_) | State::Thinking => self.find_work(context),
        }
    }

    /// Between two transactions: leaves, waits, or starts the next one.
    fn find_work(&mut self, context: &mut ThreadContext<'_>) -> Next {
        if let Some(returned) = self.reason_to_return(context) {
            self.release_reserved(context);
            return Next::Return(returned);
        }
        if context.shared.is_paused() {
            self.release_reserved(context);
            self.state = State::Idle;
            return Next::Bytes;
        }
        context.shared.update_weights(&mut self.stream);
        if !context.shared.is_open() {
            if let Some(until) = self.think() {
                return Next::Time(until);
            }
        }
        match self.take_work(context) {
            WorkGrant::Start(intended) => self.start(Some(intended), context),
            WorkGrant::StartAtOnce => self.start(None, context),
            WorkGrant::Reserved(at) => {
                self.state = State::Due(at);
                Next::Time(at)
            }
            WorkGrant::Nothing => {
                self.state = State::Idle;
                // The last work may just have been taken: then this connection is done.
                self.reason_to_return(context).map_or(Next::Bytes, Next::Return)
            }
        }
    }

    fn reason_to_return(&mut self, context: &ThreadContext<'_>) -> Option<ReturnReason> {
        if self.is_leaving || context.shared.is_over() || self.stream.is_spent() {
            return Some(ReturnReason::Left);
        }
        if self.stream.takes_leave() {
            return Some(ReturnReason::NewLogin);
        }
        self.is_park_requested.then_some(ReturnReason::Parked)
    }

    /// The end of the think time before the next transaction, if it is not over.
    fn think(&mut self) -> Option<i64> {
        if !self.stream.has_think_time() {
            return None;
        }
        let now = sys::now_ns();
        if self.following.is_none() {
            let following = self.stream.draw();
            self.following = Some(following);
            let seconds = self.stream.pause(self.last, following);
            self.thinking_until = now + (seconds * sys::NS_PER_SECOND as f64) as i64;
        }
        if now >= self.thinking_until {
            return None;
        }
        self.state = State::Thinking;
        Some(self.thinking_until)
    }

    fn take_work(&mut self, context: &mut ThreadContext<'_>) -> WorkGrant {
        let shared = context.shared;
        if !shared.is_open() && !shared.is_limited.load(Ordering::Acquire) {
            return WorkGrant::StartAtOnce;
        }
        let now = sys::now_ns();
        let mut queue = lock(&shared.queue);
        if let State::Due(at) = self.state {
            if now < at && queue.is_open() && queue.holds(at, self.number) {
                return WorkGrant::Reserved(at);
            }
            self.state = State::Ready;
            let is_due = now >= at;
            if is_due {
                context.recorder.latencies.late.record((now - at) as u64 / 1000);
            }
            if let Some(intended) = queue.claim(at, self.number, now) {
                context.wakes_all |= queue.is_finished();
                return WorkGrant::Start(intended);
            }
        }
        let given = queue.take(now, self.number);
        context.wakes_all |=
            matches!(given, WorkGrant::Start(_) | WorkGrant::StartAtOnce) && queue.is_finished();
        given
    }

    fn release_reserved(&mut self, context: &mut ThreadContext<'_>) {
        if let State::Due(at) = self.state {
            self.state = State::Idle;
            context.wakes_all |= lock(&context.shared.queue).release_reserved(at, self.number);
        }
    }

    fn start(&mut self, intended_ns: Option<i64>, context: &mut ThreadContext<'_>) -> Next {
        let counters = &mut context.recorder.counters;
        counters.in_flight += 1;
        counters.closed_loop_starts += u64::from(intended_ns.is_none());
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
        self.attempt(context)
    }

    /// Begins an attempt: the first one, or another after a back-off, with new values.
    fn attempt(&mut self, context: &mut ThreadContext<'_>) -> Next {
        let running = match &mut self.running {
            Some(running) => running,
            None => return self.find_work(context),
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
            Ok(()) => self.next_call(None, context),
            Err(fault) => self.profile_failed(fault, context),
        }
    }

    /// Prepares the next statement of an attempt for sending, or ends the transaction.
    fn next_call(&mut self, rows: Option<Vec<Row>>, context: &mut ThreadContext<'_>) -> Next {
        let is_lazy = self.running.as_ref().map_or(false, |running| running.is_lazy);
        if is_lazy {
            if let Err(fault) = self.draw_call(rows) {
                return self.profile_failed(fault, context);
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
                self.state = State::AwaitingResponse;
                self.is_rollback_unsent = false;
                self.unsent = start..end;
                Next::Bytes
            }
            None => self.complete(context),
        }
    }

    /// Draws the next call of a lazy attempt, if there is one.
    fn draw_call(&mut self, rows: Option<Vec<Row>>) -> Result<(), ProfileError> {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        self.calls.clear();
        if let Some(statement) = self.stream.next(which, rows)? {
            Writer { forms: &self.forms, calls: &mut self.calls }.call(statement, self.stream.values())?;
        }
        Ok(())
    }

    /// Sends what the socket accepts. The thread calls it without the recorder's lock: `send` wakes the server, and
    /// on a busy host the sender is then preempted, for seconds where thousands wait for a processor.
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

    /// The socket cannot send any more.
    pub fn unsendable(&mut self, context: &mut ThreadContext<'_>) -> Next {
        self.unsent = 0..0;
        self.lost(SERVER_GONE, context)
    }

    /// A response is complete.
    fn response_complete(&mut self, outcome: Outcome, context: &mut ThreadContext<'_>) -> Next {
        let rollback = match std::mem::replace(&mut self.state, State::AwaitingResponse) {
            State::RollingBack(code, message) => Some((code, message)),
            _ => None,
        };
        let delay = context.shared.delay_ns.load(Ordering::Relaxed) as i64;
        let is_lost = match &outcome {
            Outcome::Broken(_) => true,
            Outcome::ServerError(code, _) => LOST_CODES.contains(code),
            Outcome::Done(_) => false,
        };
        if delay == 0 || is_lost {
            return self.handle_outcome(outcome, rollback, context);
        }
        let until = sys::now_ns() + delay;
        self.state = State::Delayed(until, outcome, rollback);
        Next::Time(until)
    }

    fn handle_outcome(
        &mut self,
        outcome: Outcome,
        rollback: Option<(u16, String)>,
        context: &mut ThreadContext<'_>,
    ) -> Next {
        match (outcome, rollback) {
            (Outcome::Broken(_), _) => self.lost(OUT_OF_SYNC, context),
            (Outcome::ServerError(code, _), _) if LOST_CODES.contains(&code) => self.lost(code, context),
            (Outcome::ServerError(code, message), rollback) => {
                context.recorder.counters.count_error(code);
                context.recorder.counters.rejected += 1;
                self.time_error(code);
                if rollback.is_some() {
                    return self.fail_and_return(ReturnReason::ServerError(code, message), context);
                }
                self.statement_failed(code, message, context)
            }
            (Outcome::Done(_), Some((code, message))) => {
                context.recorder.counters.others += 1;
                self.retry_or_give_up(code, message, context)
            }
            (Outcome::Done(affected), None) => self.statement_done(affected, context),
        }
    }

    /// A statement of a transaction succeeded.
    fn statement_done(&mut self, affected: u64, context: &mut ThreadContext<'_>) -> Next {
        let (statement, sent_ns) = match &self.running {
            Some(running) => (running.statement, running.sent_ns),
            None => return self.find_work(context),
        };
        let flat = &self.forms.program.flat[statement];
        let latency_us = (sys::now_ns() - sent_ns).max(0) as u64 / 1000;
        if self.timed.len() < MOST_TIMED {
            self.timed.push(Timed { name: flat.latency as u32, us: latency_us as u32, error: 0 });
        }
        context.recorder.latencies.statements[flat.latency].record(latency_us);
        let (class, captures) = (flat.class, flat.captures);
        if !captures {
            context.recorder.counters.count_statement(class, affected);
            return self.next_call(None, context);
        }
        self.captured(statement, class, context)
    }

    /// Records the time of a statement that failed.
    fn time_error(&mut self, error: u16) {
        if let (Some(running), true) = (&self.running, self.timed.len() < MOST_TIMED) {
            let us = (sys::now_ns() - running.sent_ns).max(0) / 1000;
            let name = self.forms.program.flat[running.statement].latency as u32;
            self.timed.push(Timed { name, us: us as u32, error });
        }
    }

    fn captured(&mut self, statement: usize, class: Class, context: &mut ThreadContext<'_>) -> Next {
        let read = match self.readers.get_mut(&statement) {
            Some(reader) => reader.read(self.response.kept()),
            None => Err(Unreadable::Malformed),
        };
        match read {
            Ok(rows) => {
                context.recorder.counters.count_statement(class, rows.len() as u64);
                self.next_call(Some(rows), context)
            }
            Err(Unreadable::Malformed) => self.lost(OUT_OF_SYNC, context),
            Err(Unreadable::Encoding(message)) => {
                let message = format!("the server sent a text that is not in utf8mb4: {message}");
                self.fail_and_return(ReturnReason::Faulty { message, is_usage: false }, context)
            }
        }
    }

    /// The transaction is complete.
    fn complete(&mut self, context: &mut ThreadContext<'_>) -> Next {
        let running = match self.running.take() {
            Some(running) => running,
            None => return self.find_work(context),
        };
        let ended_ns = sys::now_ns();
        let recorder = &mut *context.recorder;
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
        self.after_transaction(running.sent_ns, context)
    }

    /// Continues with the next transaction; after one that sent nothing, other connections come first.
    fn after_transaction(&mut self, sent_ns: i64, context: &mut ThreadContext<'_>) -> Next {
        self.state = State::Ready;
        if sent_ns == 0 {
            return Next::Time(sys::now_ns());
        }
        self.find_work(context)
    }

    /// A statement failed: first a rollback, if the transaction was begun.
    fn statement_failed(&mut self, code: u16, message: String, context: &mut ThreadContext<'_>) -> Next {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        if !self.stream.transaction(which).explicit {
            return self.retry_or_give_up(code, message, context);
        }
        self.response.begin(false);
        self.state = State::RollingBack(code, message);
        self.is_rollback_unsent = true;
        self.unsent = 0..ROLLBACK.len();
        Next::Bytes
    }

    fn retry_or_give_up(&mut self, code: u16, message: String, context: &mut ThreadContext<'_>) -> Next {
        let error_policy = &context.shared.error_policy;
        let is_ignored = error_policy.ignores(code) || self.was_expected(code);
        if !is_ignored && error_policy.stops_on_error {
            return self.fail_and_return(ReturnReason::ServerError(code, message), context);
        }
        let running = match &mut self.running {
            Some(running) => running,
            None => return self.find_work(context),
        };
        let counters = &mut context.recorder.counters;
        if !is_ignored || running.attempt == error_policy.max_retries {
            counters.failed += 1;
            counters.in_flight -= 1;
            let sent_ns = running.sent_ns;
            self.running = None;
            return self.after_transaction(sent_ns, context);
        }
        counters.retries += 1;
        counters.retried[running.which] += 1;
        let attempt = running.attempt;
        running.attempt += 1;
        let until = sys::now_ns() + self.back_off_ns(attempt);
        self.state = State::BackingOff(until);
        Next::Time(until)
    }

    /// Whether this is the announced interruption, which is retried once.
    fn was_expected(&mut self, code: u16) -> bool {
        code == INTERRUPTED && std::mem::take(&mut self.is_kill_expected)
    }

    /// Exponential, with a maximum and jitter.
    fn back_off_ns(&mut self, attempt: u64) -> i64 {
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let longest = (FIRST_BACK_OFF_NS << attempt.min(32)).min(LONGEST_BACK_OFF_NS);
        (longest / 2 + self.jitter % (longest / 2)) as i64
    }

    /// The connection is lost, and with it the transaction in flight.
    fn lost(&mut self, code: u16, context: &mut ThreadContext<'_>) -> Next {
        self.release_reserved(context);
        if self.running.is_some() {
            context.recorder.counters.count_error(code);
        }
        self.fail_and_return(ReturnReason::Lost, context)
    }

    fn profile_failed(&mut self, fault: ProfileError, context: &mut ThreadContext<'_>) -> Next {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        let transaction = &self.stream.transaction(which).name;
        let returned = match fault {
            ProfileError::Shape(message) => ReturnReason::Faulty { message, is_usage: true },
            ProfileError::Values(message) => {
                let profile = &self.stream.program.profile;
                let message =
                    format!("{profile}: the transaction '{transaction}' cannot be computed: {message}");
                ReturnReason::Faulty { message, is_usage: false }
            }
        };
        self.fail_and_return(returned, context)
    }

    /// The transaction in flight failed; the connection returns to Python.
    fn fail_and_return(&mut self, returned: ReturnReason, context: &mut ThreadContext<'_>) -> Next {
        if self.running.take().is_some() {
            context.recorder.counters.failed += 1;
            context.recorder.counters.in_flight -= 1;
        }
        Next::Return(returned)
    }
}
