//! A script in place of a compiled program: what the engine knows of it.
//!
//! A script is a dialogue. The engine passes it an answer, and it replies with the next step: a packet for the server, a
//! pause, or its verdict over the event. `script` implements it for Lua.
//!
//! ```text
//!            Start            Event              End
//!   New ──> Starting ──> Ready ──> Running ──> Ready ──> Ending ──> Over
//!                          ^          │ connection lost
//!                          └─ Recovering (on the next connection: the event fails)
//!
//! An event that asks for a new connection goes on there, still Running.
//! ```

use std::any::Any;
use std::fmt::Debug;

use crate::protocol::response::Outcome;
use crate::values::mt19937::Mt19937;
use crate::values::value::ProfileError;

/// What a script is told.
pub enum Answer<'a> {
    /// Load the script, and prepare its connection.
    Start,
    /// Run the next event.
    Event,
    /// The connection ends.
    End,
    /// A statement succeeded. `response` is the server's, if its rows are read.
    Done { affected: u64, response: &'a mut Vec<u8> },
    /// A statement failed; `is_ignorable` by the error policy of the load.
    Failed { code: u16, message: &'a str, response: &'a [u8], is_ignorable: bool },
    /// The pause is over.
    Waited,
    /// The connection was lost during the statement.
    Lost,
    /// The script has the new connection that it asked for.
    Reconnected,
}

/// What a script does next. The packet of a call is in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `name` is the number of the statement's name, None while it is prepared.
    Call {
        name: Option<usize>,
    },
    Sleep {
        microseconds: u64,
    },
    /// The script asks for a new session, in place of the one with that number if there is one.
    Reconnect,
    Verdict(Verdict),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has started.
    Begun,
    Done,
    /// The script asks for no further event.
    Over,
    /// The event begins again, with new values, after this error (0: none of the server).
    Restart(u16, String),
    /// An error of the server that the script does not handle.
    Failed(u16, String),
    /// An error in the script.
    Fault(String),
}

/// How a connection encodes statements and responses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoding {
    pub without_eof: bool,
    pub no_backslash_escapes: bool,
}

/// What answers a script that runs beside the load. Errors are those of a session that is lost or cannot be opened.
pub trait Server {
    /// Opens a session, in place of the one with that number.
    fn connect(&mut self, link: usize) -> Result<Encoding, String>;

    /// Sends a packet; `response` gets the server's, if it is kept.
    fn ask(
        &mut self,
        link: usize,
        packet: &[u8],
        is_preparation: bool,
        keeps: bool,
        response: &mut Vec<u8>,
    ) -> Result<Outcome, String>;
}

/// The script of one connection number; it outlives the connection.
pub trait Script: Send {
    /// It has a new session with this number, 0 for that of its connection: statements are prepared again.
    fn attach(&mut self, link: usize, encoding: Encoding);

    /// The sessions beside that of its connection are gone.
    fn lose_further(&mut self);

    /// The session of the step that it has asked for last.
    fn link(&self) -> usize;

    /// Passes an answer; appends the packet of a call to `to`, and at the end what needs no answer.
    fn resume(&mut self, answer: Answer<'_>, to: &mut Vec<u8>) -> Step;

    /// Whether it reads the rows of the call in flight: then the answer needs the whole response.
    fn reads_rows(&self) -> bool;

    /// A session with an open transaction, by the statements that succeeded.
    fn open_transaction(&self) -> Option<usize>;

    /// A rollback that the script did not send.
    fn rolled_back(&mut self, link: usize);

    /// Whether the statement in flight is a COMMIT.
    fn is_committing(&self) -> bool;

    /// Whether the statement that succeeded last was a COMMIT.
    fn has_committed(&self) -> bool;

    /// How many errors the script has counted itself since the last call.
    fn take_errors(&mut self) -> u64;
}

/// What makes the scripts of a load.
pub trait ScriptSource: Send + Sync + Debug {
    fn script(&self, connection: i64, random: Mt19937) -> Result<Box<dyn Script>, ProfileError>;

    /// The names of the statements so far, by their numbers.
    fn names(&self) -> Vec<String>;

    /// What the scripts have printed since the last call.
    fn take_output(&self) -> String;

    /// The load ends: a script that computes without end is stopped.
    fn end(&self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    New,
    Starting,
    Ready,
    Running,
    Recovering,
    Ending,
    Over,
}

/// A script and its state.
pub struct Scripted {
    pub script: Box<dyn Script>,
    pub phase: Phase,
    /// The event is to begin again, whatever the error policy says.
    pub is_restarting: bool,
    /// It waits for the new connection that it asked for.
    pub is_reconnecting: bool,
    /// The event in flight, as its connection counts and times it, between two connections.
    pub event: Option<Box<dyn Any + Send>>,
    /// How many statements the event in flight has sent.
    pub sent: u64,
}

impl Scripted {
    pub fn new(script: Box<dyn Script>) -> Self {
        Self { script, phase: Phase::New, is_restarting: false, is_reconnecting: false, event: None, sent: 0 }
    }

    /// Whether its connection was lost before it had started: then it must be made again.
    pub fn is_half_started(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Ending | Phase::Over) && !self.is_reconnecting
    }
}
