"""Files that the crate and the program have written are served: every kind, every version of the format, every key format."""

import pathlib
import struct

import pytest

from resp import Error

CRATES = pathlib.Path(__file__).parent.parent.parent
GOLDEN = sorted((CRATES / "malkoha" / "tests" / "golden").glob("v*/*.malkoha"))
PROGRAM = CRATES / "malkoha-cli" / "tests" / "golden"


def upload(call, key, data, step=500):
    for at in range(0, len(data), step):
        answer = call("MK.IMPORT", key, at, len(data), data[at:at + step])
        if answer != "OK":
            return answer
    return "OK"


@pytest.mark.parametrize("beside", [False, True])
def test_filters_of_every_kind(call, beside):
    """Also beside the server, as large ones are."""
    call("MK.BESIDE", *[0] if beside else [])
    try:
        for path in GOLDEN:
            call("FLUSHALL")
            serve(call, path.stem, path.read_bytes())
    finally:
        call("MK.BESIDE")


def serve(call, name, data):
    answer = upload(call, "f", data)
    if name.startswith("sharded"):
        assert answer.startswith("ERR "), "the engine has them for programs with threads"
        return
    assert answer == "OK", name
    is_window, first = name.startswith("generations"), 95 if name.startswith("generations") else 5
    facts = dict(zip(*[iter(call("MK.INFO", "f"))] * 2))
    assert facts[b"items"] > 0 and facts[b"bytes"] > 0, name
    if name.endswith("u64"):
        assert call("MK.EXISTS", "f", *range(first, 150)) == [1] * (150 - first), name
        assert call("MK.ADD", "f", "x").startswith("ERR the keys of this filter are integers")
    elif b"kmers" in facts[b"key format"]:
        assert call("MK.EXISTS", "f", "x").startswith("ERR the keys of this filter are DNA words")
    elif b"minimizers" in facts[b"key format"]:
        assert call("MK.EXISTS", "f", "x").startswith("ERR the keys of this filter are minimizers")
    elif not is_window:
        texts = [f"key {number}" for number in range(20)]
        assert call("MK.EXISTS", "f", *texts) == [1] * 20, name
        assert call("CF.MEXISTS", "f", *texts) == [1] * 20, name
    labels = facts.get(b"labels of value bits", [])
    assert (len(labels) > 0) == ("labels" in name) and all(label in data for label in labels), name
    total, written = call("MK.EXPORT", "f", 0)
    assert total == len(data) and written == data, name
    dump = call("DUMP", "f")
    assert call("RESTORE", "g", 0, dump) == "OK" and call("DUMP", "g") == dump, name
    assert call("COPY", "f", "h") == 1 and call("DUMP", "h") == dump, name
    assert call("CF.INFO", "f")[7] == facts[b"items"] and call("CF.DEBUG", "f").startswith(b"bktsize:")
    # Whatever else is asked, there is an answer or a reason why not.
    for command in (["MK.COUNT", "f", "1"], ["MK.DEL", "g", "1"], ["CF.COMPACT", "g"], ["MK.GET", "f", "1"],
                    ["MK.MERGE", "h", "f"], ["CF.ADD", "h", "1"], ["CF.DEL", "h", "1"], ["MK.ADDNX", "h", "1"]):
        answer = call(*command)
        assert not isinstance(answer, Error) or answer.startswith(("ERR ", "Filter is full")), (name, command, answer)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_files_of_the_program(call, version):
    folder = PROGRAM / version
    lines = (PROGRAM / "lines.txt").read_bytes().split(b"\n")[:-1]
    numbers = [number for number, in struct.iter_unpack("<Q", (PROGRAM / "numbers.u64").read_bytes())]
    sequences = "".join(
        line if not line.startswith(">") else "\n" for line in (PROGRAM / "words.fa").read_text().split("\n")).split("\n")
    for path in sorted(folder.glob("*.malkoha")):
        assert upload(call, path.stem, path.read_bytes()) == "OK"
    assert call("MK.EXISTS", "lines", *lines) == [1] * len(lines)
    if version == "v1":
        return  # these files do not say what their keys are
    assert call("MK.EXISTS", "numbers", *numbers) == [1] * len(numbers)
    assert sum(call("MK.EXISTS", "numbers", *range(10**6, 10**6 + 1000))) < 3
    for k in (5, 31, 33):
        words = {sequence[at:at + k] for sequence in sequences for at in range(len(sequence) - k + 1)}
        words = [word for word in words if set(word.upper()) <= set("ACGT")]
        assert len(words) > 3 and call("MK.EXISTS", f"kmers-{k}", *words) == [1] * len(words)
        other_strand = [word[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca")) for word in words]
        assert call("MK.EXISTS", f"kmers-{k}", *other_strand) == [1] * len(words)


@pytest.mark.parametrize("k, w", [(5, 4), (31, 3)])
def test_minimizers(call, k, w):
    """Files of `malkoha build --kmer K --minimizers W` of the same sequences: items are whole windows."""
    path = pathlib.Path(__file__).parent / "golden" / f"minimizers-{k}-{w}.malkoha"
    assert upload(call, "f", path.read_bytes()) == "OK"
    lines = (PROGRAM / "words.fa").read_text().split("\n")
    sequences = "".join(line if not line.startswith(">") else "\n" for line in lines).split("\n")
    letters = k + w - 1
    windows = {sequence[at:at + letters] for sequence in sequences for at in range(len(sequence) - letters + 1)}
    windows = [window for window in windows if set(window.upper()) <= set("ACGT")]
    assert len(windows) > 20 and call("MK.EXISTS", "f", *windows) == [1] * len(windows)
    other_strand = [window[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca")) for window in windows]
    assert call("CF.MEXISTS", "f", *other_strand) == [1] * len(windows)
    if k == 31:
        others = [window[::-1] for window in windows]
        assert sum(call("MK.EXISTS", "f", *others)) < 3
    assert call("MK.EXISTS", "f", windows[0][1:]) == (
        f"ERR the keys of this filter are minimizers: items must be windows of {w} DNA words of {k} letters, "
        f"so {letters} letters of ACGT")
    new = "ACCA" * 20
    assert call("MK.ADD", "f", new[:letters]) == [1] and call("MK.EXISTS", "f", new[:letters]) == [1]
