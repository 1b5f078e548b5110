//! The Python module `tuibench_native`: the interface for tuibench's `NativeEngine`.
//!
//! Only conversions: arguments to Rust values, results to built-in types. Calls that may wait for a thread release
//! the interpreter's lock.

#[cfg(feature = "lua")]
use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

#[cfg(feature = "lua")]
use crate::engine::shared::lock;
use crate::panics::caught;
#[cfg(feature = "lua")]
use crate::program::script::ScriptSource;
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

/// The report hooks of a script, in a Lua state of their own. ValueError if it cannot be loaded, and if a hook fails.
#[cfg(feature = "lua")]
#[pyclass(frozen, module = "tuibench_native")]
struct ScriptReport {
    source: LuaSource,
    script: Mutex<LuaScript>,
}

#[cfg(feature = "lua")]
#[pymethods]
impl ScriptReport {
    #[new]
    fn new(py: Python<'_>, given: &Bound<'_, PyAny>, tid: i64) -> PyResult<Self> {
        let source = decode::script_source(given)?;
        py.allow_threads(|| {
            guarded(|| {
                let script = Mutex::new(source.report(tid).map_err(PyValueError::new_err)?);
                source.take_output();
                Ok(Self { source, script })
            })
        })
    }

    /// Calls a hook with its figures, or ends the reports; returns what the script prints.
    #[pyo3(signature = (hook, figures))]
    fn call(&self, py: Python<'_>, hook: Option<&str>, figures: Vec<(String, f64)>) -> PyResult<String> {
        py.allow_threads(|| {
            guarded(|| {
                lock(&self.script).report(hook, figures).map_err(PyValueError::new_err)?;
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
