//! Tables for people: columns of text, numbers aligned right, optionally one marked row.

use std::fmt;
use std::io::IsTerminal;

/// How a table looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Columns of text; a marked row has a star.
    Plain,
    /// The same, with the marked row bold and green.
    Colour,
    /// A table of Markdown; the name of a marked row is bold.
    Markdown,
}

impl Style {
    /// Returns the text style, coloured if standard output is a terminal and colours are not disabled.
    pub(crate) fn of_output() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if !unwanted && std::io::stdout().is_terminal() { Self::Colour } else { Self::Plain }
    }
}

/// The lines of a table, one at a time, for rows that are shown before the next ones are known.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    columns: Vec<Column>,
    style: Style,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    width: usize,
    /// Words are aligned left, numbers right.
    words: bool,
}

impl Lines {
    /// Returns lines with a column of names of this many characters, and columns of numbers as wide as their
    /// titles.
    pub(crate) fn new(names: (&str, usize), numbers: &[&str], style: Style) -> Self {
        let column = |name: &str, width, words| Column { name: name.to_owned(), width, words };
        let mut columns = vec![column(names.0, names.1, true)];
        columns.extend(numbers.iter().map(|name| column(name, name.len(), false)));
        Self { columns, style }
    }

    /// Returns the header.
    pub(crate) fn head(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|column| column.name.clone()).collect();
        match self.style {
            Style::Markdown => {
                let rule = self.columns.iter().map(|column| if column.words { "---" } else { "--:" });
                format!("| {} |\n| {} |", names.join(" | "), rule.collect::<Vec<_>>().join(" | "))
            }
            Style::Plain | Style::Colour => self.row(&names),
        }
    }

    pub(crate) fn row(&self, fields: &[String]) -> String {
        self.line(fields, false)
    }

    /// Returns a marked row.
    pub(crate) fn marked_row(&self, fields: &[String]) -> String {
        self.line(fields, true)
    }

    fn line(&self, fields: &[String], marked: bool) -> String {
        if self.style == Style::Markdown {
            let name = if marked { format!("**{}**", fields[0]) } else { fields[0].clone() };
            return format!("| {name} | {} |", fields[1..].join(" | "));
        }
        let padded = fields.iter().zip(&self.columns).map(|(field, &Column { width, words, .. })| {
            if words { format!("{field:<width$}") } else { format!("{field:>width$}") }
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        let line = line.trim_end();
        match (marked, self.style) {
            (true, Style::Colour) => format!("\x1b[1;32m* {line}\x1b[0m"),
            (true, _) => format!("* {line}"),
            (false, _) => format!("  {line}"),
        }
    }
}

/// Rows of text under named columns.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Row>,
    style: Style,
}

#[derive(Clone, Debug)]
struct Row {
    fields: Vec<String>,
    marked: bool,
}

impl Table {
    pub(crate) fn new(columns: &[&str], style: Style) -> Self {
        Self { columns: columns.iter().map(ToString::to_string).collect(), rows: Vec::new(), style }
    }

    pub(crate) fn push(&mut self, fields: impl IntoIterator<Item = String>) {
        self.rows.push(Row { fields: fields.into_iter().collect(), marked: false });
    }

    /// Adds a row with a star before it, bold on terminals.
    pub(crate) fn push_marked(&mut self, fields: impl IntoIterator<Item = String>) {
        self.rows.push(Row { fields: fields.into_iter().collect(), marked: true });
    }

    /// Returns a column as wide as its content.
    fn column(&self, at: usize) -> Column {
        let fields = || self.rows.iter().filter_map(|row| row.fields.get(at));
        let width = fields().chain([&self.columns[at]]).map(String::len).max().unwrap_or(0);
        let first = fields().next().and_then(|field| field.chars().next());
        Column { name: self.columns[at].clone(), width, words: first.is_some_and(|c| !c.is_ascii_digit()) }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = (0..self.columns.len()).map(|at| self.column(at)).collect();
        let lines = Lines { columns, style: self.style };
        writeln!(f, "{}", lines.head())?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", lines.line(&row.fields, row.marked)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_one_row_is_marked() {
        let row = |fields: [&str; 3]| fields.map(str::to_owned);
        let mut table = Table::new(&["bird", "eggs", "colour"], Style::Plain);
        table.push(row(["cuckoo", "25", "grey"]));
        table.push_marked(row(["owl", "4", "brown"]));
        assert_eq!(
            table.to_string(),
            "  bird    eggs  colour\n  cuckoo    25  grey\n* owl        4  brown\n"
        );
    }

    #[test]
    fn colour_is_for_terminals() {
        let mut table = Table::new(&["bird"], Style::Colour);
        table.push_marked(["owl".to_owned()]);
        assert!(table.to_string().contains("\x1b[1;32m* owl\x1b[0m"));
    }

    #[test]
    fn lines_can_be_shown_before_the_next_are_known() {
        let row = |fields: [&str; 2]| fields.map(str::to_owned);
        let lines = |style| {
            let lines = Lines::new(("bird", 8), &["eggs"], style);
            [lines.head(), lines.row(&row(["owl", "4"])), lines.marked_row(&row(["cuckoo", "25"]))]
        };
        assert_eq!(lines(Style::Plain), ["  bird      eggs", "  owl          4", "* cuckoo      25"]);
        let markdown = ["| bird | eggs |\n| --- | --: |", "| owl | 4 |", "| **cuckoo** | 25 |"];
        assert_eq!(lines(Style::Markdown), markdown);
    }
}
