//! The engine as a Python object.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::callers::{Order, Policy};
use crate::engine::connection::layers::{Encryption, Layers};
use crate::engine::connection::link::{FurtherLink, Link};
use crate::engine::connection::{Command, Connection};
use crate::engine::shared::{ErrorPolicy, ReturnReason, Shared};
use crate::engine::{self, ConnectionFairness, FairnessStats};
use crate::measure::gaps::CompletionGaps;
use crate::measure::histogram::Histogram;
use crate::measure::recorder::{Counters, SlowTransaction, Timed};
use crate::pacing::{ArrivalSchedule, Reassignment, WorkQueue};
use crate::panics::lock;
use crate::program::bytecode::Code;
use crate::program::script::{Encoding, Scripted};
use crate::protocol::rows::RowReader;
use crate::python::program::{forms_of, new_stream, Back, Program};
use crate::python::tls::{taken, TlsRecords};
use crate::sys;
use crate::values::mt19937::Mt19937;

/// The default of `--net-timeout`.
const NET_TIMEOUT_NS: u64 = 30 * sys::NS_PER_SECOND as u64;

/// Runs the transactions of one worker.
#[pyclass(frozen, module = "tuibench_native")]
pub struct Engine {
    program: Program,
    seed: String,
    /// Of the first stream.
    code: Mutex<Option<Arc<Code>>>,
    engine: engine::Engine,
}

#[pymethods]
impl Engine {
    /// `ignored` are the error codes that are retried (None: all). `phase` is where evenly spaced arrivals begin, as
    /// a share of their gap; `pacer_key` seeds those that are not. `limit` is how many transactions may start, `reconnect`
    /// after how many a connection logs in again.
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (program, seed, *, ignored, max_retries, stops_on_error, is_constant, phase, pacer_key, limit, most_threads, reconnect))]
    fn new(
        program: &Program,
        seed: String,
        ignored: Option<HashSet<u16>>,
        max_retries: u64,
        stops_on_error: bool,
        is_constant: bool,
        phase: f64,
        pacer_key: &[u8],
        limit: Option<u64>,
        most_threads: usize,
        reconnect: u64,
    ) -> PyResult<Self> {
        let pauses = Mt19937::from_key(&[pacer_key, b":callers"].concat());
        let arrivals = ArrivalSchedule::new(Mt19937::from_key(pacer_key), is_constant, phase);
        let weights: Vec<f64> = program.0.transactions.iter().map(|transaction| transaction.weight).collect();
        let shared = Shared {
            program: program.0.clone(),
            error_policy: ErrorPolicy { ignored, max_retries, stops_on_error },
            reconnect,
            queue: Mutex::new(WorkQueue::new(arrivals, limit, pauses)),
            is_open: AtomicBool::new(false),
            is_limited: AtomicBool::new(limit.is_some()),
            is_paused: AtomicBool::new(false),
            is_failed: AtomicBool::new(false),
            delay_ns: AtomicU64::new(0),
            deadline_us: AtomicU64::new(0),
            follows_ends: AtomicBool::new(false),
            net_timeout_ns: AtomicU64::new(NET_TIMEOUT_NS),
            gaps: CompletionGaps::default(),
            weights: Mutex::new(weights.into()),
            weights_version: AtomicU64::new(0),
            streams: Mutex::default(),
            further: Mutex::default(),
            returned: Mutex::default(),
            notifier: sys::Notifier::new()?,
        };
        let program = Program(program.0.clone());
        Ok(Self { program, seed, code: Mutex::default(), engine: engine::Engine::new(shared, most_threads) })
    }

    /// The descriptor that is readable when `returned` has entries.
    fn fileno(&self) -> i32 {
        self.engine.shared.notifier.fd()
    }

    /// Starts the figures of a connection.
    fn admit(&self, number: i64) {
        self.engine.admit(number);
    }

    /// The connection has ended.
    fn dismiss(&self, number: i64) {
        self.engine.dismiss(number);
    }

    /// Runs a connection over a copy of its descriptor, until `returned` returns it. `identities` are the server's
    /// numbers of the prepared statements (0: as text), `readers` those that capture: their index, whether their
    /// rows are binary, and the columns' definitions as far as they are known. `records` are those of a connection
    /// with TLS, which the engine uses in the meantime; `is_compressed` is whether packets travel in frames. `is_same` if
    /// the engine has had this session before.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (number, descriptor, keys, identities, readers, without_eof, no_backslash_escapes, is_compressed, records, *, is_same = false))]
    fn attach(
        &self,
        number: i64,
        descriptor: i32,
        keys: &Bound<'_, PyAny>,
        identities: Vec<u32>,
        readers: Vec<(usize, bool, Vec<Vec<u8>>)>,
        without_eof: bool,
        no_backslash_escapes: bool,
        is_compressed: bool,
        records: Option<&Bound<'_, TlsRecords>>,
        is_same: bool,
    ) -> PyResult<()> {
        let forms = forms_of(&self.program, &identities, no_backslash_escapes)?;
        let kept = lock(&self.engine.shared.streams).remove(&number);
        let stream = match kept {
            Some(stream) if !stream.script.as_ref().map_or(false, Scripted::is_half_started) => stream,
            _ => {
                let shared = lock(&self.code).clone();
                let made = new_stream(&self.program, &self.seed, number, keys, shared)?;
                lock(&self.code).get_or_insert_with(|| made.code());
                made
            }
        };
        let readers: HashMap<usize, RowReader> = readers
            .into_iter()
            .map(|(index, is_binary, columns)| (index, RowReader::new(is_binary, without_eof, &columns)))
            .collect();
        let figures = self.engine.admit(number);
        let link = link_of(descriptor, without_eof, is_compressed, records)?;
        let further = lock(&self.engine.shared.further).remove(&number).unwrap_or_default();
        let encoding = forms.encoding(without_eof);
        let connection =
            Connection::new(number, link, further, stream, forms, readers, encoding, is_same, figures);
        Ok(self.engine.attach(connection)?)
    }

    /// Gives a further session to the script of a connection, before it is attached: the engine keeps it until the
    /// connection is lost, or another one has its place.
    #[allow(clippy::too_many_arguments)]
    fn attach_further(
        &self,
        number: i64,
        place: usize,
        descriptor: i32,
        without_eof: bool,
        no_backslash_escapes: bool,
        is_compressed: bool,
        records: Option<&Bound<'_, TlsRecords>>,
    ) -> PyResult<()> {
        let link = link_of(descriptor, without_eof, is_compressed, records)?;
        let made = FurtherLink::new(link, Encoding { without_eof, no_backslash_escapes });
        lock(&self.engine.shared.further).entry(number).or_default().insert(place, made);
        Ok(())
    }

    /// The connections that returned since the last call.
    fn returned(&self) -> Vec<Back> {
        self.engine.returned().into_iter().map(|(number, returned)| back(number, returned)).collect()
    }

    /// Ends the connection after its transaction in flight.
    fn leave(&self, number: i64) {
        self.engine.command(number, Command::Leave);
    }

    /// Returns the connection to Python after its transaction in flight.
    fn park(&self, number: i64) {
        self.engine.command(number, Command::Park);
    }

    /// Returns the connection immediately, also during a transaction. Its load ends.
    fn abort(&self, number: i64) {
        self.engine.end_scripts();
        self.engine.command(number, Command::Abort);
    }

    /// Retries the next query of the connection that is interrupted.
    fn expect_kill(&self, number: i64) {
        self.engine.command(number, Command::ExpectKill);
    }

    fn pause(&self) {
        self.engine.pause();
    }

    fn hold(&self) {
        self.engine.hold();
    }

    fn resume(&self) {
        self.engine.resume();
    }

    /// Sets the rate; returns how much of the backlog is dropped.
    fn set_rate(&self, rate: f64) -> u64 {
        self.engine.set_rate(rate)
    }

    /// Sets how many users share the connections; 0 for none.
    fn set_users(&self, users: u64) {
        self.engine.set_users(users);
    }

    fn set_weights(&self, weights: Vec<f64>) {
        self.engine.set_weights(&weights);
    }

    fn set_delay(&self, delay_ns: u64) {
        self.engine.shared.delay_ns.store(delay_ns, Ordering::Relaxed);
    }

    /// Sets what callers do. `deadline_us` is 0 without a deadline; `retry_budget` is a share of the first attempts,
    /// `breaker` the share that opens it and how long it stays open, in ns.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (deadline_us, attempts, first_pause_ns, factor, has_jitter, queue, retry_budget, breaker))]
    fn set_callers(
        &self,
        deadline_us: u64,
        attempts: u32,
        first_pause_ns: f64,
        factor: f64,
        has_jitter: bool,
        queue: &str,
        retry_budget: Option<f64>,
        breaker: Option<(f64, i64)>,
    ) -> PyResult<()> {
        let order = match queue {
            "fifo" => Order::Oldest,
            "lifo" => Order::Newest,
            "shed" => Order::Shed,
            _ => return Err(PyValueError::new_err(format!("there is no queue '{queue}'"))),
        };
        self.engine.set_callers(Policy {
            deadline_us,
            attempts,
            first_pause_ns,
            factor,
            has_jitter,
            order,
            retry_budget,
            breaker,
        });
        Ok(())
    }

    /// Sets how long a connection waits for the rest of a response that has begun; 0 for ever.
    fn set_net_timeout(&self, net_timeout_ns: u64) {
        self.engine.shared.net_timeout_ns.store(net_timeout_ns, Ordering::Relaxed);
    }

    /// Drops the backlog and all connections' figures, and sets the limit; returns how much was dropped.
    #[pyo3(signature = (limit))]
    fn reset_stats(&self, py: Python<'_>, limit: Option<u64>) -> u64 {
        py.allow_threads(|| self.engine.reset_stats(limit))
    }

    fn drop_backlog(&self) -> u64 {
        self.engine.drop_backlog()
    }

    /// Gives up the backlog and the remaining quota, and returns them.
    fn reassign(&self) -> (Vec<i64>, u64) {
        let work = self.engine.reassign();
        (work.due, work.quota)
    }

    fn take_over(&self, due: Vec<i64>, allowed: u64) {
        self.engine.take_over(&Reassignment { due, quota: allowed });
    }

    fn is_finished(&self) -> bool {
        lock(&self.engine.shared.queue).is_finished()
    }

    fn fail(&self) {
        self.engine.fail();
    }

    fn checkpoint(&self) {
        self.engine.checkpoint();
    }

    /// The counters since the start, the latencies since the last report.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = py.allow_threads(|| self.engine.report());
        let made = PyDict::new(py);
        made.set_item("scheduled", report.scheduled)?;
        made.set_item("backlog", report.backlog)?;
        made.set_item("counters", counters(py, &report.counters)?)?;
        let latencies = &report.latencies;
        let names = self.program.0.statement_names();
        made.set_item("statements", named(py, &names, &latencies.statements)?)?;
        let responses: PyResult<Vec<_>> = latencies.responses.iter().map(|one| histogram(py, one)).collect();
        made.set_item("responses", responses?)?;
        made.set_item("service", histogram(py, &latencies.service)?)?;
        let slowest: Vec<_> = latencies.slowest.kept.iter().map(|one| slow(&names, one)).collect();
        made.set_item("wait", histogram(py, &latencies.wait)?)?;
        made.set_item("slowest", slowest)?;
        made.set_item("share", share(&report.share))?;
        made.set_item("since", share(&report.since))?;
        made.set_item("until_ns", report.until_ns)?;
        made.set_item("gaps", report.gaps)?;
        made.set_item("late_us", report.late_us)?;
        made.set_item("run_delay_ns", report.busy.run_delay_ns)?;
        made.set_item("ran_ns", report.busy.ran_ns)?;
        Ok(made)
    }

    /// What the scripts have printed since the last call.
    fn take_output(&self) -> String {
        self.program.0.script.as_ref().map_or_else(String::new, |script| script.take_output())
    }

    /// Ends all threads.
    fn close(&self, py: Python<'_>) {
        py.allow_threads(|| self.engine.close());
    }
}

/// A session over a copy of a descriptor.
pub fn link_of(
    descriptor: i32,
    without_eof: bool,
    is_compressed: bool,
    records: Option<&Bound<'_, TlsRecords>>,
) -> PyResult<Link> {
    let fd = sys::duplicate(descriptor)?;
    let encryption = match records {
        Some(records) => Some(Encryption::taken_from(records.get().0.clone()).ok_or_else(taken)?),
        None => None,
    };
    Ok(Link::new(fd, Layers::new(encryption, is_compressed), without_eof))
}

pub fn back(number: i64, returned: ReturnReason) -> Back {
    let plain = |why| (number, why, 0, String::new());
    match returned {
        ReturnReason::Left => plain("left"),
        ReturnReason::Parked => plain("asked"),
        ReturnReason::NewLogin => plain("new login"),
        ReturnReason::LoginDue => plain("login due"),
        ReturnReason::Reconnecting(link) => (number, "reconnecting", link as u16, String::new()),
        ReturnReason::Lost => plain("lost"),
        ReturnReason::Aborted => plain("aborted"),
        ReturnReason::Broken(what) => (number, "broken", 0, what),
        ReturnReason::Panicked(message) => (number, "panicked", 0, message),
        ReturnReason::ServerError(code, message) => (number, "refused", code, message),
        ReturnReason::ScriptFault(message) => (number, "script", 0, message),
        ReturnReason::Faulty { message, is_usage: true } => (number, "usage", 0, message),
        ReturnReason::Faulty { message, is_usage: false } => (number, "fault", 0, message),
    }
}

/// Which transaction, its response and service time in µs, and its statements: name, µs, error.
type Slow = (usize, u64, u64, Vec<(String, u32, u16)>);

fn slow(names: &[String], of: &SlowTransaction) -> Slow {
    let named = |one: &Timed| (names[one.name as usize].clone(), one.us, one.error);
    (of.which, of.response_us, of.busy_us, of.statements.iter().map(named).collect())
}

fn counters<'py>(py: Python<'py>, of: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    let statements = of.reads + of.writes + of.others;
    for (name, count) in [
        ("resent", of.resent),
        ("in_flight", of.in_flight),
        ("completed", of.completed),
        ("good", of.good),
        ("late", of.late),
        ("failed", of.failed),
        ("abandoned", of.abandoned),
        ("unknown_commits", of.unknown_commits),
        ("commits", of.commits),
        ("reads", of.reads),
        ("writes", of.writes),
        ("others", of.others),
        ("questions", statements + of.rejected + of.unanswered + of.besides),
        ("retries", of.retries),
    ] {
        made.set_item(name, count)?;
    }
    made.set_item("errors", of.errors.clone())?;
    made.set_item("retried", of.retried.clone())?;
    made.set_item("rolled_back", of.rolled_back.clone())?;
    Ok(made)
}

/// Histograms that are not empty, by name.
fn named<'py>(py: Python<'py>, names: &[String], of: &[Histogram]) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (name, one) in names.iter().zip(of) {
        if one.count > 0 {
            made.set_item(name, histogram(py, one)?)?;
        }
    }
    Ok(made)
}

type Plain<'py> = (Bound<'py, PyDict>, u64, u64, u64, u64);

/// Counts by bucket, count, sum, minimum, maximum.
fn histogram<'py>(py: Python<'py>, of: &Histogram) -> PyResult<Plain<'py>> {
    let counts = PyDict::new(py);
    for (bucket, times) in of.filled() {
        counts.set_item(bucket, times)?;
    }
    Ok((counts, of.count, of.sum_us, of.min_us, of.max_us))
}

type PlainStats = (u64, f64, f64);

fn share(of: &ConnectionFairness) -> (PlainStats, PlainStats) {
    let plain = |moments: &FairnessStats| (moments.n, moments.total, moments.squares);
    (plain(&of.events), plain(&of.seconds))
}
