//! `tables`: docs/TABLES.md, written from the committed records and from nothing else.

mod speed;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::record::Record;
use crate::table::{Cell, Table};

/// Writes the documents, or only says whether they are up to date.
pub(crate) fn run(check: bool) -> Result<(), Box<dyn Error>> {
    for (path, text) in documents()? {
        let there = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            there => there.map_err(|error| format!("{}: {error}", path.display()))?,
        };
        if there == text {
            eprintln!("{} is up to date", path.display());
        } else if check {
            let command = "cargo run --release -p malkoha-bench -- tables";
            return Err(
                format!("{} does not follow from the records; run `{command}`", path.display()).into()
            );
        } else {
            fs::write(&path, text)?;
            eprintln!("wrote {}", path.display());
        }
    }
    Ok(())
}

/// Everything that follows from the records: where it belongs, and its text.
fn documents() -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut text = HEAD.to_owned();
    text.push_str(&speed::chapter()?);
    Ok(vec![(docs.join("TABLES.md"), text)])
}

const HEAD: &str = "\
# Tables

Measured numbers, losses as plainly as wins. This file is written by

```sh
cargo run --release -p malkoha-bench -- tables
```

from the records in `crates/malkoha-bench/records`, and CI refuses it if it does not follow from them. Every record names
the machine, the commit, the compiler and the command that it was measured with; the commands below repeat it.
Machines differ, and the same machine differs from minute to minute: what counts are ratios within one run.

";

/// Where a record comes from, as a paragraph.
fn origin(record: &Record) -> String {
    let commit = record.fact("commit");
    format!(
        "`malkoha-bench {}`, {}, commit {}, {}, {}.\n\n",
        record.fact("parameters"),
        record.fact("machine"),
        &commit[..commit.len().min(12)],
        record.fact("compiler"),
        record.fact("date").split('T').next().unwrap_or("?"),
    )
}

/// A table in Markdown; its title is not shown.
fn markdown(table: &Table) -> String {
    let mut text = String::new();
    let line = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    text.push_str(&line(table.columns.clone()));
    text.push_str(&line(vec!["---".to_owned(); table.columns.len()]));
    for row in &table.rows {
        text.push_str(&line(row.iter().map(Cell::to_string).collect()));
    }
    let _ = writeln!(text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_a_line_for_every_row() {
        let mut table = Table::new("", &["bird", "eggs"]);
        table.push(vec![Cell::text("cuckoo"), Cell::Count(25)]);
        table.push(vec![Cell::text("owl"), Cell::Missing]);
        assert_eq!(markdown(&table), "| bird | eggs |\n| --- | --- |\n| cuckoo | 25 |\n| owl | - |\n\n");
    }
}
