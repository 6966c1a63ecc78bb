//! The extension module of the Python package `malkoha`. It holds no filter logic: it turns Python objects into keys,
//! calls the engine, and turns answers into Python objects.
//!
//! ```text
//!   filter.rs  map.rs  window.rs  mapped.rs     the classes
//!   many.rs    merge.rs                         what they do with many keys, and with each other
//!   table.rs                                    the engine's filters behind locks
//!   key.rs     keys/    quick.rs                one key, many keys; the usual ones quickly
//!   spec.rs    plan.rs   files.rs               arguments, the planner, files and bytes
//!   facts.rs   view.rs   error.rs   threads.rs  numbers, texts, exceptions, threads
//! ```

mod error;
mod facts;
mod files;
mod filter;
mod key;
mod keys;
mod many;
mod map;
mod mapped;
mod merge;
mod plan;
mod quick;
mod spec;
mod table;
mod threads;
mod view;
mod window;

use pyo3::prelude::*;

/// The engine of malkoha.
#[pymodule(name = "_malkoha")]
mod module {
    #[pymodule_export]
    use super::error::{FormatError, FullError};
    #[pymodule_export]
    use super::facts::PyStats;
    #[pymodule_export]
    use super::files::{from_bytes, map, open};
    #[pymodule_export]
    use super::filter::PyFilter;
    #[pymodule_export]
    use super::keys::hash_many;
    #[pymodule_export]
    use super::map::PyMap;
    #[pymodule_export]
    use super::mapped::PyMapped;
    #[pymodule_export]
    use super::merge::merge;
    #[pymodule_export]
    use super::plan::{PyOffer, offers};
    #[pymodule_export]
    use super::window::PyWindow;

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
