//! Drawing the calls of an attempt, and sending them.

use std::io;

use crate::engine::connection::calls::Writer;
use crate::engine::connection::{Connection, Next, State, ThreadContext, ROLLBACK, SERVER_GONE};
use crate::program::machine::Sink;
use crate::sys;
use crate::values::value::ProfileError;
use crate::values::value::Row;

impl Connection {
    /// Begins an attempt: the first one, or another after a back-off, with new values.
    pub(super) fn attempt(&mut self, context: &mut ThreadContext<'_>) -> Next {
        let running = match &mut self.running {
            Some(running) => running,
            None => return self.find_work(context),
        };
        if self.stream.script.is_some() {
            return self.begin_event(context);
        }
        let which = running.which;
        let is_first = running.attempt == 0;
        running.is_lazy =
            if is_first { self.stream.transaction(which).interactive } else { !self.stream.is_simple(which) };
        self.calls.clear();
        let drawn = if running.is_lazy {
            self.stream.begin(which);
            Ok(())
        } else {
            self.stream.calls(which, &mut Writer { forms: &self.forms, calls: &mut self.calls })
        };
        match drawn {
            Ok(()) => self.next_call(None, context),
            Err(fault) => self.profile_failed(fault, context),
        }
    }

    /// Prepares the next statement of an attempt for sending, or ends the transaction.
    pub(super) fn next_call(&mut self, rows: Option<Vec<Row>>, context: &mut ThreadContext<'_>) -> Next {
        let is_lazy = self.running.as_ref().map_or(false, |running| running.is_lazy);
        if is_lazy {
            if let Err(fault) = self.draw_call(rows) {
                return self.profile_failed(fault, context);
            }
        }
        let start = if self.calls.next == 0 { 0 } else { self.calls.ends[self.calls.next - 1].1 };
        match self.calls.ends.get(self.calls.next) {
            Some(&(statement, end)) => {
                self.calls.next += 1;
                let captures = self.forms.program.flat[statement].captures;
                self.link.response.begin(captures, &self.calls.bytes[start..end]);
                if let Some(running) = &mut self.running {
                    running.statement = statement;
                    running.sent_ns = sys::now_ns();
                }
                self.state = State::AwaitingResponse;
                self.is_rollback_unsent = false;
                self.unsent = start..end;
                Next::Bytes
            }
            None => match self.calls.fault.take() {
                Some(fault) => self.profile_failed(fault, context),
                None => self.complete(context),
            },
        }
    }

    /// Draws the next call of a lazy attempt, if there is one.
    fn draw_call(&mut self, rows: Option<Vec<Row>>) -> Result<(), ProfileError> {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        self.calls.clear();
        if let Some(statement) = self.stream.next(which, rows)? {
            Writer { forms: &self.forms, calls: &mut self.calls }.call(statement, self.stream.values())?;
        }
        Ok(())
    }

    /// Sends what the socket accepts. The thread calls it without the recorder's lock: `send` wakes the server, and
    /// on a busy host the sender is then preempted, for seconds where thousands wait for a processor.
    pub fn send_rest(&mut self) -> io::Result<()> {
        let source = if self.is_rollback_unsent { ROLLBACK } else { &self.calls.bytes };
        self.unsent.start += self.link.send(&source[self.unsent.clone()])?;
        Ok(())
    }

    /// The socket cannot send any more.
    pub fn unsendable(&mut self, context: &mut ThreadContext<'_>) -> Next {
        self.unsent = 0..0;
        self.lost(SERVER_GONE, context)
    }
}
