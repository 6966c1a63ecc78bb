//! The golden files: what is in them, and where they are. `tests/golden/README.md` describes them in words.
#![allow(dead_code, reason = "not every test uses everything")]

use std::path::{Path, PathBuf};

use malkoha::{
    Cost, Error, Filter, Generations, KeyFormat, Kind, Offsets, Pattern, Sharded, ShardedSpec, Spec,
};

/// The seed of golden filters.
const SEED: u64 = 42;

/// The golden files of single filters: name and spec.
pub(crate) fn specs() -> Vec<(String, Spec)> {
    let at = |rate: f64, kind: Kind| Spec::new(200, rate).seed(SEED).kind(kind);
    let mut specs: Vec<_> =
        Kind::all().map(|kind| (kind.to_string().replace(':', "-"), at(0.01, kind))).collect();
    let mut more = |name: &str, spec: Spec| specs.push((name.to_owned(), spec));
    for kind in [Kind::Classic(4), Kind::Simplified(4), Kind::Flexible(4), Kind::Windowed(3), Kind::Sorted] {
        more(&format!("{}-1e-9", kind.name()), at(1e-9, kind));
        more(&format!("{}-seed-0", kind.name()), at(1e-4, kind).seed(0));
    }
    for kind in [Kind::Flexible(4), Kind::Windowed(2), Kind::Sorted] {
        more(&format!("{}-near", kind.name()), at(0.01, kind).offsets(Offsets::Near(128)));
        more(&format!("{}-whole", kind.name()), at(0.01, kind).offsets(Offsets::Whole));
        more(&format!("{}-low-load", kind.name()), at(0.01, kind).load(0.5));
    }
    // The widths that have compiled-in shapes.
    for (bits, kind) in [(13, Kind::Flexible(4)), (13, Kind::Windowed(4)), (14, Kind::Windowed(2))] {
        more(&format!("{}-k{bits}", kind.to_string().replace(':', "-")), at(2f64.powi(-bits), kind));
    }
    for bits in [7, 8, 10, 14] {
        more(&format!("sorted-k{bits}"), at(2f64.powi(-bits), Kind::Sorted));
    }
    let valued = [(Kind::Classic(2), 3), (Kind::Flexible(4), 5), (Kind::Windowed(3), 8), (Kind::Sorted, 16)];
    for (kind, bits) in valued {
        more(&format!("{}-values-{bits}", kind.to_string().replace(':', "-")), at(0.01, kind).values(bits));
    }
    more("bloom-1e-9", at(1e-9, Kind::Bloom));
    more("blocked-1-spread", at(0.001, Kind::Blocked(1)).pattern(Pattern::Spread));
    more("blocked-2-distinct", at(0.001, Kind::Blocked(2)).pattern(Pattern::Distinct));
    more("blocked-2-mixed", at(0.001, Kind::Blocked(2)).cost(Cost::Mixed { sigma: 50.0 }));
    more("blocked-3-look-ahead", at(0.001, Kind::Blocked(3)).cost(Cost::LookAhead { mu: 3.5 }));
    // Version 2.
    more("sorted-bytes", at(0.01, Kind::Sorted).key_format(KeyFormat::Bytes));
    more("windowed-2-u64", at(0.01, Kind::Windowed(2)).key_format(KeyFormat::U64));
    more("flexible-4-kmers-31", at(0.01, Kind::Flexible(4)).key_format(KeyFormat::Kmers { k: 31 }));
    more("classic-4-kmers-1", at(0.01, Kind::Classic(4)).key_format(KeyFormat::Kmers { k: 1 }));
    more("bloom-u64", at(0.01, Kind::Bloom).key_format(KeyFormat::U64));
    more("blocked-2-kmers-4096", at(0.01, Kind::Blocked(2)).key_format(KeyFormat::Kmers { k: 4096 }));
    // Version 4.
    more(
        "sorted-minimizers-31-15",
        at(0.01, Kind::Sorted).key_format(KeyFormat::Minimizers { k: 31, w: 15 }),
    );
    more(
        "blocked-2-minimizers-1-4096",
        at(0.01, Kind::Blocked(2)).key_format(KeyFormat::Minimizers { k: 1, w: 4096 }),
    );
    specs
}

/// The golden files of filters with labels: name, and the filter, which has the history of those with values.
pub(crate) fn labelled() -> Vec<(String, Filter)> {
    let at = |kind: Kind, bits| Spec::new(200, 0.01).seed(SEED).kind(kind).values(bits);
    let sixteen: Vec<String> = (0..16).map(|bit| format!("label {bit}")).collect();
    let two = ["host", "Grüße, graft"].map(str::to_owned).to_vec();
    [
        ("sorted-labels-2", at(Kind::Sorted, 2).key_format(KeyFormat::Kmers { k: 27 }), two.clone()),
        ("windowed-2-labels-2", at(Kind::Windowed(2), 5), two.clone()),
        ("simplified-4-labels-16", at(Kind::Simplified(4), 16), sixteen.clone()),
        ("elastic-equal-labels-2", Spec::rate(0.01).seed(SEED).values(3), two.clone()),
        (
            "elastic-equal-labels-16",
            Spec::rate(0.01).seed(SEED).values(16).key_format(KeyFormat::Minimizers { k: 27, w: 9 }),
            sixteen,
        ),
    ]
    .map(|(name, spec, labels)| {
        let mut filter = build(&spec);
        filter.set_labels(&labels).unwrap();
        (name.to_owned(), filter)
    })
    .into()
}

/// The golden files of doubled filters: name, and the filter, which was doubled after its history.
pub(crate) fn doubled() -> Vec<(String, Filter)> {
    let spec = |kind: Kind| Spec::new(200, 1e-4).seed(SEED).kind(kind);
    let near = spec(Kind::Sorted).offsets(Offsets::Near(128));
    let valued = spec(Kind::Windowed(2)).values(4);
    [
        ("doubled-1-flexible-4", spec(Kind::Flexible(4)), 1),
        ("doubled-2-windowed-3", spec(Kind::Windowed(3)), 2),
        ("doubled-3-sorted", spec(Kind::Sorted), 3),
        ("doubled-1-sorted-near", near, 1),
        ("doubled-1-windowed-2-values-4", valued, 1),
        ("doubled-1-sorted-bytes", spec(Kind::Sorted).key_format(KeyFormat::Bytes), 1),
    ]
    .map(|(name, spec, doublings)| {
        let mut filter = build(&spec);
        (0..doublings).for_each(|_| filter.double().unwrap());
        (name.to_owned(), filter)
    })
    .into()
}

/// The golden files of chains, planned from 20 keys: name and spec.
pub(crate) fn growing() -> Vec<(String, Spec)> {
    let kinds = [
        Kind::Flexible(4),
        Kind::Windowed(2),
        Kind::Windowed(3),
        Kind::Sorted,
        Kind::Bloom,
        Kind::Blocked(2),
    ];
    let at = |kind: Kind| Spec::new(20, 0.01).seed(SEED).kind(kind);
    let mut specs: Vec<_> =
        kinds.map(|kind| (format!("growing-{}", kind.to_string().replace(':', "-")), at(kind))).into();
    specs.push(("growing-sorted-whole".to_owned(), at(Kind::Sorted).offsets(Offsets::Whole).load(0.8)));
    let words = at(Kind::Sorted).key_format(KeyFormat::Kmers { k: 31 });
    specs.push(("growing-sorted-kmers-31".to_owned(), words));
    specs.push(("growing-bloom-bytes".to_owned(), at(Kind::Bloom).key_format(KeyFormat::Bytes)));
    specs
}

/// The golden files of elastic filters: name and spec.
pub(crate) fn elastic() -> Vec<(String, Spec)> {
    elastic_named("elastic-equal")
}

/// The names of those that were made by older rules: fingerprints of other lengths; and without `even`, entries that
/// took the first place that had an empty slot, not the emptier one.
pub(crate) fn elastic_by_older_rules() -> Vec<String> {
    let names = ["elastic-even", "elastic"].into_iter().flat_map(elastic_named).map(|(name, _)| name);
    names.chain(["elastic-labels-2", "elastic-labels-16"].map(str::to_owned)).collect()
}

/// The names of golden files of sharded filters with such parts.
pub(crate) const SHARDED_BY_OLDER_RULES: [&str; 2] = ["sharded-3-elastic", "sharded-2-elastic-values-4"];

fn elastic_named(name: &str) -> Vec<(String, Spec)> {
    let spec = Spec::rate(0.01).seed(SEED);
    [
        ("", spec),
        ("-1e-6", Spec::rate(1e-6).seed(SEED)),
        ("-planned", Spec::new(500, 0.01).growing().seed(SEED)),
        ("-most-keys", spec.most_keys(10_000)),
        ("-values-4", spec.values(4)),
        ("-kmers-31", spec.key_format(KeyFormat::Kmers { k: 31 })),
    ]
    .map(|(what, spec)| (format!("{name}{what}"), spec))
    .into()
}

/// The golden files of filters joined into a chain: name, and the chain. One of its filters has the common
/// history, the others have the keys from 1000 on.
pub(crate) fn joined() -> Vec<(String, Filter)> {
    let spec = |kind: Kind| Spec::new(200, 1e-4).seed(SEED).kind(kind);
    [
        ("joined-2-sorted", spec(Kind::Sorted), 2),
        ("joined-3-windowed-2", spec(Kind::Windowed(2)), 3),
        ("joined-2-sorted-bytes", spec(Kind::Sorted).key_format(KeyFormat::Bytes), 2),
    ]
    .map(|(name, spec, filters)| {
        let with = |at: u64| {
            let keys: Vec<u64> = (1000 * at..1000 * at + 50).collect();
            // They have no key format; that of the first filter holds for all.
            spec.key_format(KeyFormat::Any).build_from(&keys).unwrap()
        };
        let others: Vec<Filter> = (1..filters).map(with).collect();
        let chain = build(&spec).merge_into_chain(&others.iter().collect::<Vec<_>>()).unwrap();
        (name.to_owned(), chain)
    })
    .into()
}

/// The golden files of windows, built: three generations, for 60 keys, or for 60 ticks and 20 keys. They took the
/// integers 0 to 149; in the windows of ticks, at the times 1000 to 1149.
pub(crate) fn windows() -> Vec<(String, Generations)> {
    let mut windows = Vec::new();
    let plain = [Kind::Sorted, Kind::Windowed(2), Kind::Blocked(2)].map(|kind| (kind, KeyFormat::Any));
    for (kind, format) in plain.into_iter().chain([(Kind::Sorted, KeyFormat::U64)]) {
        let spec = |keys| Spec::new(keys, 0.01).seed(SEED).kind(kind).key_format(format);
        let made = [
            ("keys", Generations::of_keys(&spec(60), 3)),
            ("ticks", Generations::of_ticks(&spec(20), 3, 60)),
        ];
        for (of, window) in made {
            let mut window = window.unwrap();
            for key in 0..150u64 {
                window.insert_unique_at(&key, 1000 + key).unwrap();
            }
            let name = format!("generations-{of}-{}", kind.to_string().replace(':', "-"));
            windows.push((name + if format == KeyFormat::Any { "" } else { "-u64" }, window));
        }
    }
    windows
}

/// The golden files of sharded filters: name and spec.
pub(crate) fn sharded_specs() -> Vec<(String, ShardedSpec)> {
    let spec = |kind, shards| Spec::new(200, 0.01).seed(SEED).kind(kind).sharded(shards);
    let mut specs: Vec<_> = [
        (Kind::Sorted, 3),
        (Kind::Windowed(2), 1),
        (Kind::Classic(4), 2),
        (Kind::Bloom, 2),
        (Kind::Blocked(2), 3),
    ]
    .map(|(kind, shards)| {
        (format!("sharded-{shards}-{}", kind.to_string().replace(':', "-")), spec(kind, shards))
    })
    .into();
    let bytes = spec(Kind::Sorted, 3).whole().key_format(KeyFormat::Bytes).sharded(3);
    specs.push(("sharded-3-sorted-bytes".to_owned(), bytes));
    let growing = Spec::rate(0.01).seed(SEED);
    specs.push(("sharded-3-elastic-equal".to_owned(), growing.sharded(3)));
    specs.push(("sharded-2-elastic-equal-values-4".to_owned(), growing.values(4).sharded(2)));
    specs
}

/// The sharded filter that a golden file holds, with the same history as a single one.
pub(crate) fn build_sharded(spec: &ShardedSpec) -> Sharded {
    let filter = spec.build().unwrap();
    filter.insert_slice(&(0..150u64).collect::<Vec<_>>()).unwrap();
    filter.insert_slice(&texts().collect::<Vec<_>>()).unwrap();
    let kind = filter.geometry().kind();
    if !kind.is_bloom() {
        for _ in 0..2 * kind.slots_per_place() + 2 {
            filter.insert(&7u64).unwrap();
        }
        assert_eq!(filter.remove_slice(&[0u64, 1, 2, 3, 4]), Ok(5));
    }
    filter
}

/// The filter that a golden file holds.
pub(crate) fn build(spec: &Spec) -> Filter {
    filled(spec.build().unwrap())
}

/// The chain that a golden file holds.
pub(crate) fn build_chain(spec: &Spec) -> Filter {
    filled(malkoha::testing::build_chain(spec).unwrap())
}

/// A filter with the common history.
fn filled(mut filter: Filter) -> Filter {
    if filter.geometry().value_bits() > 0 {
        store_with_values(&mut filter);
        return filter;
    }
    filter.insert_slice(&(0..150u64).collect::<Vec<_>>()).unwrap();
    filter.insert_slice(&texts().collect::<Vec<_>>()).unwrap();
    let kind = filter.geometry().kind();
    if !kind.is_bloom() {
        for _ in 0..2 * kind.slots_per_place() + 2 {
            filter.insert(&7u64).unwrap();
        }
        assert_eq!(filter.remove_slice(&[0u64, 1, 2, 3, 4]), Ok(5));
    }
    filter
}

/// The value of key number `number` in filters with values.
fn value(number: u64, filter: &Filter) -> u16 {
    (number * 40_503 % (1 << filter.geometry().value_bits())) as u16
}

/// Stores the same history, every key with its value, and changes the value of one key.
fn store_with_values(filter: &mut Filter) {
    for key in 0..150 {
        filter.insert_value(&key, value(key, filter)).unwrap();
    }
    for (i, text) in (0..).zip(texts()) {
        filter.insert_value(&text, value(i, filter)).unwrap();
    }
    for copy in 0..2 * u64::from(filter.geometry().kind().slots_per_place()) + 2 {
        filter.insert_value(&7u64, value(copy, filter)).unwrap();
    }
    for key in 0..5 {
        assert_eq!(filter.remove_value(&key, value(key, filter)), Ok(true));
    }
    assert_eq!(filter.update_value(&149u64, value(149, filter), value(1, filter)), Ok(true));
}

/// Checks that a filter has the values of a golden file.
fn check_values(name: &str, filter: &Filter) {
    let has = |key: &u64, value| filter.get(key).unwrap().contains(&value);
    assert!((5..149u64).all(|key| has(&key, value(key, filter))), "{name}");
    assert!(has(&149, value(1, filter)), "{name}");
    let texts_have = |(i, text): (u64, String)| filter.get(&text).unwrap().contains(&value(i, filter));
    assert!((0..).zip(texts()).all(texts_have), "{name}");
    let copies = 2 * u64::from(filter.geometry().kind().slots_per_place()) + 2;
    assert!((0..copies).all(|copy| has(&7, value(copy, filter))), "{name}");
}

/// Checks that a filter holds what a golden file holds.
pub(crate) fn check(name: &str, filter: &Filter) {
    check_keys(name, filter);
    let kind = filter.geometry().kind();
    if kind.is_bloom() {
        // A growing filter does not store keys that it already finds.
        assert!(filter.len() == 170 || (filter.geometry().is_growing() && filter.len() < 170), "{name}");
    } else {
        let copies = 2 * u32::from(kind.slots_per_place()) + 3;
        assert_eq!(filter.len(), 164 + u64::from(copies), "{name}");
        assert!(filter.count(&7u64).unwrap() >= copies, "{name}");
    }
}

/// Checks that a filter finds the keys of a golden file.
pub(crate) fn check_keys(name: &str, filter: &Filter) {
    for key in 5..150u64 {
        assert!(filter.contains(&key), "{name} lost {key}");
    }
    for text in texts() {
        assert!(filter.contains(&text), "{name} lost {text:?}");
    }
    if filter.geometry().value_bits() > 0 {
        check_values(name, filter);
    }
}

fn texts() -> impl Iterator<Item = String> {
    (0..20).map(|i| format!("key {i}"))
}

/// The versions of the format.
pub(crate) const VERSIONS: [u8; 4] = [1, 2, 3, 4];

/// Where the golden files of a version are.
pub(crate) fn folder(version: u8) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}"))
}

/// Where a golden file is. No name is used in two versions.
pub(crate) fn path(name: &str) -> PathBuf {
    let paths = VERSIONS.map(|version| folder(version).join(format!("{name}.malkoha")));
    paths.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("there is no {name}")).clone()
}

/// All golden files, in order: name and bytes.
pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = VERSIONS
        .into_iter()
        .flat_map(|version| std::fs::read_dir(folder(version)).unwrap())
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are golden files");
    files
}

/// Reads the bytes of a golden file, damaged or not, in its form.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Option<Filter>, Error> {
    if name.starts_with("sharded-") {
        return Sharded::from_bytes(bytes).map(|_| None);
    }
    if name.starts_with("generations-") {
        return Generations::from_bytes(bytes).map(|_| None);
    }
    Filter::from_bytes(bytes).map(Some)
}

/// Writes a golden file if it does not exist yet.
pub(crate) fn write_missing(name: &str, bytes: &[u8]) {
    let path = folder(bytes[8]).join(format!("{name}.malkoha"));
    if !path.exists() {
        std::fs::write(path, bytes).unwrap();
    }
}
