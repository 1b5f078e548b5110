//! The Python module `tuibench_native`: the interface for tuibench's `NativeEngine`.
//!
//! Only conversions: arguments to Rust values, results to built-in types. Calls that may wait for a thread release
//! the interpreter's lock.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::panics::caught;
use crate::python::engine::Engine;
use crate::python::program::{Program, Reader, Stream};
use crate::python::tls::TlsRecords;
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

#[pymodule]
fn tuibench_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    #[cfg(feature = "lua")]
    module.add_function(wrap_pyfunction!(declared, module)?)?;
    module.add_class::<Program>()?;
    module.add_class::<Stream>()?;
    module.add_class::<Reader>()?;
    module.add_class::<TlsRecords>()?;
    module.add_class::<Engine>()
}
