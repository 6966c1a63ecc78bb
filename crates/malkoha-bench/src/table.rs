//! Tables: one set of rows, printed for people with few digits and recorded for programs with all of them.

use std::fmt;

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A word or a sentence, aligned left.
    Text(String),
    /// A count.
    Count(u64),
    /// A measured number, and the number of decimals to show.
    Number(f64, usize),
    /// A rate: few digits, any magnitude.
    Rate(f64),
    /// Nothing was measured.
    Missing,
}

impl Cell {
    pub(crate) fn text(text: impl fmt::Display) -> Self {
        Self::Text(text.to_string())
    }

    /// Returns a number, or `Missing` for NaN.
    pub(crate) fn number(number: f64, decimals: usize) -> Self {
        if number.is_finite() { Self::Number(number, decimals) } else { Self::Missing }
    }

    /// Returns the text for programs.
    pub(crate) fn exact(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Number(number, _) | Self::Rate(number) => number.to_string(),
            Self::Missing => String::new(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Count(count) => f.pad(&count.to_string()),
            Self::Number(number, decimals) => f.pad(&format!("{number:.decimals$}")),
            Self::Rate(rate) => f.pad(&format!("{rate:.2e}")),
            Self::Missing => f.pad("-"),
        }
    }
}

/// Rows under named columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(ToString::to_string).collect();
        Self { title: title.into(), columns, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "one field for every column");
        self.rows.push(row);
    }

    /// Returns the width of every column in characters.
    fn widths(&self) -> Vec<usize> {
        let width = |(at, name): (usize, &String)| {
            let fields = self.rows.iter().map(|row| row[at].to_string().len());
            fields.chain([name.len()]).max().unwrap_or(0)
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    /// Returns whether a column is aligned left because it holds words.
    fn is_left(&self, at: usize) -> bool {
        self.rows.iter().any(|row| matches!(row[at], Cell::Text(_)))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        let widths = self.widths();
        let head = self.columns.iter().map(Cell::text).collect();
        for row in [&head].into_iter().chain(&self.rows) {
            let fields = row.iter().enumerate().map(|(at, cell)| match (self.is_left(at), widths[at]) {
                (true, width) => format!("{cell:<width$}"),
                (false, width) => format!("{cell:>width$}"),
            });
            writeln!(f, "  {}", fields.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_aligned_columns_and_programs_all_digits() {
        let mut table = Table::new("two birds", &["bird", "eggs", "share"]);
        table.push(vec![Cell::text("cuckoo"), Cell::Count(25), Cell::number(2.0 / 3.0, 2)]);
        table.push(vec![Cell::text("owl"), Cell::Count(4), Cell::number(f64::NAN, 2)]);
        assert_eq!(
            table.to_string(),
            "two birds\n\n  bird    eggs  share\n  cuckoo    25   0.67\n  owl        4      -\n"
        );
        assert_eq!(table.rows[0][2].exact(), "0.6666666666666666");
    }
}
