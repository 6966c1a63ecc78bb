//! Commands that take long: they run beside the server, on a thread of their own, while their clients wait.
//!
//! ```text
//!   client    MK.MERGE d a b  ..................................  OK
//!   server    |_ not here     MK.EXISTS a    SET x    CF.ADD y  |
//!   worker      |_ lend a, b, d   merge ...........  put d  replicate
//! ```
//!
//! A command first runs where the server calls it. If it finds that its work is large ([`Call::beside`]), or that it
//! wants to change a value that is lent ([`Call::write`]), it ends with [`Refusal::Wait`], before anything has
//! changed. Then the client is blocked, and the worker runs the command once more, from its beginning. It runs one
//! command at a time, and has the server's lock meanwhile, except during the work of [`Call::beside`].
//!
//! The values that this work reads are lent (`loans.rs`). Commands that read them go on; those that change them wait
//! for the worker too. After the work the keys must still hold these values. If they do not, because a key was
//! removed or replaced, the command runs again, with what is there then. So it takes effect at one moment, when its
//! outcome is put and replicated, and replicas that repeat it at that place get the same bytes.
//!
//! On a replica, the client that waits is the link to the master. So what the master sends meanwhile waits in its
//! order, and clients of the replica are served. If the link is lost, the command is void: nothing that came by this
//! link counts as received, and the replica asks for all data again.
//!
//! Where nobody can wait, in transactions and scripts, and while files are loaded, all work is done in place. So do
//! replicas if a key has a time to live (`Call::can_wait`). A command of a transaction that changes a lent value waits
//! until it has been read; the command that has read it runs again.
#![expect(unsafe_code, reason = "a thread that calls the server's functions")]

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::api::{self, Api, RawBlocked, RawContext, RawString, api};
use super::arguments::Arguments;
use super::call::{self, Call, Command};
use super::key::Key;
use super::loans::Loan;
use super::received;
use super::reply::Refusal;
use super::types::Value;
use crate::metrics;

/// Work with values of fewer bytes than this is done in place: merging them, the slowest of all, takes about two
/// milliseconds.
const LARGE_BYTES: usize = 64 << 10;

/// What tests change: whether small work is done beside the server too, and how much longer it takes then.
#[cfg(feature = "testing")]
pub mod testing {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Whether all work is large.
    pub static ALWAYS: AtomicBool = AtomicBool::new(false);
    /// Milliseconds that work takes longer.
    pub static DELAY: AtomicU64 = AtomicU64::new(0);

    /// Waits so long, or until the delay is shorter.
    pub(super) fn delay() {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(DELAY.load(Ordering::Relaxed)) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether work with so many bytes may take long.
fn is_large(bytes: usize) -> bool {
    #[cfg(feature = "testing")]
    if testing::ALWAYS.load(Ordering::Relaxed) {
        return true;
    }
    bytes >= LARGE_BYTES
}

/// How often work is done beside the server before it is done in place, if its keys change all the time.
const MOST_ATTEMPTS: u32 = 3;

/// A command that waits for the worker.
struct Waiting {
    client: NonNull<RawBlocked>,
    /// Its arguments, which are held until it has run.
    strings: Vec<NonNull<RawString>>,
    command: Command,
    /// The flags of the context in which the client sent it.
    flags: c_int,
    /// The position of the key that it has to wait for.
    key: usize,
    /// The link to the master by which it came, if it did.
    link: Link,
}

// SAFETY: the server lets other threads use blocked clients, and the strings are used under its lock, or only read.
unsafe impl Send for Waiting {}

/// How often a link to a master was lost while a command that had come by it waited.
static LOST_LINKS: AtomicU64 = AtomicU64::new(0);

/// The link to the master, of which there is one at a time.
#[derive(Clone, Copy)]
pub(super) struct Link {
    /// How many were lost before.
    lost: u64,
}

impl Link {
    /// The link that there is now, as far as this server has one.
    fn current() -> Self {
        Self { lost: LOST_LINKS.load(Ordering::Relaxed) }
    }

    /// Whether it was lost while a command that had come by it waited. Links are lost only under the server's lock, so
    /// whoever has that lock sees it.
    pub(super) fn is_lost(self) -> bool {
        LOST_LINKS.load(Ordering::Relaxed) != self.lost
    }
}

unsafe extern "C" fn lose_link(_: *mut RawContext, _: *mut RawBlocked) {
    LOST_LINKS.fetch_add(1, Ordering::Relaxed);
}

/// Where waiting commands go; `None` if there is no thread to be had.
fn worker() -> Option<&'static Sender<Waiting>> {
    static WORKER: OnceLock<Option<Sender<Waiting>>> = OnceLock::new();
    let start = || {
        let (sender, receiver) = channel();
        let spawned = thread::Builder::new().name("malkoha".to_owned()).spawn(move || serve(&receiver));
        spawned.is_ok().then_some(sender)
    };
    WORKER.get_or_init(start).as_ref()
}

/// Whether commands of a client with such a context can wait. Of those that are repeated only what a replica gets from
/// its master: not what a master gets with a slot that moves to it.
pub(super) fn can_wait(flags: c_int) -> bool {
    use api::flags::{DENY_BLOCKING, LOADING, LUA, MULTI, REPLICA, REPLICATED};
    let is_sound = flags & REPLICATED == 0 || flags & REPLICA != 0;
    flags & (DENY_BLOCKING | LOADING | LUA | MULTI) == 0 && is_sound && worker().is_some()
}

/// Blocks the client and hands its command to the worker. `false` if the server does not let this client wait: Valkey
/// says so of clients in RESP3 that are subscribed to channels, and of the link to a master.
///
/// # Safety
///
/// `context` must be that of the command that the server is calling, and [`can_wait`] for its flags.
pub(super) unsafe fn defer(
    context: *mut RawContext,
    arguments: Arguments<'_>,
    command: Command,
    flags: c_int,
    key: usize,
) -> bool {
    let api = api();
    // SAFETY: the context is that of the call in progress. There is nothing to call back: the worker answers.
    let client = unsafe { (api.block_client)(context, None, None, None, 0) };
    let Some(client) = NonNull::new(client) else { return false };
    if flags & api::flags::REPLICATED != 0 {
        // SAFETY: the client was just blocked.
        unsafe { (api.set_disconnect_callback)(client.as_ptr(), lose_link) };
    }
    let hold = |string: &NonNull<RawString>| {
        // SAFETY: the string is an argument of the call in progress; without a context it is ours to free.
        let held = unsafe { (api.hold_string)(ptr::null_mut(), string.as_ptr()) };
        NonNull::new(held).expect("the server returns the string, or a copy")
    };
    let strings = arguments.strings().iter().map(hold).collect();
    let waiting = Waiting { client, strings, command, flags, key, link: Link::current() };
    worker().expect("seen by `can_wait`").send(waiting).expect("the worker never ends");
    true
}

/// Runs waiting commands, one after the other.
fn serve(commands: &Receiver<Waiting>) {
    let api = api();
    for waiting in commands {
        // SAFETY: the client is blocked, and so its context can be had.
        let context = unsafe { (api.get_thread_safe_context)(waiting.client.as_ptr()) };
        // SAFETY: the context is valid, and this thread does not have the lock.
        unsafe { lock(api, context, waiting.flags & api::flags::REPLICATED != 0) };
        // SAFETY: the context is valid, and this thread has the lock.
        let (has_replicated, garbage) = unsafe { run(api, context, &waiting) };
        // SAFETY: as above, and the context is not used any more after its lock was given back.
        unsafe { (api.thread_safe_context_unlock)(context) };
        // SAFETY: as above.
        unsafe { (api.free_thread_safe_context)(context) };
        // SAFETY: the client is blocked, and not used any more here.
        unsafe { (api.unblock_client)(waiting.client.as_ptr(), ptr::null_mut()) };
        if has_replicated {
            ping_replicas(api);
        }
        drop(garbage);
    }
}

/// Sends replicas a command that does nothing. They count a command that has run beside them as received only when the
/// next one is carried out, and those who wait for replicas should not have to wait for that.
fn ping_replicas(api: &Api) {
    // SAFETY: contexts that belong to no client can always be had.
    let context = unsafe { (api.get_thread_safe_context)(ptr::null_mut()) };
    // SAFETY: the context is valid, and this thread does not have the lock.
    unsafe { lock(api, context, false) };
    let (command, not_to_files) = (c"PING".as_ptr(), c"A".as_ptr());
    // SAFETY: the format has no arguments.
    unsafe { (api.replicate)(context, command, not_to_files) };
    // SAFETY: this thread has the lock.
    unsafe { (api.thread_safe_context_unlock)(context) };
    // SAFETY: made above, and not used any more.
    unsafe { (api.free_thread_safe_context)(context) };
}

/// Runs one command and answers its client. Returns whether anything was sent to replicas, and what is to be freed
/// without the server's lock.
///
/// # Safety
///
/// `context` must be that of the blocked client, and this thread must have the server's lock.
unsafe fn run(api: &'static Api, context: *mut RawContext, waiting: &Waiting) -> (bool, Vec<Box<dyn Send>>) {
    // SAFETY: the strings are held until the end of this function.
    let arguments = unsafe { Arguments::held(&waiting.strings) };
    // SAFETY: the context is valid until the end of this function.
    let mut call =
        unsafe { Call::beside_server(api, context, waiting.flags, &waiting.strings, waiting.link) };
    metrics::BESIDE.add(1);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        loop {
            call.must_be_current(&arguments, waiting.key)?;
            match (waiting.command)(&mut call, arguments) {
                Err(Refusal::Wait(_)) => {}
                outcome => break outcome,
            }
        }
    }));
    // SAFETY: the context is valid.
    unsafe { call::answer(api, context, outcome) };
    if waiting.flags & api::flags::REPLICATED != 0 {
        // SAFETY: the context is valid, and this thread has the lock.
        unsafe { received::note(api, context) };
    }
    for string in &waiting.strings {
        // SAFETY: held by `defer`, and not used any more.
        unsafe { (api.free_string)(ptr::null_mut(), string.as_ptr()) };
    }
    (call.has_replicated(), call.into_garbage())
}

/// Takes the server's lock. The server gives it back for some microseconds at a time if it is busy, which is not
/// enough for a thread to wake up, so the first attempts do not sleep. While the server is handing over to a replica,
/// nothing may be written but what its own master sends; then this waits.
///
/// # Safety
///
/// `context` must be valid, and this thread must not have the lock.
unsafe fn lock(api: &Api, context: *mut RawContext, is_repeated: bool) {
    const EAGER: u32 = 100_000;
    loop {
        // SAFETY: as the caller promises.
        let locked = || unsafe { (api.thread_safe_context_try_lock)(context) } == api::OK;
        let eagerly = (0..EAGER).any(|attempt| {
            if attempt % 64 == 63 {
                thread::yield_now();
            }
            core::hint::spin_loop();
            locked()
        });
        if !eagerly {
            // SAFETY: as the caller promises.
            unsafe { (api.thread_safe_context_lock)(context) };
        }
        // SAFETY: no obligations; this thread has the lock.
        let is_paused = api.avoid_replica_traffic.is_some_and(|avoid| unsafe { avoid() } != 0);
        if is_repeated || !is_paused {
            return;
        }
        // SAFETY: this thread has the lock.
        unsafe { (api.thread_safe_context_unlock)(context) };
        thread::sleep(Duration::from_millis(5));
    }
}

impl Call {
    /// Whether work with so many bytes is to be done beside the server.
    fn goes_beside(&self, arguments: &Arguments<'_>, bytes: usize) -> bool {
        is_large(bytes)
            && self.attempts().map_or_else(|| self.can_wait(arguments), |attempts| attempts < MOST_ATTEMPTS)
    }

    /// Does work that only reads the values at these keys, in as much time as so many bytes take. Keys that are missing
    /// are left out. If it may take long, it is done beside the server; see the top of this file.
    ///
    /// The command must have changed nothing before, and must not rely on anything that it has seen before this call,
    /// except at these keys.
    pub fn beside<T: Value + Sync, R>(
        &mut self,
        arguments: &Arguments<'_>,
        keys: &[usize],
        bytes: usize,
        work: impl FnOnce(&[&T]) -> R,
    ) -> Result<R, Refusal> {
        let goes_beside = self.goes_beside(arguments, bytes);
        if goes_beside && self.attempts().is_none() {
            return Err(Refusal::Wait(keys[0]));
        }
        let open: Vec<Key<'_>> = keys.iter().map(|key| self.read(arguments, *key)).collect();
        let mut values: Vec<&T> = Vec::with_capacity(open.len());
        for key in open.iter().filter(|key| !key.is_missing()) {
            values.push(key.value().ok_or(Refusal::WRONG_TYPE)?);
        }
        if !goes_beside {
            return Ok(work(&values));
        }
        let addresses: Vec<*mut c_void> = open.iter().map(|key| key.open.address()).collect();
        let values: Vec<*const T> = values.into_iter().map(ptr::from_ref).collect();
        drop(open);
        let loan = Loan::new(addresses.iter().copied().filter(|address| !address.is_null()));
        // SAFETY: lent values are not changed, and not freed before the loan ends.
        let values: Vec<&T> = values.into_iter().map(|value| unsafe { &*value }).collect();
        let result = self.without_lock(|| {
            #[cfg(feature = "testing")]
            testing::delay();
            let result = catch_unwind(AssertUnwindSafe(|| work(&values)));
            loan.has_read();
            result
        });
        let untouched = loan.end();
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        let same = keys.iter().zip(&addresses).all(|(key, address)| {
            let now = self.read(arguments, *key);
            now.open.address() == *address && (!address.is_null() || now.is_missing())
        });
        if untouched && same {
            return Ok(result);
        }
        self.count_attempt();
        Err(Refusal::Wait(keys[0]))
    }

    /// Gives the server's lock back while it works, as the worker. The work must not panic.
    fn without_lock<R>(&self, work: impl FnOnce() -> R) -> R {
        // SAFETY: the context is valid, and this is the worker, which has the lock.
        unsafe { (self.api().thread_safe_context_unlock)(self.context()) };
        let result = work();
        // SAFETY: the context is valid, and the lock was given back above.
        unsafe { lock(self.api(), self.context(), self.is_repeated()) };
        result
    }

    /// Changes the value at a key, in as much time as so many bytes take: in place or, if it may take long, beside the
    /// server, on a copy that replaces it.
    pub fn change<T: Value + Sync, R>(
        &mut self,
        arguments: &Arguments<'_>,
        key: usize,
        bytes: usize,
        change: impl FnOnce(&mut T) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        if !self.goes_beside(arguments, bytes) {
            return change(self.write(arguments, key)?.value_mut().ok_or(Refusal::WRONG_TYPE)?);
        }
        let (changed, result) = self.beside(arguments, &[key], bytes, |values: &[&T]| {
            let copy = values.first().ok_or(Refusal::WRONG_TYPE)?.copy();
            let mut copy = copy.ok_or(Refusal::of("ERR Insufficient memory"))?;
            change(&mut copy).map(|result| (copy, result))
        })??;
        self.write(arguments, key)?.put(changed);
        Ok(result)
    }
}
