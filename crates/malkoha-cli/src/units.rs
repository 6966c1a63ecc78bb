//! Numbers as people write them: counts, bytes and rates; and counts and bytes as people read them.
//!
//! | written | means |
//! | --- | --- |
//! | `k`, `M`, `G`, `T`, in either case | powers of ten |
//! | `Ki`, `Mi`, `Gi`, `Ti`, in either case | powers of two |
//! | `1e8`, `2^27`, `1_000` | as in mathematics |
//! | `0.1%`, `1/1000`, `2^-10`, `1e-3` | rates |

/// Parses a count, such as `100M`, `1.5Gi`, `1e8` or `2^27`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let refuse = |why: &str| {
        Err(format!(
            "{why}; write a whole number as in 1000, 100M (k, M, G, T), 64Ki (Ki, Mi, Gi, Ti), 1e8 or 2^27"
        ))
    };
    if let Some(exponent) = text.strip_prefix("2^") {
        return match exponent.parse() {
            Ok(exponent @ 0..64u32) => Ok(1 << exponent),
            _ => refuse("a power of two has an exponent from 0 to 63"),
        };
    }
    let (number, unit) = split_unit(text);
    let Some((digits, exponent)) = decimal(number) else { return refuse("this is not a number") };
    let scaled = (0..exponent.unsigned_abs()).try_fold(digits * u128::from(unit), |value, _| {
        if exponent >= 0 {
            value.checked_mul(10).ok_or("this is too large")
        } else if value.is_multiple_of(10) {
            Ok(value / 10)
        } else {
            Err("this is not a whole number")
        }
    });
    match scaled.map(u64::try_from) {
        Ok(Ok(count)) => Ok(count),
        Ok(Err(_)) => refuse("this is too large"),
        Err(why) => refuse(why),
    }
}

/// Parses a number of bytes: a count, optionally followed by `B`, such as `4GB` or `512MiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    count(text.strip_suffix(['B', 'b']).unwrap_or(text))
}

/// Parses a rate between 0 and 1, such as `0.001`, `0.1%`, `1/1000`, `2^-10` or `1e-3`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.parse::<f64>().ok();
    let rate = if let Some(exponent) = text.strip_prefix("2^") {
        number(exponent).map(f64::exp2)
    } else if let Some(percent) = text.strip_suffix('%') {
        number(percent).map(|percent| percent / 100.0)
    } else if let Some((above, below)) = text.split_once('/') {
        number(above).zip(count(below).ok()).map(|(above, below)| above / below as f64)
    } else {
        number(text)
    };
    rate.filter(|rate| *rate > 0.0 && *rate < 1.0).ok_or_else(|| {
        "a rate is between 0 and 1; write it as in 0.001, 0.1%, 1/1000, 2^-10 or 1e-3".to_owned()
    })
}

/// Splits a number from its unit.
fn split_unit(text: &str) -> (&str, u64) {
    let power = |letter: u8| match letter.to_ascii_lowercase() {
        b'k' => Some(1),
        b'm' => Some(2),
        b'g' => Some(3),
        b't' => Some(4),
        _ => None,
    };
    let none = (text, 1);
    match *text.as_bytes() {
        [.., letter, b'i' | b'I'] => power(letter).map_or(none, |p| (&text[..text.len() - 2], 1 << (10 * p))),
        [.., letter] => power(letter).map_or(none, |p| (&text[..text.len() - 1], 1000u64.pow(p))),
        [] => none,
    }
}

/// Returns the digits of a number and the power of ten to multiply them by.
fn decimal(text: &str) -> Option<(u128, i32)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat().chars().filter(|c| *c != '_').collect();
    // A number of more than twenty digits does not fit in 64 bits; a unit is at most 2^40.
    if digits.is_empty() || digits.len() > 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction = i32::try_from(fraction.bytes().filter(u8::is_ascii_digit).count()).ok()?;
    let exponent = exponent.checked_sub(fraction).filter(|exponent| exponent.abs() <= 40)?;
    Some((digits.parse().ok()?, exponent))
}

/// Formats a count with its digits in groups of three: `1,000,000`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count as an argument, as briefly as is exact: `100M`.
pub(crate) fn brief_count(count: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    let fits = units.iter().find(|(unit, _)| count > 0 && count.is_multiple_of(*unit));
    fits.map_or_else(|| count.to_string(), |(unit, name)| format!("{}{name}", count / unit))
}

/// Rounds a count up to three digits.
pub(crate) fn rounded_up(count: u64) -> u64 {
    let step = 10u64.pow(count.max(1).ilog10().saturating_sub(2));
    count.div_ceil(step).saturating_mul(step)
}

/// Formats a count of things, of which one has no s: `1 key`, `2,000 keys`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a number of bytes with three digits and a decimal unit: `159 MB`.
pub(crate) fn short_bytes(bytes: u64) -> String {
    if bytes == 1 {
        return "1 byte".to_owned();
    }
    scaled(bytes as f64, &["bytes", "kB", "MB", "GB", "TB", "PB"])
}

/// Formats a count with three digits and a unit: `1.5 M`.
pub(crate) fn short_count(count: f64) -> String {
    scaled(count, &["", "k", "M", "G", "T", "P"]).trim_end().to_owned()
}

fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {}", units[unit])
}

/// Formats a rate with three digits, and as a ratio: `0.000977 (1 in 1,024)`.
pub(crate) fn rate_in_words(rate: f64) -> String {
    if rate < 1e-18 {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1e18, and positive")]
    let one_in = grouped((1.0 / rate).round() as u64);
    format!("{} (1 in {one_in})", short_rate(rate))
}

/// Formats a rate with three digits.
pub(crate) fn short_rate(rate: f64) -> String {
    if rate >= 1e-5 || rate == 0.0 {
        let decimals = if rate >= 0.1 {
            3
        } else if rate >= 0.01 {
            4
        } else if rate >= 0.001 {
            5
        } else {
            6
        };
        format!("{rate:.decimals$}")
    } else {
        format!("{rate:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_every_way_of_writing() {
        let written = [
            ("0", 0),
            ("1000", 1000),
            ("1_000_000", 1_000_000),
            ("100k", 100_000),
            ("100K", 100_000),
            ("2m", 2_000_000),
            ("1.5M", 1_500_000),
            ("3g", 3_000_000_000),
            ("3T", 3_000_000_000_000),
            ("64Ki", 65_536),
            ("64ki", 65_536),
            ("1.5Mi", 1_572_864),
            ("2Gi", 1 << 31),
            ("1Ti", 1 << 40),
            ("1e8", 100_000_000),
            ("1.25E3", 1250),
            ("2^27", 1 << 27),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, expected) in written {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused_with_a_remedy() {
        for text in
            ["", "M", "ten", "-5", "1.5", "1e-3", "2^64", "2^x", "1e30", "99999999T", "1..5", "1 000", "0x10"]
        {
            let refused = count(text).unwrap_err();
            assert!(refused.contains("write a whole number"), "{text}: {refused}");
        }
    }

    #[test]
    fn bytes_take_a_b() {
        assert_eq!(bytes("4GB"), Ok(4_000_000_000));
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!(bytes("100"), Ok(100));
    }

    #[test]
    fn rates_in_every_way_of_writing() {
        for text in ["0.001", "0.1%", "1/1000", "1/1k", "1e-3", "1E-3"] {
            assert!((rate(text).unwrap() / 0.001 - 1.0).abs() < 1e-12, "{text}");
        }
        assert_eq!(rate("2^-10"), Ok(1.0 / 1024.0));
        for text in ["0", "1", "100%", "-0.1", "2^0", "1/0", "nan", "inf", "", "a rate"] {
            assert!(rate(text).unwrap_err().contains("write it as in"), "{text}");
        }
    }

    #[test]
    fn counts_and_bytes_for_people() {
        assert_eq!(
            [0, 7, 1000, 12_500_000, 3_000_000_000].map(brief_count),
            ["0", "7", "1k", "12500k", "3G"]
        );
        assert_eq!([0, 7, 999, 1001, 20_049_000].map(rounded_up), [0, 7, 999, 1010, 20_100_000]);
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(
            [counted(0, "key"), counted(1, "key"), counted(2000, "key")],
            ["0 keys", "1 key", "2,000 keys"]
        );
        assert_eq!([short_bytes(0), short_bytes(1), short_bytes(512)], ["0 bytes", "1 byte", "512 bytes"]);
        assert_eq!(short_bytes(999_999), "1.00 MB");
        assert_eq!(short_bytes(158_900_000), "159 MB");
        assert_eq!(short_count(15_000.0), "15.0 k");
        assert_eq!(rate_in_words(1.0 / 1024.0), "0.000977 (1 in 1,024)");
        assert_eq!(rate_in_words(1e-6), "1.00e-6 (1 in 1,000,000)");
        assert_eq!(rate_in_words(0.0), "0");
    }
}
