//! The server as safe Rust: the only folder with `unsafe` code.
//!
//! ```text
//!   api.rs        the functions of the server, by name
//!   memory.rs     the allocator
//!   call.rs       one call of a command: keys, replication, events
//!   arguments.rs  its arguments      key.rs     keys that it opens      reply.rs   what it answers
//!   beside.rs     commands that take long      loans.rs   the values that they read
//!   received.rs   commands of the master that do not count as received yet
//!   types.rs      data types: the callbacks of the server, as a trait
//!   stream.rs     values saved and loaded, and rewritten as commands
//!   register.rs   commands, types, settings and INFO      docs.rs   COMMAND DOCS
//!   settings.rs   settings that commands read
//! ```

pub mod api;
mod arguments;
pub mod beside;
pub mod call;
pub mod docs;
mod key;
mod loans;
pub mod memory;
mod received;
pub mod register;
pub mod reply;
pub mod settings;
pub mod stream;
pub mod types;

pub use arguments::Arguments;
pub use call::Call;
pub use key::{Key, KeyMut};
pub use reply::{Refusal, Reply};
pub use types::Value;
