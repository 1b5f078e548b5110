//! Between two transactions: whether to leave, wait, think or begin the next one.

use std::sync::atomic::Ordering;

use crate::engine::connection::{Connection, Next, Running, State, ThreadContext};
use crate::engine::shared::ReturnReason;
use crate::pacing::WorkGrant;
use crate::panics::lock;
use crate::sys;

impl Connection {
    /// Between two transactions: leaves, waits, or starts the next one.
    pub(super) fn find_work(&mut self, context: &mut ThreadContext<'_>) -> Next {
        if let Some(next) = self.start_script(context) {
            return next;
        }
        if let Some(returned) = self.reason_to_return(context) {
            self.release_reserved(context);
            context.wakes_all |= lock(&context.shared.queue).wakes_idle();
            return self.end_script(returned, context);
        }
        if context.shared.is_paused() {
            self.release_reserved(context);
            self.state = State::Idle;
            return Next::Bytes;
        }
        context.shared.update_weights(&mut self.stream);
        if !context.shared.is_open() {
            if let Some(until) = self.think() {
                return Next::Time(until);
            }
        }
        match self.take_work(context) {
            WorkGrant::Start(intended) => self.start(Some(intended), context),
            WorkGrant::StartAtOnce => self.start(None, context),
            WorkGrant::Reserved(at) => {
                self.state = State::Due(at);
                Next::Time(context.shared.wake_time(at))
            }
            WorkGrant::Nothing => {
                self.state = State::Idle;
                // The last work may just have been taken: then this connection is done.
                match self.reason_to_return(context) {
                    Some(returned) => self.end_script(returned, context),
                    None => Next::Bytes,
                }
            }
        }
    }

    fn reason_to_return(&mut self, context: &ThreadContext<'_>) -> Option<ReturnReason> {
        if self.is_leaving || context.shared.is_over() || self.stream.is_spent() {
            return Some(ReturnReason::Left);
        }
        if self.stream.takes_leave() {
            return Some(ReturnReason::NewLogin);
        }
        let reconnect = context.shared.reconnect;
        if reconnect > 0 && self.stream.since_login >= reconnect {
            return Some(ReturnReason::LoginDue);
        }
        self.is_park_requested.then_some(ReturnReason::Parked)
    }

    /// The end of the think time before the next transaction, if it is not over.
    fn think(&mut self) -> Option<i64> {
        if !self.stream.has_think_time() {
            return None;
        }
        let now = sys::now_ns();
        if self.following.is_none() {
            let following = self.stream.draw();
            self.following = Some(following);
            let seconds = self.stream.pause(self.last, following);
            self.thinking_until = now + (seconds * sys::NS_PER_SECOND as f64) as i64;
        }
        if now >= self.thinking_until {
            return None;
        }
        self.state = State::Thinking;
        Some(self.thinking_until)
    }

    fn take_work(&mut self, context: &mut ThreadContext<'_>) -> WorkGrant {
        let shared = context.shared;
        if !shared.is_open() && !shared.is_limited.load(Ordering::Acquire) {
            return WorkGrant::StartAtOnce;
        }
        let now = sys::now_ns();
        let mut queue = lock(&shared.queue);
        let abandoned = queue.callers_counts().0;
        self.serves_users = queue.has_users();
        if let State::Due(at) = self.state {
            if now < at && queue.is_open() && queue.holds(at, self.number) {
                if !queue.has_due(now) {
                    return WorkGrant::Reserved(at);
                }
                // A further attempt came due before the arrival that it holds.
                context.wakes_all |= queue.release_reserved(at, self.number);
            }
            self.state = State::Ready;
            let is_due = now >= at;
            if is_due {
                context.recorder.latencies.late.record((now - at) as u64 / 1000);
            }
            if let Some(intended) = queue.claim(at, self.number, now) {
                context.wakes_all |= queue.is_finished();
                return WorkGrant::Start(intended);
            }
        }
        let given = queue.take(now, self.number);
        let has_taken = matches!(given, WorkGrant::Start(_) | WorkGrant::StartAtOnce)
            || queue.callers_counts().0 > abandoned;
        context.wakes_all |= has_taken && queue.is_finished();
        given
    }

    pub(super) fn release_reserved(&mut self, context: &mut ThreadContext<'_>) {
        if let State::Due(at) = self.state {
            self.state = State::Idle;
            context.wakes_all |= lock(&context.shared.queue).release_reserved(at, self.number);
        }
    }

    /// The user of a transaction that has ended thinks, and then asks again.
    pub(super) fn user_came_back(
        &mut self,
        running: &Running,
        ended_ns: i64,
        context: &mut ThreadContext<'_>,
    ) {
        if let (true, Some(intended_ns)) = (running.has_user, running.intended_ns) {
            context.recorder.latencies.wait.record((running.started_ns - intended_ns).max(0) as u64 / 1000);
            let seconds = self.stream.pause(Some(running.which), running.which);
            let at = ended_ns + (seconds * sys::NS_PER_SECOND as f64) as i64;
            lock(&context.shared.queue).user_came_back(at);
        }
    }

    /// The user of a transaction that was interrupted with its connection asks again, on another.
    pub(super) fn user_left(&mut self, running: &Running, context: &mut ThreadContext<'_>) {
        if running.has_user {
            let mut queue = lock(&context.shared.queue);
            queue.user_came_back(sys::now_ns());
            context.wakes_all |= queue.wakes_idle();
        }
    }

    fn start(&mut self, intended_ns: Option<i64>, context: &mut ThreadContext<'_>) -> Next {
        let which = self.following.take().unwrap_or_else(|| self.stream.draw());
        let counters = &mut context.recorder.counters;
        counters.in_flight += 1;
        counters.closed_loop_starts += u64::from(intended_ns.is_none());
        self.last = Some(which);
        self.stream.since_login += 1;
        self.timed.clear();
        let ended_ns = context.ended_ns.take().filter(|_| intended_ns.is_none());
        let started_ns = ended_ns.unwrap_or_else(sys::now_ns);
        context.shared.gaps.started(intended_ns.unwrap_or(started_ns));
        self.running = Some(Running {
            which,
            intended_ns,
            has_user: self.serves_users && intended_ns.is_some(),
            started_ns,
            attempt: 0,
            is_lazy: false,
            statement: 0,
            sent_ns: 0,
        });
        self.attempt(context)
    }
}
