//! The Python module `tuibench_native`: the interface for tuibench's `NativeEngine`.
//!
//! Only conversions: arguments to Rust values, results to built-in types. Calls that may wait for a thread release
//! the interpreter's lock.

#[cfg(feature = "lua")]
use std::collections::HashMap;
#[cfg(feature = "lua")]
use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

#[cfg(feature = "lua")]
use crate::engine::connection::link::{exchange, Link};
use crate::panics::caught;
#[cfg(feature = "lua")]
use crate::panics::lock;
#[cfg(feature = "lua")]
use crate::program::script::{Encoding, ScriptSource, Server};
#[cfg(feature = "lua")]
use crate::protocol::response::Outcome;
#[cfg(feature = "lua")]
use crate::python::engine::link_of;
use crate::python::engine::Engine;
use crate::python::program::{Program, Reader, Stream};
use crate::python::tls::TlsRecords;
#[cfg(feature = "lua")]
use crate::script::{LuaScript, LuaSource};
use crate::values::value::ProfileError;

pub mod decode;
mod engine;
mod program;
mod tls;

fn fault(fault: ProfileError) -> PyErr {
    PyValueError::new_err(fault.to_string())
}

/// The result of an action; a panic is a RuntimeError.
fn guarded<T>(act: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    caught(act).unwrap_or_else(|message| Err(PyRuntimeError::new_err(message)))
}

/// What a script declares: its options (name, description, default, kind), its commands (name, whether they run in
/// parallel), whether it has events, the names of other functions that are called, and what it prints. ValueError if it
/// cannot be loaded.
#[cfg(feature = "lua")]
#[pyfunction]
#[allow(clippy::type_complexity)]
fn declared(
    given: &Bound<'_, PyAny>,
) -> PyResult<(Vec<(String, String, String, String)>, Vec<(String, bool)>, bool, String, String)> {
    let source = decode::script_source(given)?;
    guarded(|| {
        let declared = source.declared().map_err(PyValueError::new_err)?;
        Ok((declared.options, declared.commands, declared.has_events, declared.hooks, declared.output))
    })
}

/// So long a statement of a report hook may take.
#[cfg(feature = "lua")]
const LONGEST_ANSWER_NS: i64 = 10 * crate::sys::NS_PER_SECOND;

/// The sessions of report hooks, which Python opens.
#[cfg(feature = "lua")]
struct HookServer {
    connect: Py<PyAny>,
    links: HashMap<usize, Link>,
    scratch: Vec<u8>,
}

#[cfg(feature = "lua")]
impl Server for HookServer {
    fn connect(&mut self, link: usize) -> Result<Encoding, String> {
        self.links.remove(&link);
        let opened: PyResult<_> = Python::with_gil(|py| {
            let socket = self.connect.call1(py, (link,))?;
            type Socket = (i32, bool, bool, bool, Option<Py<TlsRecords>>);
            let (descriptor, without_eof, no_backslash_escapes, is_compressed, records): Socket =
                socket.extract(py)?;
            let records = records.as_ref().map(|records| records.bind(py));
            let made = link_of(descriptor, without_eof, is_compressed, records)?;
            Ok((made, Encoding { without_eof, no_backslash_escapes }))
        });
        let (made, encoding) = opened.map_err(|error| Python::with_gil(|py| error.value(py).to_string()))?;
        self.links.insert(link, made);
        Ok(encoding)
    }

    fn ask(
        &mut self,
        link: usize,
        packet: &[u8],
        is_preparation: bool,
        keeps: bool,
        response: &mut Vec<u8>,
    ) -> Result<Outcome, String> {
        let used = self.links.get_mut(&link).ok_or("the connection is closed")?;
        match is_preparation {
            true => used.response.begin_preparation(packet),
            false => used.response.begin(keeps, packet),
        }
        match exchange(used, packet, LONGEST_ANSWER_NS, &mut self.scratch) {
            Ok(outcome) => {
                std::mem::swap(response, used.response.kept_mut());
                Ok(outcome)
            }
            Err(problem) => {
                self.links.remove(&link);
                Err(problem.to_string())
            }
        }
    }
}

/// The report hooks of a script, in a Lua state of their own. `connect` opens a session, given its number: it returns
/// descriptor, whether there is no EOF packet, whether backslashes escape nothing, whether packets are compressed, and the
/// records of TLS. ValueError if the script cannot be loaded, and if a hook fails.
#[cfg(feature = "lua")]
#[pyclass(frozen, module = "tuibench_native")]
struct ScriptReport {
    source: LuaSource,
    script: Mutex<(LuaScript, HookServer)>,
}

#[cfg(feature = "lua")]
#[pymethods]
impl ScriptReport {
    #[new]
    fn new(py: Python<'_>, given: &Bound<'_, PyAny>, tid: i64, connect: Py<PyAny>) -> PyResult<Self> {
        let source = decode::script_source(given)?;
        py.allow_threads(|| {
            guarded(|| {
                let scratch = vec![0; 1 << 16];
                let mut server = HookServer { connect, links: HashMap::new(), scratch };
                let script = source.report(tid, &mut server).map_err(PyValueError::new_err)?;
                source.take_output();
                Ok(Self { source, script: Mutex::new((script, server)) })
            })
        })
    }

    /// Calls a hook with its figures, or ends the reports; returns what the script prints.
    #[pyo3(signature = (hook, figures))]
    fn call(&self, py: Python<'_>, hook: Option<&str>, figures: Vec<(String, f64)>) -> PyResult<String> {
        py.allow_threads(|| {
            guarded(|| {
                let (script, server) = &mut *lock(&self.script);
                script.report(hook, figures, server).map_err(PyValueError::new_err)?;
                Ok(self.source.take_output())
            })
        })
    }
}

#[pymodule]
fn tuibench_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    #[cfg(feature = "lua")]
    {
        module.add_function(wrap_pyfunction!(declared, module)?)?;
        module.add_class::<ScriptReport>()?;
    }
    module.add_class::<Program>()?;
    module.add_class::<Stream>()?;
    module.add_class::<Reader>()?;
    module.add_class::<TlsRecords>()?;
    module.add_class::<Engine>()
}
