//! The calls of an attempt as packets.

use std::sync::Arc;

use crate::program::machine::Sink;
use crate::program::script::Encoding;
use crate::program::Program;
use crate::protocol::packet::{write_execution, write_text, Form};
use crate::values::value::{ProfileError, Value};

/// How a connection sends its statements: one form for each entry of the flat list.
pub struct Forms {
    pub program: Arc<Program>,
    forms: Vec<Form>,
    no_backslash_escapes: bool,
}

impl Forms {
    pub fn new(program: Arc<Program>, forms: Vec<Form>, no_backslash_escapes: bool) -> Self {
        Self { program, forms, no_backslash_escapes }
    }

    pub fn encoding(&self, without_eof: bool) -> Encoding {
        Encoding { without_eof, no_backslash_escapes: self.no_backslash_escapes }
    }

    pub fn write(&self, statement: usize, values: &[Value], to: &mut Vec<u8>) -> Result<(), ProfileError> {
        match self.forms[statement] {
            Form::Prepared(identity) => write_execution(identity, values, to),
            Form::Text => {
                write_text(&self.program.flat[statement].pieces, values, self.no_backslash_escapes, to)
            }
        }
    }
}

/// A buffer that has grown larger is not kept for the next attempt.
const LARGE_BYTES: usize = 1 << 20;

/// The packets of an attempt, in sequence.
#[derive(Default)]
pub struct Calls {
    pub bytes: Vec<u8>,
    /// Each statement, and where its packet ends.
    pub ends: Vec<(usize, usize)>,
    pub next: usize,
    /// Why the call after them cannot be written: an error when its turn comes.
    pub fault: Option<ProfileError>,
}

impl Calls {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(LARGE_BYTES);
        self.ends.clear();
        self.next = 0;
        self.fault = None;
    }
}

/// Writes calls as packets.
pub struct Writer<'a> {
    pub forms: &'a Forms,
    pub calls: &'a mut Calls,
}

impl Sink for Writer<'_> {
    fn call(&mut self, statement: usize, values: &[Value]) -> Result<(), ProfileError> {
        if self.calls.fault.is_none() {
            match self.forms.write(statement, values, &mut self.calls.bytes) {
                Ok(()) => self.calls.ends.push((statement, self.calls.bytes.len())),
                Err(fault) => self.calls.fault = Some(fault),
            }
        }
        Ok(())
    }
}
