//! The commands: parse, call a filter, answer.

mod arguments;
pub mod bf;
pub mod cf;
pub mod mk;
mod parse;
mod stats;
mod stored;
#[cfg(feature = "testing")]
mod testing;
mod transfer;

use core::ffi::CStr;
use std::sync::atomic::Ordering;

use crate::server::register::Loading;
use crate::settings;
use crate::values::bloom::BloomValue;
use crate::values::cuckoo::CuckooValue;
use crate::values::engine::EngineValue;
use crate::values::transfer::{HAS_CF, HAS_MK};

/// The families of commands that are registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Families {
    cf: bool,
    bf: bool,
    mk: bool,
}

impl Families {
    const ALL: Self = Self { cf: true, bf: true, mk: true };
    const NONE: Self = Self { cf: false, bf: false, mk: false };

    /// Adds a family by its name.
    fn add(&mut self, name: &[u8]) -> Result<(), String> {
        match &name.to_ascii_lowercase()[..] {
            b"cf" => self.cf = true,
            b"bf" => self.bf = true,
            b"mk" => self.mk = true,
            _ => return Err(format!("only {:?}: cf, bf or mk are expected", String::from_utf8_lossy(name))),
        }
        Ok(())
    }
}

/// A setting and its value.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// The families that the arguments of `loadmodule` name, and the settings among them.
fn read<'a>(mut arguments: impl Iterator<Item = &'a [u8]>) -> Result<(Families, Vec<Pair<'a>>), String> {
    let (mut families, mut pairs) = (Families::NONE, Vec::new());
    while let Some(name) = arguments.next() {
        let missing = || format!("{} needs a value", String::from_utf8_lossy(name));
        let value = arguments.next().ok_or_else(missing)?;
        if parse::is(name, "only") {
            families.add(value)?;
        } else {
            pairs.push((name, value));
        }
    }
    Ok((if families == Families::NONE { Families::ALL } else { families }, pairs))
}

/// Registers everything that the arguments of `loadmodule` ask for.
pub fn load(loading: &Loading<'_>) -> Result<(), String> {
    let (families, pairs) = read(loading.arguments())?;
    HAS_MK.store(families.mk, Ordering::Relaxed);
    HAS_CF.store(families.cf, Ordering::Relaxed);
    if families.cf {
        loading.value::<CuckooValue>()?;
        loading.category(c"cuckoo");
    }
    if families.bf {
        loading.value::<BloomValue>()?;
        loading.category(c"bloom");
    }
    if families.cf || families.mk {
        loading.value::<EngineValue>()?;
    }
    if families.mk {
        loading.category(c"malkoha");
    }
    let chosen = [
        (families.cf, &cf::COMMANDS[..]),
        (families.bf, &bf::COMMANDS[..]),
        (families.mk, &mk::COMMANDS[..]),
    ];
    for command in chosen.iter().filter(|(chosen, _)| *chosen).flat_map(|(_, commands)| *commands) {
        loading.command(command)?;
    }
    #[cfg(feature = "testing")]
    if families.mk {
        testing::COMMANDS.iter().try_for_each(|command| loading.command(command))?;
    }
    // Where another module has a family, it may have the settings too.
    let whole = |name: &CStr| match name.to_bytes() {
        [b'c', b'f', b'-', ..] => families.cf,
        [b'b', b'f', b'-', ..] => families.bf,
        _ => false,
    };
    settings::NUMBERS.iter().try_for_each(|setting| loading.number(setting, whole(setting.name)))?;
    settings::RATES.iter().try_for_each(|setting| loading.rate(setting, whole(setting.name)))?;
    loading.settings_registered()?;
    for (name, value) in pairs {
        if settings::OLD_NAMES.iter().any(|(old, _)| parse::is(name, old)) {
            loading.log(
                c"an argument has the name that RedisBloom used before it had settings; it is understood",
            );
        }
        settings::set(name, value)?;
    }
    loading.info()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<(Families, Vec<Pair<'_>>), String> {
        read(text.split_whitespace().map(str::as_bytes))
    }

    #[test]
    fn arguments_of_loadmodule() {
        assert_eq!(of(""), Ok((Families::ALL, vec![])));
        assert_eq!(of("only cf"), Ok((Families { cf: true, ..Families::NONE }, vec![])));
        assert_eq!(of("ONLY mk only BF").unwrap().0, Families { cf: false, bf: true, mk: true });
        let setting = (&b"cf-max-iterations"[..], &b"50"[..]);
        assert_eq!(of("cf-max-iterations 50"), Ok((Families::ALL, vec![setting])));
        assert!(of("only").is_err() && of("only xx").is_err() && of("seed").is_err());
    }
}
