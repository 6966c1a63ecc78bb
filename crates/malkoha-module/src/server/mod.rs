//! The server as safe Rust: the only folder with `unsafe` code.
//!
//! ```text
//!   api.rs        the functions of the server, by name
//!   memory.rs     the allocator
//!   call.rs       one call of a command: arguments, keys, replication, events
//!   reply.rs      what a command answers
//!   types.rs      data types: the callbacks of the server, as a trait
//!   stream.rs     values saved and loaded, and rewritten as commands
//!   register.rs   commands, types, settings and INFO
//!   settings.rs   settings that commands read
//! ```

pub mod api;
pub mod call;
pub mod memory;
pub mod register;
pub mod reply;
pub mod settings;
pub mod stream;
pub mod types;

pub use call::{Arguments, Call, Key, KeyMut};
pub use reply::{Refusal, Reply};
pub use types::Value;
