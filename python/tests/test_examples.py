"""The examples run as they are; each asserts what it shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(os.environ.get("MALKOHA_REPOSITORY", Path(__file__).parent.parent.parent))
EXAMPLES = sorted((REPOSITORY / "python" / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    if path.stem == "spark":
        pytest.importorskip("pyspark")
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 4
