//! Numbers and options among the arguments of commands.

use crate::server::Refusal;

/// A whole number, as the server itself reads them: no spaces, no plus sign, no zeros in front.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let number: i64 = str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}

/// A whole number that is not negative.
pub(crate) fn count(text: &[u8]) -> Option<u64> {
    u64::try_from(integer(text)?).ok()
}

/// A rate or another finite number.
pub(crate) fn number(text: &[u8]) -> Option<f64> {
    str::from_utf8(text).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether an argument is this word, in upper or lower case.
pub(crate) fn is(text: &[u8], word: &str) -> bool {
    text.eq_ignore_ascii_case(word.as_bytes())
}

/// The value of an option in a range; RedisBloom's texts if it is none, or outside.
pub(crate) fn option(name: &str, text: &[u8], (least, most): (i64, i64)) -> Result<u16, Refusal> {
    let number = integer(text).ok_or_else(|| format!("Couldn't parse {name}"))?;
    let small = u16::try_from(number).ok().filter(|_| (least..=most).contains(&number));
    small.ok_or_else(|| format!("{name}: value must be in the range [{least}, {most}]").into())
}

/// An argument that no option has.
pub(crate) fn unknown(text: &[u8]) -> Refusal {
    format!("ERR unknown argument '{}'", String::from_utf8_lossy(&text[..text.len().min(64)])).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_what_the_server_takes_for_one() {
        for good in [0, 1, -1, 1024, i64::MAX, i64::MIN] {
            assert_eq!(integer(good.to_string().as_bytes()), Some(good));
        }
        for bad in ["", " 1", "1 ", "+1", "01", "-0", "1.0", "1e3", "9223372036854775808", "x", "\u{661}"] {
            assert_eq!(integer(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!((count(b"-1"), count(b"7")), (None, Some(7)));
        assert_eq!(
            (number(b"1e-3"), number(b"nan"), number(b"inf"), number(b"")),
            (Some(0.001), None, None, None)
        );
    }
}
