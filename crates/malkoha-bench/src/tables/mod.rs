//! `tables`: writes docs/TABLES.md and its figures from the committed records and nothing else.

mod counting;
pub(crate) mod growth;
pub(crate) mod rates;
mod speed;
pub(crate) mod threads;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::papers::{self, Paper, Piece};
use crate::record::{self, Record, Row};
use crate::table::{Cell, Table};

/// The folders that records are read from and documents are written to.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    pub(crate) records: PathBuf,
    pub(crate) docs: PathBuf,
}

impl Folders {
    /// Returns the folders of the repository.
    pub(crate) fn committed() -> Self {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        Self { records: record::committed(), docs }
    }
}

/// Writes the documents of the repository, or only checks that they are up to date.
pub(crate) fn run(check: bool) -> Result<(), Box<dyn Error>> {
    let documents = documents(&Folders::committed())?;
    if check { compare(&documents) } else { write(&documents) }
}

/// A file generated from records, and its content.
pub(crate) type Document = (PathBuf, String);

pub(crate) fn write(documents: &[Document]) -> Result<(), Box<dyn Error>> {
    for (path, text) in documents {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

fn compare(documents: &[Document]) -> Result<(), Box<dyn Error>> {
    let command = "cargo run --release -p malkoha-bench -- tables";
    for (path, text) in documents {
        if fs::read_to_string(path).is_ok_and(|there| there == *text) {
            continue;
        }
        return Err(format!("{} does not follow from the records; run `{command}`", path.display()).into());
    }
    eprintln!("{} files follow from the records", documents.len());
    Ok(())
}

/// Returns everything that is generated from the records, with its path.
pub(crate) fn documents(folders: &Folders) -> Result<Vec<Document>, Box<dyn Error>> {
    let mut text = HEAD.to_owned();
    let mut documents = Vec::new();
    if let Some(chapter) = speed::chapter(&folders.records)? {
        text.push_str(&chapter);
    }
    let (chapter, figures) = rates::chapter(folders)?;
    text.push_str(&chapter);
    documents.extend(figures);
    let (chapter, figures) = growth::chapter(folders)?;
    text.push_str(&chapter);
    documents.extend(figures);
    let (chapter, figures) = threads::chapter(folders)?;
    text.push_str(&chapter);
    documents.extend(figures);
    text.push_str(&counting::chapter()?);
    for paper in Paper::ALL {
        let exhibits: Vec<_> =
            papers::exhibits().into_iter().filter(|exhibit| exhibit.paper == paper).collect();
        let mut chapter = String::new();
        for exhibit in exhibits {
            let Ok(record) = Record::read(&folders.records, exhibit.name) else { continue };
            let origin = origin(&record, &command(exhibit.name, record.fact("parameters")));
            let _ = write!(chapter, "### {}: {}\n\n{origin}", exhibit.number, exhibit.title);
            for (at, piece) in (exhibit.show)(&record).into_iter().enumerate() {
                match piece {
                    Piece::Text(words) => chapter.extend([&words[..], "\n\n"]),
                    Piece::Table(table) => chapter.push_str(&markdown(&table)),
                    Piece::Figure(figure) => {
                        let file = format!(
                            "{}{}.svg",
                            exhibit.name,
                            if at == 0 { String::new() } else { format!("-{at}") }
                        );
                        let _ =
                            write!(chapter, "![{}: {}](figures/{file})\n\n", exhibit.number, exhibit.title);
                        documents.push((folders.docs.join("figures").join(file), figure.draw()));
                    }
                }
            }
        }
        if !chapter.is_empty() {
            let _ = write!(text, "## {paper}\n\n{chapter}");
        }
    }
    documents.push((folders.docs.join("TABLES.md"), text));
    Ok(documents)
}

const HEAD: &str = "\
# Tables

Measured numbers; losses are shown as plainly as wins. This file is written by

```sh
cargo run --release -p malkoha-bench -- tables
```

from the records in `crates/malkoha-bench/records`, and CI fails if it does not match them. Every record names the
machine, the commit, the compiler and the command of its run; the commands below repeat the measurements.
Machines differ, and the same machine varies from minute to minute, so only ratios within one run count.

The chapters on speed, growth and threads have tables of goals. A goal that is missed has \"no\" in the column \"met\".

Speed comes first, then what a rate costs, what growth costs, what several threads get of one filter, a comparison with
filters that count, the tables and figures of the papers, and finally how cost grows with the number of keys.

The filters of other authors are `cuckoofilter` 0.5.0, `qfilter` 0.3.1, `fastbloom` 0.17.0, `bloomfilter` 3.0.2,
`sbbf-rs` 0.2.8 (through `sbbf-rs-safe` 0.3.2) and `xorf` 0.13.0.

";

/// Returns the command that measures one exhibit again. It may have been measured together with others.
fn command(name: &str, parameters: &str) -> String {
    let size = parameters.split(' ').find(|word| ["--tiny", "--quick", "--full"].contains(word));
    format!("all {} {name}", size.unwrap_or("--quick"))
}

/// Returns a paragraph that says where a record comes from.
fn origin(record: &Record, command: &str) -> String {
    let commit = record.fact("commit");
    format!(
        "`malkoha-bench {command}`, {}, commit {}, {}, {}, load average {} when it began.\n\n",
        record.fact("machine"),
        &commit[..commit.len().min(12)],
        record.fact("compiler"),
        record.fact("date").split('T').next().unwrap_or("?"),
        record.fact("load_average"),
    )
}

/// Formats a table as Markdown. Its title is not shown.
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

/// Returns the distinct values of a column, in order of appearance.
fn distinct<'a>(rows: impl Iterator<Item = Row<'a>>, column: &str) -> Vec<&'a str> {
    let mut all = Vec::new();
    for row in rows {
        if !all.contains(&row.text(column)) {
            all.push(row.text(column));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_follow_from_the_records() {
        compare(&documents(&Folders::committed()).unwrap()).unwrap();
    }

    /// After an update of one of them, its rows must be measured again.
    #[test]
    fn filters_of_other_authors_have_the_versions_of_the_lock_file() {
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
        let lock = fs::read_to_string(lock).unwrap();
        for peer in ["cuckoofilter", "qfilter", "fastbloom", "bloomfilter", "sbbf-rs", "sbbf-rs-safe", "xorf"]
        {
            let (_, version) = lock.split_once(&format!("name = \"{peer}\"\nversion = \"")).unwrap();
            let (version, _) = version.split_once('"').unwrap();
            assert!(HEAD.contains(&format!("`{peer}` {version}")), "{peer} {version}");
        }
    }

    #[test]
    fn markdown_has_a_line_for_every_row() {
        let mut table = Table::new("", &["bird", "eggs"]);
        table.push(vec![Cell::text("cuckoo"), Cell::Count(25)]);
        table.push(vec![Cell::text("owl"), Cell::Missing]);
        assert_eq!(markdown(&table), "| bird | eggs |\n| --- | --- |\n| cuckoo | 25 |\n| owl | - |\n\n");
    }
}
