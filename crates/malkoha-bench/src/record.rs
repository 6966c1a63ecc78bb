//! Records: a run's table as CSV, every row with the machine, the commit, the compiler, the date and the
//! parameters that it was measured with.

use std::io;
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
    /// The load average of the last minute when the run began: far from 0, others disturbed it.
    load_average: String,
    parameters: String,
}

impl Origin {
    /// The facts of this run.
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

/// Writes a table as `records/NAME.csv` and returns the path.
pub(crate) fn write(name: &str, table: &Table, origin: &Origin) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    fs::create_dir_all(&folder)?;
    let path = folder.join(name).with_extension("csv");
    fs::write(&path, csv(table, origin))?;
    Ok(path)
}

fn csv(table: &Table, origin: &Origin) -> String {
    let (names, facts): (Vec<_>, Vec<_>) = origin.columns().into_iter().unzip();
    let join = |fields: Vec<String>| fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",");
    let head = names.iter().map(ToString::to_string).chain(table.columns.clone()).collect();
    let rows = table
        .rows
        .iter()
        .map(|row| join(facts.iter().map(ToString::to_string).chain(row.iter().map(Cell::exact)).collect()));
    [join(head)].into_iter().chain(rows).map(|line| line + "\n").collect()
}

/// A field as RFC 4180 has it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The processor, its threads and the memory.
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

/// What a command says, or "?" if it cannot be asked.
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
        assert_eq!(
            csv(&table, &origin),
            "machine,commit,compiler,date,load_average,parameters,kind\n\"a, b\",c,d,e,0.5,f,sorted\n"
        );
    }
}
