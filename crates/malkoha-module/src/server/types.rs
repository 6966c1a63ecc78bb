//! Data types: what the server asks of one, as a trait.
#![expect(unsafe_code, reason = "callbacks of the server")]

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::api::{RawContext, RawDigest, RawIo, RawString, RawType, TypeMethods, api};
use super::loans;
use super::stream::{Digest, Reader, Rewriter, Unreadable, Writer};

/// The version of [`TypeMethods`]: the third has copies and the effort of freeing.
const METHODS_VERSION: u64 = 3;

/// A type that keys can hold.
pub trait Value: Sized + Send + 'static {
    /// Its name: nine characters, which files and payloads are told apart by.
    const NAME: &'static CStr;

    /// The version of what [`save`](Self::save) writes.
    const VERSION: i32;

    /// Where the type is kept once it is registered.
    fn registered() -> &'static Registered;

    /// Saves the value.
    fn save(&self, to: &mut Writer);

    /// Loads a value of any version. Trusts nothing.
    fn load(from: &mut Reader, version: i32) -> Result<Self, Unreadable>;

    /// Writes the value as commands.
    fn rewrite(&self, to: &mut Rewriter);

    /// All the memory of the value, in bytes, itself not included.
    fn memory(&self) -> usize;

    /// A copy, if there is memory for one.
    fn copy(&self) -> Option<Self>;

    /// Adds all content to a digest.
    fn digest(&self, to: &mut Digest);
}

/// The server's handle of a type.
pub struct Registered(AtomicPtr<RawType>);

impl Registered {
    /// Not registered yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(super) fn raw(&self) -> *mut RawType {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether keys can hold the type on this server.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        !self.raw().is_null()
    }
}

impl Default for Registered {
    fn default() -> Self {
        Self::new()
    }
}

/// Registers a type. Fails if its name is taken.
///
/// # Safety
///
/// `context` must be that of `RedisModule_OnLoad`.
pub(super) unsafe fn register<T: Value>(context: *mut RawContext) -> Result<(), String> {
    let mut methods = TypeMethods {
        version: METHODS_VERSION,
        rdb_load: Some(load::<T>),
        rdb_save: Some(save::<T>),
        aof_rewrite: Some(rewrite::<T>),
        mem_usage: Some(memory::<T>),
        digest: Some(digest::<T>),
        free: Some(free::<T>),
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: Some(free_effort::<T>),
        unlink: None,
        copy: Some(copy::<T>),
        defrag: None,
    };
    // SAFETY: the context is valid, the name ends in zero, and the server copies the methods.
    let raw = unsafe { (api().create_data_type)(context, T::NAME.as_ptr(), T::VERSION, &raw mut methods) };
    if raw.is_null() {
        return Err(format!(
            "the type {} is already registered by another module; load with `only` and the commands that are not taken",
            T::NAME.to_string_lossy()
        ));
    }
    T::registered().0.store(raw, Ordering::Relaxed);
    Ok(())
}

/// Runs a callback. If it panics, `otherwise` is what the server gets.
fn guarded<R>(otherwise: R, callback: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or(otherwise)
}

/// A value that the server keeps.
///
/// # Safety
///
/// `value` must be a value of this type that was given to the server, and nobody may change it meanwhile.
unsafe fn kept<'a, T: Value>(value: *const c_void) -> &'a T {
    // SAFETY: values reach the server as boxes of this type (`KeyMut::put`, `load`, `copy`).
    unsafe { &*value.cast::<T>() }
}

unsafe extern "C" fn load<T: Value>(io: *mut RawIo, version: c_int) -> *mut c_void {
    guarded(ptr::null_mut(), || {
        // SAFETY: the server's stream is valid during this call.
        let mut reader = unsafe { Reader::new(api(), io) };
        match T::load(&mut reader, version) {
            Ok(value) => Box::into_raw(Box::new(value)).cast(),
            Err(why) => {
                reader.log(&why);
                ptr::null_mut()
            }
        }
    })
}

unsafe extern "C" fn save<T: Value>(io: *mut RawIo, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server's stream is valid during this call.
        let mut writer = unsafe { Writer::new(api(), io) };
        // SAFETY: the server passes one of our values, and changes nothing meanwhile.
        unsafe { kept::<T>(value) }.save(&mut writer);
    });
}

unsafe extern "C" fn rewrite<T: Value>(io: *mut RawIo, key: *mut RawString, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server's stream and key are valid during this call.
        let mut rewriter = unsafe { Rewriter::new(api(), io, key) };
        // SAFETY: the server passes one of our values, and changes nothing meanwhile.
        unsafe { kept::<T>(value) }.rewrite(&mut rewriter);
    });
}

unsafe extern "C" fn memory<T: Value>(value: *const c_void) -> usize {
    guarded(0, || {
        const { assert!(align_of::<T>() <= align_of::<usize>(), "boxes of the value are blocks of the server") };
        // SAFETY: values are boxes.
        let itself = unsafe { (api().malloc_size)(value.cast_mut()) };
        // SAFETY: the server passes one of our values, and changes nothing meanwhile.
        itself + unsafe { kept::<T>(value) }.memory()
    })
}

unsafe extern "C" fn digest<T: Value>(digest: *mut RawDigest, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server's digest is valid during this call.
        let mut digest = unsafe { Digest::new(api(), digest) };
        // SAFETY: the server passes one of our values, and changes nothing meanwhile.
        unsafe { kept::<T>(value) }.digest(&mut digest);
        digest.end();
    });
}

unsafe extern "C" fn free<T: Value>(value: *mut c_void) {
    if loans::take_over(value, free::<T>) {
        return;
    }
    // SAFETY: the server gives the box back, and does not use it any more.
    guarded((), || drop(unsafe { Box::from_raw(value.cast::<T>()) }));
}

/// Freeing is left to another thread from 64 on; a large block costs as much as its pages.
unsafe extern "C" fn free_effort<T: Value>(_: *mut RawString, value: *const c_void) -> usize {
    // SAFETY: the server passes one of our values, and changes nothing meanwhile.
    guarded(1, || unsafe { kept::<T>(value) }.memory() / 4096 + 1)
}

unsafe extern "C" fn copy<T: Value>(
    _: *mut RawString,
    _: *mut RawString,
    value: *const c_void,
) -> *mut c_void {
    guarded(ptr::null_mut(), || {
        // SAFETY: the server passes one of our values, and changes nothing meanwhile.
        let copy = unsafe { kept::<T>(value) }.copy();
        copy.map_or(ptr::null_mut(), |copy| Box::into_raw(Box::new(copy)).cast())
    })
}

/// Where a type is kept once it is registered, one for each implementation of [`Value`].
#[macro_export]
macro_rules! registered {
    () => {
        fn registered() -> &'static $crate::server::types::Registered {
            static TYPE: $crate::server::types::Registered = $crate::server::types::Registered::new();
            &TYPE
        }
    };
}
