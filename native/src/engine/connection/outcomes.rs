//! Responses, and the end of a transaction that succeeded.

use std::sync::atomic::Ordering;

use crate::engine::connection::{Connection, Next, State, ThreadContext, LOST_CODES};
use crate::engine::shared::ReturnReason;
use crate::measure::recorder::Class;
use crate::measure::recorder::{Timed, MOST_TIMED};
use crate::panics::lock;
use crate::protocol::response::Outcome;
use crate::protocol::rows::Unreadable;
use crate::sys;
use crate::values::limits;
use crate::values::value::ProfileError;

const MALFORMED_ROW: &str = "its rows do not match their column definitions";
const INVALID_CHARACTER_STRING: u16 = 1300;
const NOT_ENCODED: &str = "the server sent a text that is not in utf8mb4: \
    leave character_set_results (SET NAMES) as the login has set it";

impl Connection {
    /// A response is complete.
    pub(super) fn response_complete(&mut self, outcome: Outcome, context: &mut ThreadContext<'_>) -> Next {
        let rollback = match std::mem::replace(&mut self.state, State::AwaitingResponse) {
            State::RollingBack(code, message) => Some((code, message)),
            _ => None,
        };
        let delay = context.shared.delay_ns.load(Ordering::Relaxed) as i64;
        let is_lost = match &outcome {
            Outcome::Broken(_) => true,
            Outcome::ServerError(code, _) => LOST_CODES.contains(code),
            Outcome::Done(_) => false,
        };
        if delay == 0 || is_lost {
            return self.handle_outcome(outcome, rollback, context);
        }
        let until = sys::now_ns() + delay;
        self.state = State::Delayed(until, outcome, rollback);
        Next::Time(until)
    }

    pub(super) fn handle_outcome(
        &mut self,
        outcome: Outcome,
        rollback: Option<(u16, String)>,
        context: &mut ThreadContext<'_>,
    ) -> Next {
        match (outcome, rollback) {
            (Outcome::Broken(what), _) => self.broken(what, context),
            (Outcome::ServerError(code, _), _) if LOST_CODES.contains(&code) => self.lost(code, context),
            (Outcome::ServerError(code, message), None) if self.is_scripted() => {
                self.script_failed(code, &message, context)
            }
            (Outcome::Done(affected), None) if self.is_scripted() => self.script_done(affected, context),
            (Outcome::ServerError(code, message), rollback) => {
                context.recorder.counters.count_error(code);
                context.recorder.counters.rejected += 1;
                self.time_error(code);
                if rollback.is_some() {
                    return self.fail_and_return(ReturnReason::ServerError(code, message), context);
                }
                self.statement_failed(code, message, context)
            }
            (Outcome::Done(_), Some((code, message))) => {
                context.recorder.counters.others += 1;
                if self.script_rolled_back() {
                    // Another session of the script may have a transaction, too.
                    return self.statement_failed(code, message, context);
                }
                self.retry_or_give_up(code, message, context)
            }
            (Outcome::Done(affected), None) => self.statement_done(affected, context),
        }
    }

    /// A statement of a transaction succeeded.
    fn statement_done(&mut self, affected: u64, context: &mut ThreadContext<'_>) -> Next {
        let (statement, sent_ns) = match &self.running {
            Some(running) => (running.statement, running.sent_ns),
            None => return self.find_work(context),
        };
        let flat = &self.forms.program.flat[statement];
        let latency_us = (sys::now_ns() - sent_ns).max(0) as u64 / 1000;
        if self.timed.len() < MOST_TIMED {
            self.timed.push(Timed { name: flat.latency as u32, us: latency_us as u32, error: 0 });
        }
        context.recorder.latencies.record_statement(flat.latency, latency_us);
        let (class, captures) = (flat.class, flat.captures);
        if !captures {
            context.recorder.counters.count_statement(class, affected);
            return self.next_call(None, context);
        }
        self.captured(statement, class, context)
    }

    /// Records the time of a statement that failed.
    fn time_error(&mut self, error: u16) {
        if let (Some(running), true) = (&self.running, self.timed.len() < MOST_TIMED) {
            let us = (sys::now_ns() - running.sent_ns).max(0) / 1000;
            let name = self.forms.program.flat[running.statement].latency as u32;
            self.timed.push(Timed { name, us: us as u32, error });
        }
    }

    fn captured(&mut self, statement: usize, class: Class, context: &mut ThreadContext<'_>) -> Next {
        let read = match self.readers.get_mut(&statement) {
            Some(reader) => reader.read(self.link.response.kept()),
            None => Err(Unreadable::Malformed),
        };
        match read {
            Ok(rows) => {
                context.recorder.counters.count_statement(class, rows.len() as u64);
                self.next_call(Some(rows), context)
            }
            Err(Unreadable::Malformed) => self.broken(MALFORMED_ROW, context),
            Err(Unreadable::Encoding) => {
                context.recorder.counters.count_error(INVALID_CHARACTER_STRING);
                context.recorder.counters.rejected += 1;
                self.statement_failed(INVALID_CHARACTER_STRING, NOT_ENCODED.to_string(), context)
            }
            Err(Unreadable::TooMany) => {
                self.profile_failed(ProfileError::values(limits::TOO_MANY_VALUES), context)
            }
        }
    }

    /// The transaction is complete.
    pub(super) fn complete(&mut self, context: &mut ThreadContext<'_>) -> Next {
        let running = match self.running.take() {
            Some(running) => running,
            None => return self.find_work(context),
        };
        let ended_ns = sys::now_ns();
        let recorder = &mut *context.recorder;
        recorder.counters.in_flight -= 1;
        recorder.counters.completed += 1;
        context.shared.gaps.completed(ended_ns);
        let transaction = &self.stream.program.transactions[running.which];
        if running.is_lazy && self.forms.program.flat[running.statement].is_rollback {
            recorder.counters.rolled_back[running.which] += 1;
        } else if transaction.explicit {
            recorder.counters.commits += 1;
        }
        let busy_us = (ended_ns - running.started_ns).max(0) as u64 / 1000;
        self.figures.add(busy_us);
        let response_us = match running.intended_ns {
            None => busy_us,
            Some(intended) => {
                recorder.latencies.service.record(busy_us);
                (ended_ns - intended).max(0) as u64 / 1000
            }
        };
        match context.shared.deadline_us.load(Ordering::Relaxed) {
            0 => {}
            deadline_us if response_us <= deadline_us => recorder.counters.good += 1,
            _ => recorder.counters.late += 1,
        }
        recorder.latencies.record_response(running.which, response_us);
        recorder.latencies.slowest.offer(running.which, response_us, busy_us, &self.timed);
        self.user_came_back(&running, ended_ns, context);
        if let (true, Some(intended_ns)) =
            (context.shared.follows_ends.load(Ordering::Acquire), running.intended_ns)
        {
            lock(&context.shared.queue).answered(intended_ns, running.started_ns, ended_ns);
        }
        context.ended_ns = Some(ended_ns);
        self.after_transaction(running.sent_ns, context)
    }

    /// Continues with the next transaction; after one that sent nothing, other connections come first.
    pub(super) fn after_transaction(&mut self, sent_ns: i64, context: &mut ThreadContext<'_>) -> Next {
        self.state = State::Ready;
        if sent_ns == 0 {
            return Next::Again;
        }
        self.find_work(context)
    }
}
