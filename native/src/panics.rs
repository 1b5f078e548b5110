//! Panics: a bug becomes an error with one line, and nothing is written to the terminal.

use std::cell::{Cell, RefCell};
use std::panic::{self, catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

static HOOK: Once = Once::new();

/// The result of an action, or the message of its panic.
pub fn caught<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(keep_messages);
    let was_caught = IS_CAUGHT.with(|is_caught| is_caught.replace(true));
    let result = catch_unwind(AssertUnwindSafe(act));
    IS_CAUGHT.with(|is_caught| is_caught.set(was_caught));
    result.map_err(|_| MESSAGE.with(|message| message.take()))
}

/// Locks a mutex, also after a panic elsewhere: the data are counters and queues, consistent after each change.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the messages of panics that are caught here; those of others go where they went before.
fn keep_messages() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_CAUGHT.with(Cell::get) {
            return before(info);
        }
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
        let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
        MESSAGE.with(|message| message.replace(format!("{text}{place}")));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message_and_place() {
        let message = caught(|| [1, 2].get(3).copied().expect("no such number")).unwrap_err();
        assert!(message.starts_with("no such number (") && message.contains("panics.rs:"), "{message}");
        assert_eq!(caught(|| 3), Ok(3));
    }
}
