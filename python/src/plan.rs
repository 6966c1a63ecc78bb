//! The planner: what each kind would need, before anything is built.

use malkoha::{Geometry, Kind, Need, Reason};
use pyo3::prelude::*;

use crate::error::raise;
use crate::filter::PyFilter;
use crate::spec::{self, Whole};

/// One filter that could be built, with its exact numbers.
#[pyclass(name = "Offer", module = "malkoha", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyOffer {
    geometry: Geometry,
}

#[pymethods]
impl PyOffer {
    /// The kind, as ``Filter`` takes it.
    #[getter]
    fn kind(&self) -> String {
        self.geometry.kind().to_string()
    }

    /// The number of keys.
    #[getter]
    fn keys(&self) -> u64 {
        self.geometry.keys()
    }

    /// The rate of false positives with that many keys.
    #[getter]
    fn rate(&self) -> f64 {
        self.geometry.rate()
    }

    /// Bytes of memory.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.geometry.bytes()
    }

    /// Bits of memory for each key.
    #[getter]
    fn bits_per_key(&self) -> f64 {
        self.geometry.bits_per_key()
    }

    /// Occupied slots over slots with all keys stored; for Bloom kinds, set bits over bits.
    #[getter]
    fn load(&self) -> f64 {
        self.geometry.load()
    }

    /// The mean number of cache lines that a lookup reads.
    #[getter]
    fn lines_per_lookup(&self) -> f64 {
        self.geometry.lines_per_lookup()
    }

    /// What it can do besides storing and finding: some of ``"delete"``, ``"grow"``, ``"overfill"`` and ``"values"``.
    #[getter]
    fn does(&self) -> Vec<&'static str> {
        let kind = self.geometry.kind();
        Need::ALL.iter().filter(|need| kind.meets(&[**need])).map(|need| need.name()).collect()
    }

    /// The filter itself, empty.
    fn build(&self, py: Python<'_>) -> PyResult<PyFilter> {
        py.detach(|| malkoha::Filter::new(self.geometry)).map(PyFilter::of).map_err(raise)
    }

    fn __repr__(&self) -> String {
        let geometry = &self.geometry;
        format!(
            "<malkoha.Offer {}: {} keys at a rate of {:.3e}, {} bytes, {:.2} bits per key>",
            geometry.kind(),
            geometry.keys(),
            geometry.rate(),
            geometry.bytes(),
            geometry.bits_per_key()
        )
    }
}

/// What each usual kind would need, the one to take, and why: the parts of a `malkoha.Plan`.
#[pyfunction]
#[pyo3(signature = (keys, rate, memory, needs, seed))]
pub(crate) fn offers(
    keys: Option<Whole>,
    rate: Option<f64>,
    memory: Option<Whole>,
    needs: Vec<String>,
    #[pyo3(from_py_with = spec::seed)] seed: u64,
) -> PyResult<(Vec<PyOffer>, Option<PyOffer>, &'static str)> {
    let spec = spec::spec(keys, rate, memory)?.seed(seed);
    let needs = needs.iter().map(|need| spec::need(need)).collect::<PyResult<Vec<_>>>()?;
    let advice = spec.recommend(&needs).map_err(raise)?;
    let planned = Kind::USUAL.iter().filter(|kind| kind.meets(&needs)).map(|kind| spec.kind(*kind).plan());
    let offers = planned.filter_map(|geometry| geometry.ok().map(|geometry| PyOffer { geometry }));
    let why = advice.map_or("no kind meets all of these needs", |advice| reason(advice.reason));
    Ok((offers.collect(), advice.map(|advice| PyOffer { geometry: advice.geometry }), why))
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::FewestBits => "the fewest bits per key",
        Reason::LowestRate => "the lowest rate in this memory",
        Reason::MostKeys => "the most keys in this memory",
        Reason::OneLine => "never full, one cache line for every lookup",
        Reason::TwoLines => "never full, two cache lines for every lookup, the size of a plain Bloom filter",
        _ => "it fits best",
    }
}
