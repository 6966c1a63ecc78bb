"""Every example in the documentation runs, and every public thing is documented."""

import doctest
import inspect
import os
from pathlib import Path

import pytest

import malkoha
import malkoha._plan
import malkoha.dask

REPOSITORY = Path(os.environ.get("MALKOHA_REPOSITORY", Path(__file__).parent.parent.parent))
DOCUMENTS = [REPOSITORY / "python" / "README.md", REPOSITORY / "docs" / "PYTHON.md"]


def documented():
    """Every docstring of the package, with a name."""
    yield "malkoha", malkoha.__doc__
    for name in malkoha.dask.__all__:
        yield f"dask.{name}", inspect.getdoc(getattr(malkoha.dask, name))
    for name in [*malkoha.__all__, "open", "map"]:
        thing = getattr(malkoha, name)
        yield name, inspect.getdoc(thing)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", inspect.getdoc(value)


@pytest.mark.parametrize(("name", "text"), list(documented()), ids=lambda value: value if "\n" not in str(value) else "")
def test_docstrings(name, text):
    assert text, f"{name} has no documentation"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS).failed == 0
