//! One call of a command, by the server or by the worker.
#![expect(unsafe_code, reason = "calls of the server's functions")]

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::api::{self, Api, RawContext, RawString, api};
use super::arguments::Arguments;
use super::beside::Link;
use super::key::{Key, KeyMut, Open};
use super::reply::{self, Refusal, Reply};
use super::{beside, loans, received};

/// What a command does: from a call and its arguments to an answer.
pub type Command = fn(&mut Call, Arguments<'_>) -> Result<Reply, Refusal>;

/// The context of one call. It is borrowed by the keys that it opens: any number to be read, or one to be changed. So
/// no value is changed while something else refers to it.
pub struct Call {
    api: &'static Api,
    context: *mut RawContext,
    place: Place,
    /// Whether anything was sent to replicas.
    replicated: Cell<bool>,
    /// What is freed after the call.
    garbage: Vec<Box<dyn Send>>,
}

/// Who runs the command.
enum Place {
    /// The server.
    Server,
    /// The server, all at once, for a client that it does not let wait.
    AtOnce,
    /// The worker, for a client that waits.
    Beside(Beside),
}

/// What the worker knows of the command that it runs.
struct Beside {
    /// The flags of the context in which the client sent the command.
    flags: c_int,
    /// The arguments of the command, which outlive the call.
    strings: NonNull<[NonNull<RawString>]>,
    /// The link to the master by which it came, if it did.
    link: Link,
    /// How often its work was in vain.
    attempts: u32,
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
    let mut call = Call::new(api, context, Place::Server);
    if received::any_repeated() && call.flags() & api::flags::REPLICATED != 0 {
        received::leave_out();
        // SAFETY: the context is that of this call.
        unsafe { answer(api, context, Ok(Ok(Reply::Ok))) };
        return api::OK;
    }
    let mut outcome = catch_unwind(AssertUnwindSafe(|| command(&mut call, arguments)));
    if let Ok(Err(Refusal::Wait(key))) = outcome {
        // SAFETY: the context is that of this call, and only commands that can wait say so.
        if unsafe { beside::defer(context, arguments, command, call.flags(), key) } {
            return api::OK;
        }
        call.place = Place::AtOnce;
        outcome = catch_unwind(AssertUnwindSafe(|| command(&mut call, arguments)));
    }
    // SAFETY: the context is that of this call.
    unsafe { answer(api, context, outcome) };
    api::OK
}

/// Answers the client.
///
/// # Safety
///
/// `context` must be that of the command.
pub(super) unsafe fn answer(
    api: &Api,
    context: *mut RawContext,
    outcome: thread::Result<Result<Reply, Refusal>>,
) {
    match outcome {
        // SAFETY: as the caller promises.
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
}

const PANICKED: &CStr =
    c"ERR malkoha failed: this is a bug, please report it with the command and the server's log; the command was not replicated";

impl Call {
    fn new(api: &'static Api, context: *mut RawContext, place: Place) -> Self {
        Self { api, context, place, replicated: Cell::new(false), garbage: Vec::new() }
    }

    /// A call by the worker.
    ///
    /// # Safety
    ///
    /// `context` and `strings` must be valid as long as the call is used.
    pub(super) unsafe fn beside_server(
        api: &'static Api,
        context: *mut RawContext,
        flags: c_int,
        strings: &[NonNull<RawString>],
        link: Link,
    ) -> Self {
        let beside = Beside { flags, strings: NonNull::from(strings), link, attempts: 0 };
        Self::new(api, context, Place::Beside(beside))
    }

    pub(super) fn api(&self) -> &'static Api {
        self.api
    }

    pub(super) fn context(&self) -> *mut RawContext {
        self.context
    }

    /// How often the work of this command was in vain; `None` if the server runs it.
    pub(super) fn attempts(&self) -> Option<u32> {
        match &self.place {
            Place::Server | Place::AtOnce => None,
            Place::Beside(beside) => Some(beside.attempts),
        }
    }

    /// Notes that work was in vain.
    pub(super) fn count_attempt(&mut self) {
        if let Place::Beside(beside) = &mut self.place {
            beside.attempts += 1;
        }
    }

    /// Frees a value after the call.
    pub(super) fn discard<T: Send + 'static>(&mut self, value: Box<T>) {
        self.garbage.push(value);
    }

    /// Whether anything was sent to replicas.
    pub(super) fn has_replicated(&self) -> bool {
        self.replicated.get()
    }

    /// What is to be freed.
    pub(super) fn into_garbage(self) -> Vec<Box<dyn Send>> {
        self.garbage
    }

    /// Whether the worker can run the command instead.
    pub(super) fn can_wait(&self, arguments: &Arguments<'_>) -> bool {
        matches!(self.place, Place::Server)
            && beside::can_wait(self.flags())
            && !(self.is_repeated() && self.any_key_expires(arguments))
    }

    /// Whether a key of the command has a time to live. On a replica, the command of the master finds such a key until
    /// the master has deleted it, but the worker does not.
    fn any_key_expires(&self, arguments: &Arguments<'_>) -> bool {
        let strings = arguments.strings();
        let (first, len) = (strings.as_ptr().cast_mut().cast(), c_int::try_from(strings.len()));
        let mut count = 0;
        // SAFETY: there are that many strings, which the server only reads, and `count` is written to.
        let found =
            unsafe { (self.api.get_command_keys)(self.context, first, len.unwrap_or(0), &raw mut count) };
        if found.is_null() {
            return false;
        }
        // SAFETY: the server returns that many positions.
        let positions = unsafe { core::slice::from_raw_parts(found, usize::try_from(count).unwrap_or(0)) };
        let expires = |position: &c_int| {
            let key = self.open(arguments, usize::try_from(*position).unwrap_or(0), api::mode::READ);
            key.expires()
        };
        let any = positions.iter().any(expires);
        // SAFETY: the positions are ours, and not used any more.
        unsafe { (self.api.free)(found.cast()) };
        any
    }

    /// Fails if this server must not carry the command out any more: because it does not have a key's slot, or because
    /// the link to the master that sent the command was lost. The server has looked at that before it called the
    /// command, but that may be long ago.
    pub(super) fn must_be_current(&self, arguments: &Arguments<'_>, index: usize) -> Result<(), Refusal> {
        const MOVED: Refusal = Refusal::of("TRYAGAIN the slot was moved while the command waited");
        const LOST: Refusal = Refusal::of("ERR the link to the master was lost while the command waited");
        if self.is_repeated() {
            let is_lost = matches!(&self.place, Place::Beside(beside) if beside.link.is_lost());
            return if is_lost { Err(LOST) } else { Ok(()) };
        }
        // On a replica, only clients that asked to read from one come so far, and the check would not know them.
        if self.current_flags() & (api::flags::CLUSTER | api::flags::REPLICA) != api::flags::CLUSTER {
            return Ok(());
        }
        let (command, format) = (c"EXISTS".as_ptr(), c"s".as_ptr());
        // SAFETY: the context is that of the call in progress; the format says a string, and that is what follows.
        let reply = unsafe { (self.api.call)(self.context, command, format, arguments.string(index)) };
        // The server answers nothing about keys of other nodes.
        if reply.is_null() {
            return Err(MOVED);
        }
        // SAFETY: the reply is ours, and not used any more.
        unsafe { (self.api.free_call_reply)(reply) };
        Ok(())
    }

    /// Fails if this server is a replica now, or must not carry the command out any more.
    fn must_be_writable(&self, arguments: &Arguments<'_>, index: usize) -> Result<(), Refusal> {
        const READ_ONLY: Refusal = Refusal::of("READONLY You can't write against a read only replica.");
        const NODE: c_int = api::flags::CLUSTER | api::flags::REPLICA;
        let flags = self.current_flags();
        // Replicas in a cluster are never written to, whatever `replica-read-only` says.
        if !self.is_repeated() && (flags & api::flags::READ_ONLY != 0 || flags & NODE == NODE) {
            return Err(READ_ONLY);
        }
        self.must_be_current(arguments, index)
    }

    /// Opens a key to read it.
    #[must_use]
    pub fn read(&self, arguments: &Arguments<'_>, index: usize) -> Key<'_> {
        Key { open: self.open(arguments, index, api::mode::READ), lifetime: PhantomData }
    }

    /// Opens a key to change it. If its value is lent, the command has to wait.
    pub fn write(&mut self, arguments: &Arguments<'_>, index: usize) -> Result<KeyMut<'_>, Refusal> {
        if matches!(self.place, Place::Beside(_)) {
            self.must_be_writable(arguments, index)?;
        }
        let open = self.open(arguments, index, api::mode::READ_WRITE);
        if loans::is_lent(open.address()) {
            if self.can_wait(arguments) {
                return Err(Refusal::Wait(index));
            }
            loans::call_back();
        }
        Ok(KeyMut { open, call: self })
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

    /// The flags of the context in which the client sent the command.
    fn flags(&self) -> c_int {
        match &self.place {
            Place::Server | Place::AtOnce => self.current_flags(),
            Place::Beside(beside) => beside.flags,
        }
    }

    fn current_flags(&self) -> c_int {
        // SAFETY: the context is that of the call in progress.
        unsafe { (self.api.get_context_flags)(self.context) }
    }

    /// Sends the command to replicas and the append-only file as it is.
    pub fn replicate(&self) {
        self.replicated.set(true);
        match &self.place {
            Place::Server | Place::AtOnce => {
                // SAFETY: the context is that of the call in progress.
                unsafe { (self.api.replicate_verbatim)(self.context) };
            }
            Place::Beside(beside) => {
                // SAFETY: the arguments outlive the call (`beside_server`).
                let strings = unsafe { beside.strings.as_ref() };
                // SAFETY: as above.
                let arguments = unsafe { Arguments::held(strings) };
                self.replicate_strings(arguments.name(), &arguments.strings()[1..]);
            }
        }
    }

    /// Sends another command to replicas and the append-only file.
    pub fn replicate_as(&self, command: &CStr, arguments: &[&[u8]]) {
        let string = |bytes: &&[u8]| {
            // SAFETY: the bytes are valid, and without a context the string is ours to free.
            let string =
                unsafe { (self.api.create_string)(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len()) };
            NonNull::new(string).expect("the server makes strings")
        };
        let strings: Vec<NonNull<RawString>> = arguments.iter().map(string).collect();
        self.replicate_strings(command, &strings);
        for string in strings {
            // SAFETY: made above; nobody else holds it.
            unsafe { (self.api.free_string)(ptr::null_mut(), string.as_ptr()) };
        }
    }

    fn replicate_strings(&self, command: &CStr, strings: &[NonNull<RawString>]) {
        self.replicated.set(true);
        let (command, format) = (command.as_ptr(), c"v".as_ptr());
        // SAFETY: the format says a vector of strings and its length, and that is what follows.
        unsafe { (self.api.replicate)(self.context, command, format, strings.as_ptr(), strings.len()) };
    }

    /// Tells clients that watch or cache a key that it has changed.
    pub fn signal(&self, arguments: &Arguments<'_>, index: usize) {
        // SAFETY: the context and the name belong to the call in progress.
        unsafe { (self.api.signal_modified_key)(self.context, arguments.string(index)) };
    }

    /// Tells them, and subscribers, that a key has changed.
    pub fn notify(&self, event: &CStr, arguments: &Arguments<'_>, index: usize) {
        self.signal(arguments, index);
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
    /// Smaller amounts are left to the server, which may have keys to evict. Repeated commands were carried out before,
    /// and are again: the server does not look at `maxmemory` for them either.
    #[must_use]
    pub fn can_never_hold(&self, bytes: u64) -> bool {
        const SMALL: u64 = 64 << 20;
        !self.is_repeated()
            && bytes > SMALL
            && self.memory_limits().into_iter().flatten().any(|limit| bytes > limit)
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
