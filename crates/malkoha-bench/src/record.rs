//! Records: a run's table as CSV. Every row has the machine, commit, compiler, date and parameters of its
//! measurement.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs, thread};

use crate::table::{Cell, Table};

/// Where and how a run was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    machine: String,
    commit: String,
    compiler: String,
    date: String,
    /// The load average of the last minute when the run began: far from 0 means that others disturbed it.
    load_average: String,
    parameters: String,
}

impl Origin {
    /// Returns the facts of this run.
    pub(crate) fn here() -> Self {
        Self {
            machine: machine(),
            commit: answer_of("git", &["describe", "--always", "--abbrev=40", "--dirty"]),
            compiler: env!("MALKOHA_COMPILER").to_owned(),
            date: answer_of("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]),
            load_average: first_word("/proc/loadavg"),
            parameters: env::args().skip(1).collect::<Vec<_>>().join(" "),
        }
    }

    fn columns(&self) -> [(&'static str, &str); 6] {
        [
            ("machine", &self.machine),
            ("commit", &self.commit),
            ("compiler", &self.compiler),
            ("date", &self.date),
            ("load_average", &self.load_average),
            ("parameters", &self.parameters),
        ]
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, fact) in self.columns() {
            writeln!(f, "{name:12} {fact}")?;
        }
        Ok(())
    }
}

/// Returns the folder of the committed records.
pub(crate) fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("records")
}

/// Writes a table as `NAME.csv` into a folder and returns the path.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    table: &Table,
    origin: &Origin,
) -> Result<PathBuf, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name).with_extension("csv");
    fs::write(&path, csv(table, origin)?)?;
    Ok(path)
}

fn csv(table: &Table, origin: &Origin) -> Result<Vec<u8>, Box<dyn Error>> {
    let (names, facts): (Vec<_>, Vec<_>) = origin.columns().into_iter().unzip();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(names.into_iter().chain(table.columns.iter().map(String::as_str)))?;
    for row in &table.rows {
        let facts = facts.iter().map(ToString::to_string);
        writer.write_record(facts.chain(row.iter().map(Cell::exact)))?;
    }
    Ok(writer.into_inner()?)
}

/// A record, read back: every row with all of its fields by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Record {
    /// Reads the record `NAME.csv` of a folder.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self, Box<dyn Error>> {
        let path = folder.join(name).with_extension("csv");
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Returns what a run would record.
    pub(crate) fn of(table: &Table, origin: &Origin) -> Result<Self, Box<dyn Error>> {
        Self::parse(&csv(table, origin)?)
    }

    fn parse(bytes: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut reader = csv::Reader::from_reader(bytes);
        let words = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
        let columns = words(reader.headers()?);
        let rows = reader.records().map(|row| Ok(words(&row?))).collect::<Result<Vec<_>, csv::Error>>()?;
        if rows.is_empty() { Err("a record without rows".into()) } else { Ok(Self { columns, rows }) }
    }

    /// Returns all rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|fields| Row { columns: &self.columns, fields })
    }

    /// Returns a fact about the run, which is the same in every row.
    pub(crate) fn fact(&self, name: &str) -> &str {
        self.rows().next().map_or("?", |row| row.text(name))
    }
}

/// A row of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    columns: &'a [String],
    fields: &'a [String],
}

impl<'a> Row<'a> {
    /// Returns a field; empty if nothing was measured.
    ///
    /// # Panics
    ///
    /// If no column has this name: records and their readers are written together.
    pub(crate) fn text(&self, name: &str) -> &'a str {
        let at = self.columns.iter().position(|column| column == name);
        &self.fields[at.unwrap_or_else(|| panic!("no column {name:?} among {:?}", self.columns))]
    }

    /// Returns whether a field is this word or count.
    pub(crate) fn is(&self, name: &str, value: impl fmt::Display) -> bool {
        self.text(name) == value.to_string()
    }

    /// Returns a number; NaN if nothing was measured.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(f64::NAN)
    }
}

/// Returns the processor, its threads and the memory.
fn machine() -> String {
    let fact = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map_or("?".to_owned(), |(_, fact)| fact.trim().to_owned())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{}; {threads} threads; {}",
        fact("/proc/cpuinfo", "model name"),
        fact("/proc/meminfo", "MemTotal")
    )
}

fn first_word(file: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

/// Returns the output of a command, or "?" if it cannot be run.
fn answer_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let text = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    text.and_then(|text| String::from_utf8(text).ok()).map_or("?".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_where_it_comes_from() {
        let origin = Origin {
            machine: "a, b".to_owned(),
            commit: "c".to_owned(),
            compiler: "d".to_owned(),
            date: "e".to_owned(),
            load_average: "0.5".to_owned(),
            parameters: "f".to_owned(),
        };
        let mut table = Table::new("", &["kind"]);
        table.push(vec![Cell::text("sorted")]);
        let bytes = csv(&table, &origin).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            "machine,commit,compiler,date,load_average,parameters,kind\n\"a, b\",c,d,e,0.5,f,sorted\n"
        );
        let record = Record::parse(&bytes).unwrap();
        assert_eq!(record.fact("machine"), "a, b");
        assert_eq!(record.rows().map(|row| row.text("kind")).collect::<Vec<_>>(), ["sorted"]);
    }
}
