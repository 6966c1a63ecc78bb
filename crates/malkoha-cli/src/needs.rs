//! Needs and reasons in words: the values of `--needs`, and the sentence that recommends a filter.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use malkoha::{Advice, Need, Reason};

/// Parses a need by its name.
pub(crate) fn parser() -> impl TypedValueParser<Value = Need> {
    let values = Need::ALL.iter().map(|&need| PossibleValue::new(need.name()).help(help(need)));
    PossibleValuesParser::new(values).map(|name| {
        let named = Need::ALL.iter().find(|need| need.name() == name);
        *named.expect("only names of needs are possible")
    })
}

fn help(need: Need) -> &'static str {
    match need {
        Need::Delete => "Remove keys",
        Need::Grow => "Take any number of keys at the promised rate",
        Need::Overfill => "Take more keys than planned without growing, at a rising rate",
        Need::Values => "Store a few bits beside every key",
        _ => "",
    }
}

/// Returns these needs as a phrase that follows "can".
pub(crate) fn verbs(needs: &[Need]) -> String {
    let verb = |need: &Need| match need {
        Need::Delete => "delete keys",
        Need::Grow => "grow",
        Need::Overfill => "be overfilled",
        Need::Values => "carry values",
        _ => need.name(),
    };
    needs.iter().map(verb).collect::<Vec<_>>().join(" and ")
}

/// Says in one sentence which filter to use and why.
pub(crate) fn sentence(advice: &Advice, needs: &[Need]) -> String {
    let kind = advice.geometry.kind();
    let best = match advice.reason {
        Reason::OneLine => {
            return format!(
                "{kind}: never full, one cache line per lookup; at this rate, choices would save little memory."
            );
        }
        Reason::TwoLines => {
            return format!(
                "{kind}: never full, as small as a plain Bloom filter, two cache lines per lookup."
            );
        }
        Reason::FewestBits => "the fewest bits per key",
        Reason::LowestRate => "the lowest rate",
        Reason::MostKeys => "the most keys",
        _ => "the best",
    };
    let of = if needs.is_empty() { "all".to_owned() } else { format!("those that can {}", verbs(needs)) };
    format!("{kind}: {best} of {of}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use malkoha::Spec;

    #[test]
    fn every_need_and_reason_has_words() {
        assert!(Need::ALL.iter().all(|&need| !help(need).is_empty() && !verbs(&[need]).is_empty()));
        let said = |spec: Spec, needs: &[Need]| sentence(&spec.recommend(needs).unwrap().unwrap(), needs);
        assert_eq!(said(Spec::new(1000, 0.001), &[]), "sorted: the fewest bits per key of all.");
        assert!(said(Spec::rate_in_memory(0.001, 1_600_000), &[]).ends_with(": the most keys of all."));
        let in_memory = said(Spec::keys_in_memory(1_000_000, 1_600_000), &[Need::Delete]);
        assert!(in_memory.ends_with(": the lowest rate of those that can delete keys."), "{in_memory}");
        let grows = said(Spec::new(1000, 0.001), &[Need::Delete, Need::Grow]);
        assert_eq!(grows, "elastic: the fewest bits per key of those that can delete keys and grow.");
        assert!(said(Spec::new(1000, 0.01), &[Need::Overfill]).contains("one cache line"));
        assert!(said(Spec::new(1000, 0.001), &[Need::Overfill]).contains("two cache lines"));
    }
}
