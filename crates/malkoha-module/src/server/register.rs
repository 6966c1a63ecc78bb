//! Registration of commands, types, settings and metrics when the module is loaded.
#![expect(unsafe_code, reason = "calls of the server's functions, and callbacks")]

use core::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void};
use core::ptr;
use std::ffi::CString;
use std::sync::atomic::Ordering;

use super::api::{
    self, Api, CommandFn, CommandInfo, CommandInfoVersion, RawContext, RawInfo, RawString, api,
};
use super::arguments::Arguments;
use super::call;
use super::docs::{self, RawArguments};
use super::received;
use super::settings::{NumberSetting, RateSetting};
use super::types::{self, Value};

/// A command as it is registered.
pub struct CommandSpec {
    /// Its name, such as `CF.ADD`.
    pub name: &'static CStr,
    /// What the server calls.
    pub function: CommandFn,
    /// What it does to keys: `write`, `readonly`, `deny-oom`, `fast`.
    pub flags: &'static CStr,
    /// First key, last key, step.
    pub keys: (i32, i32, i32),
    /// The number of arguments with its name; negative: at least that many.
    pub arity: i32,
    /// Its arguments, for `COMMAND DOCS`.
    pub arguments: docs::Arguments,
    /// Categories of access lists.
    pub categories: &'static CStr,
    /// What it does, for `COMMAND DOCS`.
    pub summary: &'static CStr,
    /// What it costs, for `COMMAND DOCS`.
    pub complexity: &'static CStr,
}

/// Declares commands: each gets the function that the server calls.
#[macro_export]
macro_rules! commands {
    ($($name:literal $function:path, $flags:literal, $keys:expr, $arity:literal, $arguments:expr, $categories:literal, $summary:literal, $complexity:literal;)*) => {
        [$($crate::server::register::CommandSpec {
            name: $name,
            function: {
                #[expect(unsafe_code, reason = "the server calls it")]
                unsafe extern "C" fn entry(
                    context: *mut $crate::server::api::RawContext,
                    strings: *mut *mut $crate::server::api::RawString,
                    count: ::core::ffi::c_int,
                ) -> ::core::ffi::c_int {
                    // SAFETY: the server calls the function of a command with its context and arguments.
                    unsafe { $crate::server::call::enter(context, strings, count, $function) }
                }
                entry
            },
            flags: $flags,
            keys: $keys,
            arity: $arity,
            arguments: $arguments,
            categories: $categories,
            summary: $summary,
            complexity: $complexity,
        }),*]
    };
}

/// The module while it is being loaded.
pub struct Loading<'a> {
    api: &'static Api,
    context: *mut RawContext,
    arguments: Arguments<'a>,
}

/// The name and version under which the module is known.
const NAME: &CStr = c"malkoha";
const VERSION: c_int = 1;

/// Meets the server and lets `load` register everything.
///
/// # Safety
///
/// The server must be calling `RedisModule_OnLoad` with these arguments.
pub unsafe fn on_load(
    context: *mut RawContext,
    strings: *mut *mut RawString,
    count: c_int,
    load: fn(&Loading<'_>) -> Result<(), String>,
) -> c_int {
    // SAFETY: the context is that of `RedisModule_OnLoad`. Nothing is allocated before this.
    let Ok(api) = (unsafe { api::meet(context) }) else { return api::ERR };
    std::panic::set_hook(Box::new(log_panic));
    let outcome = std::panic::catch_unwind(|| {
        // SAFETY: the name ends in zero.
        if api.is_module_name_busy.is_some_and(|busy| unsafe { busy(NAME.as_ptr()) != 0 }) {
            return Err("a module of this name is already loaded".to_owned());
        }
        // SAFETY: the context is valid and the name ends in zero.
        unsafe { (api.set_module_attribs)(context, NAME.as_ptr(), VERSION, api::API_VERSION) };
        let mut options = api::options::HANDLE_IO_ERRORS | api::options::NO_IMPLICIT_SIGNAL_MODIFIED;
        if api.valkey_get_server_version.is_some() {
            options |= api::options::HANDLE_ATOMIC_SLOT_MIGRATION;
        }
        // SAFETY: the context is valid.
        unsafe { (api.set_module_options)(context, options) };
        // SAFETY: the server passes that many strings, valid during this call.
        let arguments = unsafe { Arguments::new(strings, count) };
        load(&Loading { api, context, arguments })?;
        // Last of all: a server that does not keep the module would call what is not there any more.
        // SAFETY: the context is valid.
        unsafe { received::subscribe(api, context) };
        Ok(())
    });
    match outcome {
        Ok(Ok(())) => api::OK,
        Ok(Err(why)) => {
            let text = CString::new(format!("not loaded: {why}").replace('\0', " ")).unwrap_or_default();
            // SAFETY: the context is valid.
            unsafe { call::log(context, c"warning", &text) };
            api::ERR
        }
        Err(_) => api::ERR,
    }
}

/// Writes a panic to the server's log. Without a backtrace: finding the names for one allocates by the system's
/// library, and where the server replaces its allocator, that memory cannot be freed from here.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let text = CString::new(panic.to_string().replace('\0', " ")).unwrap_or_default();
    // SAFETY: the server takes a missing context.
    unsafe { call::log(ptr::null_mut(), c"warning", &text) };
}

impl Loading<'_> {
    /// The arguments of `loadmodule`, after the path.
    pub fn arguments(&self) -> impl Iterator<Item = &[u8]> {
        self.arguments.iter()
    }

    /// Registers a data type.
    pub fn value<T: Value>(&self) -> Result<(), String> {
        // SAFETY: the context is that of `RedisModule_OnLoad`.
        unsafe { types::register::<T>(self.context) }
    }

    /// Registers a command with its documentation.
    pub fn command(&self, spec: &CommandSpec) -> Result<(), String> {
        let (first, last, step) = spec.keys;
        let (name, flags) = (spec.name.as_ptr(), spec.flags.as_ptr());
        // SAFETY: the context is valid and texts end in zero.
        let result =
            unsafe { (self.api.create_command)(self.context, name, spec.function, flags, first, last, step) };
        if result != api::OK {
            let name = spec.name.to_string_lossy();
            return Err(format!(
                "the command {name} exists already; load with `only` and the families that are not taken: \
                 only cf, only bf, only mk"
            ));
        }
        self.document(spec);
        Ok(())
    }

    /// Access lists and `COMMAND DOCS`, on servers that have them.
    fn document(&self, spec: &CommandSpec) {
        let Some(get) = self.api.get_command else { return };
        // SAFETY: the context is valid and the name ends in zero.
        let command = unsafe { get(self.context, spec.name.as_ptr()) };
        if command.is_null() {
            return;
        }
        if let Some(set) = self.api.set_command_acl_categories {
            // SAFETY: the command was just found, and the text ends in zero.
            unsafe { set(command, spec.categories.as_ptr()) };
        }
        if let Some(set) = self.api.set_command_info {
            let version = CommandInfoVersion {
                version: 1,
                sizeof_historyentry: 2 * size_of::<*const c_char>(),
                sizeof_keyspec: size_of::<api::KeySpec>(),
                sizeof_arg: size_of::<api::CommandArgument>(),
            };
            let specs = key_specs(spec);
            let mut arguments = RawArguments::new(spec.arguments);
            let info = CommandInfo {
                version: &raw const version,
                summary: spec.summary.as_ptr(),
                complexity: spec.complexity.as_ptr(),
                since: c"0.1.0".as_ptr(),
                history: ptr::null_mut(),
                tips: ptr::null(),
                arity: spec.arity,
                key_specs: specs.as_ptr(),
                args: arguments.as_mut_ptr(),
            };
            // SAFETY: the command was just found, and the server copies what it is told.
            unsafe { set(command, &raw const info) };
        }
    }

    /// Adds a category of access lists, on servers that have them. Another module may have added it before.
    pub fn category(&self, name: &CStr) {
        if let Some(add) = self.api.add_acl_category {
            // SAFETY: the context is valid and the name ends in zero.
            unsafe { add(self.context, name.as_ptr()) };
        }
    }

    /// Registers a setting that is a number. If `whole` and the server can, it has its name also without the
    /// module's in front, as RedisBloom's settings have there.
    pub fn number(&self, setting: &'static NumberSetting, whole: bool) -> Result<(), String> {
        let data = ptr::from_ref(setting).cast_mut().cast();
        let (default, least, most) = (setting.default, setting.least, setting.most);
        self.setting(setting.name, whole, |name, flags| {
            let (name, get, set) = (name.as_ptr(), get_number, set_number);
            // SAFETY: the context is valid, the name ends in zero, and the setting lives for ever.
            unsafe {
                (self.api.register_numeric_config)(
                    self.context,
                    name,
                    default,
                    flags,
                    least,
                    most,
                    get,
                    set,
                    None,
                    data,
                )
            }
        })
    }

    /// Registers a setting that is a rate; `whole` as for numbers.
    pub fn rate(&self, setting: &'static RateSetting, whole: bool) -> Result<(), String> {
        let data = ptr::from_ref(setting).cast_mut().cast();
        let default = setting.default.as_ptr();
        self.setting(setting.name, whole, |name, flags| {
            let (name, get, set) = (name.as_ptr(), get_text, set_text);
            // SAFETY: the context is valid, the texts end in zero, and the setting lives for ever.
            unsafe {
                (self.api.register_string_config)(self.context, name, default, flags, get, set, None, data)
            }
        })
    }

    /// Registers a setting under its names.
    fn setting(
        &self,
        name: &CStr,
        whole: bool,
        register: impl Fn(&CStr, c_uint) -> c_int,
    ) -> Result<(), String> {
        const REDIS_8: c_int = 8 << 16;
        // SAFETY: no obligations.
        let version = unsafe { (self.api.get_server_version)() };
        if whole && version >= REDIS_8 && self.api.valkey_get_server_version.is_none() {
            let (short, module) = (name.to_string_lossy(), NAME.to_string_lossy());
            let names = CString::new(format!("{short}|{module}.{short}")).unwrap_or_default();
            if register(&names, api::CONFIG_UNPREFIXED) == api::OK {
                return Ok(());
            }
        }
        if register(name, api::CONFIG_DEFAULT) == api::OK {
            return Ok(());
        }
        Err(format!("the setting {} could not be registered", name.to_string_lossy()))
    }

    /// Takes over the values that the server's own configuration has for the settings.
    pub fn settings_registered(&self) -> Result<(), String> {
        // SAFETY: the context is valid.
        match unsafe { (self.api.load_configs)(self.context) } {
            api::OK => Ok(()),
            _ => Err("a setting in the server's configuration has an impossible value".to_owned()),
        }
    }

    /// Registers the function that fills the module's part of `INFO`.
    pub fn info(&self) -> Result<(), String> {
        // SAFETY: the context is valid.
        match unsafe { (self.api.register_info_func)(self.context, fill_info) } {
            api::OK => Ok(()),
            _ => Err("the server does not take metrics".to_owned()),
        }
    }

    /// Writes a line to the server's log.
    pub fn log(&self, text: &CStr) {
        // SAFETY: the context is valid.
        unsafe { call::log(self.context, c"notice", text) };
    }
}

/// Where the keys are and what happens to them, ended by an empty entry. If there is more than one key, the command
/// changes the first and reads the others.
fn key_specs(spec: &CommandSpec) -> [api::KeySpec; 3] {
    let reads = spec.flags.to_bytes().starts_with(b"readonly");
    let flags = if reads {
        api::key::RO | api::key::ACCESS
    } else {
        api::key::RW | api::key::ACCESS | api::key::UPDATE
    };
    let one = |position, last, flags| api::KeySpec::range(position, last, flags);
    match spec.keys {
        (0, ..) => [api::KeySpec::END; 3],
        (first, last, _) if last == first => [one(first, 0, flags), api::KeySpec::END, api::KeySpec::END],
        (first, last, _) => {
            [one(first, 0, flags), one(first + 1, last, api::key::RO | api::key::ACCESS), api::KeySpec::END]
        }
    }
}

unsafe extern "C" fn get_number(_: *const c_char, data: *mut c_void) -> c_longlong {
    // SAFETY: the data is the setting that was registered, which lives for ever.
    unsafe { &*data.cast::<NumberSetting>() }.get()
}

unsafe extern "C" fn set_number(
    _: *const c_char,
    value: c_longlong,
    data: *mut c_void,
    why: *mut *mut RawString,
) -> c_int {
    // SAFETY: the data is the setting that was registered, which lives for ever.
    let setting = unsafe { &*data.cast::<NumberSetting>() };
    // SAFETY: the server passes the place for an error.
    unsafe { answer(setting.set(value), why) }
}

unsafe extern "C" fn get_text(_: *const c_char, data: *mut c_void) -> *mut RawString {
    // SAFETY: the data is the setting that was registered, which lives for ever.
    let setting = unsafe { &*data.cast::<RateSetting>() };
    // The server does not free this string, so the setting keeps it until another is asked for.
    let new = string(setting.get().to_string().as_bytes());
    let old = setting.shown.swap(new, Ordering::Relaxed);
    if !old.is_null() {
        // SAFETY: made by `string` when this was called before, and the server has copied it since.
        unsafe { (api().free_string)(ptr::null_mut(), old) };
    }
    new
}

unsafe extern "C" fn set_text(
    _: *const c_char,
    value: *mut RawString,
    data: *mut c_void,
    why: *mut *mut RawString,
) -> c_int {
    // SAFETY: the data is the setting that was registered, which lives for ever.
    let setting = unsafe { &*data.cast::<RateSetting>() };
    let mut len = 0;
    // SAFETY: the server passes a valid string, and `len` is written to.
    let first = unsafe { (api().string_ptr_len)(value, &raw mut len) };
    // SAFETY: the string has `len` bytes.
    let bytes = if len == 0 { &[][..] } else { unsafe { core::slice::from_raw_parts(first.cast(), len) } };
    // SAFETY: the server passes the place for an error.
    unsafe { answer(setting.set(bytes), why) }
}

/// Tells the server whether a setting was changed.
///
/// # Safety
///
/// `why` must be the place where the server wants an error.
unsafe fn answer(result: Result<(), String>, why: *mut *mut RawString) -> c_int {
    let Err(text) = result else { return api::OK };
    let text = string(text.as_bytes());
    // SAFETY: the server passes a valid place, and owns the string then.
    unsafe { why.write(text) };
    api::ERR
}

/// A string of the server.
fn string(bytes: &[u8]) -> *mut RawString {
    // SAFETY: the bytes have their length, and the string belongs to no context.
    unsafe { (api().create_string)(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len()) }
}

unsafe extern "C" fn fill_info(info: *mut RawInfo, _for_crash_report: c_int) {
    let api = api();
    // SAFETY: the server passes a valid reply, and the name ends in zero.
    unsafe { (api.info_add_section)(info, c"filters".as_ptr()) };
    for (name, value) in crate::metrics::all() {
        // SAFETY: as above.
        unsafe { (api.info_add_field_u_long_long)(info, name.as_ptr(), value) };
    }
}
