//! sysbench's Lua scripts: a Lua state for each connection, whose statements the engine sends.
//!
//! `api.lua` is the script API of sysbench 1.0. A function that needs the server suspends the coroutine, whose step the
//! engine carries out ([`LuaScript::resume`]). What happens for each statement is written in Rust with the C API of Lua
//! itself, the rest in Lua and with mlua.

// mlua needs a newer Rust than the rest of the engine.
#![allow(clippy::incompatible_msrv)]
// Nearly every line of the functions that Lua calls is a call of its C API.
#![allow(unsafe_op_in_unsafe_fn)]

mod board;
mod functions;
mod limit;
mod names;
mod random;
mod results;
mod state;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::panics::lock;
use crate::program::script::{Script, ScriptSource, Server};
pub use crate::script::limit::MOST_CPU_NS;
use crate::script::names::Names;
pub use crate::script::random::Distributions;
use crate::script::random::Randomness;
pub use crate::script::state::LuaScript;
pub use crate::script::state::MOST_MEMORY;
use crate::values::mt19937::Mt19937;
use crate::values::value::ProfileError;

/// What the events of scripts print beyond this is dropped, until it is taken; and what commands print.
const MOST_OUTPUT: usize = 1 << 16;
const MOST_OUTPUT_OF_COMMANDS: usize = 1 << 24;

/// The value of an option that sysbench itself has.
#[derive(Clone, Debug, PartialEq)]
pub enum General {
    Switch(bool),
    Number(f64),
    Text(String),
    List(Vec<String>),
}

/// A script and its options. `command` is `run` for events; `search` are the folders that `require` may read;
/// `given` are the values of the script's own options, as texts.
#[derive(Clone)]
pub struct Settings {
    pub path: String,
    pub text: String,
    pub command: String,
    pub search: Vec<PathBuf>,
    pub given: HashMap<String, String>,
    pub general: HashMap<String, General>,
    pub distributions: Distributions,
    /// At most this many connections draw unique numbers.
    pub connections: u64,
    pub is_prepared: bool,
    pub allows_io: bool,
    /// How long a script may compute between two statements.
    pub most_cpu_ns: i64,
    pub most_memory: usize,
}

/// The scripts of a load.
pub struct LuaSource {
    settings: Settings,
    names: Arc<Names>,
    output: Arc<Mutex<String>>,
    /// The load ends: no script computes on.
    is_ending: Arc<AtomicBool>,
}

impl fmt::Debug for LuaSource {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "LuaSource({})", self.settings.path)
    }
}

/// What a script declares: its options (name, description, default, kind), its commands (name, whether they run in
/// parallel), and whether it has events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    pub options: Vec<(String, String, String, String)>,
    pub commands: Vec<(String, bool)>,
    pub has_events: bool,
    /// Functions of these names are called before and behind the load, and for reports; with commas between them.
    pub hooks: String,
    pub output: String,
}

impl LuaSource {
    pub fn new(settings: Settings) -> Self {
        Self { settings, names: Arc::default(), output: Arc::default(), is_ending: Arc::default() }
    }

    /// Loads the script without a server, and returns what it declares.
    pub fn declared(&self) -> Result<Declared, String> {
        let mut declared = self.lua("describe", 0, Mt19937::from_key(&[0]))?.declared()?;
        declared.output = self.take_output();
        Ok(declared)
    }

    /// A state for the report hooks, which has loaded the script; `tid` is its number of a thread.
    pub fn report(&self, tid: i64, server: &mut dyn Server) -> Result<LuaScript, String> {
        let mut report = self.lua("report", tid, Mt19937::from_key(&[0]))?;
        report.report(None, Vec::new(), server)?;
        Ok(report)
    }

    fn lua(&self, entry: &str, connection: i64, random: Mt19937) -> Result<LuaScript, String> {
        let settings = &self.settings;
        let random =
            Randomness::new(random, settings.distributions.clone(), connection, settings.connections);
        let shared = (self.names.clone(), self.output.clone(), self.is_ending.clone());
        LuaScript::new(settings, entry, connection, random, shared).map_err(|error| error.to_string())
    }
}

impl ScriptSource for LuaSource {
    fn script(&self, connection: i64, random: Mt19937) -> Result<Box<dyn Script>, ProfileError> {
        let entry = if self.settings.command == "run" { "event" } else { "command" };
        match self.lua(entry, connection, random) {
            Ok(script) => Ok(Box::new(script)),
            Err(message) => Err(ProfileError::Values(message)),
        }
    }

    fn names(&self) -> Vec<String> {
        self.names.list()
    }

    fn take_output(&self) -> String {
        std::mem::take(&mut *lock(&self.output))
    }

    fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }
}
