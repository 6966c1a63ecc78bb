//! The tables and figures of the papers, measured again: one [`Exhibit`] each.
//!
//! An exhibit has a run, which makes a record, and a view of that record in docs/TABLES.md: published,
//! predicted and measured values side by side. What must hold for a record of any size is checked; every test
//! run does so at a tiny size.

mod bloom;
mod cuckoo;
mod eppstein;
mod fan;
mod scale;
mod strangers;

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use malkoha_figure::Figure;

use crate::cli::AllArgs;
use crate::record::{self, Origin, Record};
use crate::table::Table;
use crate::tables::{self, Folders};

/// A paper, in the order of the chapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paper {
    Cuckoo,
    Bloom,
    Fan,
    Eppstein,
    /// No paper: how cost grows with the number of keys.
    Scale,
}

impl Paper {
    pub(crate) const ALL: [Self; 5] = [Self::Cuckoo, Self::Bloom, Self::Fan, Self::Eppstein, Self::Scale];
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cuckoo => "Schmitz, Zentgraf, Rahmann: Smaller and More Flexible Cuckoo Filters",
            Self::Bloom => "Schmitz, Zentgraf, Rahmann: Blocked Bloom Filters with Choices",
            Self::Fan => "Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo Filter",
            Self::Eppstein => "Eppstein: Cuckoo Filter, Simplification and Analysis",
            Self::Scale => "Scale",
        })
    }
}

/// How large a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Takes seconds for all exhibits: only to see that everything works.
    Tiny,
    /// Takes minutes for all exhibits.
    Quick,
    /// The size of the committed records.
    Full,
}

impl Size {
    /// Returns one of three values, by size.
    pub(crate) fn pick<T>(self, tiny: T, quick: T, full: T) -> T {
        match self {
            Self::Tiny => tiny,
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// A part of what is shown.
pub(crate) enum Piece {
    /// A paragraph.
    Text(String),
    /// A table; its title is not shown.
    Table(Table),
    /// A figure.
    Figure(Figure),
}

/// A table or a figure of a paper.
#[derive(Clone, Copy)]
pub(crate) struct Exhibit {
    /// The name of its record.
    pub(crate) name: &'static str,
    pub(crate) paper: Paper,
    /// The number in the paper, such as "Table 2".
    pub(crate) number: &'static str,
    pub(crate) title: &'static str,
    /// About how many minutes a quick and a full run take on two cores.
    pub(crate) minutes: (f64, f64),
    /// Measures the exhibit.
    pub(crate) run: fn(Size) -> Result<Table, Box<dyn Error>>,
    /// Returns what people see of the record.
    pub(crate) show: fn(&Record) -> Vec<Piece>,
    /// Checks what must hold at every size; the error says what does not.
    pub(crate) check: fn(&Record) -> Result<(), String>,
}

/// Returns all exhibits, in the order of the papers.
pub(crate) fn exhibits() -> Vec<Exhibit> {
    let papers = [cuckoo::exhibits(), bloom::exhibits(), fan::exhibits(), eppstein::exhibits()];
    [papers.concat(), vec![scale::EXHIBIT]].concat()
}

/// Runs the chosen exhibits and writes their records and the documents generated from them.
pub(crate) fn run(args: &AllArgs) -> Result<(), Box<dyn Error>> {
    let size = match (args.sizes.tiny, args.sizes.full) {
        (true, _) => Size::Tiny,
        (_, true) => Size::Full,
        _ => Size::Quick,
    };
    let chosen = chosen(&args.names)?;
    let minutes = |exhibit: &Exhibit| size.pick(0.1, exhibit.minutes.0, exhibit.minutes.1);
    if args.list {
        for exhibit in &chosen {
            eprintln!(
                "{:24} {:5.1} min  {}: {}",
                exhibit.name,
                minutes(exhibit),
                exhibit.paper,
                exhibit.title
            );
        }
        return Ok(());
    }
    let total: f64 = chosen.iter().map(minutes).sum();
    eprintln!("{} tables and figures, about {total:.0} minutes on two cores", chosen.len());
    let folders = folders(args);
    let mut failed = Vec::new();
    for (at, exhibit) in chosen.iter().enumerate() {
        eprintln!("{} of {}: {}, about {:.1} minutes", at + 1, chosen.len(), exhibit.name, minutes(exhibit));
        let (start, origin) = (Instant::now(), Origin::here());
        let table = (exhibit.run)(size)?;
        // A record that fails its check is exactly the one to look at: it is written, and the run goes on.
        record::write(&folders.records, exhibit.name, &table, &origin)?;
        if let Err(what) = (exhibit.check)(&Record::of(&table, &origin)?) {
            eprintln!("  does not hold: {what}");
            failed.push(format!("{}: {what}", exhibit.name));
        }
        eprintln!("  {:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    }
    tables::write(&tables::documents(&folders)?)?;
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

fn chosen(names: &[String]) -> Result<Vec<Exhibit>, Box<dyn Error>> {
    let all = exhibits();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        let known = all.iter().map(|exhibit| exhibit.name).collect::<Vec<_>>().join(", ");
        let found = all.iter().find(|exhibit| exhibit.name == name).copied();
        found.ok_or_else(|| format!("{name:?} is not a table or figure; choose from {known}").into())
    };
    names.iter().map(find).collect()
}

fn folders(args: &AllArgs) -> Folders {
    match &args.out {
        Some(out) => Folders { records: out.join("records"), docs: out.clone() },
        None if args.sizes.full => Folders::committed(),
        None => {
            let out = PathBuf::from("target/tables");
            Folders { records: out.join("records"), docs: out }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exhibit_runs_is_checked_and_shown() {
        for exhibit in exhibits() {
            let table = (exhibit.run)(Size::Tiny).unwrap_or_else(|error| panic!("{}: {error}", exhibit.name));
            let record = Record::of(&table, &Origin::here()).unwrap();
            (exhibit.check)(&record).unwrap_or_else(|what| panic!("{}: {what}", exhibit.name));
            assert!(!(exhibit.show)(&record).is_empty(), "{}", exhibit.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = exhibits().iter().map(|exhibit| exhibit.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(chosen(&["nothing".to_owned()]).is_err());
    }
}
