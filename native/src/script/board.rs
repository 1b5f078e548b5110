//! What a script and the engine share: its statements, the step that it asks for, rows, and the last error.
//!
//! The functions that the script calls ([`functions`](crate::script::functions)) write the packet of a step and suspend
//! the script; [`LuaScript`](crate::script::state::LuaScript) passes the step on, and later the answer.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use mlua::ffi::LUA_NOREF;

use crate::program::script::{Encoding, Step};
use crate::protocol::packet::{
    write_command, write_execution, write_text, COM_QUERY, COM_STMT_CLOSE, COM_STMT_PREPARE,
};
use crate::script::functions::Parameter;
use crate::script::names::{normalise, Names};
use crate::script::random::Randomness;
use crate::script::results::Rows;
use crate::values::value::Value;

const ER_MAX_PREPARED: u16 = 1461;
const ER_UNKNOWN_COMMAND: u16 = 1047;
const FIRST_COLLECTION: usize = 64;
/// A statement that collects rows has about this many bytes, as in sysbench.
const BULK_BYTES: usize = 512 << 10;

/// An error of the server.
#[derive(Default)]
pub struct Failure {
    pub code: u16,
    pub sql_state: String,
    pub message: String,
    pub is_ignorable: bool,
}

impl Failure {
    /// Whether a node of a Galera cluster takes no statements at present, of any kind.
    fn is_not_ready(&self) -> bool {
        self.code == ER_UNKNOWN_COMMAND && self.message.contains("WSREP")
    }
}

/// What a script is resumed with.
#[derive(Clone, Copy)]
pub enum Reply {
    Nothing,
    Is(bool),
    /// The slot of a prepared statement.
    Slot(usize),
    /// The result of a statement.
    Result,
}

/// A prepared statement. `identity` is the server's number of it, on the connection of that generation. `parameters`
/// live as long as the statement in Lua, which alone executes the slot.
struct Slot {
    session: usize,
    sql: Vec<u8>,
    pieces: Vec<Vec<u8>>,
    name: usize,
    effect: Effect,
    identity: Option<(u64, u32)>,
    is_text: bool,
    parameters: Vec<*const Parameter>,
}

/// A session with the server, by its number 0 that of the connection. It is open unless it was lost, or not opened yet.
#[derive(Default)]
struct Session {
    encoding: Encoding,
    /// A number of its login.
    generation: u64,
    is_open: bool,
    rows: Rows,
    /// Rows that the last statement has returned or changed.
    affected: u64,
    collected: CollectedRows,
    in_transaction: bool,
    /// The result of its statements, by its place in the registry.
    result: c_int,
    /// Packets that are not sent yet: those of closed statements, and that of the step.
    packets: Vec<u8>,
}

/// The request whose answer is awaited.
enum Pending {
    Query,
    Prepare(usize),
    Execute(usize),
    /// A statement that is prepared again, to be executed then.
    PrepareAgain(usize),
    None,
}

/// The effect of a statement on its transaction, if it succeeds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    Begins,
    Commits,
    RollsBack,
}

impl Effect {
    fn of(sql: &[u8]) -> Self {
        let sql = sql.trim_ascii_start();
        let begins_with =
            |word: &[u8]| sql.get(..word.len()).map_or(false, |head| head.eq_ignore_ascii_case(word));
        match sql.first().map(u8::to_ascii_uppercase) {
            Some(b'B') if begins_with(b"BEGIN") => Effect::Begins,
            Some(b'S') if begins_with(b"START TRANSACTION") => Effect::Begins,
            Some(b'C') if begins_with(b"COMMIT") => Effect::Commits,
            Some(b'R') if begins_with(b"ROLLBACK") => {
                match sql.windows(4).any(|part| part.eq_ignore_ascii_case(b" TO ")) {
                    true => Effect::None,
                    false => Effect::RollsBack,
                }
            }
            _ => Effect::None,
        }
    }
}

/// A statement that collects rows: `head` bytes are before the first one, which ends at `first`.
#[derive(Default)]
pub struct CollectedRows {
    text: Vec<u8>,
    head: usize,
    first: usize,
}

impl CollectedRows {
    pub fn new(head: &[u8]) -> Self {
        Self { text: head.to_vec(), head: head.len(), first: head.len() }
    }

    pub fn has_begun(&self) -> bool {
        self.head > 0
    }
}

pub struct Board {
    pub random: Randomness,
    pub failure: Failure,
    /// Errors that the script has counted itself, and that are not taken yet.
    pub errors: u64,
    /// The last text that was drawn.
    pub drawn: Vec<u8>,
    /// Values of Lua that functions need, by their places in the registry.
    pub kept: [c_int; 3],
    /// The address in the thread's stack from which the script runs.
    pub stack_from: usize,
    /// What the suspended script asks for.
    pub step: Option<Step>,
    /// The session of the step.
    pub session: usize,
    sessions: Vec<Session>,
    names: Arc<Names>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The text of a name, and the values of an execution: kept for their memory.
    name: Vec<u8>,
    values: Vec<Value>,
    slots: Vec<Slot>,
    /// Slots of statements that are closed.
    unused: Vec<usize>,
    /// With so many open statements, those that the script holds no more are looked for.
    most_open: usize,
    pending: Pending,
    /// That of the last login.
    generation: u64,
    is_prepared: bool,
    effect: Effect,
    pub has_committed: bool,
}

impl Board {
    pub fn new(random: Randomness, names: Arc<Names>, is_prepared: bool) -> Self {
        Self {
            random,
            failure: Failure::default(),
            errors: 0,
            drawn: Vec::new(),
            kept: [LUA_NOREF; 3],
            stack_from: 0,
            step: None,
            session: 0,
            sessions: vec![Session { result: LUA_NOREF, ..Session::default() }],
            names,
            numbers: HashMap::new(),
            name: Vec::new(),
            values: Vec::new(),
            slots: Vec::new(),
            unused: Vec::new(),
            most_open: FIRST_COLLECTION,
            pending: Pending::None,
            generation: 0,
            is_prepared,
            effect: Effect::None,
            has_committed: false,
        }
    }

    /// There is a new session: statements are prepared again.
    pub fn attach(&mut self, number: usize, encoding: Encoding) {
        self.generation += 1;
        let generation = self.generation;
        let session = self.session_mut(number);
        session.generation = generation;
        session.encoding = encoding;
        session.is_open = true;
        session.in_transaction = false;
        session.packets.clear();
    }

    pub fn lose_further(&mut self) {
        self.sessions.iter_mut().skip(1).for_each(|session| session.is_open = false);
    }

    fn session_mut(&mut self, number: usize) -> &mut Session {
        while self.sessions.len() <= number {
            self.sessions.push(Session { result: LUA_NOREF, ..Session::default() });
        }
        &mut self.sessions[number]
    }

    pub fn is_open(&self, number: usize) -> bool {
        self.sessions.get(number).map_or(false, |session| session.is_open)
    }

    /// The session of a statement.
    pub fn session_of(&self, slot: usize) -> usize {
        self.slots[slot].session
    }

    /// Where the registry has the result of a session's statements.
    pub fn result(&mut self, number: usize) -> &mut c_int {
        &mut self.session_mut(number).result
    }

    /// The rows of the last statement of a session, and how many it has returned or changed.
    pub fn rows(&mut self, number: usize) -> (&mut Rows, u64) {
        let session = self.session_mut(number);
        (&mut session.rows, session.affected)
    }

    /// The statement of a session that collects rows.
    pub fn collected(&mut self, number: usize) -> &mut CollectedRows {
        &mut self.session_mut(number).collected
    }

    /// The packets of the step.
    pub fn packets(&mut self) -> &mut Vec<u8> {
        &mut self.sessions[self.session].packets
    }

    /// An event begins: what an earlier one has left open is its own affair.
    pub fn begin_event(&mut self) {
        self.sessions.iter_mut().for_each(|session| session.in_transaction = false);
    }

    pub fn open_transaction(&self) -> Option<usize> {
        self.sessions.iter().position(|session| session.in_transaction)
    }

    pub fn rolled_back(&mut self, number: usize) {
        self.session_mut(number).in_transaction = false;
    }

    /// Asks for a step without a statement, that concerns a session.
    pub fn ask(&mut self, step: Step, session: usize) {
        self.session_mut(session);
        self.session = session;
        self.pending = Pending::None;
        self.step = Some(step);
    }

    pub fn query(&mut self, session: usize, sql: &[u8]) {
        self.query_named(session, sql, sql);
    }

    fn query_named(&mut self, session: usize, sql: &[u8], name: &[u8]) {
        let name = self.number_of(name);
        self.session = session;
        self.effect = Effect::of(sql);
        write_command(COM_QUERY, sql, &mut self.sessions[session].packets);
        self.pending = Pending::Query;
        self.step = Some(Step::Call { name: Some(name) });
    }

    /// The number of a statement's name.
    fn number_of(&mut self, sql: &[u8]) -> usize {
        normalise(sql, &mut self.name);
        if let Some(&number) = self.numbers.get(&self.name) {
            return number;
        }
        let number = self.names.number(&String::from_utf8_lossy(&self.name));
        self.numbers.insert(self.name.clone(), number);
        number
    }

    /// Adds a row to the statement that collects them, unless it would become too long.
    pub fn add_row(&mut self, session: usize, row: &[u8]) -> bool {
        let CollectedRows { text, head, first } = self.collected(session);
        if text.len() > *head {
            if text.len() + row.len() + 1 >= BULK_BYTES {
                return false;
            }
            text.push(b',');
        }
        text.extend_from_slice(row);
        if *first == *head {
            *first = text.len();
        }
        true
    }

    /// Sends the rows that are collected; false if there are none.
    pub fn send_rows(&mut self, session: usize) -> bool {
        let mut collected = std::mem::take(self.collected(session));
        let has_rows = collected.text.len() > collected.head;
        if has_rows {
            // All such statements have the name of one row.
            self.query_named(session, &collected.text, &collected.text[..collected.first]);
            collected.text.truncate(collected.head);
            collected.first = collected.head;
        }
        *self.collected(session) = collected;
        has_rows
    }

    /// Whether statements must be looked for that the script holds no more; `look` is called then.
    pub fn is_full(&self) -> bool {
        self.slots.len() - self.unused.len() >= self.most_open
    }

    /// The next look, after one.
    pub fn looked(&mut self) {
        self.most_open = 2 * (self.slots.len() - self.unused.len()) + FIRST_COLLECTION;
    }

    /// Its slot if the statement is sent as text, and needs no preparation.
    pub fn prepare(&mut self, session: usize, sql: &[u8]) -> Option<usize> {
        let name = self.number_of(sql);
        let made = Slot {
            session,
            sql: sql.to_vec(),
            pieces: split_at_placeholders(sql),
            name,
            effect: Effect::of(sql),
            identity: None,
            is_text: !self.is_prepared,
            parameters: Vec::new(),
        };
        let slot = self.unused.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(slot) {
            Some(unused) => *unused = made,
            None => self.slots.push(made),
        }
        if !self.is_prepared {
            return Some(slot);
        }
        self.pending = Pending::Prepare(slot);
        self.ask_preparation(slot);
        None
    }

    fn ask_preparation(&mut self, slot: usize) {
        self.effect = Effect::None;
        self.session = self.slots[slot].session;
        write_command(COM_STMT_PREPARE, &self.slots[slot].sql, &mut self.sessions[self.session].packets);
        self.step = Some(Step::Call { name: None });
    }

    /// The parameters of a statement, which live as long as it does.
    pub fn parameters(&mut self, slot: usize) -> &mut Vec<*const Parameter> {
        &mut self.slots[slot].parameters
    }

    /// Executes a statement; the error is one of the script.
    pub fn execute(&mut self, slot: usize) -> Result<(), String> {
        let Self { slots, values, sessions, .. } = self;
        let Slot { session: number, sql, pieces, name, effect, identity, is_text, parameters } = &slots[slot];
        let Session { packets, encoding, generation, .. } = &mut sessions[*number];
        let (given, wanted) = (parameters.len(), pieces.len() - 1);
        if given != wanted {
            return Err(format!(
                "a statement has {wanted} placeholders, and {given} bound parameters: {}",
                String::from_utf8_lossy(sql)
            ));
        }
        let identity = match identity {
            Some((of, identity)) if of == generation => Some(*identity),
            _ if *is_text => None,
            _ => {
                self.pending = Pending::PrepareAgain(slot);
                self.ask_preparation(slot);
                return Ok(());
            }
        };
        values.clear();
        // SAFETY: the statement is executed, so its parameters live.
        values.extend(parameters.iter().map(|parameter| unsafe { &**parameter }.value()));
        let size = packets.len();
        let written = match identity {
            Some(identity) => write_execution(identity, values, packets),
            None => write_text(pieces, values, encoding.no_backslash_escapes, packets),
        };
        if let Err(fault) = written {
            packets.truncate(size);
            return Err(fault.to_string());
        }
        self.effect = *effect;
        self.session = *number;
        self.pending = Pending::Execute(slot);
        self.step = Some(Step::Call { name: Some(*name) });
        Ok(())
    }

    /// Nothing is answered: the packet goes with the next one.
    pub fn close(&mut self, slot: usize) {
        self.unused.push(slot);
        self.slots[slot].parameters.clear();
        if let Some((generation, identity)) = self.slots[slot].identity.take() {
            let session = &mut self.sessions[self.slots[slot].session];
            if generation == session.generation {
                write_command(COM_STMT_CLOSE, &identity.to_le_bytes(), &mut session.packets);
            }
        }
    }

    /// A statement succeeded. None if the script goes on waiting, for the next step.
    pub fn done(&mut self, affected: u64, response: &mut Vec<u8>) -> Result<Option<Reply>, String> {
        self.has_committed = self.effect == Effect::Commits;
        let reads_rows = self.reads_rows();
        let session = &mut self.sessions[self.session];
        match self.effect {
            Effect::Begins => session.in_transaction = true,
            Effect::Commits | Effect::RollsBack => session.in_transaction = false,
            Effect::None => {}
        }
        match std::mem::replace(&mut self.pending, Pending::None) {
            Pending::Prepare(slot) => {
                self.slots[slot].identity = Some((session.generation, affected as u32));
                Ok(Some(Reply::Slot(slot)))
            }
            Pending::PrepareAgain(slot) => {
                self.slots[slot].identity = Some((session.generation, affected as u32));
                self.execute(slot).map(|()| None)
            }
            _ => {
                if reads_rows {
                    std::mem::swap(&mut session.rows.bytes, response);
                }
                session.rows.begin(session.encoding.without_eof, reads_rows);
                session.affected = affected;
                Ok(Some(Reply::Result))
            }
        }
    }

    /// The same for a statement that failed. One that the server does not prepare is sent as text, whatever the error:
    /// proxies have codes of their own. One that it has prepared before, on another connection, only if it keeps no
    /// more of them.
    pub fn failed(&mut self, failure: Failure) -> Result<Option<Reply>, String> {
        self.has_committed = false;
        let pending = std::mem::replace(&mut self.pending, Pending::None);
        match pending {
            Pending::Prepare(slot) if !failure.is_not_ready() => {
                self.slots[slot].is_text = true;
                Ok(Some(Reply::Slot(slot)))
            }
            Pending::PrepareAgain(slot) if failure.code == ER_MAX_PREPARED => {
                self.slots[slot].is_text = true;
                self.execute(slot).map(|()| None)
            }
            _ => {
                self.failure = failure;
                Ok(Some(Reply::Is(false)))
            }
        }
    }

    /// Whether the rows of the statement in flight are read.
    pub fn reads_rows(&self) -> bool {
        match self.pending {
            Pending::Execute(slot) => self.slots[slot].is_text,
            Pending::Query => true,
            _ => false,
        }
    }

    pub fn is_committing(&self) -> bool {
        self.effect == Effect::Commits
    }

    /// The text of a prepared statement.
    pub fn sql(&self, slot: usize) -> &[u8] {
        &self.slots[slot].sql
    }
}

/// A statement between its placeholders; those in quotes and comments are none.
fn split_at_placeholders(sql: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = vec![Vec::new()];
    let mut quote = None;
    let mut place = 0;
    while place < sql.len() {
        let byte = sql[place];
        let mut taken = 1;
        match quote {
            Some(_) if byte == b'\\' => taken = 2,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'\'' || byte == b'"' || byte == b'`' => quote = Some(byte),
            None if sql[place..].starts_with(b"/*") && !sql[place..].starts_with(b"/*!") => {
                let end = sql[place..].windows(2).position(|two| two == b"*/");
                taken = end.map_or(sql.len() - place, |size| size + 2);
            }
            None if byte == b'?' => {
                pieces.push(Vec::new());
                place += 1;
                continue;
            }
            None => {}
        }
        let end = (place + taken).min(sql.len());
        if let Some(piece) = pieces.last_mut() {
            piece.extend_from_slice(&sql[place..end]);
        }
        place = end;
    }
    pieces
}
