//! Merging: the only place that decides how filters become one.

use std::borrow::Cow;
use std::ptr;

use malkoha::{Error, Filter};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::raise;
use crate::filter::PyFilter;
use crate::table::{Caller, check_memory, reading, table_bytes};

/// Takes over what another filter holds, or nothing at all.
pub(crate) fn absorb(filter: &mut Filter, other: &Filter) -> PyResult<()> {
    if is_chain(filter) || is_chain(other) {
        *filter = in_one(&[filter, other])?;
        return Ok(());
    }
    filter.merge(other).map_err(raise)
}

/// Whether a filter is a chain of tables: those of Bloom kinds that grow, and old files.
fn is_chain(filter: &Filter) -> bool {
    filter.geometry().is_growing() && filter.geometry().elastic().is_none()
}

/// A new filter that holds everything in these. Growing filters may differ in size; others must be of one plan, some of
/// them perhaps doubled.
fn in_one(filters: &[&Filter]) -> PyResult<Filter> {
    let Some(first) = filters.first() else {
        return Err(PyTypeError::new_err("give at least one filter to merge"));
    };
    check_memory(filters.iter().map(|filter| table_bytes(filter)).sum())?;
    if filters.iter().any(|filter| is_chain(filter)) {
        return first.merge_into_chain(&filters[1..]).map_err(raise);
    }
    // Doubling a table doubles its planned keys. Filters that grow need no doubling.
    let most = filters.iter().map(|filter| filter.geometry().keys()).max().unwrap_or(0);
    let level =
        filters.iter().map(|filter| doubled(filter, most)).collect::<Result<Vec<_>, _>>().map_err(raise)?;
    let [first, others @ ..] = &level[..] else { unreachable!("as many as there were") };
    let mut merged = Filter::clone(first);
    match others.iter().try_for_each(|other| merged.merge(other)) {
        Ok(()) => Ok(merged),
        Err(Error::MergeFull { .. }) => {
            let others: Vec<&Filter> = others.iter().map(|other| &**other).collect();
            first.merge_into_larger(&others).map_err(raise)
        }
        Err(error) => Err(raise(error)),
    }
}

/// The filter, with its table doubled until it is planned for this many keys. Other plans will differ then too, and are
/// refused by the merge.
fn doubled(filter: &Filter, keys: u64) -> Result<Cow<'_, Filter>, Error> {
    let mut filter = Cow::Borrowed(filter);
    while filter.geometry().keys() <= keys / 2 && filter.geometry().kind().is_signed() {
        filter.to_mut().double()?;
    }
    Ok(filter)
}

/// A new filter that holds everything in some others, however many keys they have.
///
/// Filters that grow may differ in size, and their rates add up. Others must be of one plan, some of them perhaps
/// doubled; if the keys of all do not fit into a filter of that plan, the new one is doubled too, and so is its rate,
/// which its ``rate`` tells.
///
/// >>> import malkoha
/// >>> parts = [malkoha.Filter(100, 1e-6) for _ in range(3)]
/// >>> for number, part in enumerate(parts):
/// ...     part.add_many(range(100 * number, 100 * (number + 1)))
/// >>> len(malkoha.merge(parts))
/// 300
#[pyfunction]
pub(crate) fn merge(filters: &Bound<'_, PyAny>) -> PyResult<PyFilter> {
    let py = filters.py();
    let filters = filters.try_iter()?.map(|filter| Ok(filter?.cast_into::<PyFilter>()?.unbind()));
    let filters = filters.collect::<PyResult<Vec<_>>>()?;
    let locks = filters.iter().map(|filter| filter.get().single("be merged into a larger one"));
    let locks = locks.collect::<PyResult<Vec<_>>>()?;
    py.detach(|| {
        // All threads take locks in one order, and none twice; the filters are merged in the order given.
        let mut order: Vec<usize> = (0..locks.len()).collect();
        order.sort_by_key(|at| ptr::from_ref(locks[*at]));
        if order.windows(2).any(|pair| ptr::eq(locks[pair[0]], locks[pair[1]])) {
            return Err(PyTypeError::new_err("one filter was given twice; give each once, or a copy"));
        }
        let mut guards: Vec<_> = locks.iter().map(|_| None).collect();
        for at in order {
            guards[at] = Some(reading(Caller::Detached, locks[at])?);
        }
        let filters: Vec<&Filter> = guards.iter().flatten().map(|guard| &**guard).collect();
        Ok(PyFilter::of(in_one(&filters)?))
    })
}
