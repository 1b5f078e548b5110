//! Programs, streams and response readers as Python objects: for the tests that compare both engines.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::connection::calls::{Calls, Forms, Writer};
use crate::panics::lock;
use crate::program::bytecode::Code;
use crate::program::machine::Sink;
use crate::program::{self, stream};
use crate::protocol::packet::Form;
use crate::protocol::response::{self, Outcome};
use crate::protocol::rows::{RowReader, Unreadable};
use crate::python::{decode, fault, guarded};
use crate::values::limits::TOO_MANY_VALUES;
use crate::values::value::{python_float, Value};

/// A program that this engine supports; ValueError names what it does not support.
#[pyclass(frozen, module = "tuibench_native")]
pub struct Program(pub Arc<program::Program>);

#[pymethods]
impl Program {
    #[new]
    fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        guarded(|| Ok(Self(Arc::new(decode::program(given)?))))
    }
}

/// A stream of connection `number`; `keys` gives the key that Python's Random makes of a text.
pub fn new_stream(
    program: &Program,
    seed: &str,
    number: i64,
    keys: &Bound<'_, PyAny>,
    shared: Option<Arc<Code>>,
) -> PyResult<stream::Stream> {
    let failed = std::cell::RefCell::new(None);
    let key = |text: &str| {
        let made = keys.call1((text,)).and_then(|key| key.extract::<Vec<u8>>());
        made.unwrap_or_else(|error| {
            *failed.borrow_mut() = Some(error);
            Vec::new()
        })
    };
    let made = guarded(|| stream::Stream::new(program.0.clone(), seed, number, &key, shared).map_err(fault));
    match failed.take() {
        Some(error) => Err(error),
        None => made,
    }
}

/// 0 is a statement sent as text.
pub fn forms_of(program: &Program, identities: &[u32], no_backslash_escapes: bool) -> PyResult<Forms> {
    if identities.len() != program.0.flat.len() {
        return Err(PyValueError::new_err("a form for each statement is needed"));
    }
    let form = |&identity| if identity == 0 { Form::Text } else { Form::Prepared(identity) };
    Ok(Forms::new(program.0.clone(), identities.iter().map(form).collect(), no_backslash_escapes))
}

/// The packets of one connection without a server, for comparison with those of Python.
#[pyclass(frozen, module = "tuibench_native")]
pub struct Stream {
    stream: Mutex<stream::Stream>,
    forms: Forms,
}

type Call = (usize, Py<PyBytes>);

#[pymethods]
impl Stream {
    /// `like` is a stream of this program and seed, whose code is shared.
    #[new]
    #[pyo3(signature = (program, seed, number, keys, identities, no_backslash_escapes, like=None))]
    fn new(
        program: &Program,
        seed: &str,
        number: i64,
        keys: &Bound<'_, PyAny>,
        identities: Vec<u32>,
        no_backslash_escapes: bool,
        like: Option<&Bound<'_, Self>>,
    ) -> PyResult<Self> {
        let forms = forms_of(program, &identities, no_backslash_escapes)?;
        let shared = like.map(|other| lock(&other.get().stream).code());
        Ok(Self { stream: Mutex::new(new_stream(program, seed, number, keys, shared)?), forms })
    }

    fn draw(&self) -> usize {
        lock(&self.stream).draw()
    }

    fn set_weights(&self, weights: Vec<f64>) {
        lock(&self.stream).set_weights(&weights);
    }

    fn pause(&self, last: Option<usize>, following: usize) -> f64 {
        lock(&self.stream).pause(last, following)
    }

    fn is_simple(&self, which: usize) -> bool {
        lock(&self.stream).is_simple(which)
    }

    fn is_spent(&self) -> bool {
        lock(&self.stream).is_spent()
    }

    fn takes_leave(&self) -> bool {
        lock(&self.stream).takes_leave()
    }

    /// All calls of a transaction that takes no rows back.
    fn calls(&self, py: Python<'_>, which: usize) -> PyResult<Vec<Call>> {
        let mut calls = Calls::default();
        let mut writer = Writer { forms: &self.forms, calls: &mut calls };
        lock(&self.stream).calls(which, &mut writer).map_err(fault)?;
        calls.fault.take().map_or(Ok(()), |why| Err(fault(why)))?;
        let mut start = 0;
        let mut made = Vec::new();
        for &(statement, end) in &calls.ends {
            made.push((statement, PyBytes::new(py, &calls.bytes[start..end]).unbind()));
            start = end;
        }
        Ok(made)
    }

    /// Begins a transaction whose calls `next` gives.
    fn begin(&self, which: usize) {
        lock(&self.stream).begin(which);
    }

    /// The next call, given the rows of the one before; None at the end.
    fn next(
        &self,
        py: Python<'_>,
        which: usize,
        rows: Option<Vec<Vec<Bound<'_, PyAny>>>>,
    ) -> PyResult<Option<Call>> {
        let rows = match rows {
            Some(rows) => {
                let read = |row: Vec<Bound<'_, PyAny>>| row.iter().map(decode::value).collect();
                Some(rows.into_iter().map(read).collect::<PyResult<Vec<Vec<Value>>>>()?)
            }
            None => None,
        };
        let mut stream = lock(&self.stream);
        let statement = match stream.next(which, rows).map_err(fault)? {
            Some(statement) => statement,
            None => return Ok(None),
        };
        let mut calls = Calls::default();
        Writer { forms: &self.forms, calls: &mut calls }.call(statement, stream.values()).map_err(fault)?;
        calls.fault.take().map_or(Ok(()), |why| Err(fault(why)))?;
        Ok(Some((statement, PyBytes::new(py, &calls.bytes).unbind())))
    }
}

/// Parses responses, for comparison with Python's parser.
#[pyclass(frozen, module = "tuibench_native")]
pub struct Reader {
    response: Mutex<response::Response>,
    rows: Mutex<RowReader>,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(without_eof: bool, is_binary: bool, definitions: Vec<Vec<u8>>) -> Self {
        let mut response = response::Response::new(without_eof, true);
        response.begin(true, &[]);
        let rows = RowReader::new(is_binary, without_eof, &definitions);
        Self { response: Mutex::new(response), rows: Mutex::new(rows) }
    }

    /// None while the response is incomplete; then the affected rows, or code and message of an error (code 2014 for
    /// bytes that are no response). Then the next response begins.
    fn feed(&self, py: Python<'_>, data: &[u8]) -> PyResult<PyObject> {
        let mut response = lock(&self.response);
        let outcome = response.feed(data);
        let told = match outcome {
            None => return Ok(py.None()),
            Some(Outcome::Done(affected)) => affected.into_pyobject(py)?.into_any().unbind(),
            Some(Outcome::ServerError(code, message)) => {
                (code, message).into_pyobject(py)?.into_any().unbind()
            }
            Some(Outcome::Broken(message)) => (2014, message).into_pyobject(py)?.into_any().unbind(),
        };
        response.begin(true, &[]);
        Ok(told)
    }

    /// The rows of a whole response: each value as its type's name and text.
    fn rows(&self, response: &[u8]) -> PyResult<Vec<Vec<(&'static str, String)>>> {
        let rows = lock(&self.rows).read(response).map_err(|why| match why {
            Unreadable::Malformed => PyValueError::new_err("skewed"),
            Unreadable::Encoding => PyValueError::new_err("not in utf8mb4"),
            Unreadable::TooMany => PyValueError::new_err(TOO_MANY_VALUES),
        })?;
        Ok(rows.iter().map(|row| row.iter().map(shown).collect()).collect())
    }
}

fn shown(value: &Value) -> (&'static str, String) {
    let text = match value {
        Value::Null => String::new(),
        Value::Bool(is) => is.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => python_float(*number),
        Value::Decimal(number) => number.to_string(),
        Value::Text(text) => text.to_string(),
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::List(items) => items.len().to_string(),
        Value::Moment(moment) => format!("{moment:?}"),
        Value::Date(date) => format!("{:04}-{:02}-{:02}", date.year, date.month, date.day),
        Value::Span(span) => span.0.to_string(),
    };
    (value.kind(), text)
}

/// A connection that returned: its number, the reason, and code and message of the error that ends the load.
pub type Back = (i64, &'static str, u16, String);
