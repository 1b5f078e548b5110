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

pub mod calls;
mod exchange;
mod failures;
pub mod layers;
pub mod link;
mod outcomes;
mod script;
mod work;

use std::collections::HashMap;
use std::io;
use std::os::unix::io::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::engine::connection::calls::{Calls, Forms};
use crate::engine::connection::layers::Unusable;
use crate::engine::connection::link::{FurtherLink, Link};
use crate::engine::shared::{ReturnReason, Shared};
use crate::measure::recorder::{Figures, Recorder, Timed};
use crate::program::script::Encoding;
use crate::program::stream::Stream;
use crate::protocol::response::Outcome;
use crate::protocol::rows::RowReader;
use crate::sys;

const ROLLBACK: &[u8] = b"\x09\x00\x00\x00\x03ROLLBACK";
const SERVER_GONE: u16 = 2006;
const SERVER_LOST: u16 = 2013;
const OUT_OF_SYNC: u16 = 2014;
/// Server shutdown, aborted or killed connection, server gone, connection lost, commands out of sync.
const LOST_CODES: [u16; 9] = [1053, 1077, 1152, 1927, SERVER_GONE, SERVER_LOST, OUT_OF_SYNC, 2055, 4031];

/// The transaction in flight. `is_lazy` if its calls are drawn one by one.
struct Running {
    which: usize,
    intended_ns: Option<i64>,
    /// Whether it is the request of a user, who asks again after it.
    has_user: bool,
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
    /// A pause of a script.
    Sleeping(i64),
    /// An outcome that is processed at a time, and the error that caused the rollback if it is that of a rollback.
    Delayed(i64, Outcome, Option<(u16, String)>),
}

/// What a connection waits for. `Time` includes bytes and messages.
pub enum Next {
    Bytes,
    /// Nothing: there is more to do, after a look at others.
    Again,
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
    /// End immediately.
    Abort,
    /// Retry the next interrupted query, regardless of the error policy.
    ExpectKill,
}

pub struct Connection {
    pub number: i64,
    link: Link,
    /// The sessions of a script beside `link`: the one of this connection has the number 0, and those that the script
    /// opens follow. `active` is the number of `link`.
    further: HashMap<usize, FurtherLink>,
    active: usize,
    stream: Stream,
    forms: Forms,
    readers: HashMap<usize, RowReader>,
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
    /// The name of a script's statement in flight; None while it is prepared.
    script_statement: Option<usize>,
    /// The transaction after the think time, which ends at `thinking_until`.
    following: Option<usize>,
    thinking_until: i64,
    /// Whether the work that it takes is that of users.
    serves_users: bool,
    is_leaving: bool,
    is_park_requested: bool,
    is_kill_expected: bool,
    jitter: u64,
    /// When the last bytes of an incomplete response came.
    heard_ns: i64,
}

/// What a connection uses of its thread.
pub struct ThreadContext<'a> {
    pub shared: &'a Shared,
    pub recorder: &'a mut Recorder,
    pub scratch: &'a mut [u8],
    /// When the last transaction ended: the next one of a closed loop begins then.
    pub ended_ns: Option<i64>,
    /// Whether all connections must check for work: the last work was taken.
    pub wakes_all: bool,
}

impl Connection {
    /// `is_same` if it is the session that the connection of this number had before. `further` are the other sessions of
    /// its script.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        number: i64,
        mut link: Link,
        mut further: HashMap<usize, FurtherLink>,
        mut stream: Stream,
        forms: Forms,
        readers: HashMap<usize, RowReader>,
        encoding: Encoding,
        is_same: bool,
        figures: Arc<Figures>,
    ) -> Self {
        let mut event = None;
        if let Some(scripted) = &mut stream.script {
            event = scripted.event.take().and_then(|event| event.downcast::<(Running, Vec<Timed>)>().ok());
            if !is_same {
                scripted.script.attach(0, encoding);
            }
            if further.is_empty() {
                scripted.script.lose_further();
            }
            for (&place, each) in further.iter_mut().filter(|(_, each)| each.is_new) {
                each.is_new = false;
                scripted.script.attach(place, each.encoding);
            }
            link.response.keep_at_most(script::MOST_RESPONSE_BYTES);
        }
        let (running, timed) = event.map_or_else(Default::default, |event| (Some(event.0), event.1));
        Self {
            number,
            link,
            further,
            active: 0,
            stream,
            forms,
            readers,
            figures,
            state: State::Ready,
            running,
            timed,
            calls: Calls::default(),
            unsent: 0..0,
            is_rollback_unsent: false,
            last: None,
            script_statement: None,
            following: None,
            thinking_until: 0,
            serves_users: false,
            is_leaving: false,
            is_park_requested: false,
            is_kill_expected: false,
            jitter: (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            heard_ns: 0,
        }
    }

    pub fn fd(&self) -> RawFd {
        self.link.fd.as_raw_fd()
    }

    /// Changes to another session of the script; false if it is not there.
    fn use_link(&mut self, number: usize) -> bool {
        if number == self.active {
            return true;
        }
        match self.further.remove(&number) {
            Some(mut other) => {
                std::mem::swap(&mut self.link, &mut other.link);
                self.further.insert(self.active, other);
                self.active = number;
                true
            }
            None => false,
        }
    }

    /// Whether there is unsent output.
    pub fn wants_to_send(&self) -> bool {
        !self.unsent.is_empty() || self.link.has_output()
    }

    /// Gives the records of TLS back; returns what the next connection of this number needs: the stream, and the further
    /// sessions of a script, unless it ends or is lost.
    pub fn into_parts(mut self, returned: &ReturnReason) -> (Stream, HashMap<usize, FurtherLink>) {
        self.use_link(0);
        if let Some(layers) = self.link.layers {
            layers.give_back();
        }
        if !matches!(returned, ReturnReason::Parked | ReturnReason::Reconnecting(1..)) {
            self.stream.since_login = 0;
        }
        let goes_on = matches!(
            returned,
            ReturnReason::Parked
                | ReturnReason::NewLogin
                | ReturnReason::LoginDue
                | ReturnReason::Reconnecting(_)
        );
        if !goes_on {
            let ended = std::mem::take(&mut self.further).into_values();
            ended.filter_map(|each| each.link.layers).for_each(|layers| layers.give_back());
        }
        if let (Some(scripted), Some(running)) = (&mut self.stream.script, self.running) {
            scripted.event = Some(Box::new((running, self.timed)));
        }
        (self.stream, self.further)
    }

    /// Stores a command; Some if the connection ends immediately.
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
        if let Some(running) = self.running.take() {
            let endless = self.endless_event(context);
            let is_asking =
                matches!(self.state, State::AwaitingResponse | State::RollingBack(..) | State::Delayed(..));
            context.recorder.counters.in_flight -= 1;
            context.recorder.counters.abandoned += 1;
            context.shared.gaps.abandoned();
            context.recorder.counters.unanswered += u64::from(is_asking);
            self.user_left(&running, context);
            if let Some(message) = endless {
                return ReturnReason::ScriptFault(message);
            }
        }
        ReturnReason::Aborted
    }

    /// Reads the socket, and continues with the response.
    pub fn readable(&mut self, context: &mut ThreadContext<'_>) -> Next {
        loop {
            let waiting = self.link.partial_bytes();
            let received = sys::receive(self.fd(), &mut context.scratch[waiting..]);
            let count = match received {
                Ok(0) => return self.lost(SERVER_LOST, context),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.advance(context),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.lost(SERVER_LOST, context),
            };
            let is_all = waiting + count < context.scratch.len();
            let is_asking = matches!(self.state, State::AwaitingResponse | State::RollingBack(..));
            match self.link.feed(&mut context.scratch[..waiting + count], is_asking) {
                Ok(Some(outcome)) => return self.response_complete(outcome, context),
                Ok(None) => {
                    self.heard_ns = sys::now_ns();
                    if is_all {
                        return self.advance(context);
                    }
                }
                Err(Unusable) => return self.lost(SERVER_LOST, context),
            }
        }
    }

    /// Waits for the rest of a response that has begun, for the net timeout: the server may have said all.
    /// A response that has not begun may take as long as its statement.
    fn await_rest(&mut self, context: &mut ThreadContext<'_>) -> Next {
        let most_ns = context.shared.net_timeout_ns.load(Ordering::Relaxed);
        let is_cut = self.link.layers.as_ref().map_or(false, |layers| layers.has_partial());
        if most_ns == 0 || !(is_cut || self.link.response.has_begun()) {
            return Next::Bytes;
        }
        let sent_ns = self.running.as_ref().map_or(0, |running| running.sent_ns);
        let until = self.heard_ns.max(sent_ns).saturating_add(most_ns as i64);
        if sys::now_ns() < until {
            return Next::Time(until);
        }
        self.lost(SERVER_LOST, context)
    }

    /// Does what can be done now.
    pub fn advance(&mut self, context: &mut ThreadContext<'_>) -> Next {
        match &mut self.state {
            State::AwaitingResponse | State::RollingBack(..) => self.await_rest(context),
            State::BackingOff(until) | State::Sleeping(until) | State::Delayed(until, ..)
                if sys::now_ns() < *until =>
            {
                Next::Time(*until)
            }
            State::BackingOff(_) => self.attempt(context),
            State::Sleeping(_) => self.script_waited(context),
            State::Delayed(..) => match std::mem::replace(&mut self.state, State::AwaitingResponse) {
                State::Delayed(_, outcome, rollback) => self.handle_outcome(outcome, rollback, context),
                _ => unreachable!("the state was matched above"),
            },
            State::Ready | State::Idle | State::Due(_) | State::Thinking => self.find_work(context),
        }
    }
}
