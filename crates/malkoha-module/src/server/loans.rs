//! Values that are lent to the worker (`beside.rs`): everybody may read them, and nobody changes or frees them.

use core::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Frees a value, as the server would.
pub(super) type Free = unsafe extern "C" fn(*mut c_void);

/// What is lent. There is one worker, so all of it is lent to the same piece of work.
struct Loans {
    /// The addresses of the values.
    values: Vec<usize>,
    /// Those among them that the server has freed since: they are freed when the loan ends.
    orphans: Vec<(usize, Free)>,
    /// Whether the worker still reads the values.
    reading: bool,
}

static LOANS: Mutex<Loans> = Mutex::new(Loans { values: Vec::new(), orphans: Vec::new(), reading: false });

/// Tells those who wait that the worker does not read the values any more.
static READ: Condvar = Condvar::new();

/// Whether anything is lent: all that commands look at in almost all cases. Values are lent and called back only
/// under the server's lock, so whoever has that lock sees the latest state.
static ANY: AtomicBool = AtomicBool::new(false);

fn loans() -> MutexGuard<'static, Loans> {
    // Nothing here panics halfway, so the content is sound whatever happened to another thread.
    LOANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a value is lent.
#[inline]
pub(super) fn is_lent(value: *mut c_void) -> bool {
    ANY.load(Ordering::Acquire) && loans().values.contains(&value.addr())
}

/// Ends the loan, as soon as the worker has read all it wants: what it makes of the values is void.
pub(super) fn call_back() {
    let mut loans = loans();
    while loans.reading {
        loans = READ.wait(loans).unwrap_or_else(PoisonError::into_inner);
    }
    loans.values.clear();
    ANY.store(false, Ordering::Release);
}

/// Whether the server must not free a value now; then the loan does it when it ends.
pub(super) fn take_over(value: *mut c_void, free: Free) -> bool {
    if !ANY.load(Ordering::Acquire) {
        return false;
    }
    let mut loans = loans();
    let lent = loans.values.contains(&value.addr());
    if lent {
        loans.orphans.push((value.expose_provenance(), free));
    }
    lent
}

/// A loan of values, which ends when this is dropped.
pub(super) struct Loan;

impl Loan {
    /// Lends values. The caller has the server's lock.
    pub(super) fn new(values: impl Iterator<Item = *mut c_void>) -> Self {
        let mut loans = loans();
        loans.values = values.map(<*mut c_void>::addr).collect();
        loans.reading = true;
        ANY.store(true, Ordering::Release);
        Self
    }

    /// Says that the values are not read any more. They are still not changed, unless somebody calls them back.
    #[expect(clippy::unused_self, reason = "only who has the loan says so")]
    pub(super) fn has_read(&self) {
        loans().reading = false;
        READ.notify_all();
    }

    /// Ends the loan. Returns whether nobody has called the values back.
    #[expect(clippy::unused_self, reason = "dropped")]
    pub(super) fn end(self) -> bool {
        !loans().values.is_empty()
    }
}

impl Drop for Loan {
    #[expect(unsafe_code, reason = "frees what the server wanted to be freed")]
    fn drop(&mut self) {
        let mut loans = loans();
        loans.reading = false;
        loans.values.clear();
        ANY.store(false, Ordering::Release);
        let orphans = core::mem::take(&mut loans.orphans);
        drop(loans);
        READ.notify_all();
        for (value, free) in orphans {
            // SAFETY: the server has called this function with this value, which nobody uses any more: the loan was the
            // last that kept it.
            unsafe { free(core::ptr::with_exposed_provenance_mut(value)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    static FREED: AtomicUsize = AtomicUsize::new(0);

    #[expect(unsafe_code, reason = "what the server calls")]
    unsafe extern "C" fn free(_: *mut c_void) {
        FREED.fetch_add(1, Ordering::Relaxed);
    }

    /// One test, because there is one list of loans.
    #[test]
    fn values_are_kept_until_they_have_been_read() {
        let [first, second, other] = [8, 16, 24].map(ptr::without_provenance_mut);
        assert!(!is_lent(first) && !take_over(first, free));

        let loan = Loan::new([first, second].into_iter());
        assert!(is_lent(first) && is_lent(second) && !is_lent(other));
        assert!(take_over(first, free) && !take_over(other, free));
        assert_eq!(FREED.load(Ordering::Relaxed), 0);
        loan.has_read();
        assert!(is_lent(second), "not called back");
        assert!(loan.end());
        assert_eq!(FREED.load(Ordering::Relaxed), 1);
        assert!(!is_lent(second));

        let loan = Loan::new([first].into_iter());
        let waiting = thread::spawn(call_back);
        assert!(is_lent(first), "nobody gets it as long as it is read");
        loan.has_read();
        waiting.join().unwrap();
        assert!(!is_lent(first) && !loan.end(), "void");
    }
}
