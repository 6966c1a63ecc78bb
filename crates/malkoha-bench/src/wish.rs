//! Which of our filters are measured: a kind, its rate, and a variant of it.

use std::fmt;
use std::str::FromStr;

use malkoha::{Kind, Offsets, Pattern, Spec, theory};

use crate::contestants::SLOT_BITS;

/// One of our filters: `all`, or a kind with the options that `speed --help` explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// Every kind.
    All,
    /// One kind.
    One(Wish),
}

/// A kind, its k and its variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wish {
    pub(crate) kind: Kind,
    k: f64,
    variant: Variant,
}

/// What is not as it is by default.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Default,
    Offsets(Offsets),
    Dense,
    Pattern(Pattern),
}

impl Choice {
    /// The filters that were chosen, each once.
    pub(crate) fn expand(choices: &[Self]) -> Vec<Wish> {
        let mut wishes: Vec<Wish> = Vec::new();
        let expanded = choices.iter().flat_map(|choice| match choice {
            Self::All => Kind::all().map(Wish::new).collect(),
            Self::One(wish) => vec![*wish],
        });
        for wish in expanded {
            if !wishes.contains(&wish) {
                wishes.push(wish);
            }
        }
        wishes
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let (rest, variant) = match text.split_once('+') {
            None => (text, Variant::Default),
            Some((rest, variant)) => (rest, variant.parse()?),
        };
        let (kind, k) = match rest.split_once('@') {
            None => (rest, None),
            Some((kind, k)) => {
                (kind, Some(k.parse().map_err(|_| format!("{k:?} is no k, as in sorted@14"))?))
            }
        };
        let wish = Wish::new(kind.parse().map_err(|error: malkoha::Error| error.to_string())?);
        Ok(Self::One(Wish { k: k.unwrap_or(wish.k), variant, ..wish }))
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "near" => Self::Offsets(Offsets::Near(96)),
            "whole" => Self::Offsets(Offsets::Whole),
            "dense" => Self::Dense,
            "random" => Self::Pattern(Pattern::Random),
            "distinct" => Self::Pattern(Pattern::Distinct),
            "spread" => Self::Pattern(Pattern::Spread),
            _ => {
                let share = text.strip_prefix("near").and_then(|share| share.parse().ok());
                let share = share.ok_or_else(|| {
                    format!(
                        "{text:?} is no variant; write near, near64, whole, dense, random, distinct or spread"
                    )
                })?;
                Self::Offsets(Offsets::Near(share))
            }
        })
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default | Self::Offsets(Offsets::Local) => Ok(()),
            Self::Offsets(Offsets::Whole) => f.write_str("+whole"),
            Self::Offsets(Offsets::Near(share)) => write!(f, "+near{share}"),
            Self::Dense => f.write_str("+dense"),
            Self::Pattern(pattern) => write!(f, "+{pattern}"),
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}@{}{}", self.kind, self.k, self.variant))
    }
}

impl Wish {
    /// A kind with the k that makes its slots 16 bits wide; for Bloom kinds, about as many bits per key.
    fn new(kind: Kind) -> Self {
        let k = if kind.is_bloom() {
            11.0
        } else {
            (SLOT_BITS as f64 - theory::bits_per_key(kind, 0.0, 1.0)).floor()
        };
        Self { kind, k, variant: Variant::Default }
    }

    fn rate(&self) -> f64 {
        2f64.powf(-self.k)
    }

    /// The spec for as many keys as fit so many bytes at the planned load.
    pub(crate) fn in_memory(&self, bytes: u64) -> Spec {
        // Whole cache lines and a spare word must not halve the kinds that come in powers of two.
        const ROUNDING: u64 = 128;
        self.complete(Spec::rate_in_memory(self.rate(), bytes + ROUNDING))
    }

    /// The spec for so many keys.
    pub(crate) fn for_keys(&self, keys: u64) -> Spec {
        self.complete(Spec::new(keys, self.rate()))
    }

    fn complete(&self, spec: Spec) -> Spec {
        let spec = spec.kind(self.kind);
        match self.variant {
            Variant::Default => spec,
            Variant::Offsets(offsets) => spec.offsets(offsets),
            Variant::Dense => spec.dense(),
            Variant::Pattern(pattern) => spec.pattern(pattern),
        }
    }
}
