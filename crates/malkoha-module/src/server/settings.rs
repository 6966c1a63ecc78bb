//! Settings: numbers and rates that `CONFIG SET` changes and commands read.

use core::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};

use super::api::RawString;

/// A setting that is a whole number.
pub struct NumberSetting {
    /// Its name, which the server puts the module's in front of.
    pub name: &'static CStr,
    /// Its value at first.
    pub default: i64,
    /// Its least value.
    pub least: i64,
    /// Its greatest value.
    pub most: i64,
    /// What else must hold of a new value; otherwise why not.
    pub check: fn(i64) -> Result<(), String>,
    value: AtomicI64,
}

impl NumberSetting {
    /// A setting with its default and range.
    #[must_use]
    pub const fn new(
        name: &'static CStr,
        default: i64,
        range: (i64, i64),
        check: fn(i64) -> Result<(), String>,
    ) -> Self {
        Self { name, default, least: range.0, most: range.1, check, value: AtomicI64::new(default) }
    }

    /// Its value.
    #[must_use]
    pub fn get(&self) -> i64 {
        self.value.load(Ordering::Relaxed)
    }

    /// Its value as a count; settings are not negative.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::try_from(self.get()).unwrap_or(0)
    }

    /// Its value in 16 bits, which the ranges of those that are read so allow.
    #[must_use]
    pub fn small(&self) -> u16 {
        u16::try_from(self.get()).unwrap_or(u16::MAX)
    }

    /// Changes it.
    pub fn set(&self, value: i64) -> Result<(), String> {
        let (least, most) = (self.least, self.most);
        if !(least..=most).contains(&value) {
            return Err(format!(
                "{}: value must be in the range [{least}, {most}]",
                self.name.to_string_lossy()
            ));
        }
        (self.check)(value)?;
        self.value.store(value, Ordering::Relaxed);
        Ok(())
    }
}

/// A setting that is a rate.
pub struct RateSetting {
    /// Its name, which the server puts the module's in front of.
    pub name: &'static CStr,
    /// Its value at first, as text.
    pub default: &'static CStr,
    /// Whether 0 is allowed, for none.
    pub may_be_zero: bool,
    /// Rates above this are lowered to it.
    pub cap: f64,
    bits: AtomicU64,
    /// The text that the server was last shown, which must outlive its question.
    pub(super) shown: AtomicPtr<RawString>,
}

impl RateSetting {
    /// A setting with its default, as text and as a number, and what is allowed.
    #[must_use]
    pub const fn new(
        name: &'static CStr,
        default: (&'static CStr, f64),
        may_be_zero: bool,
        cap: f64,
    ) -> Self {
        let bits = AtomicU64::new(default.1.to_bits());
        Self { name, default: default.0, may_be_zero, cap, bits, shown: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its value.
    #[must_use]
    pub fn get(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }

    /// Changes it.
    pub fn set(&self, text: &[u8]) -> Result<(), String> {
        let rate = str::from_utf8(text).ok().and_then(|text| text.trim().parse::<f64>().ok());
        let zero = self.may_be_zero && rate == Some(0.0);
        match rate {
            Some(rate) if zero || (rate > 0.0 && rate < 1.0) => {
                self.bits.store(rate.min(self.cap).to_bits(), Ordering::Relaxed);
                Ok(())
            }
            _ => Err(format!(
                "{}: a rate above 0 and below 1{} is expected",
                self.name.to_string_lossy(),
                if self.may_be_zero { ", or 0 for none," } else { "" }
            )),
        }
    }
}
