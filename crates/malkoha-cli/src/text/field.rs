//! The field of a JSON object that has the text: where it is in a line, and what it says.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde_core::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

/// The names that lead to a field, from the outermost object inwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field(Vec<String>);

impl FromStr for Field {
    type Err = String;

    /// Parses names separated by dots. A backslash makes the next character part of a name.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut names = vec![String::new()];
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            let name = names.last_mut().expect("there is always a last name");
            match character {
                '.' => names.push(String::new()),
                '\\' => name.push(characters.next().ok_or("a backslash at the end stands before nothing")?),
                _ => name.push(character),
            }
        }
        if names.iter().any(String::is_empty) {
            return Err("a name is empty; write text, or meta.text for a field inside another".to_owned());
        }
        Ok(Self(names))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|name| name.replace('\\', r"\\").replace('.', r"\.")).collect();
        f.write_str(&names.join("."))
    }
}

/// Why a line has no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Bytes that are not UTF-8, the first at this position.
    Encoding(usize),
    /// Broken JSON, or incomplete, at this position from 1 on.
    Broken(usize),
    Incomplete(usize),
    /// JSON, but not an object.
    NoObject,
    /// No such field.
    Absent,
    /// The field is not a string.
    NotText,
}

impl Flaw {
    /// Returns the flaw of a line that has the value with this flaw behind so many bytes.
    fn behind(self, bytes: usize) -> Self {
        match self {
            Self::Broken(at) => Self::Broken(bytes + at),
            other => other,
        }
    }

    /// Describes the flaw of a line in which this field was looked for.
    pub(super) fn in_words(&self, field: &Field) -> String {
        match self {
            Self::Encoding(at) => format!("not UTF-8 from byte {} on", at + 1),
            Self::Broken(at) => format!("not a JSON object: broken at byte {at}"),
            Self::Incomplete(at) => format!("not a JSON object: it ends at byte {at} and is not complete"),
            Self::NoObject => "JSON, but not an object".to_owned(),
            Self::Absent => format!("there is no field {field}"),
            Self::NotText => format!("the field {field} is not a string"),
        }
    }
}

/// A text in its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Located<'a> {
    pub(super) text: Cow<'a, str>,
    /// Where the line has the text, with its quotation marks.
    pub(super) value: Range<usize>,
    /// Where the line has the value of the note, if there is one.
    pub(super) note: Option<Range<usize>>,
}

impl Field {
    /// Returns whether the field is, or is inside, the one with this name in the outermost object.
    pub(super) fn is_within(&self, name: &str) -> bool {
        self.0[0] == name
    }

    /// Finds the field in a line, and a field of the outermost object with the name of the note, if one is
    /// given. Of several fields with the same name, the last one counts.
    pub(super) fn locate<'a>(&self, line: &'a [u8], note: Option<&str>) -> Result<Located<'a>, Flaw> {
        let line = std::str::from_utf8(line).map_err(|error| Flaw::Encoding(error.valid_up_to()))?;
        let (outer, inner) = self.0.split_first().expect("a field has at least one name");
        let found = Members::of(line, outer, note)?;
        let mut value = found.wanted.ok_or(Flaw::Absent)?;
        for name in inner {
            if !value.starts_with('{') {
                return Err(Flaw::Absent);
            }
            let begin = place(line, value).start;
            let found = Members::of(value, name, None).map_err(|flaw| flaw.behind(begin))?;
            value = found.wanted.ok_or(Flaw::Absent)?;
        }
        let note = found.note.map(|value| place(line, value));
        let at = place(line, value);
        let text = text(value).map_err(|flaw| flaw.behind(at.start))?;
        Ok(Located { text, value: at, note })
    }
}

/// Returns the text of a JSON string.
pub(super) fn text(value: &str) -> Result<Cow<'_, str>, Flaw> {
    let inside = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).ok_or(Flaw::NotText)?;
    if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(inside));
    }
    serde_json::from_str(value).map(Cow::Owned).map_err(|error| broken(&error))
}

/// Returns where a part of a line is in it.
fn place(line: &str, part: &str) -> Range<usize> {
    let begin = part.as_ptr().addr() - line.as_ptr().addr();
    begin..begin + part.len()
}

/// Describes broken JSON.
fn broken(error: &serde_json::Error) -> Flaw {
    match error.classify() {
        Category::Eof => Flaw::Incomplete(error.column()),
        Category::Data => Flaw::NoObject,
        Category::Syntax | Category::Io => Flaw::Broken(error.column()),
    }
}

/// Values of two members of an object, as they are written.
#[derive(Default)]
struct Members<'a> {
    wanted: Option<&'a str>,
    note: Option<&'a str>,
}

impl<'a> Members<'a> {
    /// Finds members of an object, and checks that all of it is JSON.
    fn of(object: &'a str, wanted: &str, note: Option<&str>) -> Result<Self, Flaw> {
        let mut json = serde_json::Deserializer::from_str(object);
        let members = json.deserialize_map(Search { wanted, note }).map_err(|error| broken(&error))?;
        json.end().map_err(|error| broken(&error))?;
        Ok(members)
    }
}

/// Looks for members by name.
struct Search<'n> {
    wanted: &'n str,
    note: Option<&'n str>,
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'de>, M::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key_seed(Name(&self))? {
            match name {
                Named::Wanted => members.wanted = Some(map.next_value::<&RawValue>()?.get()),
                Named::Note => members.note = Some(map.next_value::<&RawValue>()?.get()),
                Named::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(members)
    }
}

/// Compares the name of a member, without a copy of it.
struct Name<'s, 'n>(&'s Search<'n>);

/// Which member a name belongs to.
enum Named {
    Wanted,
    Note,
    Other,
}

impl<'de> DeserializeSeed<'de> for Name<'_, '_> {
    type Value = Named;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Named, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_> {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Named, E> {
        Ok(match name {
            name if name == self.0.wanted => Named::Wanted,
            name if Some(name) == self.0.note => Named::Note,
            _ => Named::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate<'a>(field: &str, line: &'a str) -> Result<Located<'a>, Flaw> {
        field.parse::<Field>().unwrap().locate(line.as_bytes(), Some("dedup"))
    }

    #[test]
    fn fields_are_found_wherever_they_are() {
        let line = r#" {"id": [1, {"text": 2}], "text": "a bird", "dedup": {"x": 1}, "m": {"t.x": "in\nside", "n": null}}"#;
        let found = locate("text", line).unwrap();
        assert_eq!((&*found.text, &line[found.value]), ("a bird", r#""a bird""#));
        assert_eq!(&line[found.note.unwrap()], r#"{"x": 1}"#);
        let found = locate(r"m.t\.x", line).unwrap();
        assert_eq!((&*found.text, &line[found.value]), ("in\nside", r#""in\nside""#));
        assert_eq!(locate("m.n", line), Err(Flaw::NotText));
        assert_eq!(locate("m.n.o", line), Err(Flaw::Absent));
        assert_eq!(locate("id.text", line), Err(Flaw::Absent), "lists have no names");
        assert_eq!(locate("none", line), Err(Flaw::Absent));
        assert_eq!(locate("a", r#"{"a":"first","\u0061":"last"}"#).unwrap().text, "last");
    }

    #[test]
    fn what_is_not_an_object_is_described() {
        let why = |line: &str| match locate("a", line) {
            Err(flaw) => flaw.in_words(&Field(vec!["a".to_owned()])),
            Ok(found) => panic!("{line}: {found:?}"),
        };
        assert_eq!(why(r#"{"a":"b""#), "not a JSON object: it ends at byte 8 and is not complete");
        assert_eq!(why(r#"{"a":"b"} x"#), "not a JSON object: broken at byte 11");
        assert_eq!(why("[1]"), "JSON, but not an object");
        assert_eq!(why(r#"{"a":"\ud800"}"#), "not a JSON object: broken at byte 13", "half a character");
        assert!(why(r#"{"b":tru}"#).starts_with("not a JSON object: broken"), "also in other fields");
        assert_eq!(why("{}"), "there is no field a");
        assert_eq!(why(r#"{"a":["b"]}"#), "the field a is not a string");
        let flaw = "a".parse::<Field>().unwrap().locate(b"{\"a\":\"\xFF\"}", None);
        assert_eq!(flaw, Err(Flaw::Encoding(6)));
        let deep = format!(r#"{{"a":{}"#, "[".repeat(100_000));
        assert_eq!(locate("a", &deep), Err(Flaw::Incomplete(deep.len())), "no stack overflows");
    }

    #[test]
    fn paths_are_read_and_written() {
        for path in ["text", "meta.text", r"a\.b.c\\d"] {
            assert_eq!(path.parse::<Field>().unwrap().to_string(), path);
        }
        for path in ["", "a.", ".a", "a..b", "a\\"] {
            assert!(path.parse::<Field>().is_err(), "{path}");
        }
    }
}
