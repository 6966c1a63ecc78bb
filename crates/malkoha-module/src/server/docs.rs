//! The arguments of commands, as `COMMAND DOCS` and help texts show them.

use core::ffi::{CStr, c_int};
use core::fmt;
use core::ptr;

use super::api::{CommandArgument, argument};

/// An argument of a command, or several that belong together.
#[derive(Clone, Copy)]
pub struct Argument {
    name: &'static CStr,
    kind: c_int,
    token: Option<&'static CStr>,
    optional: bool,
    repeated: bool,
    parts: &'static [Argument],
}

/// The list of arguments of a command.
pub type Arguments = &'static [Argument];

impl Argument {
    const fn new(name: &'static CStr, kind: c_int) -> Self {
        Self { name, kind, token: None, optional: false, repeated: false, parts: &[] }
    }

    /// The name of a key.
    #[must_use]
    pub const fn key(name: &'static CStr) -> Self {
        Self::new(name, argument::KEY)
    }

    /// Any bytes.
    #[must_use]
    pub const fn text(name: &'static CStr) -> Self {
        Self::new(name, argument::STRING)
    }

    /// A whole number.
    #[must_use]
    pub const fn integer(name: &'static CStr) -> Self {
        Self::new(name, argument::INTEGER)
    }

    /// A number.
    #[must_use]
    pub const fn number(name: &'static CStr) -> Self {
        Self::new(name, argument::DOUBLE)
    }

    /// A word that stands for itself.
    #[must_use]
    pub const fn word(name: &'static CStr) -> Self {
        Self { token: Some(name), ..Self::new(name, argument::PURE_TOKEN) }
    }

    /// One of several.
    #[must_use]
    pub const fn one_of(name: &'static CStr, parts: Arguments) -> Self {
        Self { parts, ..Self::new(name, argument::ONE_OF) }
    }

    /// Several, one after the other.
    #[must_use]
    pub const fn block(name: &'static CStr, parts: Arguments) -> Self {
        Self { parts, ..Self::new(name, argument::BLOCK) }
    }

    /// The same, after a word.
    #[must_use]
    pub const fn after(self, word: &'static CStr) -> Self {
        Self { token: Some(word), ..self }
    }

    /// The same, but it may be left out.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// The same, once or more often.
    #[must_use]
    pub const fn repeated(self) -> Self {
        Self { repeated: true, ..self }
    }

    /// As users write it.
    fn show(&self) -> String {
        let content = match self.kind {
            argument::PURE_TOKEN => String::new(),
            argument::ONE_OF => self.parts.iter().map(Self::show).collect::<Vec<_>>().join("|"),
            argument::BLOCK => Syntax(self.parts).to_string(),
            _ => self.name.to_string_lossy().into_owned(),
        };
        let word = self.token.map(CStr::to_string_lossy).unwrap_or_default();
        let space = if word.is_empty() || content.is_empty() { "" } else { " " };
        match (self.optional, self.repeated) {
            (false, false) => format!("{word}{space}{content}"),
            (true, false) => format!("[{word}{space}{content}]"),
            (false, true) => format!("{word}{space}{content} [{content} ...]"),
            (true, true) => format!("[{word}{space}{content} ...]"),
        }
    }
}

/// Shows arguments as users write them.
pub struct Syntax(pub Arguments);

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(Argument::show).collect::<Vec<_>>().join(" "))
    }
}

/// Arguments as the server reads them.
pub(super) struct RawArguments {
    /// Ended by an empty entry.
    list: Vec<CommandArgument>,
    /// What the list refers to.
    _parts: Vec<RawArguments>,
}

impl RawArguments {
    /// The arguments of a command. Keys belong to the key specifications in their order.
    pub(super) fn new(arguments: Arguments) -> Self {
        let mut parts: Vec<Self> = arguments.iter().map(|argument| Self::new(argument.parts)).collect();
        let mut keys = 0;
        let mut list: Vec<CommandArgument> = Vec::new();
        for (argument, parts) in arguments.iter().zip(&mut parts) {
            let is_key = argument.kind == argument::KEY;
            list.push(CommandArgument {
                name: argument.name.as_ptr(),
                kind: argument.kind,
                key_spec_index: if is_key { keys } else { -1 },
                token: argument.token.map_or(ptr::null(), CStr::as_ptr),
                flags: c_int::from(argument.optional) * argument::OPTIONAL
                    + c_int::from(argument.repeated) * argument::MULTIPLE,
                subargs: parts.as_mut_ptr(),
                ..CommandArgument::END
            });
            keys += c_int::from(is_key);
        }
        list.push(CommandArgument::END);
        Self { list, _parts: parts }
    }

    /// The first of them; null if there are none.
    pub(super) fn as_mut_ptr(&mut self) -> *mut CommandArgument {
        if self.list.len() > 1 { self.list.as_mut_ptr() } else { ptr::null_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_as_users_write_them() {
        const UNIT: Argument =
            Argument::one_of(c"unit", &[Argument::word(c"KEYS"), Argument::word(c"SECONDS")]);
        const ALL: Arguments = &[
            Argument::key(c"key"),
            Argument::number(c"rate"),
            Argument::integer(c"n").after(c"CAPACITY").optional(),
            Argument::word(c"FIXED").optional(),
            Argument::block(c"window", &[UNIT, Argument::integer(c"n")]).after(c"WINDOW").optional(),
            Argument::block(c"pair", &[Argument::text(c"item"), Argument::text(c"value")]).repeated(),
        ];
        assert_eq!(
            Syntax(ALL).to_string(),
            "key rate [CAPACITY n] [FIXED] [WINDOW KEYS|SECONDS n] item value [item value ...]"
        );
        let raw = RawArguments::new(ALL);
        assert_eq!(raw.list.len(), ALL.len() + 1);
        assert_eq!((raw.list[0].key_spec_index, raw.list[1].key_spec_index), (0, -1));
        assert!(raw.list[4].subargs.is_null() == ALL[4].parts.is_empty() && raw.list[6].name.is_null());
    }
}
