//! A disk that can be made slow. The dynamic linker loads this library into a private server (LD_PRELOAD)
//! whose disk is to be steered; it stands between the server and the C library's reads, writes and flushes
//! of files.
//!
//! A call goes to the kernel first; then its thread sleeps for as long as the shared page says (`page`), by
//! the kind of the file (`kind`). So an I/O takes what it takes, and the delay. Everything is counted, with
//! or without delays.
//!
//! The system calls are made directly, not by the next library: then nothing but `syscall` and `getenv` is
//! imported, and one file suits every version of every C library. The standard library of Rust would import
//! more. Asynchronous I/O (libaio, io_uring) does not pass here; such a server runs without it
//! (`innodb_use_native_aio=OFF`).

#![cfg_attr(not(test), no_std)]
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod kind;
pub mod page;

#[cfg(not(test))]
mod calls;

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::abort() }
}
