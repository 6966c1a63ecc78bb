//! The settings of the module. Names and ranges of `cf-` and `bf-` are RedisBloom's.

use crate::server::settings::{NumberSetting, RateSetting};

/// The most keys that a filter can be made for by a command of RedisBloom.
pub const MOST_CAPACITY: i64 = 1 << 30;

/// Rates of Bloom filters above this are lowered to it.
pub const RATE_CAP: f64 = 0.25;

#[expect(clippy::unnecessary_wraps, reason = "other settings are checked")]
fn any(_: i64) -> Result<(), String> {
    Ok(())
}

/// Slots of a bucket of new cuckoo filters.
pub static CF_BUCKET_SIZE: NumberSetting = NumberSetting::new(c"cf-bucket-size", 2, (1, 255), |size| {
    let most = CF_INITIAL_SIZE.get() / 2;
    if size <= most {
        Ok(())
    } else {
        Err(format!("cf-bucket-size: at most half of cf-initial-size, {most}"))
    }
});

/// Capacity of cuckoo filters that commands create on the way.
pub static CF_INITIAL_SIZE: NumberSetting =
    NumberSetting::new(c"cf-initial-size", 1024, (2, MOST_CAPACITY), |size| {
        let least = 2 * CF_BUCKET_SIZE.get();
        if size >= least {
            Ok(())
        } else {
            Err(format!("cf-initial-size: at least twice cf-bucket-size, {least}"))
        }
    });

/// How often tags are pushed around.
pub static CF_MAX_ITERATIONS: NumberSetting = NumberSetting::new(c"cf-max-iterations", 20, (1, 65535), any);

/// How cuckoo filters grow; 0: not at all.
pub static CF_EXPANSION_FACTOR: NumberSetting =
    NumberSetting::new(c"cf-expansion-factor", 1, (0, 32768), any);

/// How many tables a cuckoo filter may have.
pub static CF_MAX_EXPANSIONS: NumberSetting = NumberSetting::new(c"cf-max-expansions", 32, (1, 65536), any);

/// Capacity of Bloom filters that commands create on the way.
pub static BF_INITIAL_SIZE: NumberSetting =
    NumberSetting::new(c"bf-initial-size", 100, (1, MOST_CAPACITY), any);

/// How Bloom filters grow; 0: not at all.
pub static BF_EXPANSION_FACTOR: NumberSetting =
    NumberSetting::new(c"bf-expansion-factor", 2, (0, 32768), any);

/// The seed of new filters of the engine. Filters merge only if their seeds are equal.
pub static SEED: NumberSetting = NumberSetting::new(c"seed", 0, (0, i64::MAX), any);

/// All numbers.
pub static NUMBERS: [&NumberSetting; 8] = [
    &CF_BUCKET_SIZE,
    &CF_INITIAL_SIZE,
    &CF_MAX_ITERATIONS,
    &CF_EXPANSION_FACTOR,
    &CF_MAX_EXPANSIONS,
    &BF_INITIAL_SIZE,
    &BF_EXPANSION_FACTOR,
    &SEED,
];

/// The rate of Bloom filters that commands create on the way.
pub static BF_ERROR_RATE: RateSetting = RateSetting::new(c"bf-error-rate", (c"0.01", 0.01), false, RATE_CAP);

/// The rate of cuckoo filters that are made without one. 0: they have RedisBloom's layout, and its rate.
pub static CF_ERROR_RATE: RateSetting = RateSetting::new(c"cf-error-rate", (c"0", 0.0), true, 1.0);

/// All rates.
pub static RATES: [&RateSetting; 2] = [&BF_ERROR_RATE, &CF_ERROR_RATE];

/// Old names of RedisBloom's settings, which are still understood when the module is loaded.
pub static OLD_NAMES: [(&str, &str); 3] = [
    ("ERROR_RATE", "bf-error-rate"),
    ("INITIAL_SIZE", "bf-initial-size"),
    ("CF_MAX_EXPANSIONS", "cf-max-expansions"),
];

/// Changes a setting by its name, as `loadmodule` does.
pub fn set(name: &[u8], value: &[u8]) -> Result<(), String> {
    let name = str::from_utf8(name).unwrap_or("");
    let name = OLD_NAMES.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)).map_or(name, |(_, new)| new);
    let is = |other: &core::ffi::CStr| other.to_bytes().eq_ignore_ascii_case(name.as_bytes());
    if let Some(setting) = NUMBERS.iter().find(|setting| is(setting.name)) {
        let number = str::from_utf8(value).ok().and_then(|value| value.parse().ok());
        return setting.set(number.ok_or_else(|| format!("{name}: a number is expected"))?);
    }
    if let Some(setting) = RATES.iter().find(|setting| is(setting.name)) {
        return setting.set(value);
    }
    Err(format!("unknown argument {name:?}; arguments are `only cf|bf|mk` and names of settings with values"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_refuse_what_is_impossible() {
        assert!(set(b"cf-max-iterations", b"0").is_err());
        assert!(set(b"cf-max-iterations", b"65536").is_err());
        assert!(set(b"cf-max-iterations", b"many").is_err());
        assert!(set(b"bf-error-rate", b"0").is_err());
        assert!(set(b"bf-error-rate", b"1").is_err());
        assert!(set(b"bf-error-rate", b"nan").is_err());
        assert!(set(b"cf-error-rate", b"-1").is_err());
        assert!(set(b"no-such-setting", b"1").is_err());
        assert!(set(b"cf-initial-size", b"3").is_err(), "less than twice the bucket size");
        assert_eq!((CF_MAX_ITERATIONS.get(), BF_ERROR_RATE.get()), (20, 0.01), "as they were");
        set(b"CF_MAX_EXPANSIONS", b"32").unwrap();
        set(b"bf-error-rate", b"0.01").unwrap();
    }
}
