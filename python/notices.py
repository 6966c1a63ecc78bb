"""Writes the licences of everything that is linked into the wheel, from the sources that cargo built it from.

    python notices.py > THIRD-PARTY-NOTICES.txt
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

TARGET = "x86_64-unknown-linux-gnu"
LICENCE = re.compile(r"(licen[sc]e|copying|notice|copyright|unlicense)", re.IGNORECASE)
HEAD = """Third-party notices of the Python package malkoha

The extension module contains code of the crates below, and of Rust's standard library (MIT OR Apache-2.0, The Rust
Project Developers, https://www.rust-lang.org). Each text follows the crates that it applies to.
"""


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], check=True, capture_output=True, text=True).stdout


def linked() -> list[tuple[str, str]]:
    """Names and versions of the crates in the module: no build tools, no macros, nothing of this project."""
    tree = cargo("tree", "--package", "malkoha-python", "--target", TARGET, "--prefix", "none", "--format", "{p}",
                 "--edges", "normal,no-proc-macro")  # fmt: skip
    crates = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    return sorted((name, version[1:]) for name, version in crates if not name.startswith("malkoha"))


def texts(package: dict[str, Any]) -> list[str]:
    """The licences and notices in the folder of a crate: of alternatives, the MIT licence if it is one."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE.search(path.name))
    if re.search(r" OR |/", package["license"]) and any("mit" in path.name.lower() for path in files):
        files = [path for path in files if re.search("mit|notice", path.name, re.IGNORECASE)]
    return ["\n".join(line.rstrip() for line in path.read_text("utf-8").strip().splitlines()) for path in files]


def main() -> None:
    packages = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", TARGET))["packages"]
    by_name = {(package["name"], package["version"]): package for package in packages}
    users: dict[str, list[str]] = defaultdict(list)
    print(HEAD)
    for crate in linked():
        package = by_name[crate]
        authors = ", ".join(package["authors"]) or "its contributors"
        print(f"{crate[0]} {crate[1]}: {package['license']}; {authors}; {package['repository']}")
        for text in texts(package):
            users[text].append(crate[0])
    for text, crates in users.items():
        print(f"\n{'=' * 100}\n{', '.join(crates)}\n{'=' * 100}\n\n{text}")


if __name__ == "__main__":
    main()
