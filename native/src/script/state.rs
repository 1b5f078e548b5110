//! The Lua state of one connection: its coroutine, which the engine resumes.

use std::ffi::c_int;
use std::path::{Component, Path, PathBuf};
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Thread, Value as LuaValue, Variadic};

use crate::panics::lock;
use crate::program::script::{Answer, Encoding, Script, Server, Step, Verdict};
use crate::protocol::response::Outcome;
use crate::script::board::{Board, Failure, Reply};
use crate::script::functions::{self, string_at};
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
/// The least depth of a folder that a script shares with its libraries: /srv/bench is deep enough, /srv is not.
const LEAST_DEPTH: usize = 2;
/// A script that sends more statements while it is loaded is refused: without a server, it would not end.
const MOST_STEPS_OF_LOADING: usize = 10_000;
/// The number of columns in the response to a statement that a script sends while it is loaded.
const COLUMNS_OF_LOADING: u8 = 32;

/// The board that a Lua state and its [`LuaScript`] share. While the script runs, only the functions of the state use
/// it; while it is suspended, only `LuaScript` does.
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
    config: Table,
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
        let body: Function = lua.load(API).set_name(functions::API_NAME).call((native, config.clone()))?;
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
            config,
            lua,
            board,
            path: settings.path.clone(),
            is_ending: false,
            is_over: false,
            most_memory: settings.most_memory,
        })
    }

    /// Loads a script of the entry `describe`, and returns what it declares. There is no server: every statement gets
    /// one row, whose columns are 1.
    pub fn declared(&mut self) -> Result<Declared, String> {
        let mut answer = Answer::Start;
        let one_row = row_of_ones();
        let mut response = Vec::new();
        for _ in 0..MOST_STEPS_OF_LOADING {
            answer = match self.answered(answer)? {
                Step::Verdict(Verdict::Begun) => {
                    return read_declared(&self.config).map_err(|error| error.to_string())
                }
                Step::Verdict(
                    Verdict::Failed(_, message) | Verdict::Restart(_, message) | Verdict::Fault(message),
                ) => return Err(self.fault(&message)),
                Step::Verdict(_) => return Err("the script ends while it is loaded".to_string()),
                Step::Call { .. } => {
                    self.board().packets().clear();
                    response.clone_from(&one_row);
                    Answer::Done { affected: 1, response: &mut response }
                }
                Step::Reconnect => {
                    let link = self.link();
                    self.board().attach(link, Encoding { without_eof: true, no_backslash_escapes: false });
                    Answer::Reconnected
                }
                Step::Sleep { .. } => Answer::Waited,
            };
        }
        Err("the script sends statements without end while it is loaded".to_string())
    }

    /// Calls a report hook of a script of the entry `report` with its figures. Without a hook, the first call loads the
    /// script, and the second one ends it. `server` opens the sessions of the hook.
    pub fn report(
        &mut self,
        hook: Option<&str>,
        figures: Vec<(String, f64)>,
        server: &mut dyn Server,
    ) -> Result<(), String> {
        let called = self
            .lua
            .create_table_from(figures)
            .and_then(|figures| self.limiting(|script| script.thread.resume::<()>((hook, figures))));
        called.map_err(|error| self.fault(&error.to_string()))?;
        let mut response = Vec::new();
        let mut step = self.board().step.take();
        loop {
            let failure;
            let link = self.link();
            let answer = match step {
                Some(Step::Verdict(Verdict::Begun | Verdict::Done)) => return Ok(()),
                Some(Step::Verdict(
                    Verdict::Fault(message) | Verdict::Failed(_, message) | Verdict::Restart(_, message),
                )) => return Err(self.fault(&message)),
                Some(Step::Reconnect) => {
                    let encoding = server.connect(link)?;
                    self.board().attach(link, encoding);
                    Answer::Reconnected
                }
                Some(Step::Sleep { microseconds }) => {
                    std::thread::sleep(Duration::from_micros(microseconds));
                    Answer::Waited
                }
                Some(Step::Call { name }) => {
                    let packet = std::mem::take(self.board().packets());
                    let reads_rows = self.reads_rows();
                    let outcome = server.ask(link, &packet, name.is_none(), reads_rows, &mut response)?;
                    match outcome {
                        Outcome::Done(affected) => Answer::Done { affected, response: &mut response },
                        Outcome::Broken(what) => return Err(what.to_string()),
                        Outcome::ServerError(code, message) => {
                            failure = message;
                            Answer::Failed {
                                code,
                                message: &failure,
                                response: &response,
                                is_ignorable: false,
                            }
                        }
                    }
                }
                _ => return Err("the report hook ends the script".to_string()),
            };
            step = Some(self.answered(answer)?);
        }
    }

    /// Runs a part of the script, within its limits of time and of the C stack.
    fn limiting<T>(&mut self, run: impl FnOnce(&Self) -> T) -> T {
        let here = 0u8;
        self.board().stack_from = ptr::addr_of!(here) as usize;
        let turn = self.limit.begin();
        let done = run(self);
        self.limit.end(turn);
        done
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
        let (state, mut results) = (self.state, 0);
        // SAFETY: the coroutine is suspended, and has this number of arguments on its stack.
        let status =
            self.limiting(|_| unsafe { ffi::lua_resume(state, ptr::null_mut(), arguments, &mut results) });
        self.is_over = status != ffi::LUA_YIELD;
        if matches!(status, ffi::LUA_YIELD | ffi::LUA_OK) {
            return Ok(());
        }
        // SAFETY: the error is on top of the stack.
        let message = unsafe { string_at(self.state, -1) }.unwrap_or(b"the script ends with an error");
        Err(self.fault(&String::from_utf8_lossy(message)))
    }

    /// Replaces what the coroutine has yielded by a reply; returns the number of its values. Allocates no memory in Lua,
    /// so that it cannot fail.
    fn push(&mut self, reply: Reply) -> c_int {
        let state = self.state;
        let session = self.board().session;
        let result = *self.board().result(session);
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

    /// Passes an answer to the script, and resumes it until it asks for the next step.
    fn answered(&mut self, answer: Answer<'_>) -> Result<Step, String> {
        let board = self.board();
        let reply = match answer {
            Answer::Start => None,
            Answer::Waited => Some(Reply::Nothing),
            Answer::Event => {
                board.begin_event();
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
    fn attach(&mut self, link: usize, encoding: Encoding) {
        self.board().attach(link, encoding);
    }

    fn lose_further(&mut self) {
        self.board().lose_further();
    }

    fn link(&self) -> usize {
        self.peek().session
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
            to.append(self.board().packets());
        }
        step
    }

    fn reads_rows(&self) -> bool {
        self.peek().reads_rows()
    }

    fn open_transaction(&self) -> Option<usize> {
        self.peek().open_transaction()
    }

    fn rolled_back(&mut self, link: usize) {
        self.board().rolled_back(link);
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

/// A response with one row, whose columns are all 1.
fn row_of_ones() -> Vec<u8> {
    let columns = COLUMNS_OF_LOADING;
    let mut payloads = vec![vec![columns]];
    payloads.extend(std::iter::repeat(b"\x03def".to_vec()).take(columns.into()));
    payloads.push(b"\x011".repeat(columns.into()));
    payloads.push(vec![0xfe, 0, 0, 2, 0, 0, 0]);
    let packet = |(sequence, payload): (u32, Vec<u8>)| {
        [&(payload.len() as u32 | sequence << 24).to_le_bytes()[..], &payload].concat()
    };
    (1..).zip(payloads).flat_map(packet).collect()
}

/// What `api.lua` has put into the configuration of a script.
fn read_declared(config: &Table) -> mlua::Result<Declared> {
    let mut declared = Declared {
        has_events: config.get("has_events")?,
        hooks: config.get("hooks")?,
        ..Declared::default()
    };
    for option in config.get::<Table>("options")?.sequence_values::<Table>() {
        let option = option?;
        declared.options.push((option.get(1)?, option.get(2)?, option.get(3)?, option.get(4)?));
    }
    for command in config.get::<Table>("commands")?.sequence_values::<Table>() {
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

/// Whether a file is in the same tree as the script: below a folder that contains both, but is neither the user's home nor
/// above it, nor one directly below the root.
fn is_of_same_tree(file: &Path, folder: &Path, home: Option<&Path>) -> bool {
    let common: PathBuf =
        file.components().zip(folder.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let depth = common.components().filter(|part| matches!(part, Component::Normal(_))).count();
    depth >= LEAST_DEPTH && !home.map_or(false, |home| home.starts_with(&common))
}

/// A file that a script may read: one of Lua, in its own tree or the folder of an installed sysbench.
fn readable(folders: &[PathBuf], allows_io: bool, path: &str) -> Option<String> {
    let first = folders.first()?;
    let relative = path.trim_start_matches("./");
    let found = [PathBuf::from(path), first.join(relative)].into_iter().find(|path| path.is_file())?;
    let whole = found.canonicalize().ok()?;
    let is_allowed = allows_io
        || (whole.extension().map_or(false, |kind| kind == "lua")
            && (folders
                .iter()
                .filter_map(|folder| folder.canonicalize().ok())
                .any(|folder| whole.starts_with(folder))
                || first.canonicalize().map_or(false, |folder| {
                    let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
                    is_of_same_tree(&whole, &folder, home.as_deref())
                })));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_beside_a_script_but_not_anywhere_in_the_home() {
        let home = Some(Path::new("/home/me"));
        for (file, folder, is) in [
            ("/srv/bench/lib/names.lua", "/srv/bench/deep/select", true),
            ("/home/me/bench/lib/names.lua", "/home/me/bench/select", true),
            ("/home/me/.config/secret.lua", "/home/me/bench/select", false),
            ("/home/you/bench/x.lua", "/home/me/bench", false),
            ("/srv/other/x.lua", "/srv/bench", false),
            ("/usr/share/lua/x.lua", "/srv/bench", false),
        ] {
            assert_eq!(is_of_same_tree(Path::new(file), Path::new(folder), home), is, "{file}");
        }
    }
}
