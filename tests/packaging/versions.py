#!/usr/bin/env python3
"""The version stands in CMakeLists.txt; wherever else it must be written, it has to be the same."""

import json
import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1])

    def found(path, pattern):
        match = re.search(pattern, (root / path).read_text(), re.MULTILINE)
        return match[1] if match else None

    version = found("CMakeLists.txt", r"^\s*VERSION (\d+\.\d+\.\d+)$")
    others = {
        "vcpkg.json": json.loads((root / "vcpkg.json").read_text()).get("version"),
        "packaging/vcpkg/ports/ray/vcpkg.json": json.loads(
            (root / "packaging/vcpkg/ports/ray/vcpkg.json").read_text()).get("version"),
        "CHANGELOG.md": found("CHANGELOG.md", r"^## (\d+\.\d+\.\d+)"),
    }
    wrong = {path: other for path, other in others.items() if other != version}
    for path, other in wrong.items():
        print(f"{path} says version {other}, CMakeLists.txt {version}")
    sys.exit(1 if wrong or not version else 0)


if __name__ == "__main__":
    main()
