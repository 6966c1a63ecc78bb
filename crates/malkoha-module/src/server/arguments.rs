//! The arguments of a command.
#![expect(unsafe_code, reason = "calls of the server's functions")]

use core::ffi::{CStr, c_int};
use core::ptr::NonNull;

use super::api::{Api, RawString, api};
use super::reply::Refusal;

/// The arguments of a command, its name first.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    api: &'static Api,
    strings: &'a [NonNull<RawString>],
}

impl<'a> Arguments<'a> {
    /// # Safety
    ///
    /// `strings` must be `count` strings of the server that are valid as long as the arguments are used.
    pub(super) unsafe fn new(strings: *mut *mut RawString, count: c_int) -> Self {
        let len = usize::try_from(count).unwrap_or(0);
        if len == 0 {
            return Self { api: api(), strings: &[] };
        }
        // SAFETY: the caller has that many, and the server never passes null.
        let strings = unsafe { core::slice::from_raw_parts(strings.cast::<NonNull<RawString>>(), len) };
        Self { api: api(), strings }
    }

    /// Arguments that are kept beyond the call that brought them.
    ///
    /// # Safety
    ///
    /// The strings must be valid as long as the arguments are used.
    pub(super) unsafe fn held(strings: &'a [NonNull<RawString>]) -> Self {
        Self { api: api(), strings }
    }

    /// How many there are, the command's name included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Whether there are none, which the server never does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// The bytes of one argument.
    ///
    /// # Panics
    ///
    /// If there are not that many: commands look at the number first.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> &'a [u8] {
        self.bytes(self.strings[index])
    }

    #[inline]
    fn bytes(&self, string: NonNull<RawString>) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string is an argument of the call in progress, and `len` is written to.
        let first = unsafe { (self.api.string_ptr_len)(string.as_ptr(), &raw mut len) };
        if len == 0 {
            return &[];
        }
        // SAFETY: the string has `len` bytes from there, which stay until the call ends.
        unsafe { core::slice::from_raw_parts(first.cast(), len) }
    }

    /// The arguments from one on.
    #[must_use]
    pub fn from(&self, index: usize) -> Self {
        Self { api: self.api, strings: self.strings.get(index..).unwrap_or(&[]) }
    }

    /// The bytes of all of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let all = *self;
        all.strings.iter().map(move |string| all.bytes(*string))
    }

    /// Fails unless there are exactly this many.
    pub fn exactly(&self, count: usize) -> Result<(), Refusal> {
        if self.len() == count { Ok(()) } else { Err(Refusal::Arity) }
    }

    /// Fails unless there are at least this many.
    pub fn at_least(&self, count: usize) -> Result<(), Refusal> {
        if self.len() >= count { Ok(()) } else { Err(Refusal::Arity) }
    }

    pub(super) fn string(&self, index: usize) -> *mut RawString {
        self.strings[index].as_ptr()
    }

    /// The strings themselves.
    pub(super) fn strings(&self) -> &'a [NonNull<RawString>] {
        self.strings
    }

    /// The name of the command.
    pub(super) fn name(&self) -> &'a CStr {
        // SAFETY: the first string is an argument of the call in progress; no length is wanted.
        let first = unsafe { (self.api.string_ptr_len)(self.string(0), core::ptr::null_mut()) };
        // SAFETY: strings of the server end in zero, and stay until the call ends.
        unsafe { CStr::from_ptr(first) }
    }
}
