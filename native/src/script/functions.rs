//! The functions of Rust that `api.lua` and scripts call, on the C API of Lua.
//!
//! Statements and their parameters are userdata with methods written here: what happens for each statement costs few
//! instructions of Lua, and its code is the same memory for all states. Their first word says whose they are, so that no
//! other userdata that a script gets hold of is taken for one.

use std::ffi::{c_int, c_void, CStr};
use std::slice;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table};

use crate::program::script::{Step, Verdict};
use crate::script::board::{Board, CollectedRows};
use crate::script::random::Kind;
use crate::values::value::Value;

const MOST_SLEEP_US: f64 = 3.6e9;
/// A script may use so much of its thread's C stack: a few times the stack of sysbench's threads, and half of the least
/// that ours have. Lua itself limits only the stacks of its coroutines.
const MOST_C_STACK: usize = 512 << 10;
/// The name of `api.lua` in errors and places.
pub const API_NAME: &str = "=sysbench";
const NO_SLOT: usize = usize::MAX;

/// Values of Lua in [`Board::kept`].
pub mod kept {
    pub const PARAMETER_CLASS: usize = 0;
    pub const STATEMENT_CLASS: usize = 1;
    pub const TONUMBER: usize = 2;
}

/// A type of userdata: what its first word has beside the address of the board.
trait Object {
    const TAG: usize;
}

#[repr(C)]
struct Statement {
    owner: usize,
    slot: usize,
}

impl Object for Statement {
    const TAG: usize = 1;
}

/// A parameter of a statement. Up to `capacity` bytes of its text follow it.
#[repr(C)]
pub struct Parameter {
    owner: usize,
    kind: ParameterKind,
    value: Bound,
    capacity: usize,
}

impl Object for Parameter {
    const TAG: usize = 0;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    Whole,
    Real,
    Text,
}

#[derive(Clone, Copy)]
enum Bound {
    Null,
    Whole(i64),
    Real(f64),
    /// So many bytes of text.
    Text(usize),
}

impl Parameter {
    pub fn value(&self) -> Value {
        match self.value {
            Bound::Null => Value::Null,
            Bound::Whole(number) => Value::Int(number.into()),
            Bound::Real(number) => Value::Float(number),
            Bound::Text(size) => {
                // SAFETY: so many bytes behind it are written.
                let text = unsafe { slice::from_raw_parts((self as *const Self).add(1).cast::<u8>(), size) };
                std::str::from_utf8(text).map_or_else(|_| Value::Bytes(text.into()), Value::text)
            }
        }
    }

    /// Room for a text of this size, or as much of it as the parameter has.
    unsafe fn text(&mut self, size: usize) -> &mut [u8] {
        let size = size.min(self.capacity);
        self.value = Bound::Text(size);
        slice::from_raw_parts_mut((self as *mut Self).add(1).cast::<u8>(), size)
    }
}

extern "C-unwind" {
    fn lua_isyieldable(state: *mut lua_State) -> c_int;
}

/// The string at a place of a stack, which lives while it is there; None for another value.
pub unsafe fn string_at<'a>(state: *mut lua_State, place: c_int) -> Option<&'a [u8]> {
    if ffi::lua_type(state, place) != ffi::LUA_TSTRING {
        return None;
    }
    let mut size = 0;
    let text = ffi::lua_tolstring(state, place, &mut size);
    Some(slice::from_raw_parts(text.cast(), size))
}

unsafe fn push_text(state: *mut lua_State, text: &[u8]) {
    ffi::lua_pushlstring_(state, text.as_ptr().cast(), text.len());
}

/// The board of the function that is called.
unsafe fn board_of<'a>(state: *mut lua_State) -> &'a mut Board {
    &mut *(ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)) as *mut Board)
}

unsafe fn object_at<'a, T: Object>(
    state: *mut lua_State,
    place: c_int,
    board: *const Board,
) -> Option<&'a mut T> {
    if ffi::lua_type(state, place) != ffi::LUA_TUSERDATA
        || ffi::lua_objlen(state, place) < std::mem::size_of::<T>()
    {
        return None;
    }
    let object: *mut T = ffi::lua_touserdata(state, place).cast();
    (object.cast::<usize>().read() == board as usize + T::TAG).then(|| &mut *object)
}

/// The level of the script's function that has called, maybe through `api.lua`, the one at a level; and its place.
pub unsafe fn script_level(state: *mut lua_State, mut level: c_int) -> (c_int, ffi::lua_Debug) {
    let mut place = std::mem::zeroed::<ffi::lua_Debug>();
    while ffi::lua_getstack(state, level, &mut place) != 0 {
        ffi::lua_getinfo(state, c"Sl".as_ptr(), &mut place);
        if place.currentline > 0 && CStr::from_ptr(place.source).to_bytes() != API_NAME.as_bytes() {
            break;
        }
        level += 1;
    }
    (level, place)
}

/// Raises an error at the place of the script that has called the function.
unsafe fn raise(state: *mut lua_State, message: String) -> c_int {
    let (level, _) = script_level(state, 1);
    ffi::luaL_where(state, level);
    push_text(state, message.as_bytes());
    drop(message);
    ffi::lua_concat(state, 2);
    ffi::lua_error(state)
}

/// Suspends the script until the engine has taken the step that is on the board.
unsafe fn suspend(state: *mut lua_State, board: *mut Board) -> c_int {
    ffi::lua_pushlightuserdata(state, board.cast());
    ffi::lua_yield(state, 1)
}

/// Raises an error where a script cannot be suspended: in a function that one of C calls.
unsafe fn check_yieldable(state: *mut lua_State) {
    if lua_isyieldable(state) == 0 {
        raise(state, "attempt to yield across C-call boundary".into());
    }
}

/// Raises an error if the script's calls are nested too deeply in the C stack.
#[inline(always)]
unsafe fn check_depth(state: *mut lua_State, board: &Board) {
    let here = 0u8;
    if board.stack_from.abs_diff(std::ptr::addr_of!(here) as usize) > MOST_C_STACK {
        raise(state, "C stack overflow: calls are nested too deeply".into());
    }
}

/// A function of Lua's libraries that calls back into Lua on the C stack; it is the second upvalue.
unsafe extern "C-unwind" fn guarded(state: *mut lua_State) -> c_int {
    check_depth(state, board_of(state));
    let function = ffi::lua_touserdata(state, ffi::lua_upvalueindex(2));
    std::mem::transmute::<*mut c_void, ffi::lua_CFunction>(function)(state)
}

// Functions for api.lua alone, which calls them with the right values.

/// A function of Lua's libraries, as one that does not exhaust the C stack.
unsafe extern "C-unwind" fn guard(state: *mut lua_State) -> c_int {
    let board: *mut Board = board_of(state);
    match ffi::lua_tocfunction(state, 1) {
        Some(function) => {
            ffi::lua_pushlightuserdata(state, board.cast());
            ffi::lua_pushlightuserdata(state, function as *mut c_void);
            ffi::lua_pushcclosure(state, guarded, 2);
        }
        None => ffi::lua_pushvalue(state, 1),
    }
    1
}

/// `debug.getinfo` without what leads to other functions and their values.
unsafe extern "C-unwind" fn getinfo(state: *mut lua_State) -> c_int {
    let of = match ffi::lua_type(state, 1) {
        ffi::LUA_TTHREAD => ffi::lua_tothread(state, 1),
        _ => state,
    };
    let first = if of == state { 1 } else { 2 };
    let mut place = std::mem::zeroed::<ffi::lua_Debug>();
    if ffi::lua_type(state, first) == ffi::LUA_TFUNCTION {
        ffi::lua_pushvalue(state, first);
        ffi::lua_getinfo(state, c">Snu".as_ptr(), &mut place);
        place.currentline = -1;
    } else {
        let level = ffi::luaL_checknumber(state, first);
        if ffi::lua_getstack(of, level.clamp(-1.0, 1e6) as c_int, &mut place) == 0 {
            ffi::lua_pushnil(state);
            return 1;
        }
        ffi::lua_getinfo(of, c"nSlu".as_ptr(), &mut place);
    }
    ffi::lua_createtable(state, 0, 9);
    for (name, text) in [
        (c"source", place.source),
        (c"short_src", place.short_src.as_ptr()),
        (c"what", place.what),
        (c"name", place.name),
        (c"namewhat", place.namewhat),
    ] {
        if !text.is_null() {
            push_text(state, CStr::from_ptr(text).to_bytes());
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
    }
    for (name, number) in [
        (c"currentline", place.currentline),
        (c"linedefined", place.linedefined),
        (c"lastlinedefined", place.lastlinedefined),
        (c"nups", place.nups),
    ] {
        ffi::lua_pushnumber(state, number.into());
        ffi::lua_setfield(state, -2, name.as_ptr());
    }
    1
}

/// `debug.traceback`.
unsafe extern "C-unwind" fn traceback(state: *mut lua_State) -> c_int {
    let of = match ffi::lua_type(state, 1) {
        ffi::LUA_TTHREAD => ffi::lua_tothread(state, 1),
        _ => state,
    };
    let first = if of == state { 1 } else { 2 };
    if string_at(state, first).is_none() && ffi::lua_type(state, first) > ffi::LUA_TNIL {
        ffi::lua_pushvalue(state, first);
        return 1;
    }
    let message = ffi::lua_tolstring(state, first, std::ptr::null_mut());
    let level = ffi::lua_tonumber(state, first + 1) as c_int;
    ffi::luaL_traceback(state, of, message, level.max(if of == state { 1 } else { 0 }));
    1
}

/// The place of the script's function that runs, as it begins a message.
unsafe extern "C-unwind" fn place(state: *mut lua_State) -> c_int {
    let (level, _) = script_level(state, 1);
    ffi::luaL_where(state, level);
    1
}

unsafe extern "C-unwind" fn check_stack(state: *mut lua_State) -> c_int {
    check_depth(state, board_of(state));
    0
}

unsafe extern "C-unwind" fn keep(state: *mut lua_State) -> c_int {
    let place = ffi::lua_tonumber(state, 1) as usize;
    let board = board_of(state);
    ffi::luaL_unref(state, ffi::LUA_REGISTRYINDEX, board.kept[place]);
    board.kept[place] = ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX);
    0
}

/// The result of the statements of a session.
unsafe extern "C-unwind" fn keep_result(state: *mut lua_State) -> c_int {
    let kept: *mut c_int = board_of(state).result(session_at(state, 1));
    ffi::luaL_unref(state, ffi::LUA_REGISTRYINDEX, *kept);
    *kept = ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX);
    0
}

/// The number of a session, that of a connection's or of a statement's.
unsafe fn session_at(state: *mut lua_State, place: c_int) -> usize {
    let board = board_of(state);
    match object_at::<Statement>(state, place, board) {
        Some(Statement { slot, .. }) if *slot != NO_SLOT => board.session_of(*slot),
        _ => ffi::lua_tonumber(state, place) as usize,
    }
}

unsafe extern "C-unwind" fn session(state: *mut lua_State) -> c_int {
    ffi::lua_pushnumber(state, session_at(state, 1) as f64);
    1
}

unsafe extern "C-unwind" fn is_open(state: *mut lua_State) -> c_int {
    let is_open = board_of(state).is_open(session_at(state, 1));
    ffi::lua_pushboolean(state, is_open.into());
    1
}

/// Instead of an answer, if a session is not open.
unsafe fn closed(state: *mut lua_State) -> c_int {
    ffi::lua_pushboolean(state, 0);
    1
}

unsafe extern "C-unwind" fn query(state: *mut lua_State) -> c_int {
    check_yieldable(state);
    let board = board_of(state);
    let session = ffi::lua_tonumber(state, 1) as usize;
    if !board.is_open(session) {
        return closed(state);
    }
    match string_at(state, 2) {
        Some(sql) => board.query(session, sql),
        None => return raise(state, "query() needs a string".into()),
    }
    suspend(state, board)
}

unsafe extern "C-unwind" fn begin_rows(state: *mut lua_State) -> c_int {
    let mut size = 0;
    let head = slice::from_raw_parts(ffi::luaL_checklstring(state, 2, &mut size).cast(), size);
    *board_of(state).collected(ffi::lua_tonumber(state, 1) as usize) = CollectedRows::new(head);
    0
}

/// False if the rows must be sent first.
unsafe extern "C-unwind" fn add_row(state: *mut lua_State) -> c_int {
    let board = board_of(state);
    let session = ffi::lua_tonumber(state, 1) as usize;
    if !board.collected(session).has_begun() {
        return raise(state, "bulk_insert_next() needs bulk_insert_init() first".into());
    }
    let mut size = 0;
    let row = slice::from_raw_parts(ffi::luaL_checklstring(state, 2, &mut size).cast(), size);
    ffi::lua_pushboolean(state, board.add_row(session, row).into());
    1
}

unsafe extern "C-unwind" fn send_rows(state: *mut lua_State) -> c_int {
    check_yieldable(state);
    let board = board_of(state);
    let session = ffi::lua_tonumber(state, 1) as usize;
    if !board.is_open(session) {
        return closed(state);
    }
    if board.send_rows(session) {
        return suspend(state, board);
    }
    ffi::lua_pushboolean(state, 1);
    1
}

/// Suspends the script unless the statement is sent as text, and needs no preparation. Returns its slot.
unsafe extern "C-unwind" fn prepare(state: *mut lua_State) -> c_int {
    check_yieldable(state);
    let board = board_of(state);
    if board.is_full() {
        ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0);
        board.looked();
    }
    let session = ffi::lua_tonumber(state, 1) as usize;
    if !board.is_open(session) {
        return closed(state);
    }
    let slot = match string_at(state, 2) {
        Some(sql) => board.prepare(session, sql),
        None => return raise(state, "prepare() needs a string".into()),
    };
    match slot {
        Some(slot) => {
            ffi::lua_pushnumber(state, slot as f64);
            1
        }
        None => suspend(state, board),
    }
}

unsafe extern "C-unwind" fn execute(state: *mut lua_State) -> c_int {
    check_yieldable(state);
    let board = board_of(state);
    let slot = match object_at::<Statement>(state, 1, board) {
        Some(Statement { slot, .. }) if *slot != NO_SLOT => *slot,
        _ => return raise(state, "this statement is closed".into()),
    };
    if !board.is_open(board.session_of(slot)) {
        return closed(state);
    }
    match board.execute(slot) {
        Ok(()) => suspend(state, board),
        Err(message) => raise(state, message),
    }
}

unsafe extern "C-unwind" fn sleep(state: *mut lua_State) -> c_int {
    check_yieldable(state);
    let microseconds = ffi::luaL_checknumber(state, 1).clamp(0.0, MOST_SLEEP_US) as u64;
    let board = board_of(state);
    board.ask(Step::Sleep { microseconds }, 0);
    suspend(state, board)
}

unsafe extern "C-unwind" fn reconnect(state: *mut lua_State) -> c_int {
    check_yieldable(state);
    let board = board_of(state);
    board.ask(Step::Reconnect, session_at(state, 1));
    suspend(state, board)
}

/// Suspends the script with its verdict over an event: a word, an error's code and its message.
unsafe extern "C-unwind" fn judge(state: *mut lua_State) -> c_int {
    let code = ffi::lua_tonumber(state, 2) as u16;
    let message = || String::from_utf8_lossy(string_at(state, 3).unwrap_or_default()).into_owned();
    let verdict = match string_at(state, 1).unwrap_or_default() {
        b"done" => Verdict::Done,
        b"begun" => Verdict::Begun,
        b"over" => Verdict::Over,
        b"restart" => Verdict::Restart(code, message()),
        b"failed" => Verdict::Failed(code, message()),
        _ => Verdict::Fault(message()),
    };
    let board = board_of(state);
    board.ask(Step::Verdict(verdict), 0);
    suspend(state, board)
}

unsafe fn set_class(state: *mut lua_State, board: &Board, class: usize) {
    ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, board.kept[class]);
    ffi::lua_setmetatable(state, -2);
}

/// The statement in a slot.
unsafe extern "C-unwind" fn statement(state: *mut lua_State) -> c_int {
    let slot = ffi::lua_tonumber(state, 1) as usize;
    let made: *mut Statement = ffi::lua_newuserdata(state, std::mem::size_of::<Statement>()).cast();
    let board = board_of(state);
    made.write(Statement { owner: board as *const Board as usize + Statement::TAG, slot });
    set_class(state, board, kept::STATEMENT_CLASS);
    1
}

/// A parameter of a type of sysbench's, with so many bytes of text.
unsafe extern "C-unwind" fn parameter(state: *mut lua_State) -> c_int {
    let (bigint, double) = (4.0, 6.0);
    let kind = match ffi::lua_tonumber(state, 1) {
        kind if kind <= bigint => ParameterKind::Whole,
        kind if kind <= double => ParameterKind::Real,
        _ => ParameterKind::Text,
    };
    let capacity =
        if kind == ParameterKind::Text { ffi::lua_tonumber(state, 2).max(0.0) as usize } else { 0 };
    let size = std::mem::size_of::<Parameter>().saturating_add(capacity);
    let made: *mut Parameter = ffi::lua_newuserdata(state, size).cast();
    let board = board_of(state);
    let owner = board as *const Board as usize + Parameter::TAG;
    made.write(Parameter { owner, kind, value: Bound::Null, capacity });
    set_class(state, board, kept::PARAMETER_CLASS);
    1
}

/// The last error of the server.
unsafe extern "C-unwind" fn failure(state: *mut lua_State) -> c_int {
    let failure = &board_of(state).failure;
    ffi::lua_pushnumber(state, failure.code.into());
    push_text(state, failure.sql_state.as_bytes());
    push_text(state, failure.message.as_bytes());
    ffi::lua_pushboolean(state, failure.is_ignorable.into());
    4
}

/// Rows and columns of the last statement.
unsafe extern "C-unwind" fn shape(state: *mut lua_State) -> c_int {
    let (rows, affected) = board_of(state).rows(ffi::lua_tonumber(state, 1) as usize);
    ffi::lua_pushnumber(state, affected as f64);
    ffi::lua_pushnumber(state, rows.fields as f64);
    2
}

unsafe extern "C-unwind" fn count_error(state: *mut lua_State) -> c_int {
    board_of(state).errors += 1;
    0
}

unsafe extern "C-unwind" fn words(state: *mut lua_State) -> c_int {
    let random = &mut board_of(state).random;
    ffi::lua_pushnumber(state, random.word().into());
    ffi::lua_pushnumber(state, random.word().into());
    2
}

// Methods of statements and parameters.

/// Also when it is collected.
unsafe extern "C-unwind" fn close(state: *mut lua_State) -> c_int {
    let board = board_of(state);
    if let Some(statement) = object_at::<Statement>(state, 1, board) {
        match std::mem::replace(&mut statement.slot, NO_SLOT) {
            NO_SLOT => {}
            slot => board.close(slot),
        }
    }
    0
}

/// The text of a statement.
unsafe extern "C-unwind" fn text(state: *mut lua_State) -> c_int {
    let board = board_of(state);
    match object_at::<Statement>(state, 1, board) {
        Some(Statement { slot, .. }) if *slot != NO_SLOT => push_text(state, board.sql(*slot)),
        _ => ffi::lua_pushnil(state),
    }
    1
}

/// The statement holds its parameters: they live as long.
unsafe extern "C-unwind" fn bind_param(state: *mut lua_State) -> c_int {
    let board = board_of(state);
    let slot = match object_at::<Statement>(state, 1, board) {
        Some(Statement { slot, .. }) if *slot != NO_SLOT => *slot,
        _ => return raise(state, "this statement is closed".into()),
    };
    let count = ffi::lua_gettop(state) - 1;
    board.parameters(slot).clear();
    ffi::lua_createtable(state, count, 0);
    for number in 1..=count {
        if object_at::<Parameter>(state, number + 1, board).is_none() {
            return raise(state, "bind_param() needs what bind_create() returns".into());
        }
        ffi::lua_pushvalue(state, number + 1);
        ffi::lua_rawseti_(state, -2, number);
    }
    ffi::lua_setfenv(state, 1);
    for number in 1..=count {
        let parameter: *const Parameter = ffi::lua_touserdata(state, number + 1).cast();
        board.parameters(slot).push(parameter);
    }
    0
}

unsafe extern "C-unwind" fn set(state: *mut lua_State) -> c_int {
    let board = board_of(state);
    let parameter = match object_at::<Parameter>(state, 1, board) {
        Some(parameter) => parameter,
        None => return raise(state, "set() needs a parameter".into()),
    };
    if ffi::lua_type(state, 2) == ffi::LUA_TCDATA {
        ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, board.kept[kept::TONUMBER]);
        ffi::lua_pushvalue(state, 2);
        ffi::lua_call(state, 1, 1);
        ffi::lua_replace(state, 2);
    }
    parameter.value = match (ffi::lua_type(state, 2), parameter.kind) {
        (ffi::LUA_TNIL | ffi::LUA_TNONE, _) => Bound::Null,
        (ffi::LUA_TNUMBER, ParameterKind::Whole) => Bound::Whole(ffi::lua_tonumber(state, 2) as i64),
        (ffi::LUA_TNUMBER, ParameterKind::Real) => Bound::Real(ffi::lua_tonumber(state, 2)),
        (ffi::LUA_TBOOLEAN, ParameterKind::Whole) => Bound::Whole(ffi::lua_toboolean(state, 2).into()),
        (ffi::LUA_TSTRING, ParameterKind::Text) => {
            let given = string_at(state, 2).unwrap_or_default();
            let text = parameter.text(given.len());
            text.copy_from_slice(&given[..text.len()]);
            parameter.value
        }
        (given, kind) => {
            let given = CStr::from_ptr(ffi::lua_typename(state, given)).to_string_lossy();
            let message = match kind {
                ParameterKind::Whole => format!("cannot convert '{given}' to 'int64_t'"),
                ParameterKind::Real => format!("cannot convert '{given}' to 'double'"),
                ParameterKind::Text => format!("a parameter of this type needs a string, not a {given}"),
            };
            return raise(state, message);
        }
    };
    0
}

unsafe extern "C-unwind" fn set_rand_str(state: *mut lua_State) -> c_int {
    let board = board_of(state);
    match (object_at::<Parameter>(state, 1, board), string_at(state, 2)) {
        (Some(parameter), Some(pattern)) if parameter.kind == ParameterKind::Text => {
            let text = parameter.text(pattern.len());
            board.random.text(&pattern[..text.len()], text);
            0
        }
        _ => raise(state, "set_rand_str() needs a parameter of a text, and a pattern".into()),
    }
}

// Functions of scripts.

const KINDS: [(&str, Kind); 6] = [
    ("default", Kind::Default),
    ("uniform", Kind::Uniform),
    ("gaussian", Kind::Gaussian),
    ("special", Kind::Special),
    ("pareto", Kind::Pareto),
    ("zipfian", Kind::Zipfian),
];

unsafe extern "C-unwind" fn draw(state: *mut lua_State) -> c_int {
    let kind = KINDS[ffi::lua_tonumber(state, ffi::lua_upvalueindex(2)) as usize].1;
    let (low, high) = (ffi::luaL_checknumber(state, 1), ffi::luaL_checknumber(state, 2));
    let drawn = board_of(state).random.number(kind, low as i64, high as i64);
    ffi::lua_pushnumber(state, drawn as f64);
    1
}

unsafe extern "C-unwind" fn unique(state: *mut lua_State) -> c_int {
    ffi::lua_pushnumber(state, board_of(state).random.unique().into());
    1
}

unsafe extern "C-unwind" fn uniform_double(state: *mut lua_State) -> c_int {
    ffi::lua_pushnumber(state, board_of(state).random.share());
    1
}

unsafe extern "C-unwind" fn string(state: *mut lua_State) -> c_int {
    let mut size = 0;
    let pattern = slice::from_raw_parts(ffi::luaL_checklstring(state, 1, &mut size).cast(), size);
    let Board { random, drawn, .. } = board_of(state);
    drawn.resize(size, 0);
    random.text(pattern, drawn);
    push_text(state, drawn);
    1
}

unsafe extern "C-unwind" fn varstring(state: *mut lua_State) -> c_int {
    let (shortest, longest) = (ffi::luaL_checknumber(state, 1), ffi::luaL_checknumber(state, 2));
    let Board { random, drawn, .. } = board_of(state);
    random.letters(shortest as i64, longest as i64, drawn);
    push_text(state, drawn);
    1
}

/// The next row of a result, which has the number of its session, or nil.
unsafe extern "C-unwind" fn fetch_row(state: *mut lua_State) -> c_int {
    ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
    ffi::lua_rawgeti_(state, 1, 1);
    let (rows, _) = board_of(state).rows(ffi::lua_tonumber(state, -1) as usize);
    let fields = rows.fields as c_int;
    match rows.next() {
        None => ffi::lua_pushnil(state),
        Some(cells) => {
            ffi::lua_createtable(state, fields, 0);
            for (place, cell) in (1..).zip(cells) {
                if let Some(text) = cell {
                    push_text(state, text);
                    ffi::lua_rawseti_(state, -2, place);
                }
            }
        }
    }
    1
}

/// A table of all functions. They use the board, which outlives the state.
pub fn table(lua: &Lua, board: *mut Board) -> mlua::Result<Table> {
    let functions: [(&str, ffi::lua_CFunction); 34] = [
        ("session", session),
        ("keep_result", keep_result),
        ("is_open", is_open),
        ("getinfo", getinfo),
        ("traceback", traceback),
        ("place", place),
        ("guard", guard),
        ("check_stack", check_stack),
        ("keep", keep),
        ("query", query),
        ("begin_rows", begin_rows),
        ("add_row", add_row),
        ("send_rows", send_rows),
        ("prepare", prepare),
        ("execute", execute),
        ("sleep", sleep),
        ("reconnect", reconnect),
        ("judge", judge),
        ("statement", statement),
        ("parameter", parameter),
        ("failure", failure),
        ("shape", shape),
        ("count_error", count_error),
        ("words", words),
        ("close", close),
        ("text", text),
        ("bind_param", bind_param),
        ("set", set),
        ("set_rand_str", set_rand_str),
        ("unique", unique),
        ("uniform_double", uniform_double),
        ("string", string),
        ("varstring", varstring),
        ("fetch_row", fetch_row),
    ];
    let draws =
        KINDS.iter().enumerate().map(|(kind, (name, _))| (*name, draw as ffi::lua_CFunction, kind as f64));
    let native = lua.create_table()?;
    for (name, function, kind) in
        functions.into_iter().map(|(name, function)| (name, function, 0.0)).chain(draws)
    {
        // SAFETY: the functions find the board as their first upvalue.
        let created: Function = unsafe {
            lua.exec_raw((), |state| {
                ffi::lua_pushlightuserdata(state, board as *mut c_void);
                ffi::lua_pushnumber(state, kind);
                ffi::lua_pushcclosure(state, function, 2);
            })?
        };
        native.set(name, created)?;
    }
    native.set("request", mlua::Value::LightUserData(mlua::LightUserData(board.cast())))?;
    Ok(native)
}
