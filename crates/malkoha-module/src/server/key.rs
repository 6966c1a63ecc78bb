//! Open keys, and the values that they hold.
#![expect(unsafe_code, reason = "calls of the server's functions")]

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::api::{self, Api, RawKey};
use super::call::Call;
use super::types::Value;

/// An open key, which is closed when this is dropped.
pub(super) struct Open {
    pub(super) api: &'static Api,
    /// Null if the key was opened for reading and does not exist.
    pub(super) raw: *mut RawKey,
}

impl Open {
    fn is_missing(&self) -> bool {
        // SAFETY: the key is open; the server takes null for a missing one.
        unsafe { (self.api.key_type)(self.raw) == api::KEY_TYPE_EMPTY }
    }

    /// Whether the key has a time to live.
    pub(super) fn expires(&self) -> bool {
        // SAFETY: the key is open.
        !self.raw.is_null() && unsafe { (self.api.get_expire)(self.raw) } != api::NO_EXPIRE
    }

    /// The address of the value, if it is one of a module.
    pub(super) fn address(&self) -> *mut c_void {
        if self.raw.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the key is open. The answer is null unless it holds a value of a module.
        unsafe { (self.api.module_type_get_value)(self.raw) }
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
        NonNull::new(self.address().cast())
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
    pub(super) open: Open,
    /// While this borrow lasts no key is opened for writing.
    pub(super) lifetime: PhantomData<&'a Call>,
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
    pub(super) open: Open,
    /// While this borrow lasts no other key is opened, except through [`KeyMut::call`].
    pub(super) call: &'a mut Call,
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
        // SAFETY: as in `value`; and nothing else refers to the value: keys that are open besides this one have come
        // from `call`, and so end before `&mut self` is borrowed, and `Call::write` opens no key whose value is lent.
        self.open.pointer::<T>().map(|mut value| unsafe { value.as_mut() })
    }

    /// Puts a value at this key, in place of whatever was there. What had the same type is freed after the call, and
    /// the key keeps its time to live.
    pub fn put<T: Value>(&mut self, value: T) {
        let (api, key, registered) = (self.open.api, self.open.raw, T::registered().raw());
        let value = Box::into_raw(Box::new(value)).cast();
        let mut old = ptr::null_mut();
        let result = if self.open.pointer::<T>().is_some() {
            // SAFETY: the key is open for writing and holds a value of this type, as the new one is. The server owns
            // the new one from now on, and we own the old one.
            unsafe { (api.module_type_replace_value)(key, registered, value, &raw mut old) }
        } else {
            // SAFETY: the key is open for writing, and the value is of the registered type. The server owns it from
            // now on.
            unsafe { (api.module_type_set_value)(key, registered, value) }
        };
        assert_eq!(result, api::OK, "a key that is open for writing takes a value");
        if !old.is_null() {
            // SAFETY: the server has given up the value, which is not lent (`Call::write`). Values of this type are
            // boxes.
            self.call.discard(unsafe { Box::from_raw(old.cast::<T>()) });
        }
    }
}
