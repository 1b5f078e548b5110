//! The Lua state of one connection: its coroutine, which the engine resumes.

use std::ffi::c_int;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, LuaOptions, MultiValue, StdLib, Table, Thread, Value as LuaValue, Variadic};

use crate::engine::shared::lock;
use crate::program::script::{Answer, Encoding, Script, Step, Verdict};
use crate::script::board::{Board, Failure, Reply};
use crate::script::functions::{self, kept, string_at};
use crate::script::limit::Limit;
use crate::script::names::Names;
use crate::script::random::Randomness;
use crate::script::results::sql_state;
use crate::script::{Declared, General, Settings, MOST_OUTPUT, MOST_OUTPUT_OF_COMMANDS};

const API: &str = include_str!("api.lua");

pub const MOST_MEMORY: usize = 512 << 20;
/// LuaJIT's error without memory, which `pcall` does not catch.
const NO_MEMORY: &str = "not enough memory";
const LOST: u16 = 2013;

/// The board of a state: its functions use it while it runs, [`LuaScript`] meanwhile does not.
struct OwnedBoard(*mut Board);

impl Drop for OwnedBoard {
    fn drop(&mut self) {
        // SAFETY: it is dropped after the state, whose functions know it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

pub struct LuaScript {
    limit: Limit,
    thread: Thread,
    /// The state of the coroutine.
    state: *mut lua_State,
    lua: Lua,
    board: OwnedBoard,
    path: String,
    is_ending: bool,
    /// The coroutine has returned, or has ended with an error.
    is_over: bool,
    most_memory: usize,
}

// SAFETY: its pointers are to its own state and board, which one thread uses at a time.
unsafe impl Send for LuaScript {}

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
        let board = OwnedBoard(Box::into_raw(Box::new(Board::new(random, names, settings.is_prepared))));
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
            is_ending: false,
            is_over: false,
            most_memory: settings.most_memory,
        })
    }

    /// What the script declares; for the entry `describe`.
    pub fn declared(&mut self) -> Result<Declared, String> {
        let Self { limit, thread, .. } = self;
        let mut values = limit
            .limiting(|| thread.resume::<MultiValue>(()))
            .map_err(|error| self.fault(&error.to_string()))?;
        match self.board().step.take() {
            None => {}
            Some(Step::Verdict(Verdict::Fault(message) | Verdict::Failed(_, message))) => {
                return Err(self.fault(&message));
            }
            Some(_) => return Err("the script sends statements while it is loaded".to_string()),
        }
        let mut next = || values.pop_front().unwrap_or(LuaValue::Nil);
        let (options, commands, has_events, hooks) = (next(), next(), next(), next());
        let declared = read_declared(options, commands, has_events).map_err(|error| error.to_string())?;
        let hooks = hooks.as_string().map(mlua::String::to_string_lossy).unwrap_or_default();
        Ok(Declared { hooks, ..declared })
    }

    /// Calls a report hook with its figures. For the entry `report`; without a hook, the first time it loads the
    /// script, the next time it ends the reports.
    pub fn report(&mut self, hook: Option<&str>, figures: Vec<(String, f64)>) -> Result<(), String> {
        let Self { limit, thread, lua, .. } = self;
        lua.create_table_from(figures)
            .and_then(|figures| limit.limiting(|| thread.resume::<()>((hook, figures))))
            .map_err(|error| self.fault(&error.to_string()))?;
        match self.board().step.take() {
            Some(Step::Verdict(Verdict::Begun | Verdict::Done)) => Ok(()),
            Some(Step::Verdict(
                Verdict::Fault(message) | Verdict::Failed(_, message) | Verdict::Restart(_, message),
            )) => Err(self.fault(&message)),
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

    fn peek(&self) -> &Board {
        // SAFETY: as above.
        unsafe { &*self.board.0 }
    }

    /// Resumes the coroutine until it asks for a step. Its arguments are on its stack.
    fn run(&mut self, arguments: c_int) -> Result<(), String> {
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

    /// Puts a reply in place of what the coroutine has yielded; returns how many values it is. It needs no memory of
    /// Lua's.
    fn push(&mut self, reply: Reply) -> c_int {
        let (state, result) = (self.state, self.board().kept[kept::RESULT]);
        // SAFETY: the coroutine is suspended, and a stack has room for a value.
        unsafe {
            ffi::lua_settop(state, 0);
            match reply {
                Reply::Nothing => return 0,
                Reply::Is(is) => ffi::lua_pushboolean(state, is.into()),
                Reply::Slot(slot) => ffi::lua_pushnumber(state, slot as f64),
                Reply::Result => ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, result),
            }
        }
        1
    }

    /// Passes an answer on, until there is a step.
    fn answered(&mut self, answer: Answer<'_>) -> Result<Step, String> {
        let board = self.board();
        let reply = match answer {
            Answer::Start => None,
            Answer::Waited => Some(Reply::Nothing),
            Answer::Event => {
                board.in_transaction = false;
                Some(Reply::Is(true))
            }
            Answer::End => Some(Reply::Is(false)),
            Answer::Reconnected => Some(Reply::Is(true)),
            Answer::Done { affected, response } => board.done(affected, response)?,
            Answer::Failed { code, message, response, is_ignorable } => {
                let (sql_state, message) = (sql_state(response), message.to_string());
                board.failed(Failure { code, sql_state, message, is_ignorable })?
            }
            Answer::Lost => {
                let message = "the connection to the server was lost".to_string();
                board.failed(Failure {
                    code: LOST,
                    sql_state: "HY000".into(),
                    message,
                    is_ignorable: true,
                })?
            }
        };
        if board.step.is_none() {
            // Before the start, the stack has the function of the coroutine.
            let arguments = reply.map_or(0, |reply| self.push(reply));
            self.run(arguments)?;
        }
        match self.board().step.take() {
            Some(Step::Verdict(Verdict::Fault(message))) => Err(self.fault(&message)),
            Some(step) => Ok(step),
            None => Err("the script yields outside of its coroutines".to_string()),
        }
    }
}

impl Script for LuaScript {
    fn attach(&mut self, encoding: Encoding) {
        self.board().attach(encoding);
    }

    fn resume(&mut self, answer: Answer<'_>, to: &mut Vec<u8>) -> Step {
        self.is_ending |= matches!(answer, Answer::End);
        let step = self.answered(answer).unwrap_or_else(|message| Step::Verdict(Verdict::Fault(message)));
        let is_sent = match step {
            Step::Call { .. } => true,
            Step::Verdict(_) => self.is_ending,
            _ => false,
        };
        if is_sent {
            to.append(&mut self.board().packets);
        }
        step
    }

    fn reads_rows(&self) -> bool {
        self.peek().reads_rows()
    }

    fn is_in_transaction(&self) -> bool {
        self.peek().in_transaction
    }

    fn rolled_back(&mut self) {
        self.board().in_transaction = false;
    }

    fn is_committing(&self) -> bool {
        self.peek().is_committing()
    }

    fn has_committed(&self) -> bool {
        self.peek().has_committed
    }

    fn take_errors(&mut self) -> u64 {
        std::mem::take(&mut self.board().errors)
    }
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

fn native_functions(
    lua: &Lua,
    settings: &Settings,
    board: &OwnedBoard,
    limit: &Limit,
    output: Arc<Mutex<String>>,
) -> mlua::Result<Table> {
    let native = functions::table(lua, board.0)?;
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
