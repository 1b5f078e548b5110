//! The Lua state of one connection: its coroutine, its statements, and the functions that it calls.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mlua::{
    Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Thread, Value as LuaValue, Variadic,
    VmState,
};

use crate::engine::shared::lock;
use crate::program::script::{Answer, Encoding, Script, Step, Verdict};
use crate::protocol::packet::{
    write_command, write_execution, write_text, COM_QUERY, COM_STMT_CLOSE, COM_STMT_PREPARE,
};
use crate::script::names::{normalised, Names};
use crate::script::random::{Kind, Randomness};
use crate::script::results::{sql_state, Rows};
use crate::script::{Declared, General, Settings, MOST_OUTPUT};
use crate::sys;
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
}

/// How often a script's limits are checked, in instructions of Lua's virtual machine.
const CHECK_EVERY: u32 = 10_000;
/// A script that computes for this long without a statement is stopped.
pub const MOST_CPU_NS: i64 = 20 * sys::NS_PER_SECOND;
pub const MOST_MEMORY: usize = 512 << 20;
const MOST_SLEEP_US: f64 = 3.6e9;
const LOST: u16 = 2013;
const ER_MAX_PREPARED: u16 = 1461;
const ER_UNSUPPORTED_PS: u16 = 1295;
/// Different texts whose names are kept; texts with literals in them are all different.
const MOST_KEPT_NAMES: usize = 1_000;
const LONGEST_KEPT: usize = 300;

/// What the functions of a script share with the engine.
struct Board {
    random: Randomness,
    rows: Rows,
    until_cpu_ns: i64,
    /// Errors that the script has counted itself, and that are not taken yet.
    errors: u64,
    /// The limit that the script has exceeded: `pcall` does not catch this error.
    exceeded: Option<String>,
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
    /// A statement that is prepared again, to be executed with these values.
    PrepareAgain(usize, Vec<Value>),
    None,
}

pub struct LuaScript {
    lua: Lua,
    thread: Thread,
    board: Arc<Mutex<Board>>,
    names: Arc<Names>,
    kept_names: HashMap<Vec<u8>, usize>,
    slots: Vec<Slot>,
    pending: Pending,
    generation: u64,
    encoding: Encoding,
    is_prepared: bool,
    is_ending: bool,
    most_cpu_ns: i64,
    most_memory: usize,
    /// Closed statements, told with the next packet.
    closing: Vec<u8>,
    effect: Effect,
    in_transaction: bool,
    has_committed: bool,
}

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
        let word = |text: &[u8]| -> Vec<u8> {
            text.iter()
                .skip_while(|byte| byte.is_ascii_whitespace())
                .take_while(|byte| byte.is_ascii_alphabetic())
                .map(u8::to_ascii_uppercase)
                .take(12)
                .collect()
        };
        match word(sql).as_slice() {
            b"BEGIN" => Effect::Begins,
            b"START" if sql.to_ascii_uppercase().starts_with(b"START TRANSACTION") => Effect::Begins,
            b"COMMIT" => Effect::Commits,
            b"ROLLBACK" if !sql.to_ascii_uppercase().windows(4).any(|part| part == b" TO ") => {
                Effect::RollsBack
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
        names: Arc<Names>,
        output: Arc<Mutex<String>>,
    ) -> mlua::Result<Self> {
        let lua = if settings.allows_io {
            // SAFETY: the user has allowed the script whatever a program may do.
            unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) }
        } else {
            let libraries =
                StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT | StdLib::JIT | StdLib::OS;
            Lua::new_with(libraries, LuaOptions::default())?
        };
        let board = Arc::new(Mutex::new(Board {
            random,
            rows: Rows::default(),
            until_cpu_ns: i64::MAX,
            errors: 0,
            exceeded: None,
        }));
        let native = native_functions(&lua, settings, &board, output)?;
        let config = config(&lua, settings, entry, connection)?;
        let body: Function = lua.load(API).set_name("=sysbench").call((native, config))?;
        let thread = lua.create_thread(body)?;
        Ok(Self {
            lua,
            thread,
            board,
            names,
            kept_names: HashMap::new(),
            slots: Vec::new(),
            pending: Pending::None,
            generation: 0,
            encoding: Encoding::default(),
            is_prepared: settings.is_prepared,
            is_ending: false,
            most_cpu_ns: settings.most_cpu_ns,
            most_memory: settings.most_memory,
            closing: Vec::new(),
            effect: Effect::None,
            in_transaction: false,
            has_committed: false,
        })
    }

    /// What the script declares; for the entry `describe`.
    pub fn declared(&mut self) -> Result<Declared, String> {
        self.watch().map_err(|error| error.to_string())?;
        let mut values = self.thread.resume::<MultiValue>(()).map_err(|error| error.to_string())?;
        match integer(values.pop_front()) {
            request::DESCRIBE => read_declared(values).map_err(|error| error.to_string()),
            request::READY => match verdict(values) {
                Verdict::Fault(message) => Err(message),
                _ => Err("the script cannot be read".to_string()),
            },
            _ => Err("the script sends statements while it is loaded".to_string()),
        }
    }

    fn extend_time(&self) {
        lock(&self.board).until_cpu_ns = sys::thread_cpu_ns() + self.most_cpu_ns;
    }

    /// Limits the time and memory of what the script does next.
    fn watch(&self) -> mlua::Result<()> {
        self.extend_time();
        let (board, most_memory) = (self.board.clone(), self.most_memory);
        let triggers = HookTriggers::new().every_nth_instruction(CHECK_EVERY);
        self.thread.set_hook(triggers, move |lua, _| {
            let message = if sys::thread_cpu_ns() > lock(&board).until_cpu_ns {
                "the script computes for too long without a statement".to_string()
            } else if lua.used_memory() > most_memory {
                format!("the script uses more than {} MiB of memory", most_memory >> 20)
            } else {
                return Ok(VmState::Continue);
            };
            lock(&board).exceeded = Some(message.clone());
            Err(mlua::Error::runtime(message))
        });
        Ok(())
    }

    /// Resumes the coroutine until it needs the server, or has a verdict.
    fn run(&mut self, arguments: MultiValue, to: &mut Vec<u8>) -> mlua::Result<Step> {
        let mut arguments = arguments;
        loop {
            let mut values = self.thread.resume::<MultiValue>(arguments)?;
            match integer(values.pop_front()) {
                request::READY => return Ok(Step::Verdict(verdict(values))),
                request::QUERY => return self.query(values, to),
                request::PREPARE => match self.prepare(values, to)? {
                    Some(step) => return Ok(step),
                    None => arguments = self.multi((true, self.slots.len()))?,
                },
                request::EXECUTE => return self.execute(values, to),
                request::CLOSE => {
                    self.close(integer(values.pop_front()));
                    arguments = MultiValue::new();
                }
                request::SLEEP => {
                    let microseconds = match values.pop_front() {
                        Some(LuaValue::Integer(number)) => number as f64,
                        Some(LuaValue::Number(number)) => number,
                        _ => 0.0,
                    };
                    self.pending = Pending::None;
                    return Ok(Step::Sleep { microseconds: microseconds.clamp(0.0, MOST_SLEEP_US) as u64 });
                }
                _ => return Err(mlua::Error::runtime("the script yields outside of its coroutines")),
            }
        }
    }

    fn multi(&self, values: impl mlua::IntoLuaMulti) -> mlua::Result<MultiValue> {
        values.into_lua_multi(&self.lua)
    }

    fn query(&mut self, mut values: MultiValue, to: &mut Vec<u8>) -> mlua::Result<Step> {
        let sql = text(values.pop_front(), "query()")?;
        let sql = sql.as_bytes();
        let name = self.name(&sql);
        self.effect = Effect::of(&sql);
        self.begin_packet(to);
        write_command(COM_QUERY, &sql, to);
        self.pending = Pending::Query;
        Ok(Step::Call { name: Some(name) })
    }

    fn name(&mut self, sql: &[u8]) -> usize {
        if let Some(&name) = self.kept_names.get(sql) {
            return name;
        }
        let name = self.names.number(&normalised(sql));
        if sql.len() <= LONGEST_KEPT && self.kept_names.len() < MOST_KEPT_NAMES {
            self.kept_names.insert(sql.to_vec(), name);
        }
        name
    }

    /// Statements that the script has closed are told first.
    fn begin_packet(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.closing);
    }

    /// None if the statement is sent as text, and needs no preparation.
    fn prepare(&mut self, mut values: MultiValue, to: &mut Vec<u8>) -> mlua::Result<Option<Step>> {
        let sql = text(values.pop_front(), "prepare()")?.as_bytes().to_vec();
        let name = self.name(&sql);
        let pieces = split_at_placeholders(&sql);
        let is_text = !self.is_prepared;
        self.slots.push(Slot { sql, pieces, name, identity: None, is_text });
        if is_text {
            return Ok(None);
        }
        let slot = self.slots.len() - 1;
        self.pending = Pending::Prepare(slot);
        Ok(Some(self.preparation(slot, to)))
    }

    fn preparation(&mut self, slot: usize, to: &mut Vec<u8>) -> Step {
        self.effect = Effect::None;
        self.begin_packet(to);
        write_command(COM_STMT_PREPARE, &self.slots[slot].sql, to);
        Step::Call { name: None }
    }

    fn slot(&self, number: i64) -> mlua::Result<usize> {
        match usize::try_from(number - 1) {
            Ok(slot) if slot < self.slots.len() => Ok(slot),
            _ => Err(mlua::Error::runtime("this statement is closed")),
        }
    }

    fn execute(&mut self, mut values: MultiValue, to: &mut Vec<u8>) -> mlua::Result<Step> {
        let slot = self.slot(integer(values.pop_front()))?;
        let values = match values.pop_front() {
            Some(LuaValue::Table(table)) => parameters(&table)?,
            _ => Vec::new(),
        };
        self.execution(slot, values, to)
    }

    fn execution(&mut self, slot: usize, values: Vec<Value>, to: &mut Vec<u8>) -> mlua::Result<Step> {
        let generation = self.generation;
        let (given, wanted) = (values.len(), self.slots[slot].pieces.len() - 1);
        if given != wanted {
            return Err(mlua::Error::runtime(format!(
                "a statement has {wanted} placeholders, and {given} bound parameters: {}",
                String::from_utf8_lossy(&self.slots[slot].sql)
            )));
        }
        let identity = match self.slots[slot].identity {
            Some((of, identity)) if of == generation => Some(identity),
            _ if self.slots[slot].is_text => None,
            _ => {
                self.pending = Pending::PrepareAgain(slot, values);
                return Ok(self.preparation(slot, to));
            }
        };
        self.begin_packet(to);
        let no_backslash_escapes = self.encoding.no_backslash_escapes;
        let written = match identity {
            Some(identity) => write_execution(identity, &values, to),
            None => write_text(&self.slots[slot].pieces, &values, no_backslash_escapes, to),
        };
        written.map_err(|fault| mlua::Error::runtime(fault.to_string()))?;
        self.effect = Effect::of(&self.slots[slot].sql);
        self.pending = Pending::Execute(slot);
        Ok(Step::Call { name: Some(self.slots[slot].name) })
    }

    fn close(&mut self, number: i64) {
        if let Ok(slot) = self.slot(number) {
            if let Some((generation, identity)) = self.slots[slot].identity.take() {
                if generation == self.generation {
                    write_command(COM_STMT_CLOSE, &identity.to_le_bytes(), &mut self.closing);
                }
            }
        }
    }

    /// The arguments of a statement that succeeded, for the coroutine; or the next step, if it was prepared again.
    fn done(
        &mut self,
        affected: u64,
        response: &mut Vec<u8>,
        to: &mut Vec<u8>,
    ) -> mlua::Result<Result<MultiValue, Step>> {
        self.has_committed = self.effect == Effect::Commits;
        match self.effect {
            Effect::Begins => self.in_transaction = true,
            Effect::Commits | Effect::RollsBack => self.in_transaction = false,
            Effect::None => {}
        }
        match std::mem::replace(&mut self.pending, Pending::None) {
            Pending::Prepare(slot) => {
                self.slots[slot].identity = Some((self.generation, affected as u32));
                Ok(Ok(self.multi((true, slot + 1))?))
            }
            Pending::PrepareAgain(slot, values) => {
                self.slots[slot].identity = Some((self.generation, affected as u32));
                self.execution(slot, values, to).map(Err)
            }
            pending => {
                let is_text = match pending {
                    Pending::Execute(slot) => self.slots[slot].is_text,
                    _ => true,
                };
                let mut board = lock(&self.board);
                let rows = &mut board.rows;
                std::mem::swap(&mut rows.bytes, response);
                rows.begin(self.encoding.without_eof, is_text);
                let (fields, number) = (rows.fields, rows.number);
                drop(board);
                Ok(Ok(self.multi((true, fields, affected, number))?))
            }
        }
    }

    /// The same for a statement that failed.
    fn failed(
        &mut self,
        (code, message, is_ignorable): (u16, &str, bool),
        state: String,
        to: &mut Vec<u8>,
    ) -> mlua::Result<Result<MultiValue, Step>> {
        let pending = std::mem::replace(&mut self.pending, Pending::None);
        if matches!(code, ER_MAX_PREPARED | ER_UNSUPPORTED_PS) {
            match pending {
                Pending::Prepare(slot) => {
                    self.slots[slot].is_text = true;
                    return Ok(Ok(self.multi((true, slot + 1))?));
                }
                Pending::PrepareAgain(slot, values) => {
                    self.slots[slot].is_text = true;
                    return self.execution(slot, values, to).map(Err);
                }
                _ => {}
            }
        }
        Ok(Ok(self.multi((false, code, state, message, is_ignorable))?))
    }

    fn answered(&mut self, answer: Answer<'_>, to: &mut Vec<u8>) -> mlua::Result<Step> {
        let arguments = match answer {
            Answer::Start | Answer::Waited => Ok(MultiValue::new()),
            Answer::Event => {
                self.in_transaction = false;
                Ok(self.multi("event")?)
            }
            Answer::End => Ok(self.multi("end")?),
            Answer::Done { affected, response } => self.done(affected, response, to)?,
            Answer::Failed { code, message, response, is_ignorable } => {
                self.has_committed = false;
                self.failed((code, message, is_ignorable), sql_state(response), to)?
            }
            Answer::Lost => {
                self.pending = Pending::None;
                Ok(self.multi((false, LOST, "HY000", "the connection to the server was lost", true))?)
            }
        };
        match arguments {
            Ok(arguments) => self.run(arguments, to),
            Err(step) => Ok(step),
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
        let watched = match answer {
            Answer::Start | Answer::Event | Answer::End => self.watch(),
            _ => {
                self.extend_time();
                Ok(())
            }
        };
        let step = match watched.and_then(|()| self.answered(answer, to)) {
            Ok(step) => step,
            Err(error) => Step::Verdict(Verdict::Fault(first_line(&error.to_string()))),
        };
        if self.is_ending && matches!(step, Step::Verdict(_)) {
            self.begin_packet(to);
        }
        step
    }

    fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn rolled_back(&mut self) {
        self.in_transaction = false;
    }

    fn has_committed(&self) -> bool {
        self.has_committed
    }

    fn take_errors(&mut self) -> u64 {
        std::mem::take(&mut lock(&self.board).errors)
    }
}

/// An error without the traceback that follows it.
fn first_line(message: &str) -> String {
    message.trim_start_matches("runtime error: ").lines().next().unwrap_or_default().to_string()
}

// On platforms of 32 bits, Lua's integers are narrower.
#[allow(clippy::useless_conversion)]
fn integer(value: Option<LuaValue>) -> i64 {
    match value {
        Some(LuaValue::Integer(number)) => number.into(),
        Some(LuaValue::Number(number)) => number as i64,
        _ => -1,
    }
}

fn text(value: Option<LuaValue>, of: &str) -> mlua::Result<mlua::String> {
    match value {
        Some(LuaValue::String(text)) => Ok(text),
        _ => Err(mlua::Error::runtime(format!("{of} needs a string"))),
    }
}

fn parameters(table: &Table) -> mlua::Result<Vec<Value>> {
    let count: usize = table.raw_get("n")?;
    let value = |place: usize| -> mlua::Result<Value> {
        Ok(match table.raw_get::<LuaValue>(place)? {
            LuaValue::Nil => Value::Null,
            LuaValue::Boolean(is) => Value::Bool(is),
            LuaValue::Integer(number) => Value::Int(i128::from(number)),
            LuaValue::Number(number) => Value::Float(number),
            LuaValue::String(text) => match std::str::from_utf8(&text.as_bytes()) {
                Ok(text) => Value::text(text),
                Err(_) => Value::Bytes(text.as_bytes().to_vec().into()),
            },
            other => {
                let kind = other.type_name();
                return Err(mlua::Error::runtime(format!("a {kind} is no value of a statement")));
            }
        })
    };
    (1..=count).map(value).collect()
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

fn verdict(mut values: MultiValue) -> Verdict {
    let word = match values.pop_front() {
        Some(LuaValue::String(word)) => word.to_string_lossy(),
        _ => String::new(),
    };
    let code = u16::try_from(integer(values.pop_front())).unwrap_or(0);
    let message = match values.pop_front() {
        Some(LuaValue::String(message)) => message.to_string_lossy(),
        _ => String::new(),
    };
    match word.as_str() {
        "begun" => Verdict::Begun,
        "done" => Verdict::Done,
        "over" => Verdict::Over,
        "restart" => Verdict::Restart(code, message),
        "failed" => Verdict::Failed(code, message),
        _ => Verdict::Fault(first_line(&message)),
    }
}

fn read_declared(mut values: MultiValue) -> mlua::Result<Declared> {
    let mut declared = Declared::default();
    if let Some(LuaValue::Table(options)) = values.pop_front() {
        for option in options.sequence_values::<Table>() {
            let option = option?;
            declared.options.push((option.get(1)?, option.get(2)?, option.get(3)?, option.get(4)?));
        }
    }
    if let Some(LuaValue::Table(commands)) = values.pop_front() {
        for command in commands.sequence_values::<Table>() {
            let command = command?;
            declared.commands.push((command.get(1)?, command.get(2)?));
        }
    }
    declared.options.sort();
    declared.commands.sort();
    declared.has_events = matches!(values.pop_front(), Some(LuaValue::Boolean(true)));
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

fn native_functions(
    lua: &Lua,
    settings: &Settings,
    board: &Arc<Mutex<Board>>,
    output: Arc<Mutex<String>>,
) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    for (name, kind) in [
        ("default", Kind::Default),
        ("uniform", Kind::Uniform),
        ("gaussian", Kind::Gaussian),
        ("special", Kind::Special),
        ("pareto", Kind::Pareto),
        ("zipfian", Kind::Zipfian),
    ] {
        let board = board.clone();
        let draw = move |_: &Lua, (low, high): (f64, f64)| {
            Ok(lock(&board).random.number(kind, low as i64, high as i64))
        };
        native.set(name, lua.create_function(draw)?)?;
    }
    let shared = board.clone();
    native.set("unique", lua.create_function(move |_, ()| Ok(lock(&shared).random.unique()))?)?;
    let shared = board.clone();
    native.set("uniform_double", lua.create_function(move |_, ()| Ok(lock(&shared).random.share()))?)?;
    let shared = board.clone();
    let words = move |_: &Lua, ()| {
        let random = &mut lock(&shared).random;
        Ok((random.word(), random.word()))
    };
    native.set("words", lua.create_function(words)?)?;
    let shared = board.clone();
    let string = move |lua: &Lua, pattern: mlua::String| {
        let text = lock(&shared).random.text(&pattern.as_bytes());
        lua.create_string(text)
    };
    native.set("string", lua.create_function(string)?)?;
    let shared = board.clone();
    let varstring = move |lua: &Lua, (shortest, longest): (f64, f64)| {
        let text = lock(&shared).random.letters(shortest as i64, longest as i64);
        lua.create_string(text)
    };
    native.set("varstring", lua.create_function(varstring)?)?;
    let shared = board.clone();
    let fetch_row = move |lua: &Lua, number: u64| {
        let rows = &mut lock(&shared).rows;
        if rows.number != number {
            return Ok(None);
        }
        match rows.next() {
            None => Ok(None),
            Some(row) => {
                let table = lua.create_table_with_capacity(row.len(), 0)?;
                for (place, value) in row.into_iter().enumerate() {
                    if let Some(value) = value {
                        table.raw_set(place + 1, lua.create_string(value)?)?;
                    }
                }
                Ok(Some(table))
            }
        }
    };
    native.set("fetch_row", lua.create_function(fetch_row)?)?;
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
    let write = move |_: &Lua, text: mlua::String| {
        let mut output = lock(&output);
        if output.len() < MOST_OUTPUT {
            output.push_str(&text.to_string_lossy());
        }
        Ok(())
    };
    native.set("write", lua.create_function(write)?)?;
    let shared = board.clone();
    let count_error = move |_: &Lua, ()| {
        lock(&shared).errors += 1;
        Ok(())
    };
    native.set("count_error", lua.create_function(count_error)?)?;
    let shared = board.clone();
    let exceeded = move |_: &Lua, ()| Ok(lock(&shared).exceeded.clone());
    native.set("exceeded", lua.create_function(exceeded)?)?;
    let memory = |lua: &Lua, _: Variadic<LuaValue>| Ok(lua.used_memory() as f64 / 1024.0);
    native.set("memory", lua.create_function(memory)?)?;
    Ok(native)
}
