//! `build --label` and `classify`: every read in the class that exact sets of words say.

use std::collections::{BTreeMap, HashSet};

use crate::common::{Blocks, Scene};
use crate::reads::{Letters, Read, fastq, words};

const K: usize = 21;

/// Genomes that share a part, and reads of them, of the part, and of neither, some of them of several.
fn genomes_and_reads(genomes: usize, count: usize) -> (Vec<String>, Vec<Read>) {
    let mut letters = Letters(genomes as u64);
    let shared = letters.sequence(3_000);
    let genomes: Vec<String> = (0..genomes).map(|_| letters.sequence(4_000) + &shared).collect();
    let reads = (0..count).map(|number| {
        let mut piece = |length: usize| {
            let genome = letters.below(genomes.len() as u64 + 1) as usize;
            let begin = letters.below(6_800) as usize;
            match genomes.get(genome) {
                Some(genome) => genome[begin..begin + length].to_owned(),
                None => letters.sequence(length),
            }
        };
        let mut sequence = piece([10, 40, 100, 150][number % 4]);
        if number % 3 == 0 {
            sequence += &piece([20, 30, 60][number / 3 % 3]);
        }
        if number % 5 == 0 && sequence.len() > 50 {
            sequence.replace_range(25..26, "N");
        }
        Read { name: format!("read {number}"), sequence }
    });
    let reads = reads.collect();
    (genomes, reads)
}

/// The class of a read, by the rules of docs/READS.md.
fn class(reads: &[Read], sets: &[HashSet<String>], names: &[&str]) -> String {
    let mut only = vec![0; sets.len()];
    let (mut shared, mut none, mut all) = (0, 0, 0);
    for word in reads.iter().flat_map(|read| words(&read.sequence, K)) {
        all += 1;
        let labels: Vec<usize> = (0..sets.len()).filter(|label| sets[*label].contains(&word)).collect();
        match labels[..] {
            [] => none += 1,
            [label] => only[label] += 1,
            _ => shared += 1,
        }
    }
    let several = if sets.len() > 2 { "several" } else { "both" };
    let top = *only.iter().max().unwrap();
    let others = only.iter().sum::<usize>() - top;
    let label = only.iter().position(|count| *count == top).unwrap();
    let (is_shared, is_none) = (shared >= (all / 5).max(3), none >= (3 * all / 4 + 1).max(3));
    let little = (all / 20).max(1);
    let class = if all == 0 {
        "ambiguous"
    } else if others == 0 && top >= 3 {
        names[label]
    } else if others == 0 && is_shared {
        several
    } else if others == 0 && is_none {
        "neither"
    } else if top >= (all / 4).max(3) && others <= little {
        names[label]
    } else if is_shared && top <= little && others <= little {
        several
    } else if is_none {
        "neither"
    } else {
        "ambiguous"
    };
    class.to_owned()
}

#[test]
fn reads_are_put_into_the_classes_that_sets_say() {
    for (names, options) in [
        (&["host", "graft"][..], "--rate 1e-9"),
        (&["host", "graft"][..], "--rate 1e-9 --kind windowed:2"),
        (&["a", "b", "c"][..], "--rate 1e-9"),
        (&["only"][..], "--rate 1e-9"),
    ] {
        let scene = Scene::new(&format!("classify-{}-{}", names.len(), options.len()));
        let (genomes, reads) = genomes_and_reads(names.len(), 800);
        let mut labels = Vec::new();
        for (name, genome) in names.iter().zip(&genomes) {
            // In two files, which have some words in common.
            scene.write(&format!("{name}.1.fa"), format!(">1\n{}\n", &genome[..5_000]));
            scene.write(&format!("{name}.2.fa"), format!(">2\n{}\n", &genome[4_500..]).to_lowercase());
            labels.push(format!("--label {name}={name}.1.fa --label {name}={name}.2.fa"));
        }
        scene.write("reads.fq", fastq(&reads));
        scene.run(&format!("build -q --kmer {K} {options} -o f.malkoha {}", labels.join(" "))).ok();
        let set = |genome: &String| {
            let parts = [&genome[..5_000], &genome[4_500..]];
            parts.iter().flat_map(|part| words(part, K)).collect::<HashSet<_>>()
        };
        let sets: Vec<HashSet<String>> = genomes.iter().map(set).collect();
        for (paired, option) in [(1, ""), (2, "--interleaved")] {
            let mut expected: BTreeMap<String, Vec<&[Read]>> = BTreeMap::new();
            for unit in reads.chunks(paired) {
                expected.entry(class(unit, &sets, names)).or_default().push(unit);
            }
            for bytes in [None, Some(500)] {
                let run = |args: &str| scene.run_in_blocks(Blocks { bytes, keys: None }, args, "").ok();
                let report = run(&format!("classify --json {option} f.malkoha reads.fq -o {{}}.fq"));
                let report: serde_json::Value = serde_json::from_str(&report).unwrap();
                let is_wordless =
                    |unit: &&[Read]| unit.iter().all(|read| words(&read.sequence, K).is_empty());
                let wordless = paired * reads.chunks(paired).filter(is_wordless).count();
                assert_eq!(report["records_without_words"], wordless);
                let several = if names.len() > 2 { "several" } else { "both" };
                for class in names.iter().copied().chain([several, "neither", "ambiguous"]) {
                    let units = expected.get(class).cloned().unwrap_or_default();
                    assert_eq!(report["classes"][class], units.len(), "{class} of {names:?}");
                    let text: String = units.iter().map(|unit| fastq(unit)).collect();
                    assert!(scene.read(&format!("{class}.fq")) == text.as_bytes(), "{class} of {names:?}");
                }
            }
            assert!(expected.len() > names.len(), "{:?}", expected.keys());
        }
    }
}

#[test]
fn chosen_classes_and_mates_are_written() {
    let scene = Scene::new("classify-files");
    let (genomes, reads) = genomes_and_reads(2, 200);
    scene.write("host.fa", format!(">h\n{}\n", genomes[0]));
    scene.write("graft.fa", format!(">g\n{}\n", genomes[1]));
    scene.write("1.fq", fastq(&reads[..100]));
    scene.write("2.fq", fastq(&reads[100..]));
    scene.run("build -q --kmer 21 --label host=host.fa --label graft=graft.fa -o f.malkoha").ok();
    scene.run("classify -q f.malkoha 1.fq -2 2.fq -o {}.1.fq.gz -O {}.2.fq.gz").ok();
    let mut all: Vec<String> = Vec::new();
    for class in ["host", "graft", "both", "neither", "ambiguous"] {
        all.extend([1, 2].map(|side| format!("{class}.{side}.fq.gz")));
    }
    all.extend(["1.fq", "2.fq", "f.malkoha", "graft.fa", "host.fa"].map(str::to_owned));
    all.sort();
    assert_eq!(scene.files(), all);
    let text = |name: &str| scene.run(&format!("reads -q -v -a 1000 f.malkoha {name}")).ok();
    let (one, two) = (text("host.1.fq.gz"), text("host.2.fq.gz"));
    assert!(!one.is_empty() && one.lines().count() == two.lines().count());
    let numbers = |text: &str| -> Vec<u32> {
        let names = text.lines().filter_map(|line| line.strip_prefix("@read "));
        names.filter_map(|number| number.parse().ok()).collect()
    };
    assert!(numbers(&one).iter().zip(numbers(&two)).all(|(one, two)| one + 100 == two));
    scene.run("classify -q f.malkoha 1.fq -2 2.fq --only host -o only.fq").ok();
    assert_eq!(numbers(&String::from_utf8(scene.read("only.fq")).unwrap()).len(), 2 * numbers(&one).len());
    assert!(
        scene.run("classify -q f.malkoha 1.fq --only neither --only both -o -").ok().starts_with("@read")
    );
    scene.run("classify f.malkoha 1.fq -o all.fq").fails(&["put {} into the name", "--only"]);
    scene
        .run("classify f.malkoha 1.fq --only cat -o {}.fq")
        .fails(&["no class cat", "host, graft, both, neither"]);
    scene.run("classify f.malkoha 1.fq -2 2.fq -o {}.fq -O mates.fq").fails(&["either both"]);
    scene.run("classify f.malkoha 1.fq --only host").fails(&["--out"]);
    for columns in [60, 80] {
        let said = scene.run_in_columns(columns, "classify f.malkoha 1.fq").ok();
        assert!(said.lines().all(|line| line.chars().count() <= columns), "{said}");
        assert!(said.contains("neither") && said.contains("Gbp per minute"), "{said}");
    }
}

#[test]
fn a_stream_gets_labels_too() {
    let scene = Scene::new("classify-stream");
    let (genomes, reads) = genomes_and_reads(2, 300);
    scene.write("graft.fa", format!(">g\n{}\n", genomes[1]));
    scene.write("host.fa", format!(">h\n{}\n", genomes[0]));
    scene.write("reads.fq", fastq(&reads));
    let host = format!(">h\n{}\n", genomes[0]);
    scene
        .run_with(
            "build -q --rate 1e-9 --kmer 21 --label host=- --label graft=graft.fa -o grown.malkoha",
            host,
        )
        .ok();
    scene.run("build -q --rate 1e-9 --kmer 21 --label host=host.fa --label graft=graft.fa -o f.malkoha").ok();
    let classes = |filter: &str| {
        let report = scene.run(&format!("classify --json {filter} reads.fq")).ok();
        serde_json::from_str::<serde_json::Value>(&report).unwrap()["classes"].clone()
    };
    assert_eq!(classes("grown.malkoha"), classes("f.malkoha"));
    let info: serde_json::Value = serde_json::from_str(&scene.run("info --json grown.malkoha").ok()).unwrap();
    assert_eq!((&info["kind"], &info["labels"]), (&"elastic".into(), &serde_json::json!(["host", "graft"])));
    assert!(scene.run("info f.malkoha").ok().contains("host, graft"));
}

#[test]
fn labels_are_refused_where_they_would_be_lost() {
    let scene = Scene::new("classify-refused");
    scene.write("a.fa", ">a\nACGTTGCAACCGGTATATCGGCTAAGCTTAGGACCATA\n");
    scene.run("build -q --kmer 21 -n 50 --label a=a.fa -o f.malkoha").ok();
    let before = scene.read("f.malkoha");
    scene.run("add f.malkoha a.fa").fails(&["f.malkoha has labels", "--label"]);
    scene.run("remove f.malkoha a.fa").fails(&["f.malkoha has labels", "--label"]);
    scene.run("merge f.malkoha f.malkoha -o g.malkoha").fails(&["f.malkoha has labels"]);
    assert!(scene.read("f.malkoha") == before);
    scene.run("build --kmer 21 --label a -o g.malkoha").fails(&["host=human.fa"]);
    scene.run("build --kmer 21 --label =a.fa -o g.malkoha").fails(&["host=human.fa"]);
    scene.run("build --kmer 21 --label a=a.fa a.fa -o g.malkoha").fails(&["--label"]);
    scene.run("build --kmer 21 --kind bloom --label a=a.fa -o g.malkoha").fails(&["cuckoo kind"]);
    let many: Vec<String> = (0..17).map(|i| format!(" --label l{i}=a.fa")).collect();
    scene.run(&format!("build --kmer 21 -o g.malkoha{}", many.concat())).fails(&["more than 16 labels"]);
    scene.run("build --kmer 21 --label a=nowhere.fa -o g.malkoha").fails(&["nowhere.fa"]);
    // Two classes of one name would be one in reports, and one file. Other programs may have given such a label.
    let kmers = malkoha::KeyFormat::Kmers { k: 21 };
    let mut filter = malkoha::Spec::new(50, 0.001).values(2).key_format(kmers).build().unwrap();
    for class in ["both", "several", "neither", "ambiguous"] {
        let label = format!("--label {class}=a.fa");
        scene.run(&format!("build --kmer 21 -o g.malkoha {label}")).fails(&[class, "another name"]);
        filter.set_labels(&["host", class]).unwrap();
        filter.save(scene.path("g.malkoha")).unwrap();
        scene.run("classify g.malkoha a.fa").fails(&["g.malkoha", class]);
        std::fs::remove_file(scene.path("g.malkoha")).unwrap();
    }
    // Membership works as in any filter.
    assert_eq!(scene.run("query -c f.malkoha a.fa").ok().trim(), "18");
}
