//! Describes which of our filters are measured: a kind, its rate, and a variant.

use std::fmt;
use std::str::FromStr;

use malkoha::{Kind, Offsets, Pattern, Spec, theory};

use crate::contestants::SLOT_BITS;
use crate::typed;

/// One of our filters: `all`, or a kind with the options that `speed --help` explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// Every kind.
    All,
    /// One kind.
    One(Wish),
}

/// A kind, its rate, and what differs from the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wish {
    pub(crate) kind: Kind,
    aim: Aim,
    variant: Variant,
    /// The load when all keys are in, if it is not the planned one.
    load: Option<f64>,
    face: Face,
}

/// The rate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Aim {
    /// 2 to the minus this power.
    Power(f64),
    /// The rate itself.
    Rate(f64),
}

/// What differs from the default.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Default,
    Offsets(Offsets),
    Dense,
    Pattern(Pattern),
}

/// How the program uses a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// As a `Filter`, which takes keys and hides the kind.
    Filter,
    /// Through its own type, which takes hashes and is inlined into the loop.
    Typed,
}

impl Choice {
    /// Returns the chosen filters, each once.
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
        let mut parts = text.split('+');
        let kind = parts.next().unwrap_or_default();
        let (kind, aim) = match kind.split_once('@') {
            None => (kind, None),
            Some((kind, aim)) => (kind, Some(aim.parse()?)),
        };
        let mut wish = Wish::new(kind.parse().map_err(|error: malkoha::KindError| error.to_string())?);
        wish.aim = aim.unwrap_or(wish.aim);
        parts.try_for_each(|option| wish.set(option))?;
        Ok(Self::One(wish))
    }
}

impl FromStr for Aim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(rate) if rate > 0.0 && rate < 1.0 => Ok(Self::Rate(rate)),
            Ok(power) if power >= 1.0 => Ok(Self::Power(power)),
            _ => Err(format!(
                "{text:?} is not a rate; write k for 2^-k or the rate itself, such as sorted@14 or sorted@1e-4"
            )),
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Power(power) => write!(f, "{power}"),
            Self::Rate(rate) => write!(f, "{rate:e}"),
        }
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
                        "{text:?} is not an option; write near, near64, whole, dense, random, distinct, \
                         spread, load0.95 or typed"
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
        f.pad(&format!("{}@{}{}", self.kind, self.aim, self.options()))
    }
}

impl Wish {
    /// Returns a kind with the k that makes its slots 16 bits wide; for Bloom kinds, about 16 bits per key.
    fn new(kind: Kind) -> Self {
        let k = if kind.is_bloom() {
            11.0
        } else {
            (SLOT_BITS as f64 - theory::bits_per_key(kind, 0.0, 1.0)).floor()
        };
        Self { kind, aim: Aim::Power(k), variant: Variant::Default, load: None, face: Face::Filter }
    }

    /// Returns the same filter at another rate.
    pub(crate) fn at_rate(self, rate: f64) -> Self {
        Self { aim: Aim::Rate(rate), ..self }
    }

    /// Adds the option after a plus sign.
    fn set(&mut self, option: &str) -> Result<(), String> {
        if option == "typed" {
            if !typed::has(self.kind) {
                let kind = self.kind;
                return Err(format!(
                    "{kind} has no typed measurement; flexible, windowed, sorted and blocked are"
                ));
            }
            self.face = Face::Typed;
        } else if let Some(load) = option.strip_prefix("load") {
            let load = load.parse().map_err(|_| format!("{load:?} is not a load; write load0.95"))?;
            self.load = Some(load);
        } else if self.variant == Variant::Default {
            self.variant = option.parse()?;
        } else {
            return Err(format!("a filter has one variant; leave out +{option} or {}", self.variant));
        }
        Ok(())
    }

    /// Returns the name without the rate.
    pub(crate) fn name_at_any_rate(&self) -> String {
        format!("{}{}", self.kind, self.options())
    }

    fn options(&self) -> String {
        let load = self.load.map_or(String::new(), |load| format!("+load{load}"));
        let typed = if self.face == Face::Typed { "+typed" } else { "" };
        format!("{}{load}{typed}", self.variant)
    }

    pub(crate) fn face(&self) -> Face {
        self.face
    }

    pub(crate) fn rate(&self) -> f64 {
        match self.aim {
            Aim::Power(k) => 2f64.powf(-k),
            Aim::Rate(rate) => rate,
        }
    }

    /// Returns the spec for as many keys as fit in this many bytes at the planned load.
    pub(crate) fn in_memory(&self, bytes: u64) -> Spec {
        // Whole cache lines and a spare word must not halve the kinds whose sizes are powers of two.
        const ROUNDING: u64 = 128;
        self.complete(Spec::rate_in_memory(self.rate(), bytes + ROUNDING))
    }

    /// Returns the spec for this many keys.
    pub(crate) fn for_keys(&self, keys: u64) -> Spec {
        self.complete(Spec::new(keys, self.rate()))
    }

    fn complete(&self, spec: Spec) -> Spec {
        let spec = spec.kind(self.kind);
        let spec = self.load.map_or(spec, |load| spec.load(load));
        match self.variant {
            Variant::Default => spec,
            Variant::Offsets(offsets) => spec.offsets(offsets),
            Variant::Dense => spec.dense(),
            Variant::Pattern(pattern) => spec.pattern(pattern),
        }
    }
}
