//! Normalisation: which differences between texts do not count.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What is done to a text before it is compared, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    form: Form,
    /// Letters become lower case.
    case: bool,
    /// Characters other than letters, numbers, marks and white space become spaces.
    punctuation: bool,
    /// Runs of white space become one space, and none at the beginning and at the end.
    space: bool,
}

/// A normal form of Unicode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    AsWritten,
    Nfc,
    Nfkc,
}

impl FromStr for Rules {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = Self { form: Form::Nfkc, case: true, punctuation: true, space: true };
        match text {
            "none" => return Ok(Self::default()),
            "all" => return Ok(all),
            _ => {}
        }
        let mut rules = Self::default();
        for name in text.split(',') {
            match name {
                "nfc" | "nfkc" if rules.form != Form::AsWritten => {
                    return Err("give one of nfc and nfkc".to_owned());
                }
                "nfc" => rules.form = Form::Nfc,
                "nfkc" => rules.form = Form::Nfkc,
                "case" => rules.case = true,
                "punctuation" => rules.punctuation = true,
                "space" => rules.space = true,
                _ => {
                    return Err("write some of nfc, nfkc, case, punctuation and space, separated by commas; or none; or all, \
                                which is nfkc,case,punctuation,space"
                        .to_owned());
                }
            }
        }
        Ok(rules)
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::AsWritten => None,
            Form::Nfc => Some("nfc"),
            Form::Nfkc => Some("nfkc"),
        };
        let named = [(self.case, "case"), (self.punctuation, "punctuation"), (self.space, "space")];
        let names = form.into_iter().chain(named.into_iter().filter_map(|(set, name)| set.then_some(name)));
        let names: Vec<_> = names.collect();
        f.write_str(&if names.is_empty() { "none".to_owned() } else { names.join(",") })
    }
}

impl Rules {
    /// Returns a number that stands for these rules in a file.
    pub(super) fn to_bits(self) -> u8 {
        let form = match self.form {
            Form::AsWritten => 0,
            Form::Nfc => 1,
            Form::Nfkc => 2,
        };
        form | u8::from(self.case) << 2 | u8::from(self.punctuation) << 3 | u8::from(self.space) << 4
    }

    /// Returns the rules that a number stands for.
    pub(super) fn from_bits(bits: u8) -> Option<Self> {
        let form = match bits & 3 {
            0 => Form::AsWritten,
            1 => Form::Nfc,
            2 => Form::Nfkc,
            _ => return None,
        };
        let bit = |at: u8| bits >> at & 1 == 1;
        (bits < 32).then(|| Self { form, case: bit(2), punctuation: bit(3), space: bit(4) })
    }

    /// Returns a text with these rules applied, in the buffer if that is needed.
    pub(super) fn apply<'a>(self, text: &'a str, buffer: &'a mut String) -> &'a str {
        if self == Self::default() {
            return text;
        }
        buffer.clear();
        if text.is_ascii() {
            self.apply_to_ascii(text.as_bytes(), buffer);
        } else {
            match self.form {
                Form::AsWritten => self.apply_to(text.chars(), buffer),
                Form::Nfc => self.apply_to(text.nfc(), buffer),
                Form::Nfkc => self.apply_to(text.nfkc(), buffer),
            }
        }
        buffer
    }

    /// Applies all rules after the normal form.
    fn apply_to(self, characters: impl Iterator<Item = char>, out: &mut String) {
        let mut pending = false;
        let mut put = |character: char| {
            let white = character.is_whitespace();
            let other =
                self.punctuation && !white && !character.is_alphanumeric() && !is_combining_mark(character);
            let character = if other { ' ' } else { character };
            if self.space && (white || other) {
                pending = true;
                return;
            }
            if std::mem::take(&mut pending) && !out.is_empty() {
                out.push(' ');
            }
            out.push(character);
        };
        for character in characters {
            if self.case {
                character.to_lowercase().for_each(&mut put);
            } else {
                put(character);
            }
        }
    }

    /// Does the same to ASCII, which is in every normal form, with one look into a table for each byte.
    fn apply_to_ascii(self, text: &[u8], out: &mut String) {
        let table = self.ascii();
        let mut bytes = std::mem::take(out).into_bytes();
        bytes.reserve(text.len());
        if self.space {
            // Beginning as if there had been a space drops those at the beginning.
            let mut white = true;
            for byte in text {
                let byte = table[usize::from(*byte & 127)];
                let space = byte == b' ';
                if !(space && white) {
                    bytes.push(byte);
                }
                white = space;
            }
            if bytes.last() == Some(&b' ') {
                bytes.pop();
            }
        } else {
            bytes.extend(text.iter().map(|byte| table[usize::from(*byte & 127)]));
        }
        *out = String::from_utf8(bytes).expect("ASCII stays ASCII");
    }

    /// Returns what becomes of every ASCII character.
    fn ascii(self) -> [u8; 128] {
        std::array::from_fn(|at| {
            #[expect(clippy::cast_possible_truncation, reason = "below 128")]
            let byte = at as u8;
            let white = char::from(byte).is_whitespace();
            match byte {
                _ if white => {
                    if self.space {
                        b' '
                    } else {
                        byte
                    }
                }
                _ if self.punctuation && !byte.is_ascii_alphanumeric() => b' ',
                _ if self.case => byte.to_ascii_lowercase(),
                _ => byte,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(rules: &str, text: &str) -> String {
        let (rules, mut buffer) = (rules.parse::<Rules>().unwrap(), "what was there before".to_owned());
        let got = rules.apply(text, &mut buffer).to_owned();
        // The same text behind a letter that no rule changes goes the other way.
        let other = format!("\u{e9}{text}");
        if text.is_ascii() && !rules.space {
            assert_eq!(rules.apply(&other, &mut buffer), format!("\u{e9}{got}"));
        }
        got
    }

    #[test]
    fn rules_do_what_the_documentation_says() {
        let text = " Don't  STOP\u{2014}\u{fb01}ve\u{a0}e\u{301}\t";
        assert_eq!(apply("none", text), text);
        assert_eq!(apply("case", text), " don't  stop\u{2014}\u{fb01}ve\u{a0}e\u{301}\t");
        assert_eq!(apply("space", text), "Don't STOP\u{2014}\u{fb01}ve e\u{301}");
        assert_eq!(apply("punctuation", text), " Don t  STOP \u{fb01}ve\u{a0}e\u{301}\t");
        assert_eq!(apply("nfc", text), " Don't  STOP\u{2014}\u{fb01}ve\u{a0}\u{e9}\t");
        assert_eq!(apply("nfkc", text), " Don't  STOP\u{2014}five \u{e9}\t");
        assert_eq!(apply("all", text), "don t stop five \u{e9}");
        assert_eq!(apply("all", " ... "), "");
        assert_eq!(apply("case", "\u{130}"), "i\u{307}", "one letter may become two");
    }

    #[test]
    fn ascii_is_treated_like_other_text() {
        let text: String = (0..128u8).map(char::from).collect::<String>().repeat(2);
        for bits in (0..32).filter_map(Rules::from_bits) {
            let (mut short, mut long) = (String::new(), String::new());
            bits.apply_to_ascii(text.as_bytes(), &mut short);
            bits.apply_to(text.chars(), &mut long);
            assert_eq!(short, long, "{bits}");
        }
    }

    #[test]
    fn rules_have_names_and_numbers() {
        for rules in ["none", "nfc", "nfkc,case", "case,punctuation,space", "nfkc,case,punctuation,space"] {
            let parsed: Rules = rules.parse().unwrap();
            assert_eq!(parsed.to_string(), rules);
            assert_eq!(Rules::from_bits(parsed.to_bits()), Some(parsed));
        }
        for bits in 0..=255 {
            assert!(Rules::from_bits(bits).is_none_or(|rules| rules.to_bits() == bits));
        }
        for wrong in ["", "CASE", "nfc,nfkc", "case,", "case,none", "all,nfc"] {
            assert!(wrong.parse::<Rules>().is_err(), "{wrong}");
        }
    }
}
