//! Errors: rollback, back-off and another attempt, or the end of the transaction or of the connection.

use crate::engine::connection::{Connection, Next, State, ThreadContext, OUT_OF_SYNC, ROLLBACK, SERVER_GONE};
use crate::engine::shared::ReturnReason;
use crate::measure::recorder::Class;
use crate::sys;
use crate::values::value::ProfileError;

const INTERRUPTED: u16 = 1317;
/// A statement was ended for its time limit: by MariaDB's max_statement_time, or MySQL's max_execution_time.
const OUT_OF_TIME: [u16; 2] = [1969, 3024];
const FIRST_BACK_OFF_NS: u64 = 1_000_000;
const LONGEST_BACK_OFF_NS: u64 = 100_000_000;

impl Connection {
    /// A statement failed: first a rollback, if the transaction was begun.
    pub(super) fn statement_failed(
        &mut self,
        code: u16,
        message: String,
        context: &mut ThreadContext<'_>,
    ) -> Next {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        if !self.leaves_transaction_open(which) {
            return self.retry_or_give_up(code, message, context);
        }
        self.link.response.begin(false, ROLLBACK);
        self.state = State::RollingBack(code, message);
        self.is_rollback_unsent = true;
        self.unsent = 0..ROLLBACK.len();
        Next::Bytes
    }

    pub(super) fn retry_or_give_up(
        &mut self,
        code: u16,
        message: String,
        context: &mut ThreadContext<'_>,
    ) -> Next {
        let error_policy = &context.shared.error_policy;
        let is_ignored = self.script_restarts() || error_policy.ignores(code) || self.was_expected(code);
        // A statement that was ended for its time limit is late: whoever waits for it decides whether to send it again.
        let is_out_of_time = OUT_OF_TIME.contains(&code);
        let is_ignored = is_ignored && !is_out_of_time;
        if !is_ignored && !is_out_of_time && error_policy.stops_on_error {
            return self.fail_and_return(ReturnReason::ServerError(code, message), context);
        }
        let mut running = match self.running.take() {
            Some(running) => running,
            None => return self.find_work(context),
        };
        let counters = &mut context.recorder.counters;
        if !is_ignored || running.attempt == error_policy.max_retries {
            counters.failed += 1;
            counters.in_flight -= 1;
            context.shared.gaps.failed();
            self.user_came_back(&running, sys::now_ns(), context);
            return self.after_transaction(running.sent_ns, context);
        }
        counters.retries += 1;
        counters.retried[running.which] += 1;
        let attempt = running.attempt;
        running.attempt += 1;
        self.running = Some(running);
        let until = sys::now_ns() + self.back_off_ns(attempt);
        self.state = State::BackingOff(until);
        Next::Time(until)
    }

    /// Whether this is the announced interruption, which is retried once.
    pub(super) fn was_expected(&mut self, code: u16) -> bool {
        code == INTERRUPTED && std::mem::take(&mut self.is_kill_expected)
    }

    /// Exponential, with a maximum and jitter.
    fn back_off_ns(&mut self, attempt: u64) -> i64 {
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let longest = (FIRST_BACK_OFF_NS << attempt.min(32)).min(LONGEST_BACK_OFF_NS);
        (longest / 2 + self.jitter % (longest / 2)) as i64
    }

    /// The connection is lost, and with it the transaction in flight.
    pub(super) fn lost(&mut self, code: u16, context: &mut ThreadContext<'_>) -> Next {
        self.release_reserved(context);
        if self.running.is_some() {
            context.recorder.counters.count_error(code);
        }
        context.recorder.counters.unknown_commits += u64::from(code != SERVER_GONE && self.is_fate_unknown());
        self.fail_and_return(ReturnReason::Lost, context)
    }

    /// The server has violated the protocol: the connection is unusable.
    pub(super) fn broken(&mut self, what: &str, context: &mut ThreadContext<'_>) -> Next {
        context.recorder.counters.count_error(OUT_OF_SYNC);
        context.recorder.counters.unknown_commits += u64::from(self.is_fate_unknown());
        self.fail_and_return(ReturnReason::Broken(what.to_string()), context)
    }

    /// Whether what ends the transaction was sent, and not answered.
    fn is_fate_unknown(&self) -> bool {
        let running = match &self.running {
            Some(running) if matches!(self.state, State::AwaitingResponse) && !self.is_rollback_unsent => {
                running
            }
            _ => return false,
        };
        if let Some(scripted) = &self.stream.script {
            return self.script_statement.is_some() && scripted.script.is_committing();
        }
        let (transaction, flat) =
            (self.stream.transaction(running.which), &self.forms.program.flat[running.statement]);
        transaction.writes && if transaction.explicit { flat.is_commit } else { flat.class == Class::Write }
    }

    /// A bug: the transaction in flight fails, and the load ends.
    pub fn panicked(&mut self, message: String, context: &mut ThreadContext<'_>) -> Next {
        self.release_reserved(context);
        self.unsent = 0..0;
        self.fail_and_return(ReturnReason::Panicked(message), context)
    }

    pub(super) fn profile_failed(&mut self, fault: ProfileError, context: &mut ThreadContext<'_>) -> Next {
        let which = self.running.as_ref().map_or(0, |running| running.which);
        let transaction = &self.stream.transaction(which).name;
        let returned = match fault {
            ProfileError::Shape(message) => ReturnReason::Faulty { message, is_usage: true },
            ProfileError::Values(message) => {
                let profile = &self.stream.program.profile;
                let message =
                    format!("{profile}: the transaction '{transaction}' cannot be computed: {message}");
                ReturnReason::Faulty { message, is_usage: false }
            }
        };
        self.fail_and_return(returned, context)
    }

    /// The transaction in flight failed; the connection returns to Python.
    pub(super) fn fail_and_return(
        &mut self,
        returned: ReturnReason,
        context: &mut ThreadContext<'_>,
    ) -> Next {
        if let Some(running) = self.running.take() {
            context.recorder.counters.failed += 1;
            context.recorder.counters.in_flight -= 1;
            context.shared.gaps.failed();
            self.user_left(&running, context);
        }
        Next::Return(returned)
    }
}
