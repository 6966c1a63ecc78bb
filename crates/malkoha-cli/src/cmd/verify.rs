//! `malkoha verify`: checks every byte of filters.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::cli::VerifyArgs;
use crate::cmd::Outcome;
use crate::filter_file::{self, name};
use crate::message::note;
use crate::output::Output;
use crate::units::{counted, short_bytes};

/// Runs the subcommand. Opening a filter checks its checksums and its whole content. All files are checked,
/// even if one is damaged or nobody reads the output any more.
pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    let (mut out, mut read) = (Output::new(), !args.quiet);
    let (mut damaged, mut objects) = (Vec::new(), Vec::new());
    for path in &args.filters {
        let file = path.display().to_string();
        let filter = match filter_file::open_with_care(path) {
            Ok(filter) => filter,
            Err(error) => {
                note(format_args!("{error:#}"));
                objects.push(json!({ "file": file, "sound": false, "why": format!("{error:#}") }));
                damaged.push(name(path));
                continue;
            }
        };
        let (kind, stats) = (filter.geometry().kind(), filter.stats());
        if args.json {
            objects.push(json!({
                "file": file,
                "sound": true,
                "kind": kind.to_string(),
                "keys": stats.items,
                "bytes": stats.memory_bytes,
            }));
        } else if read {
            let (keys, bytes) = (counted(stats.items, "key"), short_bytes(stats.memory_bytes));
            read = out.line_if_read(format_args!("{}: sound, {kind}, {keys}, {bytes}", name(path)))?;
        }
    }
    if args.json {
        out.line_if_read(format_args!("{:#}", Value::Array(objects)))?;
    }
    match (damaged.len(), args.filters.len()) {
        (0, _) => Ok(Outcome::Done),
        // It has been named.
        (_, 1) => Ok(Outcome::Failed),
        (bad, all) => {
            let are = if bad == 1 { "is" } else { "are" };
            bail!("{bad} of {all} files {are} not sound: {}", damaged.join(", "))
        }
    }
}
