//! The functions of the server's module interface, looked up by name when the module is loaded.
//!
//! The signatures are those of `redismodule.h`, which Redis and Valkey share. Functions that some servers lack are
//! optional, so that callers have to say what happens then.
#![expect(unsafe_code, reason = "functions of the server, called through pointers")]

use core::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

/// Defines a C type that is only ever seen behind a pointer.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* #[repr(C)] pub struct $name { _private: [u8; 0] })*
    };
}

opaque! {
    /// The context of one call.
    RawContext;
    /// A string of the server.
    RawString;
    /// An open key.
    RawKey;
    /// A registered data type.
    RawType;
    /// A stream that values are saved to or loaded from.
    RawIo;
    /// A digest in the making.
    RawDigest;
    /// An `INFO` reply in the making.
    RawInfo;
    /// A registered command.
    RawCommand;
    /// Fields of the server's own `INFO`.
    RawServerInfo;
    /// A client that waits for an answer.
    RawBlocked;
    /// What a command of the server has answered.
    RawReply;
}

/// The function of a command.
pub type CommandFn = unsafe extern "C" fn(*mut RawContext, *mut *mut RawString, c_int) -> c_int;
/// The function that fills the module's part of `INFO`.
pub type InfoFn = unsafe extern "C" fn(*mut RawInfo, c_int);
/// Reads a numeric setting.
pub type GetNumber = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
/// Changes a numeric setting.
pub type SetNumber =
    unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut *mut RawString) -> c_int;
/// Reads a setting that is text.
pub type GetText = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut RawString;
/// Changes a setting that is text.
pub type SetText =
    unsafe extern "C" fn(*const c_char, *mut RawString, *mut c_void, *mut *mut RawString) -> c_int;
/// Frees what belongs to a blocked client; unused.
pub type FreeData = unsafe extern "C" fn(*mut RawContext, *mut c_void);
/// What the server calls when a blocked client is gone.
pub type DisconnectFn = unsafe extern "C" fn(*mut RawContext, *mut RawBlocked);
/// What the server calls when something has happened.
pub type EventFn = unsafe extern "C" fn(*mut RawContext, RawEvent, u64, *mut c_void);
/// Applies several settings at once; unused.
pub type ApplyFn = unsafe extern "C" fn(*mut RawContext, *mut c_void, *mut *mut RawString) -> c_int;

/// Success, as the server says it.
pub const OK: c_int = 0;
/// Failure, as the server says it.
pub const ERR: c_int = 1;
/// The version of the interface.
pub const API_VERSION: c_int = 1;

/// How a key is opened.
pub mod mode {
    use core::ffi::c_int;
    /// Only to be read.
    pub const READ: c_int = 1;
    /// To be read and changed.
    pub const READ_WRITE: c_int = 3;
}

/// Bits of `GetContextFlags`.
pub mod flags {
    use core::ffi::c_int;
    /// The command comes from a script.
    pub const LUA: c_int = 1;
    /// The command is part of a transaction.
    pub const MULTI: c_int = 1 << 1;
    /// The server is a replica.
    pub const REPLICA: c_int = 1 << 3;
    /// The server is a replica that clients do not write to.
    pub const READ_ONLY: c_int = 1 << 4;
    /// The server is a node of a cluster.
    pub const CLUSTER: c_int = 1 << 5;
    /// The command comes from a master.
    pub const REPLICATED: c_int = 1 << 12;
    /// The command comes from a file that is being loaded.
    pub const LOADING: c_int = 1 << 13;
    /// The client cannot be blocked.
    pub const DENY_BLOCKING: c_int = 1 << 21;
    /// The client speaks RESP3.
    pub const RESP3: c_int = 1 << 22;
}

/// A kind of events of the server.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawEvent {
    id: u64,
    version: u64,
}

/// Events of the server.
pub mod events {
    use super::RawEvent;
    /// It has become a master, or has got one.
    pub const ROLE_CHANGED: RawEvent = RawEvent { id: 0, version: 1 };
    /// It has become a master.
    pub const NOW_MASTER: u64 = 0;
    /// It begins to load data, or ends.
    pub const LOADING: RawEvent = RawEvent { id: 3, version: 1 };
    /// The link to the master has begun or ended.
    pub const MASTER_LINK_CHANGE: RawEvent = RawEvent { id: 7, version: 1 };
    /// It has ended.
    pub const LINK_DOWN: u64 = 1;
}

/// The time to live of a key that has none.
pub const NO_EXPIRE: c_longlong = -1;
/// The type of a key that does not exist.
pub const KEY_TYPE_EMPTY: c_int = 0;
/// Keyspace events of commands that belong to no type of the server.
pub const NOTIFY_GENERIC: c_int = 1 << 2;
/// What the module can deal with.
pub mod options {
    use core::ffi::c_int;
    /// It looks at errors of streams itself.
    pub const HANDLE_IO_ERRORS: c_int = 1;
    /// It says itself which keys it has changed: not all that it has opened for changes.
    pub const NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;
    /// Slots may be moved as a whole while commands go on; for Valkey, which refuses to with modules that do not say
    /// so.
    pub const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;
}
/// Plain settings.
pub const CONFIG_DEFAULT: c_uint = 0;
/// Settings whose names are whole, with another one after a bar; for Redis from version 8 on.
pub const CONFIG_UNPREFIXED: c_uint = 1 << 9;

/// The callbacks of a data type.
#[repr(C)]
pub struct TypeMethods {
    /// The version of this structure.
    pub version: u64,
    /// Makes a value from a stream.
    pub rdb_load: Option<unsafe extern "C" fn(*mut RawIo, c_int) -> *mut c_void>,
    /// Writes a value to a stream.
    pub rdb_save: Option<unsafe extern "C" fn(*mut RawIo, *mut c_void)>,
    /// Writes a value as commands.
    pub aof_rewrite: Option<unsafe extern "C" fn(*mut RawIo, *mut RawString, *mut c_void)>,
    /// The memory of a value.
    pub mem_usage: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    /// Adds a value to a digest.
    pub digest: Option<unsafe extern "C" fn(*mut RawDigest, *mut c_void)>,
    /// Frees a value.
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Unused.
    pub aux_load: Option<unsafe extern "C" fn(*mut RawIo, c_int, c_int) -> c_int>,
    /// Unused.
    pub aux_save: Option<unsafe extern "C" fn(*mut RawIo, c_int)>,
    /// Unused.
    pub aux_save_triggers: c_int,
    /// How much work it is to free a value.
    pub free_effort: Option<unsafe extern "C" fn(*mut RawString, *const c_void) -> usize>,
    /// Unused.
    pub unlink: Option<unsafe extern "C" fn(*mut RawString, *const c_void)>,
    /// Copies a value.
    pub copy: Option<unsafe extern "C" fn(*mut RawString, *mut RawString, *const c_void) -> *mut c_void>,
    /// Unused.
    pub defrag: Option<unsafe extern "C" fn(*mut c_void, *mut RawString, *mut *mut c_void) -> c_int>,
}

/// What `COMMAND DOCS` says of one argument.
#[repr(C)]
pub struct CommandArgument {
    /// Its name; null ends a list.
    pub name: *const c_char,
    /// One of `argument`.
    pub kind: c_int,
    /// Which key specification a key belongs to, or -1.
    pub key_spec_index: c_int,
    /// The word before it, or null.
    pub token: *const c_char,
    /// Unused.
    pub summary: *const c_char,
    /// Unused.
    pub since: *const c_char,
    /// Optional, repeated.
    pub flags: c_int,
    /// Unused.
    pub deprecated_since: *const c_char,
    /// Its parts, or null.
    pub subargs: *mut CommandArgument,
    /// Unused.
    pub display_text: *const c_char,
}

impl CommandArgument {
    /// Ends a list.
    pub const END: Self = Self {
        name: core::ptr::null(),
        kind: 0,
        key_spec_index: -1,
        token: core::ptr::null(),
        summary: core::ptr::null(),
        since: core::ptr::null(),
        flags: 0,
        deprecated_since: core::ptr::null(),
        subargs: core::ptr::null_mut(),
        display_text: core::ptr::null(),
    };
}

/// Kinds and flags of arguments.
pub mod argument {
    use core::ffi::c_int;
    /// Any string.
    pub const STRING: c_int = 0;
    /// A whole number.
    pub const INTEGER: c_int = 1;
    /// A number.
    pub const DOUBLE: c_int = 2;
    /// The name of a key.
    pub const KEY: c_int = 3;
    /// A word that stands for itself.
    pub const PURE_TOKEN: c_int = 6;
    /// One of its parts.
    pub const ONE_OF: c_int = 7;
    /// All its parts.
    pub const BLOCK: c_int = 8;
    /// It may be left out.
    pub const OPTIONAL: c_int = 1;
    /// It may be repeated.
    pub const MULTIPLE: c_int = 2;
}

/// Where the keys of a command are.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KeySpec {
    notes: *const c_char,
    flags: u64,
    begin_search_type: c_int,
    /// The first word holds the position of the first key.
    begin_search: [u64; 2],
    find_keys_type: c_int,
    /// The last key, relative to the first or, if negative, to the last argument; the step; no limit.
    find_keys: [c_int; 3],
}

impl KeySpec {
    /// Ends a list.
    pub const END: Self = Self {
        notes: core::ptr::null(),
        flags: 0,
        begin_search_type: 0,
        begin_search: [0; 2],
        find_keys_type: 0,
        find_keys: [0; 3],
    };

    /// The keys from a position on.
    #[must_use]
    pub fn range(first: c_int, last: c_int, flags: u64) -> Self {
        const BEGIN_AT_INDEX: c_int = 2;
        const FIND_RANGE: c_int = 2;
        // The position is the first four bytes of the union.
        let position = u64::from(first.unsigned_abs());
        let begin_search = [if cfg!(target_endian = "little") { position } else { position << 32 }, 0];
        let find_keys = [last, 1, 0];
        Self {
            flags,
            begin_search_type: BEGIN_AT_INDEX,
            begin_search,
            find_keys_type: FIND_RANGE,
            find_keys,
            ..Self::END
        }
    }
}

/// What a command does to a key.
pub mod key {
    /// It only reads it.
    pub const RO: u64 = 1;
    /// It reads and changes it.
    pub const RW: u64 = 2;
    /// It returns something of it.
    pub const ACCESS: u64 = 1 << 4;
    /// It changes what is there.
    pub const UPDATE: u64 = 1 << 5;
}

/// The sizes of the structures that this module was compiled with.
#[repr(C)]
pub struct CommandInfoVersion {
    /// The version of `CommandInfo`.
    pub version: c_int,
    /// Bytes of an entry of the history.
    pub sizeof_historyentry: usize,
    /// Bytes of a key specification.
    pub sizeof_keyspec: usize,
    /// Bytes of `CommandArgument`.
    pub sizeof_arg: usize,
}

/// What `COMMAND DOCS` says of a command.
#[repr(C)]
pub struct CommandInfo {
    /// The sizes of the structures.
    pub version: *const CommandInfoVersion,
    /// What the command does.
    pub summary: *const c_char,
    /// What it costs.
    pub complexity: *const c_char,
    /// The version of the module that has it first.
    pub since: *const c_char,
    /// Unused.
    pub history: *mut c_void,
    /// Unused.
    pub tips: *const c_char,
    /// How many arguments it takes, its name included; negative: at least that many.
    pub arity: c_int,
    /// Where its keys are, ended by an empty entry.
    pub key_specs: *const KeySpec,
    /// Its arguments.
    pub args: *mut CommandArgument,
}

/// Declares the table of functions: those that the module cannot do without, and those that it can.
macro_rules! api {
    (required { $($field:ident = $name:literal: fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)* }
     variadic { $($vfield:ident = $vname:literal: fn($($vargument:ty),* $(,)?) $(-> $vresult:ty)?;)* }
     optional { $($ofield:ident = $oname:literal: fn($($oargument:ty),* $(,)?) $(-> $oresult:ty)?;)* }) => {
        /// The functions of the server that was met.
        #[allow(missing_docs, reason = "the names are those of the server's documentation")]
        pub struct Api {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub $vfield: unsafe extern "C" fn($($vargument),*, ...) $(-> $vresult)?,)*
            $(pub $ofield: Option<unsafe extern "C" fn($($oargument),*) $(-> $oresult)?>,)*
        }

        impl Api {
            /// Looks all functions up. Fails with the name of a function that the server does not have.
            ///
            /// # Safety
            ///
            /// `get` must be the server's function that writes the address of a named function.
            unsafe fn look_up(get: GetApi) -> Result<Self, &'static CStr> {
                // SAFETY of all calls below: every name ends in zero, and the server writes one pointer, to the
                // function of this name, whose signature is the declared one, or leaves it null.
                Ok(Self {
                    $($field: {
                        let mut found = None;
                        // SAFETY: see above.
                        unsafe { get($name.as_ptr(), (&raw mut found).cast()) };
                        found.ok_or($name)?
                    },)*
                    $($vfield: {
                        let mut found = None;
                        // SAFETY: see above.
                        unsafe { get($vname.as_ptr(), (&raw mut found).cast()) };
                        found.ok_or($vname)?
                    },)*
                    $($ofield: {
                        let mut found = None;
                        // SAFETY: see above.
                        unsafe { get($oname.as_ptr(), (&raw mut found).cast()) };
                        found
                    },)*
                })
            }
        }
    };
}

type GetApi = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
type Context = *mut RawContext;
type Text = *const c_char;

api! {
    required {
    alloc = c"RedisModule_Alloc": fn(usize) -> *mut c_void;
    calloc = c"RedisModule_Calloc": fn(usize, usize) -> *mut c_void;
    free = c"RedisModule_Free": fn(*mut c_void);
    malloc_size = c"RedisModule_MallocSize": fn(*mut c_void) -> usize;
    set_module_attribs = c"RedisModule_SetModuleAttribs": fn(Context, Text, c_int, c_int);
    set_module_options = c"RedisModule_SetModuleOptions": fn(Context, c_int);
    get_server_version = c"RedisModule_GetServerVersion": fn() -> c_int;
    create_command = c"RedisModule_CreateCommand": fn(Context, Text, CommandFn, Text, c_int, c_int, c_int) -> c_int;
    create_data_type = c"RedisModule_CreateDataType": fn(Context, Text, c_int, *mut TypeMethods) -> *mut RawType;
    wrong_arity = c"RedisModule_WrongArity": fn(Context) -> c_int;
    reply_with_long_long = c"RedisModule_ReplyWithLongLong": fn(Context, c_longlong) -> c_int;
    reply_with_bool = c"RedisModule_ReplyWithBool": fn(Context, c_int) -> c_int;
    reply_with_double = c"RedisModule_ReplyWithDouble": fn(Context, f64) -> c_int;
    reply_with_array = c"RedisModule_ReplyWithArray": fn(Context, c_long) -> c_int;
    reply_with_map = c"RedisModule_ReplyWithMap": fn(Context, c_long) -> c_int;
    reply_with_null = c"RedisModule_ReplyWithNull": fn(Context) -> c_int;
    reply_with_error = c"RedisModule_ReplyWithError": fn(Context, Text) -> c_int;
    reply_with_simple_string = c"RedisModule_ReplyWithSimpleString": fn(Context, Text) -> c_int;
    reply_with_string_buffer = c"RedisModule_ReplyWithStringBuffer": fn(Context, Text, usize) -> c_int;
    string_ptr_len = c"RedisModule_StringPtrLen": fn(*const RawString, *mut usize) -> *const c_char;
    create_string = c"RedisModule_CreateString": fn(Context, Text, usize) -> *mut RawString;
    free_string = c"RedisModule_FreeString": fn(Context, *mut RawString);
    get_context_flags = c"RedisModule_GetContextFlags": fn(Context) -> c_int;
    replicate_verbatim = c"RedisModule_ReplicateVerbatim": fn(Context) -> c_int;
    open_key = c"RedisModule_OpenKey": fn(Context, *mut RawString, c_int) -> *mut RawKey;
    close_key = c"RedisModule_CloseKey": fn(*mut RawKey);
    key_type = c"RedisModule_KeyType": fn(*mut RawKey) -> c_int;
    module_type_set_value = c"RedisModule_ModuleTypeSetValue": fn(*mut RawKey, *mut RawType, *mut c_void) -> c_int;
    module_type_replace_value = c"RedisModule_ModuleTypeReplaceValue":
        fn(*mut RawKey, *mut RawType, *mut c_void, *mut *mut c_void) -> c_int;
    module_type_get_type = c"RedisModule_ModuleTypeGetType": fn(*mut RawKey) -> *mut RawType;
    module_type_get_value = c"RedisModule_ModuleTypeGetValue": fn(*mut RawKey) -> *mut c_void;
    notify_keyspace_event = c"RedisModule_NotifyKeyspaceEvent": fn(Context, c_int, Text, *mut RawString) -> c_int;
    signal_modified_key = c"RedisModule_SignalModifiedKey": fn(Context, *mut RawString) -> c_int;
    save_unsigned = c"RedisModule_SaveUnsigned": fn(*mut RawIo, u64);
    load_unsigned = c"RedisModule_LoadUnsigned": fn(*mut RawIo) -> u64;
    save_double = c"RedisModule_SaveDouble": fn(*mut RawIo, f64);
    load_double = c"RedisModule_LoadDouble": fn(*mut RawIo) -> f64;
    save_string_buffer = c"RedisModule_SaveStringBuffer": fn(*mut RawIo, Text, usize);
    load_string_buffer = c"RedisModule_LoadStringBuffer": fn(*mut RawIo, *mut usize) -> *mut c_char;
    is_io_error = c"RedisModule_IsIOError": fn(*mut RawIo) -> c_int;
    register_info_func = c"RedisModule_RegisterInfoFunc": fn(Context, InfoFn) -> c_int;
    info_add_section = c"RedisModule_InfoAddSection": fn(*mut RawInfo, Text) -> c_int;
    info_add_field_u_long_long = c"RedisModule_InfoAddFieldULongLong": fn(*mut RawInfo, Text, c_ulonglong) -> c_int;
    register_numeric_config = c"RedisModule_RegisterNumericConfig":
        fn(Context, Text, c_longlong, c_uint, c_longlong, c_longlong, GetNumber, SetNumber, Option<ApplyFn>, *mut c_void) -> c_int;
    register_string_config = c"RedisModule_RegisterStringConfig":
        fn(Context, Text, Text, c_uint, GetText, SetText, Option<ApplyFn>, *mut c_void) -> c_int;
    load_configs = c"RedisModule_LoadConfigs": fn(Context) -> c_int;
    milliseconds = c"RedisModule_Milliseconds": fn() -> c_longlong;
    free_call_reply = c"RedisModule_FreeCallReply": fn(*mut RawReply);
    hold_string = c"RedisModule_HoldString": fn(Context, *mut RawString) -> *mut RawString;
    block_client = c"RedisModule_BlockClient":
        fn(Context, Option<CommandFn>, Option<CommandFn>, Option<FreeData>, c_longlong) -> *mut RawBlocked;
    set_disconnect_callback = c"RedisModule_SetDisconnectCallback": fn(*mut RawBlocked, DisconnectFn);
    get_command_keys = c"RedisModule_GetCommandKeys":
        fn(Context, *mut *mut RawString, c_int, *mut c_int) -> *mut c_int;
    get_expire = c"RedisModule_GetExpire": fn(*mut RawKey) -> c_longlong;
    subscribe_to_server_event = c"RedisModule_SubscribeToServerEvent": fn(Context, RawEvent, EventFn) -> c_int;
    unblock_client = c"RedisModule_UnblockClient": fn(*mut RawBlocked, *mut c_void) -> c_int;
    get_thread_safe_context = c"RedisModule_GetThreadSafeContext": fn(*mut RawBlocked) -> Context;
    free_thread_safe_context = c"RedisModule_FreeThreadSafeContext": fn(Context);
    thread_safe_context_lock = c"RedisModule_ThreadSafeContextLock": fn(Context);
    thread_safe_context_try_lock = c"RedisModule_ThreadSafeContextTryLock": fn(Context) -> c_int;
    thread_safe_context_unlock = c"RedisModule_ThreadSafeContextUnlock": fn(Context);
    }
    variadic {
    log = c"RedisModule_Log": fn(Context, Text, Text);
    log_io_error = c"RedisModule_LogIOError": fn(*mut RawIo, Text, Text);
    emit_aof = c"RedisModule_EmitAOF": fn(*mut RawIo, Text, Text);
    replicate = c"RedisModule_Replicate": fn(Context, Text, Text) -> c_int;
    call = c"RedisModule_Call": fn(Context, Text, Text) -> *mut RawReply;
    }
    optional {
    valkey_get_server_version = c"ValkeyModule_GetServerVersion": fn() -> c_int;
    try_alloc = c"RedisModule_TryAlloc": fn(usize) -> *mut c_void;
    try_calloc = c"RedisModule_TryCalloc": fn(usize, usize) -> *mut c_void;
    is_module_name_busy = c"RedisModule_IsModuleNameBusy": fn(Text) -> c_int;
    get_command = c"RedisModule_GetCommand": fn(Context, Text) -> *mut RawCommand;
    set_command_info = c"RedisModule_SetCommandInfo": fn(*mut RawCommand, *const CommandInfo) -> c_int;
    add_acl_category = c"RedisModule_AddACLCategory": fn(Context, Text) -> c_int;
    set_command_acl_categories = c"RedisModule_SetCommandACLCategories": fn(*mut RawCommand, Text) -> c_int;
    digest_add_string_buffer = c"RedisModule_DigestAddStringBuffer": fn(*mut RawDigest, Text, usize);
    digest_end_sequence = c"RedisModule_DigestEndSequence": fn(*mut RawDigest);
    get_server_info = c"RedisModule_GetServerInfo": fn(Context, Text) -> *mut RawServerInfo;
    server_info_get_field_unsigned = c"RedisModule_ServerInfoGetFieldUnsigned":
        fn(*mut RawServerInfo, Text, *mut c_int) -> c_ulonglong;
    avoid_replica_traffic = c"RedisModule_AvoidReplicaTraffic": fn() -> c_int;
    free_server_info = c"RedisModule_FreeServerInfo": fn(Context, *mut RawServerInfo);
    }
}

static API: OnceLock<Api> = OnceLock::new();

/// The functions of the server.
///
/// # Panics
///
/// If [`meet`] has not been called: no code of the module runs before that.
#[inline]
pub fn api() -> &'static Api {
    API.get().expect("the server calls the module only after it has been loaded")
}

/// The functions of the server; `None` in tests without one.
#[inline]
pub fn api_if_met() -> Option<&'static Api> {
    API.get()
}

/// Looks up the functions of the server that loads the module. Fails with the name of one that it needs and the server
/// does not have.
///
/// # Safety
///
/// `context` must be the context that the server passes to `RedisModule_OnLoad`.
pub unsafe fn meet(context: *mut RawContext) -> Result<&'static Api, &'static CStr> {
    // SAFETY: the first word of that context is the address of the function that looks up functions.
    let get = unsafe { context.cast::<GetApi>().read() };
    // SAFETY: `get` is that function.
    let found = unsafe { Api::look_up(get) }?;
    Ok(API.get_or_init(|| found))
}
