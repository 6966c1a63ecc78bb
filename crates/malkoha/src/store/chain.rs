//! A chain as bytes: a compound of its links with the two numbers that later links need, and the promised rate
//! if it does not follow from the first link.

use std::io::{self, Write};

use crate::cuckoo::Offsets;
use crate::error::Error;
use crate::filter::Filter;
use crate::filter::chain::Chain;
use crate::filter::chain::rules::{grows, overfull, stranger};
use crate::plan::{Geometry, Growth, next_number, share};
use crate::store::{self, Form, Input};
use crate::theory;

/// The numbers of a chain whose links all follow from the first.
pub(crate) fn numbers(growth: &Growth) -> [u64; 2] {
    [growth.load.to_bits(), u64::from(growth.offsets == Offsets::Whole)]
}

/// The numbers of a chain with these links.
fn all_numbers(chain: &Geometry, growth: &Growth, links: &[Filter]) -> Vec<u64> {
    let mut all = numbers(growth).to_vec();
    if !is_planned(chain, links) {
        all.push(chain.rate().to_bits());
    }
    all
}

/// The size of a chain with these links in bytes.
pub(crate) fn bytes(chain: &Geometry, growth: &Growth, links: &[Filter]) -> u64 {
    store::compound_bytes(&all_numbers(chain, growth, links), &links.iter().collect::<Vec<_>>())
}

/// Writes a chain with these links.
pub(crate) fn write(
    out: &mut dyn Write,
    chain: &Geometry,
    growth: &Growth,
    links: &[Filter],
) -> io::Result<()> {
    let numbers = all_numbers(chain, growth, links);
    store::write_compound(out, Form::Chain, &numbers, &links.iter().collect::<Vec<_>>())
}

/// Reads a chain and verifies that each link follows from the one before; otherwise removals would lose keys.
pub(crate) fn read(input: &mut Input<'_>) -> Result<Filter, Error> {
    let (numbers, links) = store::read_compound(input, Form::Chain)?;
    let begins = store::part_offsets(&numbers, &links);
    match *numbers.as_slice() {
        [load, offsets] => from_links([load, offsets], links, &begins),
        [load, offsets, rate] => joined([load, offsets], f64::from_bits(rate), links, &begins),
        _ => Err(store::bad_count(numbers.len(), "a growing filter has 2 or 3")),
    }
}

/// The growing filter with these two numbers, the first of a compound, and these links, which begin at the
/// offsets `begins`.
pub(crate) fn from_links(
    [load, offsets]: [u64; 2],
    links: Vec<Filter>,
    begins: &[u64],
) -> Result<Filter, Error> {
    let (first, growth) = first_link([load, offsets], &links)?;
    let chain = first.growing(growth);
    if !grows(&first) || chain.rate() >= 1.0 {
        return Err(Error::corrupt("link", begins[0], format!("this {} filter does not grow", first.kind())));
    }
    let follows = |(number, pair): (u32, &[Filter])| {
        let [last, link] = [0, 1].map(|i| pair[i].geometry());
        stranger(last, link).or_else(|| unplanned(&chain, number, [last, link]))
    };
    chained(chain, growth, links, begins, follows)
}

/// The growing filter that was joined from these links, with these two numbers and this promised rate.
fn joined(numbers: [u64; 2], rate: f64, links: Vec<Filter>, begins: &[u64]) -> Result<Filter, Error> {
    let (first, growth) = first_link(numbers, &links)?;
    let chain = first.growing_at(growth, rate);
    let taken: f64 = links.iter().map(|link| link.geometry().rate()).sum();
    // There may have been more of them, so they may take more than the shares of so many links.
    let is_kept = rate > 0.0 && rate < 1.0 && next_number(1, taken / rate).is_some();
    if !is_kept || is_planned(&chain, &links) {
        let what = format!("{rate} is not the promise of links whose rates add up to {taken}");
        return Err(store::bad_number(2, what));
    }
    if !grows(&first) {
        return Err(Error::corrupt("link", begins[0], format!("this {} filter does not grow", first.kind())));
    }
    let follows = |(_, pair): (u32, &[Filter])| stranger(pair[0].geometry(), pair[1].geometry());
    chained(chain, growth, links, begins, follows)
}

/// The geometry of the first link, and how a chain with these two numbers grows.
fn first_link([load, offsets]: [u64; 2], links: &[Filter]) -> Result<(Geometry, Growth), Error> {
    let Some(first) = links.first() else {
        return Err(store::bad_parts("a growing filter has at least one link"));
    };
    let (kind, load) = (first.geometry().kind(), f64::from_bits(load));
    let most = match theory::dense_load(kind) {
        _ if kind.is_bloom() => 1.0,
        Some(most) => most,
        None => theory::planned_load(kind),
    };
    if !(load > 0.0 && load <= most) || (kind.is_bloom() && load < 1.0) {
        return Err(store::bad_number(0, format!("{load} is not a load of {kind} filters")));
    }
    let offsets = match offsets {
        0 => Offsets::Local,
        1 if kind.is_signed() => Offsets::Whole,
        _ => return Err(store::bad_number(1, format!("{offsets} where 0 is local and 1 is whole"))),
    };
    Ok((*first.geometry(), Growth { load, offsets }))
}

/// The chain of these links, if each follows from the one before and none holds more keys than it was planned for.
fn chained(
    chain: Geometry,
    growth: Growth,
    links: Vec<Filter>,
    begins: &[u64],
    flaw: impl Fn((u32, &[Filter])) -> Option<&'static str>,
) -> Result<Filter, Error> {
    for (number, pair) in (1u32..).zip(links.windows(2)) {
        if let Some(what) = flaw((number, pair)) {
            let what = format!("link {} does not follow from the one before it: {what}", number + 1);
            return Err(Error::corrupt("link", begins[number as usize], what));
        }
    }
    if let Some(at) = links.iter().position(overfull) {
        let (there, most) = (links[at].len(), links[at].geometry().keys());
        let what = format!("link {} has {there} keys and takes {most} at most", at + 1);
        return Err(Error::corrupt("link", begins[at], what));
    }
    Ok(Filter::around(chain, Chain::of_links(&chain, &growth, links).into_body()))
}

/// Whether the links of a chain and its rate follow from the first link.
fn is_planned(chain: &Geometry, links: &[Filter]) -> bool {
    let follows = |(number, pair): (u32, &[Filter])| {
        unplanned(chain, number, [0, 1].map(|i| pair[i].geometry())).is_none()
    };
    let first = links.first().map(|link| (link.geometry().rate() / share(0)).to_bits());
    first == Some(chain.rate().to_bits()) && (1u32..).zip(links.windows(2)).all(follows)
}

/// What is wrong with a link after another in a chain that was grown, not joined. The size of a link is not
/// checked exactly: how links are planned may change.
fn unplanned(chain: &Geometry, number: u32, [last, link]: [&Geometry; 2]) -> Option<&'static str> {
    if link.keys() <= last.keys() {
        return Some("it is not larger");
    }
    let rate = chain.rate() * share(number);
    (link.rate().to_bits() != rate.to_bits()).then_some("it has another share of the rate")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Layout, Spec};

    /// The bytes of a growing filter with its links replaced by these.
    fn with_links(filter: &Filter, links: &[&Filter]) -> Vec<u8> {
        let mut out = Vec::new();
        let numbers = numbers(filter.geometry().growth().unwrap());
        store::write_compound(&mut out, Form::Chain, &numbers, links).unwrap();
        out
    }

    fn grown(spec: Spec) -> Filter {
        let mut filter = Filter::new(spec.plan_chain().unwrap()).unwrap();
        for key in 0..1000u64 {
            filter.insert(&key).unwrap();
        }
        filter
    }

    /// Forged with valid checksums: links that would lose keys, or that are not links at all.
    #[test]
    fn links_that_do_not_follow_from_one_another_are_refused() {
        for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Flexible(4), Kind::Bloom, Kind::Blocked(2)] {
            let filter = grown(Spec::new(50, 0.01).kind(kind));
            let links: Vec<_> = filter.links().iter().collect();
            assert!(Filter::from_bytes(&with_links(&filter, &links)).unwrap() == filter);
            let strange = Spec::new(links[1].geometry().keys(), links[1].geometry().rate()).kind(kind);
            let other_seed = grown(Spec::new(50, 0.01).kind(kind).seed(1));
            let other_kind = grown(Spec::new(50, 0.01).kind(Kind::Flexible(3)));
            let forged: [&[&Filter]; 6] = [
                &[],
                &[links[0], links[3]],
                &[links[1], links[0]],
                &[links[0], &strange.kind(Kind::Classic(4)).build().unwrap()],
                &[links[0], &other_seed.links()[1]],
                &[links[0], &other_kind.links()[1]],
            ];
            for links in forged {
                let refused = Filter::from_bytes(&with_links(&filter, links));
                assert!(matches!(refused, Err(Error::Corrupt { .. })), "{kind}: {refused:?}");
            }
            if kind.is_signed() {
                let independent = strange.build().unwrap();
                let refused = Filter::from_bytes(&with_links(&filter, &[links[0], &independent]));
                assert!(refused.unwrap_err().to_string().contains("no multiple"), "{kind}");
            }
        }
        let classic = Spec::new(50, 0.01).kind(Kind::Classic(4)).build().unwrap();
        let refused = Filter::from_bytes(&with_links(&grown(Spec::new(50, 0.01)), &[&classic]));
        assert!(refused.unwrap_err().to_string().contains("does not grow"));
    }

    /// A doubled table draws places differently, although its numbers are those of a link.
    #[test]
    fn links_that_were_doubled_are_refused() {
        let filter = grown(Spec::new(50, 0.01));
        let mut first = filter.links()[0].clone();
        first.double().unwrap();
        let refused = Filter::from_bytes(&with_links(&filter, &[&first])).unwrap_err();
        assert!(refused.to_string().contains("does not grow"), "{refused}");
    }

    /// A Bloom filter accepts any number of keys, a link only those it was planned for.
    #[test]
    fn links_with_more_keys_than_they_take_are_refused() {
        let filter = grown(Spec::new(50, 0.01).kind(Kind::Bloom));
        let links = filter.links();
        let mut second = links[1].clone();
        while second.len() <= second.geometry().keys() {
            second.insert(&second.len()).unwrap();
        }
        let refused = Filter::from_bytes(&with_links(&filter, &[&links[0], &second])).unwrap_err();
        assert!(refused.to_string().contains("link 2 has 101 keys and takes 100 at most"), "{refused}");
    }

    #[test]
    fn links_with_values_are_refused() {
        let filter = grown(Spec::new(50, 0.01));
        let links: Vec<_> = filter.links().iter().collect();
        let valued = |link: &Filter| {
            let geometry = link.geometry();
            let layout = geometry.cuckoo().unwrap().with_values(3);
            let layout = Layout::Cuckoo(layout);
            Filter::new(Geometry::new(geometry.keys(), geometry.rate(), geometry.seed(), layout)).unwrap()
        };
        let (first, second) = (valued(links[0]), valued(links[1]));
        for forged in [[&first, links[1]], [links[0], &second], [&first, &second]] {
            let refused = Filter::from_bytes(&with_links(&filter, &forged)).unwrap_err();
            assert!(matches!(refused, Error::Corrupt { part: "link", .. }), "{refused}");
        }
    }

    #[test]
    fn numbers_of_a_chain_are_checked() {
        let filter = grown(Spec::new(50, 0.01));
        let links: Vec<_> = filter.links().iter().collect();
        let load = 0.9f64.to_bits();
        let wrong: [&[u64]; 13] = [
            &[],
            &[load],
            &[load, 0, 0],
            &[load, 0, 0.01f64.to_bits()],
            &[load, 0, 0.008f64.to_bits()],
            &[load, 0, 1f64.to_bits()],
            &[load, 0, f64::NAN.to_bits()],
            &[load, 0, 0.5f64.to_bits(), 0],
            &[load, 2],
            &[f64::NAN.to_bits(), 0],
            &[0, 0],
            &[1f64.to_bits(), 0],
            &[(-0.5f64).to_bits(), 0],
        ];
        for numbers in wrong {
            let mut out = Vec::new();
            store::write_compound(&mut out, Form::Chain, numbers, &links).unwrap();
            let refused = Filter::from_bytes(&out);
            assert!(matches!(refused, Err(Error::Corrupt { .. })), "{numbers:?}: {refused:?}");
        }
    }

    #[test]
    fn a_chain_that_was_read_grows_like_the_one_that_was_written() {
        for kind in [Kind::Sorted, Kind::Windowed(3), Kind::Bloom] {
            let mut filter = grown(Spec::new(50, 0.01).kind(kind));
            let bytes = filter.to_bytes().unwrap();
            let mut again = Filter::from_bytes(&bytes).unwrap();
            for key in 1000..5000u64 {
                filter.insert(&key).unwrap();
                again.insert(&key).unwrap();
            }
            assert!(filter == again, "{kind}");
        }
    }
}
