//! A module for Redis and Valkey: cuckoo and Bloom filters, RedisBloom's and those of the engine.
//!
//! ```text
//!   commands/     what clients call: CF.*, BF.*, MK.*
//!      |
//!   values/       filters as values of keys: saving, loading, memory
//!      |
//!   redisbloom/   RedisBloom's layouts           malkoha, the engine
//!      |
//!   server/       the server's interface: all unsafe code
//! ```

pub mod commands;
pub mod metrics;
pub mod redisbloom;
pub mod server;
pub mod settings;
pub mod values;

use core::ffi::c_int;

use server::api::{RawContext, RawString};
use server::register::{Loading, on_load};

/// What the server calls when it loads the module.
///
/// # Safety
///
/// Only the server calls it, with its context and the arguments of `loadmodule`.
#[expect(unsafe_code, reason = "the entry of the module")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(
    context: *mut RawContext,
    strings: *mut *mut RawString,
    count: c_int,
) -> c_int {
    // SAFETY: the server is calling.
    unsafe { on_load(context, strings, count, load) }
}

fn load(loading: &Loading<'_>) -> Result<(), String> {
    commands::load(loading)
}
