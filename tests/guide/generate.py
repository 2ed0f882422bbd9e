#!/usr/bin/env python3
"""Makes one program of the code on a page of documentation: each block in a namespace of its own.

What stands above a line `// in main` is at namespace scope, what stands below is the body of a
function that runs in a session; a block with a `main` of its own is only compiled.
Usage: generate.py PAGE.md PROGRAM.cpp
"""

import pathlib
import re
import sys

prelude = """// Made from {page}.
#undef NDEBUG
#include <ray/ray.hpp>

#include <cassert>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
"""


def main():
    page, program = map(pathlib.Path, sys.argv[1:])
    text = page.read_text()
    lines = [prelude.format(page=page.name)]
    calls = []
    for match in re.finditer(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        code = re.sub(r"^#include.*\n", "", match[1], flags=re.MULTILINE)
        first_line = text.count("\n", 0, match.start()) + 2
        name = f"line_{first_line}"
        above, found, body = code.partition("// in main\n")
        above = above.replace("int main(", "[[maybe_unused]] void program(")
        lines += [f"namespace {name} {{", above]
        if found:
            lines += ["void run() {", "auto session = ray::init({.num_cpus = 2});", body, "}"]
            calls.append(name)
        lines.append(f"}}  // namespace {name}\n")
    lines.append("int main() {")
    for name in calls:
        lines += [f'  std::puts("{name}");', f"  {name}::run();"]
    lines += ["}", ""]
    program.write_text("\n".join(lines))
    if not calls:
        sys.exit(f"{page}: no code was found")


if __name__ == "__main__":
    main()
