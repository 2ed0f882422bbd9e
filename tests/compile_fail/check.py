#!/usr/bin/env python3
"""Programs that must not compile, and what the compiler says to them.

Each file begins with one line or more of `// expect: REGEX`. It must be refused, and each regular
expression must be found in the compiler's output: the message is part of the contract. One that
begins with `ray:` must be found in an error, not in a note or in the source that is shown with it.
A compiler that breaks down has refused nothing.
Usage: check.py FILE... -- COMPILER FLAG...
"""

import pathlib
import re
import subprocess
import sys


def problem_of(file, command):
    """Why the file fails the test, or None."""
    expected = []
    for line in pathlib.Path(file).read_text().splitlines():
        match = re.match(r"//\s*expect:\s*(.+?)\s*$", line)
        if not match:
            break
        expected.append(match[1])
    if not expected:
        return "its first line is not '// expect: REGEX'"

    result = subprocess.run(
        command + ["-fsyntax-only", "-fno-diagnostics-color", str(file)],
        capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return "it compiles, and must not"
    output = result.stdout + result.stderr
    # The compiler's driver tells by its status, or by a message, that the compiler proper was
    # killed or crashed.
    broken = re.search(
        r"internal compiler error|fatal error: Killed|Killed signal|PLEASE submit a (full )?bug"
        r"|virtual memory exhausted|out of memory|command failed due to signal", output)
    if result.returncode != 1 or broken:
        return "\n  ".join([f"the compiler broke down (status {result.returncode}):"]
                           + output.splitlines()[-8:])
    errors = [line for line in output.splitlines() if "error:" in line]
    missing = [regex for regex in expected
               if not re.search(regex, "\n".join(errors) if regex.startswith("ray:") else output)]
    if not missing:
        return None
    return "\n  ".join(
        ["it is refused, but the message does not match:"] + missing
        + ["the compiler said:"] + (errors or output.splitlines())[:12])


def main():
    if "--" not in sys.argv:
        sys.exit(__doc__)
    split = sys.argv.index("--")
    files, command = sys.argv[1:split], sys.argv[split + 1:]
    failed = False
    for file in files:
        problem = problem_of(file, command)
        failed = failed or problem is not None
        print(f"{'FAILED' if problem else 'refused'} {file}" + (f": {problem}" if problem else ""))
    sys.exit(1 if failed or not files else 0)


if __name__ == "__main__":
    main()
