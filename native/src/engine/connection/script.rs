//! A connection that runs a script: its steps, counted and timed as those of a program.

use crate::engine::connection::link::Link;
use crate::engine::connection::{Connection, Next, State, ThreadContext, SERVER_GONE};
use crate::engine::shared::ReturnReason;
use crate::measure::recorder::Class;
use crate::measure::recorder::{Timed, MOST_TIMED};
use crate::program::script::{Answer, Phase, Step, Verdict};
use crate::sys;

/// The responses to a script's statements are kept up to this size.
pub const MOST_RESPONSE_BYTES: usize = 1 << 28;

/// An event that sends so many statements, and so many times more than others, is an endless loop.
const LEAST_ENDLESS: u64 = 1000;
const MOST_TIMES_MORE: u64 = 100;

/// Instead of the code of an error that a script counts itself.
const ERROR_OF_SCRIPT: u16 = 0;

impl Connection {
    pub(super) fn is_scripted(&self) -> bool {
        self.stream.script.is_some()
    }

    /// What a script does before its first event: it starts; after a loss it ends the event in flight; on a connection
    /// that it asked for, it goes on. None if it is ready.
    pub(super) fn start_script(&mut self, context: &mut ThreadContext<'_>) -> Option<Next> {
        let scripted = self.stream.script.as_mut()?;
        let answer = match scripted.phase {
            Phase::New => {
                scripted.phase = Phase::Starting;
                Answer::Start
            }
            Phase::Starting if std::mem::take(&mut scripted.is_reconnecting) => Answer::Reconnected,
            Phase::Running => {
                if std::mem::take(&mut scripted.is_reconnecting) && self.running.is_some() {
                    return Some(self.resume_script(Answer::Reconnected, context));
                }
                scripted.phase = Phase::Recovering;
                Answer::Lost
            }
            _ => return None,
        };
        Some(self.resume_script(answer, context))
    }

    /// The connection leaves: the script ends first.
    pub(super) fn end_script(&mut self, returned: ReturnReason, context: &mut ThreadContext<'_>) -> Next {
        match &mut self.stream.script {
            Some(scripted) if returned == ReturnReason::Left && scripted.phase == Phase::Ready => {
                scripted.phase = Phase::Ending;
                self.resume_script(Answer::End, context)
            }
            _ => Next::Return(returned),
        }
    }

    /// Begins an event.
    pub(super) fn begin_event(&mut self, context: &mut ThreadContext<'_>) -> Next {
        if let Some(scripted) = &mut self.stream.script {
            scripted.phase = Phase::Running;
            scripted.sent = 0;
        }
        self.resume_script(Answer::Event, context)
    }

    /// The pause of a script is over.
    pub(super) fn script_waited(&mut self, context: &mut ThreadContext<'_>) -> Next {
        self.resume_script(Answer::Waited, context)
    }

    /// A statement of a script succeeded.
    pub(super) fn script_done(&mut self, affected: u64, context: &mut ThreadContext<'_>) -> Next {
        let Self { stream, link: Link { response, .. }, calls, running, timed, .. } = self;
        let scripted = match &mut stream.script {
            Some(scripted) => scripted,
            None => return Next::Bytes,
        };
        let is_result = response.is_result();
        let answer = Answer::Done { affected, response: response.kept_mut() };
        let name = self.script_statement;
        let is_event = running.is_some();
        if let (Some(name), Some(running)) = (name, running.as_ref()) {
            let us = (sys::now_ns() - running.sent_ns).max(0) as u64 / 1000;
            if timed.len() < MOST_TIMED {
                timed.push(Timed { name: name as u32, us: us as u32, error: 0 });
            }
            context.recorder.latencies.record_statement(name, us);
            let class = if is_result { Class::Read } else { Class::Write };
            context.recorder.counters.count_statement(class, affected);
        } else {
            context.recorder.counters.besides += 1;
        }
        calls.clear();
        let step = scripted.script.resume(answer, &mut calls.bytes);
        if name.is_some() && is_event && scripted.script.has_committed() {
            context.recorder.counters.commits += 1;
        }
        self.take_step(step, context)
    }

    /// The server answered a statement of a script with an error.
    pub(super) fn script_failed(
        &mut self,
        code: u16,
        message: &str,
        context: &mut ThreadContext<'_>,
    ) -> Next {
        context.recorder.counters.rejected += 1;
        let is_expected = self.was_expected(code);
        let Self { stream, link: Link { response, .. }, calls, running, timed, .. } = self;
        let scripted = match &mut stream.script {
            Some(scripted) => scripted,
            None => return Next::Bytes,
        };
        if let (Some(name), Some(running)) = (self.script_statement, running) {
            context.recorder.counters.count_error(code);
            if timed.len() < MOST_TIMED {
                let us = (sys::now_ns() - running.sent_ns).max(0) / 1000;
                timed.push(Timed { name: name as u32, us: us as u32, error: code });
            }
        }
        let is_ignorable = is_expected || context.shared.error_policy.ignores(code);
        let answer = Answer::Failed { code, message, response: response.kept(), is_ignorable };
        calls.clear();
        let step = scripted.script.resume(answer, &mut calls.bytes);
        self.take_step(step, context)
    }

    /// The rollback of an event has succeeded, which the script did not send; false without a script.
    pub(super) fn script_rolled_back(&mut self) -> bool {
        let active = self.active;
        self.stream.script.as_mut().map(|scripted| scripted.script.rolled_back(active)).is_some()
    }

    /// Whether the script has asked for its event to begin again; once.
    pub(super) fn script_restarts(&mut self) -> bool {
        self.stream.script.as_mut().map_or(false, |scripted| std::mem::take(&mut scripted.is_restarting))
    }

    /// Whether a failed attempt leaves a transaction open: in the session that is used from now on.
    pub(super) fn leaves_transaction_open(&mut self, which: usize) -> bool {
        match &self.stream.script {
            Some(scripted) => match scripted.script.open_transaction() {
                Some(link) => self.use_link(link),
                None => false,
            },
            None => self.stream.transaction(which).explicit,
        }
    }

    /// Why an event that is aborted looks like an endless loop: it has sent far more statements than those that ended.
    pub(super) fn endless_event(&self, context: &ThreadContext<'_>) -> Option<String> {
        let sent = self.stream.script.as_ref()?.sent;
        let counters = &context.recorder.counters;
        let of_ended = (counters.reads + counters.writes + counters.others).saturating_sub(sent);
        let mean = of_ended.checked_div(counters.completed)?.max(1);
        if sent < MOST_TIMES_MORE * mean.max(LEAST_ENDLESS / MOST_TIMES_MORE) {
            return None;
        }
        let profile = &self.stream.program.profile;
        Some(format!(
            "{profile}: an event has sent {sent} statements and does not end; those that ended sent {mean} on average"
        ))
    }

    fn resume_script(&mut self, answer: Answer<'_>, context: &mut ThreadContext<'_>) -> Next {
        let Self { stream, calls, .. } = self;
        let scripted = match &mut stream.script {
            Some(scripted) => scripted,
            None => return Next::Bytes,
        };
        calls.clear();
        let step = scripted.script.resume(answer, &mut calls.bytes);
        self.take_step(step, context)
    }

    fn take_step(&mut self, step: Step, context: &mut ThreadContext<'_>) -> Next {
        match step {
            Step::Call { name } => {
                let link = self.stream.script.as_ref().map_or(0, |each| each.script.link());
                if !self.use_link(link) {
                    return self.lost(SERVER_GONE, context);
                }
                let reads_rows = self.stream.script.as_mut().map_or(false, |each| {
                    each.sent += u64::from(name.is_some());
                    each.script.reads_rows()
                });
                self.script_statement = name;
                match name {
                    Some(_) => self.link.response.begin(reads_rows, &self.calls.bytes),
                    None => self.link.response.begin_preparation(&self.calls.bytes),
                }
                if let Some(running) = &mut self.running {
                    running.sent_ns = sys::now_ns();
                }
                self.state = State::AwaitingResponse;
                self.is_rollback_unsent = false;
                self.unsent = 0..self.calls.bytes.len();
                Next::Bytes
            }
            Step::Sleep { microseconds } => {
                let until = sys::now_ns() + microseconds as i64 * 1000;
                self.state = State::Sleeping(until);
                Next::Time(until)
            }
            Step::Reconnect => match &mut self.stream.script {
                Some(scripted)
                    if scripted.phase == Phase::Running
                        || (scripted.phase == Phase::Starting && scripted.script.link() > 0) =>
                {
                    scripted.is_reconnecting = true;
                    Next::Return(ReturnReason::Reconnecting(scripted.script.link()))
                }
                Some(scripted) if scripted.script.link() > 0 => self.resume_script(Answer::Lost, context),
                // Before its first event a connection is new, and behind its last one it ends.
                _ => self.resume_script(Answer::Reconnected, context),
            },
            Step::Verdict(verdict) => self.take_verdict(verdict, context),
        }
    }

    fn take_verdict(&mut self, verdict: Verdict, context: &mut ThreadContext<'_>) -> Next {
        let scripted = match &mut self.stream.script {
            Some(scripted) => scripted,
            None => return Next::Bytes,
        };
        for _ in 0..scripted.script.take_errors() {
            context.recorder.counters.count_error(ERROR_OF_SCRIPT);
        }
        let phase = std::mem::replace(&mut scripted.phase, Phase::Ready);
        if let Verdict::Fault(message) = verdict {
            return self.fail_and_return(ReturnReason::ScriptFault(message), context);
        }
        match (phase, verdict) {
            (Phase::Starting, Verdict::Begun) | (Phase::Recovering, _) => {
                self.state = State::Ready;
                self.find_work(context)
            }
            (Phase::Ending, _) => {
                scripted.phase = Phase::Over;
                self.use_link(0);
                // Statements that the script has closed: nothing is answered, and the end frees them anyway.
                self.unsent = 0..self.calls.bytes.len();
                self.is_rollback_unsent = false;
                let _ = self.send_rest();
                Next::Return(ReturnReason::Left)
            }
            (Phase::Running, Verdict::Restart(code, message)) => {
                scripted.is_restarting = true;
                self.statement_failed(code, message, context)
            }
            (Phase::Running, Verdict::Failed(code, message)) => self.statement_failed(code, message, context),
            (Phase::Running, Verdict::Over) => {
                self.is_leaving = true;
                self.complete(context)
            }
            (Phase::Running, _) => self.complete(context),
            (_, Verdict::Restart(code, message) | Verdict::Failed(code, message)) => {
                self.fail_and_return(ReturnReason::ServerError(code, message), context)
            }
            (_, Verdict::Over) => Next::Return(ReturnReason::Left),
            _ => Next::Bytes,
        }
    }
}
