//! The data types: filters as values of keys.
//!
//! ```text
//!   cuckoo.rs     RedisBloom's cuckoo filters        bloom.rs     RedisBloom's Bloom filters
//!   engine.rs     filters of the engine              items.rs     items as its keys
//!   transfer.rs   its filters in chunks
//! ```

pub mod bloom;
pub mod cuckoo;
pub mod engine;
mod items;
pub mod transfer;
