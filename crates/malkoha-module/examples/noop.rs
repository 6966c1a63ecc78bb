//! A module whose commands do nothing: what a command costs before it does anything, for `scripts/module bench`. Loaded
//! with the name of a command or a type as its argument, it takes that name, so that tests can see what happens then.
#![expect(unsafe_code, reason = "the server's interface")]

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

type Context = *mut c_void;
type Strings = *mut *mut c_void;
type Command = unsafe extern "C" fn(Context, Strings, c_int) -> c_int;
type GetApi = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

struct Api {
    set_attributes: unsafe extern "C" fn(Context, *const c_char, c_int, c_int),
    create_command:
        unsafe extern "C" fn(Context, *const c_char, Command, *const c_char, c_int, c_int, c_int) -> c_int,
    create_type: unsafe extern "C" fn(Context, *const c_char, c_int, *mut [usize; 7]) -> *mut c_void,
    string: unsafe extern "C" fn(*mut c_void, *mut usize) -> *const c_char,
    array: unsafe extern "C" fn(Context, c_long) -> c_int,
    bool: unsafe extern "C" fn(Context, c_int) -> c_int,
}

static API: std::sync::OnceLock<Api> = std::sync::OnceLock::new();

/// Looks at all arguments and answers no for each but the first two.
unsafe extern "C" fn answer_no(context: Context, strings: Strings, count: c_int) -> c_int {
    let Some(api) = API.get() else { return 1 };
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the context is valid.
    unsafe { (api.array)(context, c_long::try_from(count.saturating_sub(2)).unwrap_or(0)) };
    for index in 2..count {
        let mut len = 0;
        // SAFETY: there are `count` strings.
        let string = unsafe { strings.add(index) };
        // SAFETY: as above.
        let string = unsafe { string.read() };
        // SAFETY: the string is valid.
        std::hint::black_box(unsafe { (api.string)(string, &raw mut len) });
        // SAFETY: the context is valid.
        unsafe { (api.bool)(context, 0) };
    }
    0
}

/// What the server calls when it loads the module.
///
/// # Safety
///
/// Only the server calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(context: Context, strings: Strings, count: c_int) -> c_int {
    // SAFETY: the first word of the context is the function that looks up functions.
    let get = unsafe { context.cast::<GetApi>().read() };
    macro_rules! look_up {
        ($name:literal) => {{
            let mut found = None;
            // SAFETY: the server writes the address of the function of this name, which has the type of the field.
            unsafe { get($name.as_ptr(), (&raw mut found).cast()) };
            match found {
                Some(found) => found,
                None => return 1,
            }
        }};
    }
    let looked_up = Api {
        set_attributes: look_up!(c"RedisModule_SetModuleAttribs"),
        create_command: look_up!(c"RedisModule_CreateCommand"),
        create_type: look_up!(c"RedisModule_CreateDataType"),
        string: look_up!(c"RedisModule_StringPtrLen"),
        array: look_up!(c"RedisModule_ReplyWithArray"),
        bool: look_up!(c"RedisModule_ReplyWithBool"),
    };
    let api = API.get_or_init(|| looked_up);
    // SAFETY: the context is valid and the name ends in zero.
    unsafe { (api.set_attributes)(context, c"noop".as_ptr(), 1, 1) };
    let mut name = c"NOOP.MEXISTS".as_ptr();
    if count > 0 {
        // SAFETY: there is a string.
        let string = unsafe { *strings };
        // SAFETY: the string is valid, ends in zero and stays until this function returns.
        name = unsafe { (api.string)(string, core::ptr::null_mut()) };
        // SAFETY: as above.
        let is_type = !unsafe { CStr::from_ptr(name) }.to_bytes().contains(&b'.');
        if is_type {
            // The first version of the methods of a type: that number, and no function.
            let mut methods = [1, 0, 0, 0, 0, 0, 0];
            // SAFETY: the context is valid, and the server copies the methods.
            let made = unsafe { (api.create_type)(context, name, 0, &raw mut methods) };
            return c_int::from(made.is_null());
        }
    }
    // SAFETY: the context is valid and texts end in zero.
    unsafe { (api.create_command)(context, name, answer_no, c"readonly fast".as_ptr(), 1, 1, 1) }
}
