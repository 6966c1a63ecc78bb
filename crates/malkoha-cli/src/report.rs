//! What commands print at the end: facts for people, one per line, or the same as a JSON object.

use std::borrow::Cow;
use std::fmt::Display;

use anyhow::Result;
use serde_json::{Map, Value};

use crate::message::say;
use crate::output::Output;
use crate::width;

/// Facts with their names, and data for programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    facts: Vec<(Cow<'static, str>, String)>,
    data: Map<String, Value>,
}

/// Who reads a report, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Audience {
    /// A program reads it.
    pub(crate) json: bool,
    /// Nobody reads it, unless a program does.
    pub(crate) quiet: bool,
    /// Standard output holds something else, so the report goes to standard error.
    pub(crate) aside: bool,
}

impl Report {
    /// Adds a fact for people.
    pub(crate) fn fact(&mut self, name: impl Into<Cow<'static, str>>, value: impl Display) -> &mut Self {
        self.facts.push((name.into(), value.to_string()));
        self
    }

    /// Adds data for programs.
    pub(crate) fn data(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the data as an object.
    pub(crate) fn into_json(self) -> Value {
        Value::Object(self.data)
    }

    /// Shows the report to its audience. On standard error an object is one line, to be told from messages.
    pub(crate) fn show(self, audience: Audience) -> Result<()> {
        match audience {
            Audience { json: false, quiet: true, .. } => {}
            Audience { json: true, aside: true, .. } => say(self.into_json()),
            Audience { json: false, aside: true, .. } => say(self.text(width::of_errors())),
            Audience { json, aside: false, .. } => {
                let mut out = Output::new();
                if json {
                    out.line(format_args!("{:#}", self.into_json()))?;
                } else {
                    out.line(self.for_output())?;
                }
                out.finish()?;
            }
        }
        Ok(())
    }

    /// Returns the facts as they are shown on standard output.
    pub(crate) fn for_output(&self) -> String {
        self.text(width::of_output())
    }

    /// Returns the facts, one per line, wrapped to this width.
    fn text(&self, width: Option<usize>) -> String {
        let indent = self.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent + 2));
        let line = |(name, value): &(Cow<str>, String)| {
            let value = width::wrapped(value, room).join(&format!("\n{:indent$}  ", ""));
            format!("{name:<indent$}  {value}")
        };
        self.facts.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
