//! Backtraces, of which the binary that is shipped has none: it is linked without the tables that they are read from.
//!
//! The unwinder of the C compiler aborts the program where it does not find its own entry in them, and every error asks
//! it for a trace where `RUST_BACKTRACE` is set. `cargo xtask dist` therefore has the linker send those who ask here
//! (`--wrap=_Unwind_Backtrace`). In all other builds nobody calls this.

#![expect(unsafe_code, reason = "a name that the linker looks for")]

use std::ffi::{c_int, c_void};

/// `_URC_END_OF_STACK` of the Itanium C++ ABI, section 1.2.
const END_OF_STACK: c_int = 5;

/// Calls back for no frame: the trace is empty.
// SAFETY: no library has a symbol of this name, which only a linker's option makes anybody look for.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap__Unwind_Backtrace(_each: *const c_void, _with: *mut c_void) -> c_int {
    END_OF_STACK
}
