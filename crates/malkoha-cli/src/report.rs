//! A list of facts, one per line, that commands print at the end.

use std::fmt;

/// Facts with their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report(Vec<(&'static str, String)>);

impl Report {
    pub(crate) fn fact(&mut self, name: &'static str, value: impl fmt::Display) -> &mut Self {
        self.0.push((name, value.to_string()));
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (at, (name, value)) in self.0.iter().enumerate() {
            let end = if at + 1 < self.0.len() { "\n" } else { "" };
            write!(f, "{name:<width$}  {value}{end}")?;
        }
        Ok(())
    }
}
