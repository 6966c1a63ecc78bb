//! Commands of the master that were carried out, but do not count as received yet.
//!
//! A replica counts a command of its master as received when it has been carried out. If the link to the master had
//! to wait for it (`beside.rs`), the server counts it only with the next one. If the link is lost before that and the
//! replica goes on where it was, the master sends the command once more. Then it is left out here: done twice, it
//! would store copies that the master does not have, or remove items that the master has.
#![expect(unsafe_code, reason = "events of the server")]

use core::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::api::{Api, RawContext, RawEvent, api, events};

// All of these change only under the server's lock.

/// How many commands have been carried out since [`OFFSET`]. They follow one another: whatever comes between them is
/// counted when it has been carried out, and they with it.
static CARRIED_OUT: AtomicU64 = AtomicU64::new(0);
/// How much of what the master has sent was counted as received then.
static OFFSET: AtomicU64 = AtomicU64::new(0);
/// How many commands the master sends once more, before any other.
static REPEATED: AtomicU64 = AtomicU64::new(0);

/// How much of what the master has sent counts as received, if this server is a replica and says so.
///
/// # Safety
///
/// `context` must be valid, and this thread must have the server's lock.
unsafe fn received(api: &Api, context: *mut RawContext) -> Option<u64> {
    let (get, field, free) =
        (api.get_server_info?, api.server_info_get_field_unsigned?, api.free_server_info?);
    // SAFETY: the context is valid and the name ends in zero.
    let info = unsafe { get(context, c"replication".as_ptr()) };
    let mut failed: c_int = 0;
    // SAFETY: `info` was just made, the name ends in zero, and `failed` is written to.
    let offset = unsafe { field(info, c"slave_repl_offset".as_ptr(), &raw mut failed) };
    // SAFETY: made above with this context, and not used any more.
    unsafe { free(context, info) };
    (failed == 0).then_some(offset)
}

/// Notes that a command for which the link to the master has waited was carried out.
///
/// # Safety
///
/// `context` must be valid, and this thread must have the server's lock.
pub(super) unsafe fn note(api: &Api, context: *mut RawContext) {
    // SAFETY: as the caller promises.
    let Some(offset) = (unsafe { received(api, context) }) else { return };
    let before = if OFFSET.swap(offset, Ordering::Relaxed) == offset {
        CARRIED_OUT.load(Ordering::Relaxed)
    } else {
        0
    };
    CARRIED_OUT.store(before + 1, Ordering::Relaxed);
}

/// Whether the master sends commands once more.
#[inline]
pub(super) fn any_repeated() -> bool {
    REPEATED.load(Ordering::Relaxed) > 0
}

/// Notes that one of them has come.
pub(super) fn leave_out() {
    REPEATED.fetch_sub(1, Ordering::Relaxed);
}

/// The server calls this when a link to a master begins or ends.
unsafe extern "C" fn link_changed(context: *mut RawContext, _: RawEvent, what: u64, _: *mut c_void) {
    if what != events::LINK_DOWN || CARRIED_OUT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let carried_out = CARRIED_OUT.swap(0, Ordering::Relaxed);
    // SAFETY: the server passes a valid context, and has its lock.
    let received = unsafe { received(api(), context) };
    if received == Some(OFFSET.load(Ordering::Relaxed)) {
        REPEATED.store(carried_out, Ordering::Relaxed);
    }
}

/// Notes that nothing is sent once more.
fn forget() {
    CARRIED_OUT.store(0, Ordering::Relaxed);
    REPEATED.store(0, Ordering::Relaxed);
}

/// The server calls this when it begins to load data: what its master sends then comes after that.
unsafe extern "C" fn loading(_: *mut RawContext, _: RawEvent, _: u64, _: *mut c_void) {
    forget();
}

/// The server calls this when it becomes a master, after the link to its own has ended, or gets a master.
unsafe extern "C" fn role_changed(_: *mut RawContext, _: RawEvent, what: u64, _: *mut c_void) {
    if what == events::NOW_MASTER {
        forget();
    }
}

/// Asks the server to say when links are lost, data is loaded and roles change.
///
/// # Safety
///
/// `context` must be that of `RedisModule_OnLoad`.
pub(super) unsafe fn subscribe(api: &Api, context: *mut RawContext) {
    // SAFETY: the context is valid.
    unsafe { (api.subscribe_to_server_event)(context, events::MASTER_LINK_CHANGE, link_changed) };
    // SAFETY: as above.
    unsafe { (api.subscribe_to_server_event)(context, events::LOADING, loading) };
    // SAFETY: as above.
    unsafe { (api.subscribe_to_server_event)(context, events::ROLE_CHANGED, role_changed) };
}
