//! What a command answers. A command returns its answer as a value; the border sends it. So nothing has been sent yet
//! if a command fails half-way.
#![expect(unsafe_code, reason = "calls of the server's functions")]

use core::ffi::{c_long, c_longlong};
use std::borrow::Cow;
use std::ffi::CString;

use super::api::{Api, RawContext};

/// An answer. What differs between RESP2 and RESP3 is left to the server where it knows how: booleans are 1 and 0 in
/// RESP2, and maps are flat arrays.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// `+OK`.
    Ok,
    /// A whole number.
    Integer(i64),
    /// Yes or no.
    Bool(bool),
    /// A number.
    Double(f64),
    /// Nothing.
    Null,
    /// Bytes.
    Bytes(Vec<u8>),
    /// A line of text.
    Line(String),
    /// Several answers.
    Array(Vec<Reply>),
    /// One yes or no for each item.
    Bools(Vec<bool>),
    /// One number for each item.
    Integers(Vec<i64>),
    /// Named answers, in this order.
    Map(Vec<(&'static str, Reply)>),
    /// The same with names as lines of text, as RedisBloom sends them.
    Info(Vec<(&'static str, Reply)>),
    /// An error as one element of an array.
    Error(Refusal),
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// With this text, which begins with the error's code if it has one.
    Text(Cow<'static, str>),
    /// The server's own text about the number of arguments.
    Arity,
    /// Not refused: the command has to wait, because of the key at this position, and nothing has changed yet. Clients
    /// never see it.
    Wait(usize),
}

impl Refusal {
    /// The key holds another type.
    pub const WRONG_TYPE: Self =
        Self::of("WRONGTYPE Operation against a key holding the wrong kind of value");

    /// A refusal with a fixed text.
    #[must_use]
    pub const fn of(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

/// The engine's own texts, except where they tell a programmer what to do.
impl From<malkoha::Error> for Refusal {
    fn from(error: malkoha::Error) -> Self {
        match error {
            malkoha::Error::NoValues => Self::of("ERR this filter has no values; MK.RESERVE one with VALUES"),
            malkoha::Error::Allocation { .. } => Self::of("ERR Insufficient memory"),
            error => format!("ERR {error}").into(),
        }
    }
}

/// Numbers that count something, as far as the protocol can say them.
impl From<u64> for Reply {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Reply {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

/// The length of an array, as the server wants it.
fn length(len: usize) -> c_long {
    c_long::try_from(len).expect("nothing in memory has more elements")
}

/// Sends an answer.
///
/// # Safety
///
/// `context` must be the context of the command that the server is calling.
pub(super) unsafe fn send(api: &Api, context: *mut RawContext, reply: &Reply) {
    // SAFETY of all calls below: the caller's context is valid, texts end in zero, and buffers have their length.
    match reply {
        // SAFETY: see above.
        Reply::Ok => unsafe { (api.reply_with_simple_string)(context, c"OK".as_ptr()) },
        // SAFETY: see above.
        Reply::Integer(number) => unsafe { (api.reply_with_long_long)(context, *number) },
        // SAFETY: see above.
        Reply::Bool(yes) => unsafe { (api.reply_with_bool)(context, i32::from(*yes)) },
        // SAFETY: see above.
        Reply::Double(number) => unsafe { (api.reply_with_double)(context, *number) },
        // SAFETY: see above.
        Reply::Null => unsafe { (api.reply_with_null)(context) },
        Reply::Bytes(bytes) => {
            // SAFETY: see above.
            unsafe { (api.reply_with_string_buffer)(context, bytes.as_ptr().cast(), bytes.len()) }
        }
        Reply::Line(text) => {
            let text = line(text);
            // SAFETY: see above.
            unsafe { (api.reply_with_simple_string)(context, text.as_ptr()) }
        }
        Reply::Array(elements) => {
            // SAFETY: see above.
            unsafe { (api.reply_with_array)(context, length(elements.len())) };
            for element in elements {
                // SAFETY: the same context.
                unsafe { send(api, context, element) };
            }
            0
        }
        Reply::Bools(elements) => {
            // SAFETY: see above.
            unsafe { (api.reply_with_array)(context, length(elements.len())) };
            for yes in elements {
                // SAFETY: see above.
                unsafe { (api.reply_with_bool)(context, i32::from(*yes)) };
            }
            0
        }
        Reply::Integers(elements) => {
            // SAFETY: see above.
            unsafe { (api.reply_with_array)(context, length(elements.len())) };
            for number in elements {
                // SAFETY: see above.
                unsafe { (api.reply_with_long_long)(context, c_longlong::from(*number)) };
            }
            0
        }
        Reply::Map(pairs) | Reply::Info(pairs) => {
            // SAFETY: see above.
            unsafe { (api.reply_with_map)(context, length(pairs.len())) };
            for (name, value) in pairs {
                if matches!(reply, Reply::Info(_)) {
                    let name = line(name);
                    // SAFETY: see above.
                    unsafe { (api.reply_with_simple_string)(context, name.as_ptr()) };
                } else {
                    // SAFETY: see above.
                    unsafe { (api.reply_with_string_buffer)(context, name.as_ptr().cast(), name.len()) };
                }
                // SAFETY: the same context.
                unsafe { send(api, context, value) };
            }
            0
        }
        // SAFETY: the same context.
        Reply::Error(refusal) => unsafe { refuse(api, context, refusal) },
    };
}

/// Sends an error.
///
/// # Safety
///
/// As for [`send`].
pub(super) unsafe fn refuse(api: &Api, context: *mut RawContext, refusal: &Refusal) -> i32 {
    match refusal {
        // SAFETY: the caller's context is valid.
        Refusal::Arity => unsafe { (api.wrong_arity)(context) },
        Refusal::Wait(_) => unreachable!("commands that wait are not answered"),
        Refusal::Text(text) => {
            let text = line(text);
            // SAFETY: the caller's context is valid, and the text ends in zero.
            unsafe { (api.reply_with_error)(context, text.as_ptr()) }
        }
    }
}

/// A text as one line that the protocol and C can carry.
fn line(text: &str) -> CString {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    CString::new(clean).expect("zero is a control character")
}
