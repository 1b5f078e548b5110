//! The limit of the time that a script computes between two statements.
//!
//! It is watched from outside, because a hook makes every instruction of Lua slower: one thread looks at all scripts a
//! few times a second, and sets a hook in a script that has been running since it looked last. The hook counts the
//! processor time of the script's thread, and ends the script once that is too long.
//!
//! LuaJIT's compiler is off. Compiled code calls no hooks, unless LuaJIT is built with LUAJIT_ENABLE_CHECKHOOK. Even
//! then another thread may not set one: `lua_sethook` rewrites the table by which instructions are dispatched, and a
//! thread that compiles rewrites it, too; the hook may be lost, or stay for ever (LuaJIT's issue 1460). Without the
//! compiler, only this module changes the table while a script runs, under the lock of `ALL`. In runs with 16 threads, where
//! cold caches cost more than instructions, compilation made no difference that was seen.

use std::ffi::{c_int, c_void, CStr};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mlua::ffi::{self, lua_State};

use crate::panics::lock;
use crate::script::functions::script_level;
use crate::sys;

/// A script that computes for this long without a statement is stopped.
pub const MOST_CPU_NS: i64 = 20 * sys::NS_PER_SECOND;
/// The same once its load has ended.
const MOST_CPU_AT_END_NS: i64 = sys::NS_PER_SECOND / 4;
/// How often the hook is called, in instructions of Lua's virtual machine.
const CHECK_EVERY: c_int = 10_000;
/// The longest time between two looks at the scripts, and the least.
const LOOK_NS: (i64, i64) = (5_000_000, 250_000_000);

/// Where the registry of a Lua state has its limits: the address is the key.
static KEY: u8 = 0;

/// A script as the watching thread sees it.
struct Watched {
    state: *mut lua_State,
    /// How often the script was resumed, and returned: odd while it runs.
    turns: AtomicU64,
    look_ns: i64,
}

// SAFETY: `state` is used by the watching thread only to set a hook, which LuaJIT allows at any time while its compiler
// is off; the state lives while it is in `ALL`.
unsafe impl Send for Watched {}
// SAFETY: as above; the turns are atomic.
unsafe impl Sync for Watched {}

/// All scripts of this process, each with the turn that was seen last, and whether the thread runs.
struct All {
    scripts: Vec<(Arc<Watched>, u64)>,
    are_watched: bool,
}

static ALL: Mutex<All> = Mutex::new(All { scripts: Vec::new(), are_watched: false });

fn watch() {
    loop {
        let pause = {
            let All { scripts, are_watched } = &mut *lock(&ALL);
            for (watched, seen) in scripts.iter_mut() {
                let turn = watched.turns.load(Ordering::Acquire);
                if turn % 2 == 1 && turn == *seen {
                    // SAFETY: the state lives, and a hook may be set while it runs.
                    unsafe { ffi::lua_sethook(watched.state, Some(check), ffi::LUA_MASKCOUNT, CHECK_EVERY) };
                }
                *seen = turn;
            }
            match scripts.iter().map(|(watched, _)| watched.look_ns).min() {
                Some(pause) => pause,
                None => {
                    *are_watched = false;
                    return;
                }
            }
        };
        thread::sleep(Duration::from_nanos(pause as u64));
    }
}

/// The hook: ends a script whose time is over.
unsafe extern "C-unwind" fn check(state: *mut lua_State, _: *mut ffi::lua_Debug) {
    ffi::lua_pushlightuserdata(state, ptr::addr_of!(KEY) as *mut c_void);
    ffi::lua_rawget(state, ffi::LUA_REGISTRYINDEX);
    let limit = &mut *(ffi::lua_touserdata(state, -1) as *mut Inner);
    ffi::lua_pop(state, 1);
    let turn = limit.watched.turns.load(Ordering::Relaxed);
    let used_ns = sys::thread_cpu_ns();
    if limit.hooked_turn != turn {
        limit.hooked_turn = turn;
        limit.from_cpu_ns = used_ns;
        return;
    }
    let is_ending = limit.is_ending.load(Ordering::Relaxed);
    let most_ns = if is_ending { limit.most_cpu_ns.min(MOST_CPU_AT_END_NS) } else { limit.most_cpu_ns };
    if used_ns > limit.from_cpu_ns + most_ns {
        let (_, place) = script_level(state, 0);
        let when = if is_ending { "when the run ends" } else { "for too long" };
        limit.end(CStr::from_ptr(place.short_src.as_ptr()), place.currentline, when);
        push_message(state, limit);
        ffi::lua_error(state);
    }
}

unsafe fn push_message(state: *mut lua_State, limit: &Inner) {
    match &limit.exceeded {
        Some(message) => ffi::lua_pushlstring_(state, message.as_ptr().cast(), message.len()),
        None => ffi::lua_pushnil(state),
    }
}

struct Inner {
    watched: Arc<Watched>,
    most_cpu_ns: i64,
    is_ending: Arc<AtomicBool>,
    /// The processor time of the thread at the first call of the hook.
    from_cpu_ns: i64,
    hooked_turn: u64,
    /// Why the script ends: `pcall` does not catch this error.
    exceeded: Option<String>,
}

impl Inner {
    fn end(&mut self, source: &CStr, line: c_int, when: &str) {
        let source = source.to_string_lossy();
        self.exceeded = Some(format!("{source}:{line}: the script computes {when} without a statement"));
    }
}

/// The limit of one Lua state, which must outlive it.
pub struct Limit(*mut Inner);

impl Limit {
    /// # Safety
    /// `state` is not running, and is closed after the limit is dropped.
    pub unsafe fn new(state: *mut lua_State, most_cpu_ns: i64, is_ending: Arc<AtomicBool>) -> Self {
        let look_ns = (most_cpu_ns / 4).clamp(LOOK_NS.0, LOOK_NS.1);
        let watched = Arc::new(Watched { state, turns: AtomicU64::new(0), look_ns });
        let inner = Box::into_raw(Box::new(Inner {
            watched: watched.clone(),
            most_cpu_ns,
            is_ending,
            from_cpu_ns: 0,
            hooked_turn: 0,
            exceeded: None,
        }));
        ffi::lua_pushlightuserdata(state, ptr::addr_of!(KEY) as *mut c_void);
        ffi::lua_pushlightuserdata(state, inner.cast());
        ffi::lua_rawset(state, ffi::LUA_REGISTRYINDEX);
        let All { scripts, are_watched } = &mut *lock(&ALL);
        scripts.push((watched, 0));
        if !*are_watched {
            *are_watched = thread::Builder::new().name("scripts".into()).spawn(watch).is_ok();
        }
        Self(inner)
    }

    /// A part of the script begins, which is limited until its [`end`](Self::end). Returns its turn.
    pub fn begin(&mut self) -> u64 {
        // SAFETY: the script runs on this thread only.
        let watched = unsafe { &(*self.0).watched };
        let turn = watched.turns.load(Ordering::Relaxed) + 1;
        watched.turns.store(turn, Ordering::Release);
        turn
    }

    pub fn end(&mut self, turn: u64) {
        // SAFETY: as above.
        let watched = unsafe { &(*self.0).watched };
        watched.turns.store(turn + 1, Ordering::Release);
        // SAFETY: the hook does not run; it is removed while the watching thread sets none.
        unsafe {
            if (*self.0).hooked_turn == turn {
                let _none_is_set = lock(&ALL);
                ffi::lua_sethook(watched.state, None, 0, 0);
            }
        }
    }

    /// Pushes a function of Lua that returns the error of the limit that was exceeded, or nil.
    ///
    /// # Safety
    /// `state` is that of the limit.
    pub unsafe fn push_exceeded(&self, state: *mut lua_State) {
        unsafe extern "C-unwind" fn exceeded(state: *mut lua_State) -> c_int {
            push_message(state, &*(ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)) as *const Inner));
            1
        }
        ffi::lua_pushlightuserdata(state, self.0.cast());
        ffi::lua_pushcclosure(state, exceeded, 1);
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // SAFETY: the state still lives; afterwards the watching thread does not know it, and it has no hook.
        unsafe {
            let inner = Box::from_raw(self.0);
            let state = inner.watched.state;
            lock(&ALL).scripts.retain(|(watched, _)| watched.state != state);
            ffi::lua_sethook(state, None, 0, 0);
        }
    }
}
