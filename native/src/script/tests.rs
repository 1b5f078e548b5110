//! Scripts without a server: what they send, and what they make of the answers.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{Distributions, General, LuaSource, Settings};
use crate::program::script::{Answer, Encoding, Script, ScriptSource, Server, Step, Verdict};
use crate::protocol::response::Outcome;
use crate::values::mt19937::Mt19937;

fn settings(text: &str) -> Settings {
    Settings {
        path: "my.lua".into(),
        text: text.into(),
        command: "run".into(),
        search: vec![PathBuf::from("/nonexistent")],
        given: HashMap::new(),
        general: HashMap::from([("threads".to_string(), General::Number(2.0))]),
        distributions: Distributions {
            default: "uniform".into(),
            iterations: 12,
            hot_width: 0.01,
            hot_share: 0.75,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
        },
        connections: 2,
        is_prepared: true,
        allows_io: false,
        most_cpu_ns: 50_000_000,
        most_memory: 4 << 20,
    }
}

/// A script that runs, its packets, and the names of its statements.
struct Running {
    source: LuaSource,
    script: Box<dyn Script>,
    sent: Vec<u8>,
}

fn packet(payload: &[u8], sequence: u8) -> Vec<u8> {
    let mut all = (payload.len() as u32 | u32::from(sequence) << 24).to_le_bytes().to_vec();
    all.extend_from_slice(payload);
    all
}

impl Running {
    fn of(settings: Settings) -> Self {
        let source = LuaSource::new(settings);
        let mut script = source.script(1, Mt19937::from_key(&[5])).unwrap();
        script.attach(0, Encoding { without_eof: true, no_backslash_escapes: false });
        Self { source, script, sent: Vec::new() }
    }

    fn new(text: &str) -> Self {
        Self::of(settings(text))
    }

    fn resume(&mut self, answer: Answer<'_>) -> Step {
        self.sent.clear();
        self.script.resume(answer, &mut self.sent)
    }

    fn ok(&mut self, affected: u64) -> Step {
        self.resume(Answer::Done { affected, response: &mut packet(&[0, 1, 0, 2, 0, 0, 0], 1) })
    }

    fn rows(&mut self, texts: &[&str]) -> Step {
        let mut response = packet(&[1], 1);
        response.extend(packet(b"\x03def", 2));
        for text in texts {
            response.extend(packet(&[&[text.len() as u8], text.as_bytes()].concat(), 3));
        }
        response.extend(packet(&[0xfe, 0, 0, 2, 0, 0, 0], 4));
        self.resume(Answer::Done { affected: texts.len() as u64, response: &mut response })
    }

    fn fail(&mut self, code: u16, is_ignorable: bool) -> Step {
        let response = packet(b"\xff\xbd\x04#40001no", 1);
        self.resume(Answer::Failed { code, message: "no", response: &response, is_ignorable })
    }

    /// The text of the only packet that was sent, behind its command.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.sent[5..]).into_owned()
    }

    fn start(&mut self) {
        assert_eq!(self.resume(Answer::Start), Step::Verdict(Verdict::Begun));
    }
}

const ONE_QUERY: &str = "
    function thread_init() con = sysbench.sql.driver():connect() end
    function event() con:query('UPDATE t3 SET a=a+1 WHERE id=' .. sysbench.rand.default(1, 9)) end";

#[test]
fn an_event_sends_its_statements_one_by_one() {
    let mut run = Running::new(ONE_QUERY);
    run.start();
    assert_eq!(run.resume(Answer::Event), Step::Call { name: Some(0) });
    assert!(run.text().starts_with("UPDATE t3 SET a=a+1 WHERE id="), "{}", run.text());
    assert_eq!(run.ok(1), Step::Verdict(Verdict::Done));
    assert_eq!(run.source.names(), ["UPDATE tN SET a=a+? WHERE id=?"]);
    assert_eq!(run.resume(Answer::End), Step::Verdict(Verdict::Done));
}

#[test]
fn rows_are_read_as_texts() {
    let mut run = Running::new(
        "function event()
            local con = sysbench.sql.driver():connect()
            local rs = con:query('SELECT 1')
            local first = rs:fetch_row()[1]
            assert(rs.nrows == 2 and rs.nfields == 1 and rs:fetch_row()[1] == 'b' and rs:fetch_row() == nil)
            local second = con:query_row('SELECT 2')
            con:query(first .. second)
            return true
        end",
    );
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.rows(&["a", "b"]), Step::Call { name: Some(0) });
    run.rows(&["c", "d"]);
    assert_eq!(run.text(), "ac");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Over));
}

#[test]
fn prepared_statements_are_prepared_again_on_another_connection() {
    let mut run = Running::new(
        "function thread_init()
            con = sysbench.sql.driver():connect()
            st = con:prepare('SELECT c FROM t WHERE id=? AND x=?')
            id, x = st:bind_create(sysbench.sql.type.INT), st:bind_create(sysbench.sql.type.VARCHAR, 3)
            st:bind_param(id, x)
        end
        function event() id:set(7.9); x:set('abcd'); st:execute() end
        function thread_done() st:close() con:disconnect() end",
    );
    assert_eq!(run.resume(Answer::Start), Step::Call { name: None });
    assert_eq!((run.sent[4], run.text().as_str()), (0x16, "SELECT c FROM t WHERE id=? AND x=?"));
    assert_eq!(run.ok(2 << 32 | 77), Step::Verdict(Verdict::Begun));
    assert_eq!(run.resume(Answer::Event), Step::Call { name: Some(0) });
    assert_eq!((run.sent[4], run.sent[5]), (0x17, 77));
    assert!(run.sent.ends_with(b"\x07\0\0\0\0\0\0\0\x03abc"), "{:?}", run.sent);
    assert_eq!(run.ok(1), Step::Verdict(Verdict::Done));
    run.script.attach(0, Encoding::default());
    assert_eq!(run.resume(Answer::Event), Step::Call { name: None });
    assert_eq!(run.ok(2 << 32 | 5), Step::Call { name: Some(0) });
    assert_eq!((run.sent[4], run.sent[5]), (0x17, 5));
    assert_eq!(run.ok(1), Step::Verdict(Verdict::Done));
    assert_eq!(run.resume(Answer::End), Step::Verdict(Verdict::Done));
    assert_eq!(run.sent, b"\x05\0\0\0\x19\x05\0\0\0");
}

#[test]
fn a_statement_that_is_not_prepared_is_sent_as_text_whatever_the_error() {
    let mut run = Running::new(
        "function event()
            local st = sysbench.sql.driver():connect():prepare('SELECT c FROM t WHERE id=?')
            local id = st:bind_create(sysbench.sql.type.INT)
            st:bind_param(id)
            id:set(7)
            st:execute()
        end",
    );
    run.start();
    assert_eq!(run.resume(Answer::Event), Step::Call { name: None });
    assert_eq!(run.fail(1105, false), Step::Call { name: Some(0) });
    assert_eq!(run.text(), "SELECT c FROM t WHERE id=7");
}

#[test]
fn without_prepared_statements_values_are_in_the_text() {
    let mut given = settings(
        "function event()
            local st = sysbench.sql.driver():connect():prepare(\"SELECT '?', c FROM t WHERE x=? OR y=?\")
            local x, y = st:bind_create(sysbench.sql.type.CHAR, 9), st:bind_create(sysbench.sql.type.DOUBLE)
            st:bind_param(x, y)
            x:set(\"it's\")
            st:execute()
        end",
    );
    given.is_prepared = false;
    let mut run = Running::of(given);
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.text(), "SELECT '?', c FROM t WHERE x='it\\'s' OR y=NULL");
}

#[test]
fn a_connection_has_one_result_and_a_parameter_one_text() {
    let mut given = settings(
        "function event()
            local con = sysbench.sql.driver():connect()
            local first = con:query('SELECT 1')
            local st = con:prepare('INSERT INTO t VALUES (?, ?)')
            local text, cut = st:bind_create(sysbench.sql.type.CHAR, 9), st:bind_create(sysbench.sql.type.CHAR, 2)
            st:bind_param(text, cut)
            for _, pattern in ipairs({'-a-', '-b-', 'longer'}) do
                text:set_rand_str(pattern)
                cut:set_rand_str(pattern)
                assert(st:execute() == first and first.nrows == 5)
            end
            text:set('a string')
            cut:set(nil)
            st:execute()
            for _, wrong in ipairs({select(2, pcall(dofile, 'nosuch')), st, {}}) do
                assert(not pcall(text.set, wrong, 'x') and not pcall(st.execute, wrong))
                assert(not pcall(st.bind_param, st, text, wrong))
            end
            st:execute()
        end",
    );
    given.is_prepared = false;
    let mut run = Running::of(given);
    run.start();
    run.resume(Answer::Event);
    let mut step = run.rows(&["a"]);
    for values in ["'-a-', '-a'", "'-b-', '-b'", "'longer', 'lo'", "'a string', NULL"] {
        assert_eq!(run.text(), format!("INSERT INTO t VALUES ({values})"));
        step = run.ok(5);
    }
    match step {
        Step::Verdict(Verdict::Fault(message)) => {
            assert!(message.contains("2 placeholders, and 0 bound"), "{message}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_have_the_types_of_their_columns() {
    let mut run = Running::new(
        "function thread_init()
            local types = sysbench.sql.type
            st = sysbench.sql.driver():connect():prepare('INSERT INTO t VALUES (?, ?, ?, ?)')
            whole, real = st:bind_create(types.BIGINT), st:bind_create(types.DOUBLE)
            date, text = st:bind_create(types.DATE), st:bind_create(types.CHAR, 2)
            st:bind_param(whole, real, date, text)
        end
        function event()
            whole:set(-7.9) real:set(0.5) date:set('2024-02-29') text:set('abc')
            st:execute()
            whole:set(9007199254740993ULL) real:set(nil) text:set_rand_str('@')
            st:execute()
            for parameter, value in pairs({[whole] = 'x', [real] = true, [date] = 5}) do
                assert(not pcall(parameter.set, parameter, value))
            end
            assert(not pcall(whole.set_rand_str, whole, '#'))
            whole:set(true)
            st:execute()
        end",
    );
    run.resume(Answer::Start);
    run.ok(4 << 32 | 7);
    run.resume(Answer::Event);
    let mut values = (-7i64).to_le_bytes().to_vec();
    values.extend(0.5f64.to_le_bytes());
    values.extend(b"\x0a2024-02-29\x02ab");
    assert!(run.sent.ends_with(&values), "{:?}", run.sent);
    run.ok(1);
    assert!(run.sent.len() < values.len() + 40 && run.sent.contains(&0b10), "{:?}", run.sent);
    run.ok(1);
    let size = run.sent.len();
    assert_eq!(run.sent[size - 21..size - 13], 1i64.to_le_bytes(), "{:?}", run.sent);
}

#[test]
fn errors_begin_the_event_again_or_fail_it() {
    let mut run = Running::new(ONE_QUERY);
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.fail(1213, true), Step::Verdict(Verdict::Restart(1213, "no".into())));
    run.resume(Answer::Event);
    assert_eq!(run.fail(1064, false), Step::Verdict(Verdict::Failed(1064, "no".into())));
    run.resume(Answer::Event);
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
}

#[test]
fn hooks_see_errors_and_may_ignore_them() {
    let mut run = Running::new(
        "function sysbench.hooks.sql_error_ignorable(err) return err.sql_errno == 1062 and err.sql_state == '40001' end
        function sysbench.hooks.before_restart_event(err) con:query('ROLLBACK') end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query('BEGIN') con:query('INSERT') con:query('COMMIT') end",
    );
    run.start();
    run.resume(Answer::Event);
    run.ok(0);
    assert_eq!(run.script.open_transaction(), Some(0));
    assert_eq!(run.fail(1062, false), Step::Call { name: Some(2) });
    assert_eq!(run.text(), "ROLLBACK");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Restart(1062, "no".into())));
    assert_eq!(run.script.open_transaction(), None);
}

#[test]
fn a_script_may_handle_an_error_itself() {
    let mut run = Running::new(
        "function thread_init() con = sysbench.sql.driver():connect() end
        function event()
            local ok, err = pcall(con.query, con, 'x')
            con:query(tostring(ok) .. (type(err) == 'table' and err.sql_errno or err))
        end",
    );
    run.start();
    run.resume(Answer::Event);
    run.fail(1205, true);
    assert_eq!(run.text(), "false1205");
    run.ok(0);
    run.resume(Answer::Event);
    run.fail(1064, false);
    assert!(run.text().ends_with("SQL error, errno = 1064, state = '40001': no"), "{}", run.text());
}

#[test]
fn an_error_of_a_prepared_statement_has_its_text_and_its_connection() {
    let mut given = settings(
        "function event()
            local con = sysbench.sql.driver():connect()
            local st = con:prepare('UPDATE t SET a=1')
            local ok, err = pcall(st.execute, st)
            con:query(err.query .. err.sql_errno .. tostring(ok or err.connection ~= con))
            coroutine.wrap(function() st:execute() end)()
        end",
    );
    given.is_prepared = false;
    let mut run = Running::of(given);
    run.start();
    run.resume(Answer::Event);
    run.fail(1205, true);
    assert_eq!(run.text(), "UPDATE t SET a=11205false");
    run.ok(0);
    assert_eq!(run.text(), "UPDATE t SET a=1");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
}

#[test]
fn after_a_loss_the_event_ends() {
    let mut run = Running::new(ONE_QUERY);
    run.start();
    run.resume(Answer::Event);
    run.script.attach(0, Encoding::default());
    let step = run.resume(Answer::Lost);
    assert!(matches!(step, Step::Verdict(Verdict::Restart(2013, _))), "{step:?}");
    assert_eq!(run.resume(Answer::Event), Step::Call { name: Some(0) });
}

#[test]
fn an_error_in_the_script_names_its_place() {
    let mut run = Running::new("function event()\n local x = nil\n x.y = 1\nend");
    run.start();
    match run.resume(Answer::Event) {
        Step::Verdict(Verdict::Fault(message)) => {
            assert!(message.starts_with("my.lua:3: attempt to index"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

fn fault_of(text: &str) -> String {
    let mut run = Running::new(text);
    match run.resume(Answer::Start) {
        Step::Verdict(Verdict::Fault(message)) => message,
        Step::Verdict(Verdict::Begun) => match run.resume(Answer::Event) {
            Step::Verdict(Verdict::Fault(message)) => message,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_script_must_not_do_is_refused_with_a_message() {
    for (text, message) in [
        ("event = 5 x", "my.lua:1:"),
        ("x = 1", "the script has no function event()"),
        ("function event() os.execute('rm -rf /') end", "os.execute() needs --allow-script-io"),
        ("function event() io.open('/etc/passwd') end", "io.open() needs --allow-script-io"),
        ("function event() require('ffi').C.system('x') end", "ffi.C.system needs --allow-script-io"),
        ("function event() dofile('/etc/passwd') end", "needs --allow-script-io"),
        ("function event() require('nosuch') end", "module 'nosuch' not found"),
        ("function event()\n while true do end end", "my.lua:2: the script computes for too long"),
        (
            "function event() coroutine.wrap(function() while true do end end)() end",
            "my.lua:1: the script computes for too long",
        ),
        (
            "function event() while true do pcall(function() while true do end end) end end",
            "computes for too long",
        ),
        ("function event() return ('x'):rep(1e9) end", "more than 64 MiB"),
        (
            "function event() local t = {} for i = 1, 1e9 do t[i] = {i} end end",
            "my.lua: the script uses more than 4 MiB of memory",
        ),
        (
            "function event() local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end end",
            "my.lua: the script uses more than 4 MiB of memory",
        ),
        ("function event() load('\\27LJ')() end", "attempt to call a nil value"),
    ] {
        let found = fault_of(text);
        assert!(found.contains(message), "{text}: {found}");
    }
}

#[test]
fn a_script_that_was_watched_computes_on_in_its_next_event() {
    let mut run =
        Running::new("function event() local clock = os.clock() while os.clock() < clock + 0.04 do end end");
    run.start();
    for _ in 0..4 {
        assert_eq!(run.resume(Answer::Event), Step::Verdict(Verdict::Done));
    }
}

#[test]
fn rows_of_a_bulk_insert_share_statements() {
    let mut run = Running::new(
        "function event()
            local con = sysbench.sql.driver():connect()
            con:bulk_insert_init('INSERT INTO t VALUES')
            for i = 1, 3 do con:bulk_insert_next('(' .. i .. ')') end
            con:bulk_insert_next(('x'):rep(600000))
            con:bulk_insert_done()
        end",
    );
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.text(), "INSERT INTO t VALUES(1),(2),(3)");
    run.ok(3);
    assert_eq!(run.sent.len(), 5 + "INSERT INTO t VALUES".len() + 600_000);
    assert_eq!(run.ok(1), Step::Verdict(Verdict::Done));
}

#[test]
fn options_have_the_types_of_their_defaults() {
    let mut given = settings(
        "sysbench.cmdline.options = {
            tables = {'Number of tables', 1}, ratio = {'A ratio', 0.5}, ['use-fk'] = {'Foreign keys', true},
            names = {'Names', {'a', 'b'}}, engine = {'Engine', 'innodb'}, nothing = {'No default'},
        }
        function event()
            local o = sysbench.opt
            sysbench.sql.driver():connect():query(table.concat({type(o.tables), o.tables, o.ratio, tostring(o.use_fk),
                #o.names, o.engine, '<' .. o.nothing .. '>', o.threads, sysbench.tid}, ' '))
        end",
    );
    given.given = HashMap::from(
        [("tables", "7"), ("use_fk", "off"), ("names", "x,y,z")].map(|(a, b)| (a.into(), b.into())),
    );
    let declared = LuaSource::new(given.clone()).declared().unwrap();
    let kinds: Vec<(&str, &str, &str)> =
        declared.options.iter().map(|one| (one.0.as_str(), one.2.as_str(), one.3.as_str())).collect();
    assert_eq!(kinds[0], ("engine", "innodb", "string"));
    assert!(kinds.contains(&("use-fk", "true", "boolean")) && kinds.contains(&("ratio", "0.5", "number")));
    assert!(kinds.contains(&("names", "a,b", "list")) && kinds.contains(&("tables", "1", "integer")));
    let mut run = Running::of(given);
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.text(), "number 7 0.5 false 3 innodb <> 2 1");
}

#[test]
fn commands_are_run_once() {
    let text = "
        function cleanup() print('gone', 1) end
        sysbench.cmdline.commands = {
            prepare = {function() sysbench.sql.driver():connect():query('CREATE') end, sysbench.cmdline.PARALLEL_COMMAND}
        }";
    let declared = LuaSource::new(settings(text)).declared().unwrap();
    assert_eq!(declared.commands, [("cleanup".to_string(), false), ("prepare".to_string(), true)]);
    assert!(!declared.has_events);
    let mut given = settings(text);
    given.command = "prepare".into();
    let mut run = Running::of(given.clone());
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.text(), "CREATE");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Over));
    given.command = "cleanup".into();
    let mut run = Running::of(given);
    run.start();
    assert_eq!(run.resume(Answer::Event), Step::Verdict(Verdict::Over));
    assert_eq!(run.source.take_output(), "gone\t1\n");
}

#[test]
fn waiting_and_coroutines_of_a_script_block_no_thread() {
    let mut run = Running::new(
        "local ffi = require('ffi')
        ffi.cdef('int usleep(int)')
        function event()
            ffi.C.usleep(250)
            local con = sysbench.sql.driver():connect()
            local each = coroutine.wrap(function() coroutine.yield(con:query_row('SELECT 1')) end)
            con:query(each())
        end",
    );
    run.start();
    assert_eq!(run.resume(Answer::Event), Step::Sleep { microseconds: 250 });
    run.resume(Answer::Waited);
    assert_eq!(run.text(), "SELECT 1");
    run.rows(&["x"]);
    assert_eq!(run.text(), "x");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
}

#[test]
fn the_functions_of_the_old_version_are_there() {
    let mut given = settings(
        "function event()
            assert(sb_rand(3, 3) == 3 and #sb_rand_str('##@') == 3 and sb_rand_uniq() >= 0 and thread_id == 1)
            assert(sysbench.rand.uniform_double() < 1 and type(sysbench.rand.uniform_uint64()) == 'cdata')
            db_connect()
            db_query('BEGIN')
            local st, values = db_prepare('INSERT INTO t VALUES (?, ?, ?, ?)'), {5, 'x', 0.5, false}
            db_bind_param(st, values)
            db_execute(st)
            values[1], values[2] = 'longer', nil
            db_execute(st)
        end",
    );
    given.is_prepared = false;
    let mut run = Running::of(given);
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.text(), "BEGIN");
    run.ok(0);
    assert_eq!(run.text(), "INSERT INTO t VALUES (5, 'x', 0.5e0, 0)");
    run.ok(0);
    assert_eq!(run.text(), "INSERT INTO t VALUES ('longer', NULL, 0.5e0, 0)");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
}

#[test]
fn a_statement_holds_its_parameters() {
    let mut given = settings(
        "function thread_init()
            st = sysbench.sql.driver():connect():prepare('SELECT ?')
            local text = st:bind_create(sysbench.sql.type.CHAR, 9)
            st:bind_param(text)
            text:set('held')
        end
        function event()
            local garbage = {}
            for i = 1, 100000 do garbage[i % 9] = {('x'):rep(i % 99)} end
            st:execute()
        end",
    );
    given.is_prepared = false;
    let mut run = Running::of(given);
    run.start();
    for _ in 0..4 {
        run.resume(Answer::Event);
        assert_eq!(run.text(), "SELECT 'held'");
        run.ok(0);
    }
}

#[test]
fn a_statement_in_a_function_of_c_is_refused() {
    let mut run = Running::new(
        "function event()
            local con = sysbench.sql.driver():connect()
            local ok, err = pcall(string.gsub, 'x', 'x', function() con:query('SELECT 1') end)
            con:query(tostring(ok) .. err)
        end",
    );
    run.start();
    run.resume(Answer::Event);
    assert_eq!(run.text(), "falsemy.lua:3: attempt to yield across C-call boundary");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
}

#[test]
fn libraries_are_required_by_their_names() {
    let mut run = Running::new(
        "require('os')
        function event() assert(require('string') == string and require('os').time() > 0) end",
    );
    run.start();
    assert_eq!(run.resume(Answer::Event), Step::Verdict(Verdict::Done));
}

#[test]
fn options_are_global_variables_of_a_script_that_declares_none() {
    for (declares, wanted) in [("", "7"), ("sysbench.cmdline.options = { my_size = {'', 5} }", "nil")] {
        let mut given = settings(&format!(
            "{declares}
            function event()
                assert(tostring(my_size) == '{wanted}' and mysql_table_engine == 'innodb')
                assert(threads == (my_size and 2))
            end"
        ));
        given.given.insert("my_size".into(), "7".into());
        let mut run = Running::of(given);
        run.start();
        assert_eq!(run.resume(Answer::Event), Step::Verdict(Verdict::Done));
    }
}

#[test]
fn a_script_counts_errors_of_its_own() {
    let text = "ffi = require('ffi')
        ffi.cdef[[void sb_counter_inc(int, sb_counter_type); unsigned int getpid(void);]]
        function event()
            ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
            ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_EVENT)
            return sysbench.opt.allowed and ffi.C.getpid() < 1
        end";
    for allows_io in [false, true] {
        let mut given = settings(text);
        given.allows_io = allows_io;
        given.general.insert("allowed".into(), General::Switch(allows_io));
        let mut run = Running::of(given);
        run.start();
        assert_eq!(run.resume(Answer::Event), Step::Verdict(Verdict::Done));
        assert_eq!((run.script.take_errors(), run.script.take_errors()), (1, 0));
    }
}

#[test]
fn an_event_goes_on_with_a_new_connection() {
    let mut run = Running::new(
        "function thread_init()
            drv = sysbench.sql.driver()
            con = drv:connect()
            st = con:prepare('SELECT 1')
        end
        function event()
            con:reconnect()
            st:execute()
            local old = con
            con:disconnect()
            con = drv:connect()
            assert(not pcall(function() return old:query('x') end))
            con:query('y')
        end",
    );
    run.resume(Answer::Start);
    assert_eq!(run.ok(1 << 32 | 7), Step::Verdict(Verdict::Begun));
    assert_eq!(run.resume(Answer::Event), Step::Reconnect);
    run.script.attach(0, Encoding::default());
    assert_eq!(run.resume(Answer::Reconnected), Step::Call { name: None });
    assert_eq!(run.ok(9), Step::Call { name: Some(0) });
    assert_eq!((run.sent[4], run.sent[5]), (0x17, 9));
    assert_eq!(run.ok(0), Step::Reconnect);
    run.script.attach(0, Encoding::default());
    run.resume(Answer::Reconnected);
    assert_eq!(run.text(), "y");
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
}

#[test]
fn what_a_script_holds_no_more_is_closed() {
    let mut run = Running::new(
        "function event()
            local con = sysbench.sql.driver():connect()
            local st = con:prepare('SELECT 1')
            st:execute()
        end",
    );
    run.start();
    run.resume(Answer::Event);
    run.ok(1 << 32 | 7);
    assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
    let mut closed = 0;
    for _ in 0..200 {
        assert_eq!(run.resume(Answer::Event), Step::Reconnect);
        assert_eq!(run.resume(Answer::Reconnected), Step::Call { name: None });
        let size = run.sent.len();
        closed += (0..size).filter(|&place| run.sent[place..].starts_with(b"\x05\0\0\0\x19")).count();
        run.ok(1 << 32 | 8);
        assert_eq!(run.ok(0), Step::Verdict(Verdict::Done));
    }
    assert!(closed > 100, "{closed}");
}

#[test]
fn calls_that_nest_in_the_c_stack_are_an_error_of_the_script() {
    for body in [
        "local function f() coroutine.wrap(f)() end f()",
        "local function f() local ok, why = coroutine.resume(coroutine.create(f)) error(why, 0) end f()",
        "local function f() return (('x'):gsub('x', f)) end f()",
        "string.gsub('x', 'x', function(...) return string.gsub('x', 'x', setmetatable({}, {__index = function() f() end})) end) f()",
        "local t = setmetatable({}, {__tostring = function(t) return string.format('%s', t) end}) string.format('%s', t)",
        "local function f() table.sort({1, 2, 3}, f) end f()",
        "local t = setmetatable({}, {__index = function(t) return os.time(t) end}) os.time(t)",
        "local function f(why) xpcall(error, f) end xpcall(error, f) f() error('goes on')",
        "local function f() for i = 1, 9 do xpcall(f, f) end pcall(f) return (('x'):gsub('x', f)) end f()",
        "local function f() return pcall(f) and f() end error(tostring(f()))",
        "local function f() return f() .. f() end f()",
        "assert(load(string.rep('(', 100000) .. '1' .. string.rep(')', 100000)))",
        "assert(load('return ' .. string.rep('{', 100000) .. string.rep('}', 100000)))",
        "assert(load(string.rep('function f() ', 100000)))",
        "(string.rep('a', 500000)):match(string.rep('a?', 400000) .. 'b')",
    ] {
        let mut given = settings(&format!("function event()\n {body}\n end"));
        given.most_memory = 64 << 20;
        given.most_cpu_ns = 300_000_000;
        let mut run = Running::of(given);
        run.start();
        match run.resume(Answer::Event) {
            Step::Verdict(Verdict::Fault(message)) => assert!(message.contains("my.lua:2:"), "{body}: {message}"),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn each_connection_has_its_session_with_statements_rows_and_transaction() {
    let mut run = Running::new(
        "function thread_init()
            local drv = sysbench.sql.driver()
            writer, reader = drv:connect(), drv:connect()
            st = reader:prepare('SELECT ?')
            st:bind_param(st:bind_create(sysbench.sql.type.INT))
        end
        function event()
            writer:query('BEGIN')
            local mine = writer:query('SELECT 1')
            local theirs = reader:query('SELECT 2')
            assert(mine ~= theirs and mine.nrows == 1 and theirs.nrows == 2)
            assert(mine.connection == writer and theirs.connection == reader)
            assert(theirs:fetch_row()[1] == 'b' and mine:fetch_row()[1] == 'a')
            st:execute()
            writer:query('NOT')
        end",
    );
    assert_eq!(run.resume(Answer::Start), Step::Reconnect);
    assert_eq!(run.script.link(), 1);
    run.script.attach(1, Encoding::default());
    assert_eq!(run.resume(Answer::Reconnected), Step::Call { name: None });
    assert_eq!(run.script.link(), 1);
    assert_eq!(run.ok(1 << 32 | 9), Step::Verdict(Verdict::Begun));
    run.resume(Answer::Event);
    assert_eq!((run.text().as_str(), run.script.link()), ("BEGIN", 0));
    run.ok(0);
    run.rows(&["a"]);
    assert_eq!((run.text().as_str(), run.script.link()), ("SELECT 2", 1));
    let mut response = packet(&[1], 1);
    response.extend(packet(b"\x03def", 2));
    response.extend(packet(END_OF_COLUMNS, 3));
    response.extend([packet(b"\x01b", 4), packet(b"\x01c", 5), packet(END_OF_COLUMNS, 6)].concat());
    run.resume(Answer::Done { affected: 2, response: &mut response });
    assert_eq!((run.sent[4], run.sent[5], run.script.link()), (0x17, 9, 1));
    run.ok(0);
    assert_eq!(run.script.link(), 0);
    assert_eq!(run.fail(1213, true), Step::Verdict(Verdict::Restart(1213, "no".into())));
    assert_eq!(run.script.open_transaction(), Some(0));
    run.script.rolled_back(0);
    assert_eq!(run.script.open_transaction(), None);
}

/// The end of the columns for a server that sends EOF packets.
const END_OF_COLUMNS: &[u8] = &[0xfe, 0, 0, 2, 0];

#[test]
fn a_session_that_is_lost_is_opened_again_when_it_is_used() {
    let mut run = Running::new(
        "function thread_init() local d = sysbench.sql.driver() one, two = d:connect(), d:connect() end
        function event() one:query('a') two:query('b') end",
    );
    assert_eq!(run.resume(Answer::Start), Step::Reconnect);
    run.script.attach(1, Encoding::default());
    assert_eq!(run.resume(Answer::Reconnected), Step::Verdict(Verdict::Begun));
    run.script.attach(0, Encoding::default());
    run.script.lose_further();
    run.resume(Answer::Event);
    assert_eq!(run.text(), "a");
    assert_eq!(run.ok(0), Step::Reconnect);
    assert_eq!(run.script.link(), 1);
    run.script.attach(1, Encoding::default());
    run.resume(Answer::Reconnected);
    assert_eq!(run.text(), "b");
}

#[test]
fn a_script_is_loaded_without_a_server_though_it_asks_one() {
    let text = "local con = sysbench.sql.driver():connect()
        local st = con:prepare('SELECT 1')
        st:execute()
        local folder = debug.getinfo(1).source:match('@(.*)')
        sysbench.cmdline.options = { folder = {'Folder', folder .. debug.getinfo(1, 'l').currentline} }
        assert(debug.getinfo(100) == nil and debug.getinfo(1).func == nil)
        assert(debug.getinfo(print).what == 'Lua' and debug.traceback('x'):match('^x\\nstack traceback'))
        ROWS
        function event() end";
    for rows in ["con:query('SELECT 1')", "assert(con:query_row('SELECT 1') + 1 == 2)", "error('no')"] {
        let declared = LuaSource::new(settings(&text.replace("ROWS", rows))).declared().unwrap();
        assert_eq!(declared.options[0].2, "my.lua5");
        assert!(declared.has_events);
    }
    let endless = "local con = sysbench.sql.driver():connect() while true do con:query('DO 1') end";
    assert!(LuaSource::new(settings(endless)).declared().unwrap_err().contains("without end"));
}

/// Answers each packet with one row, or an error.
struct OneRow {
    opened: Vec<usize>,
}

impl Server for OneRow {
    fn connect(&mut self, link: usize) -> Result<Encoding, String> {
        self.opened.push(link);
        Ok(Encoding { without_eof: true, no_backslash_escapes: false })
    }

    fn ask(
        &mut self,
        _: usize,
        packet_of: &[u8],
        _: bool,
        _: bool,
        response: &mut Vec<u8>,
    ) -> Result<Outcome, String> {
        if packet_of.ends_with(b"WRONG") {
            *response = packet(b"\xff\xbd\x04#42000no", 1);
            return Ok(Outcome::ServerError(1064, "no".into()));
        }
        *response = packet(&[1], 1);
        response.extend([packet(b"\x03def", 2), packet(b"\x015", 3)].concat());
        response.extend(packet(&[0xfe, 0, 0, 2, 0, 0, 0], 4));
        Ok(Outcome::Done(1))
    }
}

#[test]
fn a_report_hook_asks_the_server() {
    let text = "function event() end
        function sysbench.hooks.report_cumulative(stat)
            local con = sysbench.sql.driver():connect()
            print(stat.events, con:query_row('SELECT 1'), pcall(con.query, con, 'WRONG'))
        end";
    let source = LuaSource::new(settings(text));
    let mut server = OneRow { opened: Vec::new() };
    let mut report = source.report(0, &mut server).unwrap();
    report.report(Some("report_cumulative"), vec![("events".into(), 7.0)], &mut server).unwrap();
    let printed = source.take_output();
    assert!(printed.starts_with("7\t5\tfalse\t") && printed.contains("errno = 1064"), "{printed}");
    assert_eq!(server.opened, [0]);
}
