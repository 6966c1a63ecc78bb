//! Values saved to and loaded from the server's streams, and rewritten as commands.
#![expect(unsafe_code, reason = "calls of the server's functions")]

use core::ffi::CStr;
use std::ffi::CString;
use std::fmt;

use super::api::{Api, RawDigest, RawIo, RawString};
use super::memory;

/// Why a value could not be loaded. The server refuses the file or the payload, and logs this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Unreadable {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Unreadable {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Where a value is saved.
pub struct Writer {
    api: &'static Api,
    raw: *mut RawIo,
}

impl Writer {
    /// # Safety
    ///
    /// `raw` must be valid as long as the writer is used.
    pub(super) unsafe fn new(api: &'static Api, raw: *mut RawIo) -> Self {
        Self { api, raw }
    }

    /// Writes a number.
    pub fn number(&mut self, number: u64) {
        // SAFETY: the stream is valid (`new`).
        unsafe { (self.api.save_unsigned)(self.raw, number) }
    }

    /// Writes a floating-point number.
    pub fn double(&mut self, number: f64) {
        // SAFETY: the stream is valid (`new`).
        unsafe { (self.api.save_double)(self.raw, number) }
    }

    /// Writes a string of bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: the stream is valid (`new`), and the bytes have their length.
        unsafe { (self.api.save_string_buffer)(self.raw, bytes.as_ptr().cast(), bytes.len()) }
    }
}

/// Where a value is loaded from. After an error of the stream every further read fails too.
pub struct Reader {
    api: &'static Api,
    raw: *mut RawIo,
}

impl Reader {
    /// # Safety
    ///
    /// `raw` must be valid as long as the reader is used.
    pub(super) unsafe fn new(api: &'static Api, raw: *mut RawIo) -> Self {
        Self { api, raw }
    }

    fn check(&self) -> Result<(), Unreadable> {
        // SAFETY: the stream is valid (`new`).
        match unsafe { (self.api.is_io_error)(self.raw) } {
            0 => Ok(()),
            _ => Err("the value ends early, or is not what this type saves".into()),
        }
    }

    /// Reads a number.
    pub fn number(&mut self) -> Result<u64, Unreadable> {
        // SAFETY: the stream is valid (`new`).
        let number = unsafe { (self.api.load_unsigned)(self.raw) };
        self.check().map(|()| number)
    }

    /// Reads a floating-point number.
    pub fn double(&mut self) -> Result<f64, Unreadable> {
        // SAFETY: the stream is valid (`new`).
        let number = unsafe { (self.api.load_double)(self.raw) };
        self.check().map(|()| number)
    }

    /// Reads a string of bytes.
    pub fn bytes(&mut self) -> Result<Box<[u8]>, Unreadable> {
        let mut len = 0;
        // SAFETY: the stream is valid (`new`), and `len` is written to.
        let block = unsafe { (self.api.load_string_buffer)(self.raw, &raw mut len) };
        if block.is_null() {
            return Err("the value ends early, or there is no memory for it".into());
        }
        // SAFETY: the server has allocated `len` bytes for us.
        let bytes = unsafe { memory::adopt(block.cast(), len) };
        self.check().map(|()| bytes)
    }

    /// Tells the server's log why a value is refused.
    pub(super) fn log(&self, why: &Unreadable) {
        let text = CString::new(why.0.replace('\0', " ")).unwrap_or_default();
        let level = c"warning".as_ptr();
        // SAFETY: the stream is valid (`new`); the format has one string, and that is what follows.
        unsafe { (self.api.log_io_error)(self.raw, level, c"malkoha: %s".as_ptr(), text.as_ptr()) }
    }
}

/// Where a value is rewritten as commands that make it again.
pub struct Rewriter {
    api: &'static Api,
    raw: *mut RawIo,
    key: *mut RawString,
}

impl Rewriter {
    /// # Safety
    ///
    /// `raw` and `key` must be valid as long as the rewriter is used.
    pub(super) unsafe fn new(api: &'static Api, raw: *mut RawIo, key: *mut RawString) -> Self {
        Self { api, raw, key }
    }

    /// Writes `COMMAND key position bytes`.
    pub fn chunk(&mut self, command: &CStr, position: u64, bytes: &[u8]) {
        let (command, format) = (command.as_ptr(), c"slb".as_ptr());
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        // SAFETY: stream and key are valid (`new`); the format says a string, a number, and bytes with their length,
        // and that is what follows.
        unsafe {
            (self.api.emit_aof)(self.raw, command, format, self.key, position, bytes.as_ptr(), bytes.len());
        }
    }

    /// Writes `COMMAND key begin total bytes`.
    pub fn part(&mut self, command: &CStr, begin: u64, total: u64, bytes: &[u8]) {
        let (command, format) = (command.as_ptr(), c"sllb".as_ptr());
        let [begin, total] = [begin, total].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let (first, len) = (bytes.as_ptr(), bytes.len());
        // SAFETY: stream and key are valid (`new`); the format says a string, two numbers, and bytes with their length,
        // and that is what follows.
        unsafe { (self.api.emit_aof)(self.raw, command, format, self.key, begin, total, first, len) }
    }
}

/// A digest that values are added to.
pub struct Digest {
    api: &'static Api,
    raw: *mut RawDigest,
}

impl Digest {
    /// # Safety
    ///
    /// `raw` must be valid as long as the digest is used.
    pub(super) unsafe fn new(api: &'static Api, raw: *mut RawDigest) -> Self {
        Self { api, raw }
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        if let Some(add) = self.api.digest_add_string_buffer {
            // SAFETY: the digest is valid (`new`), and the bytes have their length.
            unsafe { add(self.raw, bytes.as_ptr().cast(), bytes.len()) };
        }
    }

    /// Ends a sequence whose order matters.
    pub fn end(&mut self) {
        if let Some(end) = self.api.digest_end_sequence {
            // SAFETY: the digest is valid (`new`).
            unsafe { end(self.raw) };
        }
    }
}
