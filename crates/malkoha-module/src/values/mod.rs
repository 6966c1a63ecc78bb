//! The data types: filters as values of keys.
//!
//! ```text
//!   cuckoo.rs     RedisBloom's cuckoo filters        bloom.rs     RedisBloom's Bloom filters
//!   engine.rs     filters of the engine              items.rs     items as its keys
//!   engine_stream.rs   in files      transfer.rs   in chunks      plan.rs   what they are made with
//! ```

pub mod bloom;
pub mod cuckoo;
pub mod engine;
mod engine_stream;
mod items;
pub mod plan;
pub mod transfer;
