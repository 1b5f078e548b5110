//! The Lua state of one connection: its coroutine, its statements, and the functions that it calls.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, LuaOptions, MultiValue, StdLib, Table, Thread, Value as LuaValue, Variadic};

use crate::engine::shared::lock;
use crate::program::script::{Answer, Encoding, Script, Step, Verdict};
use crate::protocol::packet::{
    write_command, write_execution, write_text, COM_QUERY, COM_STMT_CLOSE, COM_STMT_PREPARE,
};
use crate::script::limit::Limit;
use crate::script::names::{normalise, Names};
use crate::script::random::{Kind, Randomness};
use crate::script::results::{sql_state, Rows};
use crate::script::{Declared, General, Settings, MOST_OUTPUT, MOST_OUTPUT_OF_COMMANDS};
use crate::values::value::Value;

const API: &str = include_str!("api.lua");

/// Requests of the coroutine, as `api.lua` numbers them.
mod request {
    pub const READY: i64 = 0;
    pub const QUERY: i64 = 1;
    pub const PREPARE: i64 = 2;
    pub const EXECUTE: i64 = 3;
    pub const CLOSE: i64 = 4;
    pub const SLEEP: i64 = 5;
    pub const DESCRIBE: i64 = 6;
    pub const RECONNECT: i64 = 7;
}

pub const MOST_MEMORY: usize = 512 << 20;
/// LuaJIT's error without memory, which `pcall` does not catch.
const NO_MEMORY: &str = "not enough memory";
const MOST_SLEEP_US: f64 = 3.6e9;
const LOST: u16 = 2013;
const ER_MAX_PREPARED: u16 = 1461;
const ER_UNSUPPORTED_PS: u16 = 1295;
/// What the functions of a script share with the engine.
struct Board {
    random: Randomness,
    rows: Rows,
    /// The last text that was drawn.
    drawn: Vec<u8>,
    /// The last error of the server: code, state, message, and whether it is ignorable.
    failure: (u16, String, String, bool),
    /// Errors that the script has counted itself, and that are not taken yet.
    errors: u64,
}

/// The board of a state: its functions use it while it runs, [`LuaScript`] meanwhile does not.
struct OwnedBoard(*mut Board);

impl Drop for OwnedBoard {
    fn drop(&mut self) {
        // SAFETY: it is dropped after the state, whose functions know it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// A prepared statement. `identity` is the server's number of it, on the connection of that generation.
struct Slot {
    sql: Vec<u8>,
    pieces: Vec<Vec<u8>>,
    name: usize,
    identity: Option<(u64, u32)>,
    is_text: bool,
}

/// The request whose answer is awaited.
enum Pending {
    Query,
    Prepare(usize),
    Execute(usize),
    /// A statement that is prepared again, to be executed with the last values.
    PrepareAgain(usize),
    None,
}

pub struct LuaScript {
    limit: Limit,
    thread: Thread,
    /// The state of the coroutine.
    state: *mut lua_State,
    lua: Lua,
    board: OwnedBoard,
    path: String,
    names: Arc<Names>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The text of a name, and the values of an execution: kept for their memory.
    name: Vec<u8>,
    values: Vec<Value>,
    slots: Vec<Slot>,
    /// Slots of statements that are closed.
    unused: Vec<usize>,
    pending: Pending,
    generation: u64,
    encoding: Encoding,
    is_prepared: bool,
    is_ending: bool,
    /// The coroutine has returned, or has ended with an error.
    is_over: bool,
    most_memory: usize,
    /// Closed statements, told with the next packet.
    closing: Vec<u8>,
    effect: Effect,
    in_transaction: bool,
    has_committed: bool,
}

// SAFETY: its pointers are to its own state and board, which one thread uses at a time.
unsafe impl Send for LuaScript {}

/// The effect of the statement in flight on its transaction, if it succeeds.
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

impl LuaScript {
    pub fn new(
        settings: &Settings,
        entry: &str,
        connection: i64,
        random: Randomness,
        (names, output, is_ending): (Arc<Names>, Arc<Mutex<String>>, Arc<AtomicBool>),
    ) -> mlua::Result<Self> {
        let lua = if settings.allows_io {
            // SAFETY: the user has allowed the script whatever a program may do.
            unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) }
        } else {
            let libraries =
                StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT | StdLib::JIT | StdLib::OS;
            Lua::new_with(libraries, LuaOptions::default())?
        };
        let board = OwnedBoard(Box::into_raw(Box::new(Board {
            random,
            rows: Rows::default(),
            drawn: Vec::new(),
            failure: Default::default(),
            errors: 0,
        })));
        // SAFETY: the state does not run, and is a field behind its limit.
        let limit = unsafe {
            let state = std::cell::Cell::new(ptr::null_mut());
            lua.exec_raw::<()>((), |given| state.set(given))?;
            Limit::new(state.get(), settings.most_cpu_ns, is_ending)
        };
        let native = native_functions(&lua, settings, &board, &limit, output)?;
        let config = config(&lua, settings, entry, connection)?;
        let body: Function = lua.load(API).set_name("=sysbench").call((native, config))?;
        let thread = lua.create_thread(body)?;
        let state = std::cell::Cell::new(ptr::null_mut());
        // SAFETY: the state is that of the thread, which lives as long.
        unsafe {
            lua.exec_raw::<()>(thread.clone(), |given| {
                state.set(ffi::lua_tothread(given, -1));
                ffi::lua_pop(given, 1);
            })?;
        }
        lua.set_memory_limit(settings.most_memory)?;
        Ok(Self {
            limit,
            thread,
            state: state.get(),
            lua,
            board,
            path: settings.path.clone(),
            names,
            numbers: HashMap::new(),
            name: Vec::new(),
            values: Vec::new(),
            slots: Vec::new(),
            unused: Vec::new(),
            pending: Pending::None,
            generation: 0,
            encoding: Encoding::default(),
            is_prepared: settings.is_prepared,
            is_ending: false,
            is_over: false,
            most_memory: settings.most_memory,
            closing: Vec::new(),
            effect: Effect::None,
            in_transaction: false,
            has_committed: false,
        })
    }

    /// What the script declares; for the entry `describe`.
    pub fn declared(&mut self) -> Result<Declared, String> {
        let Self { limit, thread, .. } = self;
        let mut values = limit
            .limiting(|| thread.resume::<MultiValue>(()))
            .map_err(|error| self.fault(&error.to_string()))?;
        let mut next = || values.pop_front().unwrap_or(LuaValue::Nil);
        match (next(), next(), next(), next(), next()) {
            (
                LuaValue::Integer(request::DESCRIBE),
                options,
                commands,
                has_events,
                LuaValue::String(hooks),
            ) => {
                let declared = read_declared(options, commands, has_events);
                declared
                    .map(|declared| Declared { hooks: hooks.to_string_lossy(), ..declared })
                    .map_err(|error| error.to_string())
            }
            (LuaValue::Integer(request::READY), LuaValue::String(_), _, LuaValue::String(message), _) => {
                Err(self.fault(&message.to_string_lossy()))
            }
            _ => Err("the script sends statements while it is loaded".to_string()),
        }
    }

    /// Calls a report hook with its figures. For the entry `report`; without a hook, the first time it loads the
    /// script, the next time it ends the reports.
    pub fn report(&mut self, hook: Option<&str>, figures: Vec<(String, f64)>) -> Result<(), String> {
        let Self { limit, thread, lua, .. } = self;
        let mut values = lua
            .create_table_from(figures)
            .and_then(|figures| limit.limiting(|| thread.resume::<MultiValue>((hook, figures))))
            .map_err(|error| self.fault(&error.to_string()))?;
        let mut next = || values.pop_front().unwrap_or(LuaValue::Nil);
        match (next(), next(), next(), next()) {
            (LuaValue::Integer(request::READY), LuaValue::String(verdict), _, message) => {
                match (&*verdict.as_bytes(), message) {
                    (b"begun" | b"done", _) => Ok(()),
                    (_, LuaValue::String(message)) => Err(self.fault(&message.to_string_lossy())),
                    _ => Err("a report hook fails".to_string()),
                }
            }
            _ => Err("a report hook sends no statements, and does not wait".to_string()),
        }
    }

    /// The message of an error without the traceback that follows it.
    fn fault(&self, message: &str) -> String {
        let first = message.trim_start_matches("runtime error: ").lines().next().unwrap_or_default();
        if first.ends_with(NO_MEMORY) {
            let (path, most) = (&self.path, self.most_memory >> 20);
            return format!("{path}: the script uses more than {most} MiB of memory");
        }
        first.to_string()
    }

    fn board(&mut self) -> &mut Board {
        // SAFETY: the script does not run.
        unsafe { &mut *self.board.0 }
    }

    /// Resumes the coroutine until it needs the server, or has a verdict. Its arguments are on its stack.
    fn run(&mut self, arguments: c_int, to: &mut Vec<u8>) -> Result<Step, String> {
        let mut arguments = arguments;
        loop {
            self.resume_coroutine(arguments)?;
            arguments = 0;
            let state = self.state;
            // SAFETY: the coroutine has yielded, and its values are on its stack.
            unsafe {
                match ffi::lua_tonumber(state, 1) as i64 {
                    request::READY => return Ok(Step::Verdict(self.verdict())),
                    request::QUERY => return self.query(to),
                    request::PREPARE => match self.prepare(to)? {
                        Ok(step) => return Ok(step),
                        Err(slot) => arguments = self.push((true, slot as u64 + 1)),
                    },
                    request::EXECUTE => return self.execute(to),
                    request::CLOSE => {
                        self.close(ffi::lua_tonumber(state, 2));
                        ffi::lua_settop(state, 0);
                    }
                    request::SLEEP => {
                        let microseconds = ffi::lua_tonumber(state, 2).clamp(0.0, MOST_SLEEP_US);
                        self.pending = Pending::None;
                        return Ok(Step::Sleep { microseconds: microseconds as u64 });
                    }
                    request::RECONNECT => {
                        self.pending = Pending::None;
                        return Ok(Step::Reconnect);
                    }
                    _ => return Err("the script yields outside of its coroutines".to_string()),
                }
            }
        }
    }

    fn resume_coroutine(&mut self, arguments: c_int) -> Result<(), String> {
        if self.is_over {
            return Err("the script has ended".to_string());
        }
        let Self { limit, state, .. } = self;
        let mut results = 0;
        // SAFETY: the coroutine is suspended, and has so many arguments on its stack.
        let status =
            limit.limiting(|| unsafe { ffi::lua_resume(*state, ptr::null_mut(), arguments, &mut results) });
        self.is_over = status != ffi::LUA_YIELD;
        if matches!(status, ffi::LUA_YIELD | ffi::LUA_OK) {
            return Ok(());
        }
        // SAFETY: the error is on top of the stack.
        let message = unsafe { string_at(self.state, -1) }.unwrap_or(b"the script ends with an error");
        Err(self.fault(&String::from_utf8_lossy(message)))
    }

    /// Puts the arguments of the next resumption in place of what the coroutine has yielded. None needs memory of Lua's.
    fn push(&mut self, arguments: impl Arguments) -> c_int {
        // SAFETY: the coroutine is suspended, and a stack has room for a few values.
        unsafe {
            ffi::lua_settop(self.state, 0);
            arguments.push(self.state)
        }
    }

    fn query(&mut self, to: &mut Vec<u8>) -> Result<Step, String> {
        // SAFETY: the text stays on the coroutine's stack until it is resumed.
        let sql = unsafe { string_at(self.state, 2) }.ok_or("query() needs a string")?;
        let name = self.number_of(sql);
        self.effect = Effect::of(sql);
        self.begin_packet(to);
        write_command(COM_QUERY, sql, to);
        self.pending = Pending::Query;
        Ok(Step::Call { name: Some(name) })
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

    /// Statements that the script has closed are told first.
    fn begin_packet(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.closing);
    }

    /// Its slot if the statement is sent as text, and needs no preparation.
    fn prepare(&mut self, to: &mut Vec<u8>) -> Result<Result<Step, usize>, String> {
        // SAFETY: as in `query`.
        let sql = unsafe { string_at(self.state, 2) }.ok_or("prepare() needs a string")?.to_vec();
        let name = self.number_of(&sql);
        let pieces = split_at_placeholders(&sql);
        let is_text = !self.is_prepared;
        let made = Slot { sql, pieces, name, identity: None, is_text };
        let slot = match self.unused.pop() {
            Some(slot) => {
                self.slots[slot] = made;
                slot
            }
            None => {
                self.slots.push(made);
                self.slots.len() - 1
            }
        };
        if is_text {
            return Ok(Err(slot));
        }
        self.pending = Pending::Prepare(slot);
        Ok(Ok(self.preparation(slot, to)))
    }

    fn preparation(&mut self, slot: usize, to: &mut Vec<u8>) -> Step {
        self.effect = Effect::None;
        self.begin_packet(to);
        write_command(COM_STMT_PREPARE, &self.slots[slot].sql, to);
        Step::Call { name: None }
    }

    fn slot(&self, number: f64) -> Option<usize> {
        let slot = (number as usize).checked_sub(1)?;
        (slot < self.slots.len()).then_some(slot)
    }

    fn execute(&mut self, to: &mut Vec<u8>) -> Result<Step, String> {
        // SAFETY: the number and the table are on the coroutine's stack.
        let slot = unsafe {
            read_values(self.state, 3, self.board.0, &mut self.values)?;
            self.slot(ffi::lua_tonumber(self.state, 2)).ok_or("this statement is closed")?
        };
        self.execution(slot, to)
    }

    /// Executes a statement with `values`.
    fn execution(&mut self, slot: usize, to: &mut Vec<u8>) -> Result<Step, String> {
        let Slot { sql, pieces, name, identity, is_text } = &self.slots[slot];
        let (given, wanted) = (self.values.len(), pieces.len() - 1);
        if given != wanted {
            return Err(format!(
                "a statement has {wanted} placeholders, and {given} bound parameters: {}",
                String::from_utf8_lossy(sql)
            ));
        }
        let identity = match identity {
            Some((of, identity)) if *of == self.generation => Some(*identity),
            _ if *is_text => None,
            _ => {
                self.pending = Pending::PrepareAgain(slot);
                return Ok(self.preparation(slot, to));
            }
        };
        to.append(&mut self.closing);
        let written = match identity {
            Some(identity) => write_execution(identity, &self.values, to),
            None => write_text(pieces, &self.values, self.encoding.no_backslash_escapes, to),
        };
        written.map_err(|fault| fault.to_string())?;
        self.effect = Effect::of(sql);
        self.pending = Pending::Execute(slot);
        Ok(Step::Call { name: Some(*name) })
    }

    fn close(&mut self, number: f64) {
        if let Some(slot) = self.slot(number) {
            self.unused.push(slot);
            if let Some((generation, identity)) = self.slots[slot].identity.take() {
                if generation == self.generation {
                    write_command(COM_STMT_CLOSE, &identity.to_le_bytes(), &mut self.closing);
                }
            }
        }
    }

    /// A statement succeeded: how many arguments the coroutine gets, or the next step, if it was prepared again.
    fn done(
        &mut self,
        affected: u64,
        response: &mut Vec<u8>,
        to: &mut Vec<u8>,
    ) -> Result<Result<c_int, Step>, String> {
        self.has_committed = self.effect == Effect::Commits;
        match self.effect {
            Effect::Begins => self.in_transaction = true,
            Effect::Commits | Effect::RollsBack => self.in_transaction = false,
            Effect::None => {}
        }
        match std::mem::replace(&mut self.pending, Pending::None) {
            Pending::Prepare(slot) => {
                self.slots[slot].identity = Some((self.generation, affected as u32));
                Ok(Ok(self.push((true, slot as u64 + 1))))
            }
            Pending::PrepareAgain(slot) => {
                self.slots[slot].identity = Some((self.generation, affected as u32));
                self.execution(slot, to).map(Err)
            }
            pending => {
                let reads_rows = self.reads_rows_of(&pending);
                let without_eof = self.encoding.without_eof;
                let rows = &mut self.board().rows;
                if reads_rows {
                    std::mem::swap(&mut rows.bytes, response);
                }
                rows.begin(without_eof, reads_rows);
                let fields = rows.fields;
                Ok(Ok(self.push((true, fields, affected))))
            }
        }
    }

    /// The same for a statement that failed.
    fn failed(
        &mut self,
        failure: (u16, String, String, bool),
        to: &mut Vec<u8>,
    ) -> Result<Result<c_int, Step>, String> {
        let pending = std::mem::replace(&mut self.pending, Pending::None);
        if matches!(failure.0, ER_MAX_PREPARED | ER_UNSUPPORTED_PS) {
            match pending {
                Pending::Prepare(slot) => {
                    self.slots[slot].is_text = true;
                    return Ok(Ok(self.push((true, slot as u64 + 1))));
                }
                Pending::PrepareAgain(slot) => {
                    self.slots[slot].is_text = true;
                    return self.execution(slot, to).map(Err);
                }
                _ => {}
            }
        }
        self.board().failure = failure;
        Ok(Ok(self.push(false)))
    }

    fn answered(&mut self, answer: Answer<'_>, to: &mut Vec<u8>) -> Result<Step, String> {
        let arguments = match answer {
            Answer::Start | Answer::Waited => {
                // Before the start, the stack has the function of the coroutine.
                if matches!(answer, Answer::Waited) {
                    self.push(());
                }
                Ok(0)
            }
            Answer::Event => {
                self.in_transaction = false;
                Ok(self.push(true))
            }
            Answer::End => Ok(self.push(false)),
            Answer::Reconnected => Ok(self.push(true)),
            Answer::Done { affected, response } => self.done(affected, response, to)?,
            Answer::Failed { code, message, response, is_ignorable } => {
                self.has_committed = false;
                self.failed((code, sql_state(response), message.to_string(), is_ignorable), to)?
            }
            Answer::Lost => {
                self.pending = Pending::None;
                let message = "the connection to the server was lost".to_string();
                self.failed((LOST, "HY000".to_string(), message, true), to)?
            }
        };
        match arguments {
            Ok(arguments) => self.run(arguments, to),
            Err(step) => Ok(step),
        }
    }

    fn reads_rows_of(&self, pending: &Pending) -> bool {
        match pending {
            Pending::Execute(slot) => self.slots[*slot].is_text,
            pending => matches!(pending, Pending::Query),
        }
    }

    fn verdict(&self) -> Verdict {
        let state = self.state;
        // SAFETY: the coroutine has yielded.
        let (word, code, message) = unsafe {
            let text =
                |place| String::from_utf8_lossy(string_at(state, place).unwrap_or_default()).into_owned();
            match string_at(state, 2).unwrap_or_default() {
                b"done" => return Verdict::Done,
                b"begun" => return Verdict::Begun,
                b"over" => return Verdict::Over,
                word => (word, ffi::lua_tonumber(state, 3) as u16, text(4)),
            }
        };
        match word {
            b"restart" => Verdict::Restart(code, message),
            b"failed" => Verdict::Failed(code, message),
            _ => Verdict::Fault(self.fault(&message)),
        }
    }
}

impl Script for LuaScript {
    fn attach(&mut self, encoding: Encoding) {
        self.generation += 1;
        self.encoding = encoding;
        self.in_transaction = false;
        self.closing.clear();
    }

    fn resume(&mut self, answer: Answer<'_>, to: &mut Vec<u8>) -> Step {
        self.is_ending |= matches!(answer, Answer::End);
        let step = self.answered(answer, to).unwrap_or_else(|message| Step::Verdict(Verdict::Fault(message)));
        if self.is_ending && matches!(step, Step::Verdict(_)) {
            self.begin_packet(to);
        }
        step
    }

    fn reads_rows(&self) -> bool {
        self.reads_rows_of(&self.pending)
    }

    fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn rolled_back(&mut self) {
        self.in_transaction = false;
    }

    fn is_committing(&self) -> bool {
        self.effect == Effect::Commits
    }

    fn has_committed(&self) -> bool {
        self.has_committed
    }

    fn take_errors(&mut self) -> u64 {
        std::mem::take(&mut self.board().errors)
    }
}

/// Values that a coroutine is resumed with.
trait Arguments {
    /// Pushes them; returns how many there are.
    unsafe fn push(self, state: *mut lua_State) -> c_int;
}

impl Arguments for () {
    unsafe fn push(self, _: *mut lua_State) -> c_int {
        0
    }
}

impl Arguments for bool {
    unsafe fn push(self, state: *mut lua_State) -> c_int {
        ffi::lua_pushboolean(state, self.into());
        1
    }
}

impl Arguments for u64 {
    unsafe fn push(self, state: *mut lua_State) -> c_int {
        ffi::lua_pushnumber(state, self as f64);
        1
    }
}

impl<A: Arguments, B: Arguments> Arguments for (A, B) {
    unsafe fn push(self, state: *mut lua_State) -> c_int {
        self.0.push(state) + self.1.push(state)
    }
}

impl<A: Arguments, B: Arguments, C: Arguments> Arguments for (A, B, C) {
    unsafe fn push(self, state: *mut lua_State) -> c_int {
        (self.0, self.1).push(state) + self.2.push(state)
    }
}

/// The string at a place of a stack, which lives while it is there; None for another value.
unsafe fn string_at<'a>(state: *mut lua_State, place: c_int) -> Option<&'a [u8]> {
    if ffi::lua_type(state, place) != ffi::LUA_TSTRING {
        return None;
    }
    let mut size = 0;
    let text = ffi::lua_tolstring(state, place, &mut size);
    Some(slice::from_raw_parts(text.cast(), size))
}

/// The values of a statement: a table, and how many it has behind it.
unsafe fn read_values(
    state: *mut lua_State,
    place: c_int,
    board: *const Board,
    values: &mut Vec<Value>,
) -> Result<(), String> {
    values.clear();
    for number in 1..=ffi::lua_tonumber(state, place + 1) as c_int {
        ffi::lua_rawgeti_(state, place, number);
        let value = match ffi::lua_type(state, -1) {
            ffi::LUA_TNIL => Value::Null,
            ffi::LUA_TBOOLEAN => Value::Bool(ffi::lua_toboolean(state, -1) != 0),
            ffi::LUA_TNUMBER => {
                let number = ffi::lua_tonumber(state, -1);
                match number == number.trunc() && number.abs() < 1e18 {
                    true => Value::Int(number as i128),
                    false => Value::Float(number),
                }
            }
            ffi::LUA_TSTRING => text_value(string_at(state, -1).unwrap_or_default()),
            _ => match drawn_text(state, -1, board) {
                Some(text) => text_value(text),
                None => {
                    return Err("a value of a statement is a number, a string, a boolean or nil".to_string())
                }
            },
        };
        ffi::lua_pop(state, 1);
        values.push(value);
    }
    Ok(())
}

fn text_value(text: &[u8]) -> Value {
    std::str::from_utf8(text).map_or_else(|_| Value::Bytes(text.into()), Value::text)
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

fn read_declared(options: LuaValue, commands: LuaValue, has_events: LuaValue) -> mlua::Result<Declared> {
    let mut declared = Declared { has_events: has_events.as_boolean() == Some(true), ..Declared::default() };
    for option in options.as_table().into_iter().flat_map(Table::sequence_values::<Table>) {
        let option = option?;
        declared.options.push((option.get(1)?, option.get(2)?, option.get(3)?, option.get(4)?));
    }
    for command in commands.as_table().into_iter().flat_map(Table::sequence_values::<Table>) {
        let command = command?;
        declared.commands.push((command.get(1)?, command.get(2)?));
    }
    declared.options.sort();
    declared.commands.sort();
    Ok(declared)
}

fn config(lua: &Lua, settings: &Settings, entry: &str, connection: i64) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let folder = settings.search.first().cloned().unwrap_or_default();
    let search: Vec<String> =
        settings.search.iter().map(|folder| format!("{}/?.lua", folder.display())).collect();
    table.set("path", settings.path.as_str())?;
    table.set("text", lua.create_string(&settings.text)?)?;
    table.set("command", settings.command.as_str())?;
    table.set("entry", entry)?;
    table.set("tid", connection)?;
    table.set("folder", folder.display().to_string())?;
    table.set("search", format!("{};./?.lua", search.join(";")))?;
    table.set("allows_io", settings.allows_io)?;
    table.set("given", settings.given.clone())?;
    let general = lua.create_table()?;
    for (name, value) in &settings.general {
        match value {
            General::Switch(is) => general.set(name.as_str(), *is)?,
            General::Number(number) => general.set(name.as_str(), *number)?,
            General::Text(text) => general.set(name.as_str(), text.as_str())?,
            General::List(items) => general.set(name.as_str(), items.clone())?,
        }
    }
    table.set("general", general)?;
    Ok(table)
}

/// A file that a script may read: one of Lua, in its own folder or that of an installed sysbench.
fn readable(folders: &[PathBuf], allows_io: bool, path: &str) -> Option<String> {
    let first = folders.first()?;
    let relative = path.trim_start_matches("./");
    let found = [PathBuf::from(path), first.join(relative)].into_iter().find(|path| path.is_file())?;
    let whole = found.canonicalize().ok()?;
    let is_allowed = allows_io
        || (whole.extension().map_or(false, |kind| kind == "lua")
            && folders
                .iter()
                .filter_map(|folder| folder.canonicalize().ok())
                .any(|folder| whole.starts_with(folder)));
    if !is_allowed {
        return None;
    }
    std::fs::read(whole).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The board of the function that is called.
unsafe fn board_of<'a>(state: *mut lua_State) -> &'a mut Board {
    &mut *(ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)) as *mut Board)
}

const KINDS: [(&str, Kind); 6] = [
    ("default", Kind::Default),
    ("uniform", Kind::Uniform),
    ("gaussian", Kind::Gaussian),
    ("special", Kind::Special),
    ("pareto", Kind::Pareto),
    ("zipfian", Kind::Zipfian),
];

unsafe extern "C-unwind" fn draw(state: *mut lua_State) -> c_int {
    let kind = KINDS[ffi::lua_tonumber(state, ffi::lua_upvalueindex(2)) as usize].1;
    let (low, high) = (ffi::luaL_checknumber(state, 1), ffi::luaL_checknumber(state, 2));
    let drawn = board_of(state).random.number(kind, low as i64, high as i64);
    ffi::lua_pushnumber(state, drawn as f64);
    1
}

unsafe extern "C-unwind" fn unique(state: *mut lua_State) -> c_int {
    ffi::lua_pushnumber(state, board_of(state).random.unique().into());
    1
}

unsafe extern "C-unwind" fn share(state: *mut lua_State) -> c_int {
    ffi::lua_pushnumber(state, board_of(state).random.share());
    1
}

unsafe extern "C-unwind" fn words(state: *mut lua_State) -> c_int {
    let random = &mut board_of(state).random;
    ffi::lua_pushnumber(state, random.word().into());
    ffi::lua_pushnumber(state, random.word().into());
    2
}

unsafe extern "C-unwind" fn string(state: *mut lua_State) -> c_int {
    let mut size = 0;
    let pattern = ffi::luaL_checklstring(state, 1, &mut size);
    let Board { random, drawn, .. } = board_of(state);
    random.text(slice::from_raw_parts(pattern.cast(), size), drawn);
    ffi::lua_pushlstring_(state, drawn.as_ptr().cast(), drawn.len());
    1
}

/// The same into a userdata, which is reused if it has the size of the pattern.
unsafe extern "C-unwind" fn draw_text(state: *mut lua_State) -> c_int {
    let mut size = 0;
    let pattern = ffi::luaL_checklstring(state, 1, &mut size);
    let board = board_of(state);
    let Board { random, drawn, .. } = board;
    random.text(slice::from_raw_parts(pattern.cast(), size), drawn);
    ffi::lua_settop(state, 2);
    match drawn_text(state, 2, board).filter(|text| text.len() == size) {
        Some(text) => text.copy_from_slice(&board.drawn),
        None => {
            let made: *mut u8 = ffi::lua_newuserdata(state, OWNER_BYTES + size).cast();
            made.cast::<*const Board>().write_unaligned(board);
            ptr::copy_nonoverlapping(board.drawn.as_ptr(), made.add(OWNER_BYTES), size);
        }
    }
    1
}

/// Before a text that `draw_text` has made is the address of its board: no other userdata that a script gets hold of is
/// taken for one.
const OWNER_BYTES: usize = std::mem::size_of::<*const Board>();

unsafe fn drawn_text<'a>(state: *mut lua_State, place: c_int, board: *const Board) -> Option<&'a mut [u8]> {
    if ffi::lua_type(state, place) != ffi::LUA_TUSERDATA {
        return None;
    }
    let size = ffi::lua_objlen(state, place).checked_sub(OWNER_BYTES)?;
    let start: *mut u8 = ffi::lua_touserdata(state, place).cast();
    let is_ours = start.cast::<*const Board>().read_unaligned() == board;
    is_ours.then(|| slice::from_raw_parts_mut(start.add(OWNER_BYTES), size))
}

unsafe extern "C-unwind" fn varstring(state: *mut lua_State) -> c_int {
    let (shortest, longest) = (ffi::luaL_checknumber(state, 1), ffi::luaL_checknumber(state, 2));
    let Board { random, drawn, .. } = board_of(state);
    random.letters(shortest as i64, longest as i64, drawn);
    ffi::lua_pushlstring_(state, drawn.as_ptr().cast(), drawn.len());
    1
}

/// The next row of the last result, or nil.
unsafe extern "C-unwind" fn fetch_row(state: *mut lua_State) -> c_int {
    let rows = &mut board_of(state).rows;
    let fields = rows.fields as c_int;
    match rows.next() {
        None => ffi::lua_pushnil(state),
        Some(cells) => {
            ffi::lua_createtable(state, fields, 0);
            for (place, cell) in (1..).zip(cells) {
                if let Some(text) = cell {
                    ffi::lua_pushlstring_(state, text.as_ptr().cast(), text.len());
                    ffi::lua_rawseti_(state, -2, place);
                }
            }
        }
    }
    1
}

/// The last error of the server.
unsafe extern "C-unwind" fn failure(state: *mut lua_State) -> c_int {
    let (code, sql_state, message, is_ignorable) = &board_of(state).failure;
    ffi::lua_pushnumber(state, (*code).into());
    ffi::lua_pushlstring_(state, sql_state.as_ptr().cast(), sql_state.len());
    ffi::lua_pushlstring_(state, message.as_ptr().cast(), message.len());
    ffi::lua_pushboolean(state, (*is_ignorable).into());
    4
}

unsafe extern "C-unwind" fn count_error(state: *mut lua_State) -> c_int {
    board_of(state).errors += 1;
    0
}

fn native_functions(
    lua: &Lua,
    settings: &Settings,
    board: &OwnedBoard,
    limit: &Limit,
    output: Arc<Mutex<String>>,
) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    let board = board.0 as *mut c_void;
    let functions: [(&str, ffi::lua_CFunction); 9] = [
        ("unique", unique),
        ("uniform_double", share),
        ("words", words),
        ("string", string),
        ("draw_text", draw_text),
        ("varstring", varstring),
        ("fetch_row", fetch_row),
        ("failure", failure),
        ("count_error", count_error),
    ];
    let all = functions.into_iter().map(|(name, function)| (name, function, 0.0)).chain(
        KINDS.iter().enumerate().map(|(kind, (name, _))| (*name, draw as ffi::lua_CFunction, kind as f64)),
    );
    for (name, function, kind) in all {
        // SAFETY: the functions use the board as their first upvalue, which outlives the state.
        let created: Function = unsafe {
            lua.exec_raw((), |state| {
                ffi::lua_pushlightuserdata(state, board);
                ffi::lua_pushnumber(state, kind);
                ffi::lua_pushcclosure(state, function, 2);
            })?
        };
        native.set(name, created)?;
    }
    // SAFETY: the limit is that of this state.
    let exceeded: Function = unsafe { lua.exec_raw((), |state| limit.push_exceeded(state))? };
    native.set("exceeded", exceeded)?;
    let compile = |lua: &Lua, (text, name): (mlua::String, String)| {
        let bytes = text.as_bytes();
        // A script may begin with a line for the shell.
        let from =
            if bytes.starts_with(b"#") { bytes.iter().position(|&byte| byte == b'\n') } else { Some(0) };
        let bytes = &bytes[from.unwrap_or(bytes.len())..];
        lua.load(bytes).set_name(name).set_mode(mlua::ChunkMode::Text).into_function()
    };
    native.set("compile", lua.create_function(compile)?)?;
    let (folders, allows_io) = (settings.search.clone(), settings.allows_io);
    let read = move |_: &Lua, path: String| Ok(readable(&folders, allows_io, &path));
    native.set("read", lua.create_function(read)?)?;
    let most_output = if settings.command == "run" { MOST_OUTPUT } else { MOST_OUTPUT_OF_COMMANDS };
    let write = move |_: &Lua, text: mlua::String| {
        let mut output = lock(&output);
        if output.len() < most_output {
            output.push_str(&text.to_string_lossy());
        }
        Ok(())
    };
    native.set("write", lua.create_function(write)?)?;
    let memory = |lua: &Lua, _: Variadic<LuaValue>| Ok(lua.used_memory() as f64 / 1024.0);
    native.set("memory", lua.create_function(memory)?)?;
    Ok(native)
}
