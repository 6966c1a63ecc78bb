//! Tables for people: columns of text, numbers to the right, one row perhaps marked.

use std::fmt;
use std::io::IsTerminal;

/// Rows of text under named columns.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Row>,
    colour: bool,
}

#[derive(Clone, Debug)]
struct Row {
    fields: Vec<String>,
    marked: bool,
}

/// Whether standard output is a terminal whose owner does not mind colour.
pub(crate) fn colour() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !unwanted && std::io::stdout().is_terminal()
}

impl Table {
    pub(crate) fn new(columns: &[&str], colour: bool) -> Self {
        Self { columns: columns.iter().map(ToString::to_string).collect(), rows: Vec::new(), colour }
    }

    pub(crate) fn push(&mut self, fields: impl IntoIterator<Item = String>) {
        self.rows.push(Row { fields: fields.into_iter().collect(), marked: false });
    }

    /// A row with a star before it, bold on terminals.
    pub(crate) fn push_marked(&mut self, fields: impl IntoIterator<Item = String>) {
        self.rows.push(Row { fields: fields.into_iter().collect(), marked: true });
    }

    /// Characters of a column.
    fn width(&self, at: usize) -> usize {
        let fields = self.rows.iter().filter_map(|row| row.fields.get(at));
        fields.chain([&self.columns[at]]).map(String::len).max().unwrap_or(0)
    }

    /// One line; the first column is aligned left, as are those that hold words.
    fn line(&self, fields: &[String]) -> String {
        let words = |at: usize| {
            let first =
                self.rows.iter().find_map(|row| row.fields.get(at)).and_then(|field| field.chars().next());
            first.is_some_and(|c| !c.is_ascii_digit())
        };
        let padded = fields.iter().enumerate().map(|(at, field)| match (words(at), self.width(at)) {
            (true, width) => format!("{field:<width$}"),
            (false, width) => format!("{field:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.line(&self.columns))?;
        for row in &self.rows {
            let line = self.line(&row.fields);
            match (row.marked, self.colour) {
                (true, true) => writeln!(f, "\x1b[1;32m* {line}\x1b[0m")?,
                (true, false) => writeln!(f, "* {line}")?,
                (false, _) => writeln!(f, "  {line}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_one_row_is_marked() {
        let row = |fields: [&str; 3]| fields.map(str::to_owned);
        let mut table = Table::new(&["bird", "eggs", "colour"], false);
        table.push(row(["cuckoo", "25", "grey"]));
        table.push_marked(row(["owl", "4", "brown"]));
        assert_eq!(
            table.to_string(),
            "  bird    eggs  colour\n  cuckoo    25  grey\n* owl        4  brown\n"
        );
    }

    #[test]
    fn colour_is_for_terminals() {
        let mut table = Table::new(&["bird"], true);
        table.push_marked(["owl".to_owned()]);
        assert!(table.to_string().contains("\x1b[1;32m* owl\x1b[0m"));
    }
}
