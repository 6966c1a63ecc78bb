//! One call of a command by the server.
#![expect(unsafe_code, reason = "calls of the server's functions")]

use core::ffi::{CStr, c_char, c_int};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::api::{self, Api, RawContext, RawKey, RawString, api};
use super::reply::{self, Refusal, Reply};
use super::types::Value;

/// What a command does: from a call and its arguments to an answer.
pub type Command = fn(&mut Call, Arguments<'_>) -> Result<Reply, Refusal>;

/// The context of one call. It is borrowed by the keys that it opens: any number to be read, or one to be changed. So no
/// value is changed while something else refers to it.
pub struct Call {
    api: &'static Api,
    context: *mut RawContext,
}

/// The arguments of a command, its name first.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    api: &'static Api,
    strings: &'a [NonNull<RawString>],
}

/// Runs a command for the server: the only way in. A panic becomes an error.
///
/// # Safety
///
/// The server must be calling, with these arguments.
pub unsafe fn enter(
    context: *mut RawContext,
    strings: *mut *mut RawString,
    count: c_int,
    command: Command,
) -> c_int {
    let api = api();
    // SAFETY: the server passes that many strings, which are valid during the call.
    let arguments = unsafe { Arguments::new(strings, count) };
    let mut call = Call { api, context };
    let outcome = catch_unwind(AssertUnwindSafe(|| command(&mut call, arguments)));
    match outcome {
        // SAFETY: the context is that of this call.
        Ok(Ok(reply)) => unsafe { reply::send(api, context, &reply) },
        Ok(Err(refusal)) => {
            // SAFETY: as above.
            unsafe { reply::refuse(api, context, &refusal) };
        }
        Err(_) => {
            // SAFETY: as above, and the text ends in zero.
            unsafe { (api.reply_with_error)(context, PANICKED.as_ptr()) };
        }
    }
    api::OK
}

const PANICKED: &CStr =
    c"ERR malkoha failed: this is a bug, please report it with the command and the server's log; the command was not replicated";

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

    fn string(&self, index: usize) -> *mut RawString {
        self.strings[index].as_ptr()
    }
}

impl Call {
    /// Opens a key to read it.
    #[must_use]
    pub fn read(&self, arguments: &Arguments<'_>, index: usize) -> Key<'_> {
        Key { open: self.open(arguments, index, api::mode::READ), lifetime: PhantomData }
    }

    /// Opens a key to change it.
    #[must_use]
    pub fn write(&mut self, arguments: &Arguments<'_>, index: usize) -> KeyMut<'_> {
        KeyMut { open: self.open(arguments, index, api::mode::READ_WRITE), call: self }
    }

    fn open(&self, arguments: &Arguments<'_>, index: usize, mode: c_int) -> Open {
        // SAFETY: the context and the name belong to the call in progress.
        let raw = unsafe { (self.api.open_key)(self.context, arguments.string(index), mode) };
        Open { api: self.api, raw }
    }

    /// Whether the client speaks RESP3.
    #[must_use]
    pub fn resp3(&self) -> bool {
        self.flags() & api::flags::RESP3 != 0
    }

    /// Whether the command repeats what was done before: by the master, or by this server before it was restarted. Such
    /// a command is carried out even if settings would forbid it now.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.flags() & (api::flags::REPLICATED | api::flags::LOADING) != 0
    }

    fn flags(&self) -> c_int {
        // SAFETY: the context is that of the call in progress.
        unsafe { (self.api.get_context_flags)(self.context) }
    }

    /// Sends the command to replicas and the append-only file as it is.
    pub fn replicate(&self) {
        // SAFETY: as above.
        unsafe { (self.api.replicate_verbatim)(self.context) };
    }

    /// Sends another command to replicas and the append-only file.
    pub fn replicate_as(&self, command: &CStr, arguments: &[&[u8]]) {
        let mut strings: Vec<*mut RawString> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            // SAFETY: the bytes are valid, and a null context makes a string that we free.
            strings.push(unsafe {
                (self.api.create_string)(ptr::null_mut(), argument.as_ptr().cast(), argument.len())
            });
        }
        // SAFETY: the format says a vector of strings and its length, and that is what follows.
        unsafe {
            (self.api.replicate)(
                self.context,
                command.as_ptr(),
                c"v".as_ptr(),
                strings.as_mut_ptr(),
                strings.len(),
            )
        };
        for string in strings {
            // SAFETY: made above, with the same context; nobody else holds it.
            unsafe { (self.api.free_string)(ptr::null_mut(), string) };
        }
    }

    /// Tells subscribers that a key has changed.
    pub fn notify(&self, event: &CStr, arguments: &Arguments<'_>, index: usize) {
        let key = arguments.string(index);
        // SAFETY: the context and the name belong to the call in progress, and the event ends in zero.
        unsafe { (self.api.notify_keyspace_event)(self.context, api::NOTIFY_GENERIC, event.as_ptr(), key) };
    }

    /// The time, in milliseconds since 1970.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        // SAFETY: no obligations.
        u64::try_from(unsafe { (self.api.milliseconds)() }).unwrap_or(0)
    }

    /// Whether so many bytes can never fit: they are more than the server may use, or more than the machine has.
    /// Smaller amounts are left to the server, which may have keys to evict.
    #[must_use]
    pub fn can_never_hold(&self, bytes: u64) -> bool {
        const SMALL: u64 = 64 << 20;
        bytes > SMALL && self.memory_limits().into_iter().flatten().any(|limit| bytes > limit)
    }

    /// `maxmemory` and the memory of the machine, as far as there are such limits and the server says them.
    fn memory_limits(&self) -> [Option<u64>; 2] {
        let (Some(get), Some(field), Some(free)) =
            (self.api.get_server_info, self.api.server_info_get_field_unsigned, self.api.free_server_info)
        else {
            return [None; 2];
        };
        // SAFETY: the context is valid and the name ends in zero.
        let info = unsafe { get(self.context, c"memory".as_ptr()) };
        let limits = [c"maxmemory", c"total_system_memory"].map(|name| {
            let mut failed: c_int = 0;
            // SAFETY: `info` was just made, the name ends in zero, and `failed` is written to.
            let limit = unsafe { field(info, name.as_ptr(), &raw mut failed) };
            (failed == 0 && limit > 0).then_some(limit)
        });
        // SAFETY: made above with this context, and not used any more.
        unsafe { free(self.context, info) };
        limits
    }
}

/// An open key, which is closed when this is dropped.
struct Open {
    api: &'static Api,
    /// Null if the key was opened for reading and does not exist.
    raw: *mut RawKey,
}

impl Open {
    fn is_missing(&self) -> bool {
        // SAFETY: the key is open; the server takes null for a missing one.
        unsafe { (self.api.key_type)(self.raw) == api::KEY_TYPE_EMPTY }
    }

    /// The value, if it has this type. The server keeps it as long as the key is open and nothing else is put there.
    fn pointer<T: Value>(&self) -> Option<NonNull<T>> {
        if self.raw.is_null() {
            return None;
        }
        // SAFETY: the key is open. The answer is null unless it holds a value of a module.
        let found = unsafe { (self.api.module_type_get_type)(self.raw) };
        if found.is_null() || found != T::registered().raw() {
            return None;
        }
        // SAFETY: the key is open and holds a value of our type.
        NonNull::new(unsafe { (self.api.module_type_get_value)(self.raw) }.cast())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the key is open, and not used any more.
            unsafe { (self.api.close_key)(self.raw) };
        }
    }
}

/// A key that is read.
pub struct Key<'a> {
    open: Open,
    /// While this borrow lasts no key is opened for writing.
    lifetime: PhantomData<&'a Call>,
}

impl Key<'_> {
    /// Whether there is nothing at this key.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.open.is_missing()
    }

    /// The value, if it has this type.
    #[must_use]
    pub fn value<T: Value>(&self) -> Option<&T> {
        // SAFETY: the pointer is valid while the key is open, and nobody can change the value: no key is open for
        // writing as long as the call is borrowed.
        self.open.pointer::<T>().map(|value| unsafe { value.as_ref() })
    }
}

/// A key that may be changed.
pub struct KeyMut<'a> {
    open: Open,
    /// While this borrow lasts no other key is opened, except through [`KeyMut::call`].
    call: &'a mut Call,
}

impl KeyMut<'_> {
    /// The call, while no value of this key is borrowed for changes.
    #[must_use]
    pub fn call(&self) -> &Call {
        self.call
    }

    /// Whether there is nothing at this key.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.open.is_missing()
    }

    /// The value, if it has this type.
    #[must_use]
    pub fn value<T: Value>(&self) -> Option<&T> {
        // SAFETY: the pointer is valid while the key is open and nothing is put there, which needs `&mut self`.
        self.open.pointer::<T>().map(|value| unsafe { value.as_ref() })
    }

    /// The value, if it has this type, to be changed.
    #[must_use]
    pub fn value_mut<T: Value>(&mut self) -> Option<&mut T> {
        // SAFETY: as in `value`; and nothing else refers to the value, because keys that are open besides this one have
        // come from `call`, and so end before `&mut self` is borrowed.
        self.open.pointer::<T>().map(|mut value| unsafe { value.as_mut() })
    }

    /// Puts a value at this key, in place of whatever was there.
    pub fn put<T: Value>(&mut self, value: T) {
        let value = Box::into_raw(Box::new(value));
        let key = self.open.raw;
        // SAFETY: the key is open for writing, and the value is of the registered type. The server owns it from now on.
        let result =
            unsafe { (self.open.api.module_type_set_value)(key, T::registered().raw(), value.cast()) };
        assert_eq!(result, api::OK, "a key that is open for writing takes a value");
    }

    /// Removes what is at this key.
    pub fn remove(&mut self) {
        // SAFETY: the key is open for writing.
        unsafe { (self.open.api.delete_key)(self.open.raw) };
    }
}

/// Writes a line to the server's log.
///
/// # Safety
///
/// `context` must be valid or null.
pub(super) unsafe fn log(context: *mut RawContext, level: &CStr, text: &CStr) {
    let text: *const c_char = text.as_ptr();
    // SAFETY: the format has one string, and that is what follows.
    unsafe { (api().log)(context, level.as_ptr(), c"%s".as_ptr(), text) };
}
