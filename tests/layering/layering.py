#!/usr/bin/env python3
"""Reads every #include of the tree and fails on one that breaks the house's rules.

Modules stand on floors; an include goes down, or stays within its own module. Public headers reach
the user's program, so they include nothing but the standard library and cereal. Each third-party
library is known to the modules named below and to no other, the machines do no I/O, and a source
file includes its own header first.
Usage: layering.py ROOT | layering.py --self-test
"""

import pathlib
import re
import sys
import tempfile

FLOORS = {
    "base": 1,
    "protocol": 2,
    # Brothers: none includes another.
    "head": 3, "node": 3, "member": 3,
    "exec": 3, "store": 3, "device": 3, "wire": 3, "system": 3,
    "runtime": 4,
    "public": 5,  # include/ray/*.hpp, and what stands behind them: include/ray/detail/api, src/api
    "data": 6, "train": 6, "tune": 6, "serve": 6, "rl": 6,
}
LIBRARIES = {"data", "train", "tune", "serve", "rl"}
# Public headers that are vocabulary of the lowest floor: plain values that every module may name.
BASE_HEADERS = {
    "amount", "config", "duration", "error", "exception", "fwd", "id", "log", "options",
    "serializable",
}

# Who may include what is not ours. Prefix of the header: modules.
THIRD_PARTY = {
    "asio": {"wire"},
    "boost/": set(),
    "concurrentqueue/": {"exec"},
    "xxhash": {"store"},
    "openssl/": {"wire"},
    "sqlite3": {"system"},
    "cuda": {"device"},
    "tbb/": set(),
    "caf/": set(),
}

# The machines are logic without I/O: neither clocks nor threads nor files nor randomness.
MACHINES = {"head", "node", "member"}
IMPURE = {
    "atomic", "barrier", "condition_variable", "cstdio", "filesystem", "fstream", "future",
    "iostream", "latch", "mutex", "random", "semaphore", "shared_mutex", "stop_token", "thread",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CLOCK = re.compile(r"_clock\s*::\s*now\b")
SOURCES = {".hpp", ".cpp", ".ipp", ".h"}


def module_of(path):
    """The module that a path (relative to the root, as a string) belongs to, or None."""
    parts = path.split("/")
    if path.startswith(("include/ray/detail/api/", "src/api/")):
        return "public"
    if path.startswith("include/ray/detail/") and len(parts) > 4:
        return parts[3]
    if path.startswith("include/ray/"):
        return "base" if parts[2].removesuffix(".hpp") in BASE_HEADERS else "public"
    if path.startswith("src/") and len(parts) > 2:
        return parts[1]
    return None


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.problems = []

    def report(self, path, line, text):
        self.problems.append(f"{path}:{line}: {text}")

    def resolve(self, name):
        """The path of one of our files by the name it is included with, or None."""
        for folder in ("include", "src"):
            if (self.root / folder / name).is_file():
                return f"{folder}/{name}"
        return None

    def check(self):
        for folder in ("include", "src", "tests", "examples", "benchmarks"):
            for file in sorted((self.root / folder).rglob("*")):
                if file.suffix in SOURCES and file.is_file():
                    self.check_file(file.relative_to(self.root).as_posix(), file)
        return self.problems

    def check_file(self, path, file):
        module, may_see_detail = module_of(path), True
        if path.startswith("tests/"):
            # A module's tests stand where the module stands; programs see what users see.
            module = path.split("/")[1]
            module = module if module in FLOORS else "public"
            may_see_detail = "/programs/" not in path
        elif path.startswith(("examples/", "benchmarks/")):
            module, may_see_detail = "public", False
        elif module not in FLOORS:
            self.report(path, 1, f"module '{module}' has no floor; name it in {__file__}")
            return

        own = self.own_header(path)
        if own and module == "runtime" and module_of(f"include/{own}") == "public":
            module = "public"  # The bodies of a public header stand where their header stands.
        first = None
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if module in MACHINES and not path.startswith("tests/") and CLOCK.search(line):
                self.report(path, number, f"'{module}' is a machine and reads no clock")
            match = INCLUDE.match(line)
            if match:
                self.check_include(path, number, module, match[1] == "<", match[2], may_see_detail)
                first = first or match[2]
        if own and path == f"src/{own}".replace(".hpp", ".cpp") and first != own:
            self.report(path, 1, f'its own "{own}" does not come first, which would prove that the '
                                 "header stands alone")

    def own_header(self, path):
        """The name of the header whose bodies a source file of the library holds, or None."""
        if not path.startswith("src/") or not path.endswith(".cpp"):
            return None
        name = path.removeprefix("src/").removesuffix(".cpp") + ".hpp"
        file = name.split("/")[-1]
        candidates = [name, f"ray/detail/{name}"]
        if path.startswith(("src/base/", "src/runtime/", "src/api/")):
            candidates.append(f"ray/{file}")
        return next((each for each in candidates if self.resolve(each)), None)

    def check_include(self, path, number, module, angled, name, may_see_detail):
        target = self.resolve(name)
        if target is None:
            if not angled:
                beside = self.root / pathlib.Path(path).parent / name
                own_folder = path.startswith(("tests/", "examples/", "benchmarks/"))
                if not (own_folder and beside.is_file()):
                    self.report(path, number, f'"{name}" is no file under src/; write "MODULE/FILE"')
            else:
                self.check_foreign(path, number, module, name)
            return

        public = path.startswith(("include/", "examples/", "benchmarks/", "tests/programs/"))
        if target.startswith("src/") and public:
            self.report(path, number, f'"{name}" is private and not installed')
            return
        if target.startswith("include/") and not angled:
            self.report(path, number, f"<{name}> is public; include it with angle brackets")
        if target.startswith("src/") and angled:
            self.report(path, number, f'"{name}" is private; include it with quotes')

        other = module_of(target)
        detail = target.startswith("include/ray/detail/")
        if other not in FLOORS or (other == module and not (detail and not may_see_detail)):
            return
        if detail and (module in LIBRARIES or not may_see_detail):
            self.report(path, number, f"<{name}> is a detail; only public headers are used here")
        elif FLOORS[other] > FLOORS[module]:
            self.report(path, number, f"'{module}' (floor {FLOORS[module]}) includes <{name}> of "
                                      f"'{other}' above it (floor {FLOORS[other]})")
        elif FLOORS[other] == FLOORS[module]:
            self.report(path, number, f"'{module}' includes <{name}> of its brother '{other}'")

    def check_foreign(self, path, number, module, name):
        ours = path.startswith(("include/", "src/"))
        if not ours:
            return
        if name.startswith("ray/"):
            self.report(path, number, f"<{name}> does not exist")
            return
        for prefix, modules in THIRD_PARTY.items():
            if name.startswith(prefix) and (module not in modules or path.startswith("include/")):
                where = ", ".join(f"src/{known}" for known in sorted(modules)) or "no module"
                self.report(path, number, f"<{name}> is for {where} alone")
                return
        standard = "/" not in name and "." not in name
        if path.startswith("include/") and not (
            standard or name.startswith("cereal/") or name == "cxxabi.h"
            or (name.startswith("cuda") and path == "include/ray/gpu.hpp")
        ):
            self.report(path, number, f"<{name}> would reach the user's program: only the standard "
                                      "library and cereal may")
        if module in MACHINES and name in IMPURE:
            self.report(path, number, f"'{module}' is a machine and does without <{name}>")


def self_test():
    """Each broken rule is reported, at its line, and a sound tree is not."""
    sound = {
        "include/ray/ray.hpp": "#include <ray/future.hpp>\n",
        "include/ray/future.hpp": "#include <vector>\n#include <ray/detail/runtime/task.hpp>\n",
        "include/ray/error.hpp": "#include <string>\n#include <cereal/cereal.hpp>\n",
        "include/ray/detail/runtime/task.hpp": "#include <ray/detail/exec/job.hpp>\n",
        "include/ray/detail/exec/job.hpp": "#include <ray/error.hpp>\n",
        "src/exec/pool.hpp": "#include <ray/detail/exec/job.hpp>\n",
        "src/exec/pool.cpp": '#include "exec/pool.hpp"\n#include <concurrentqueue/concurrentqueue.h>\n',
        "src/store/file.hpp": "#include <unistd.h>\n#include <xxhash.h>\n",
        "src/head/machine.hpp": "#include <map>\n",
        "src/runtime/core.cpp": '#include "exec/pool.hpp"\n#include "head/machine.hpp"\n',
        "src/runtime/future.cpp": '#include <ray/future.hpp>\n#include "exec/pool.hpp"\n',
        "tests/exec/pool_test.cpp": '#include <doctest/doctest.h>\n#include "exec/pool.hpp"\n',
        "tests/programs/fib_test.cpp": "#include <ray/ray.hpp>\n",
        "include/ray/detail/api/call.hpp": "#include <ray/future.hpp>\n",
        "src/api/call.cpp": "#include <ray/detail/api/call.hpp>\n",
        "examples/pi.cpp": "#include <ray/ray.hpp>\n",
    }
    broken = {
        "src/exec/up.hpp": ('#include "runtime/loop.hpp"\n', "above it"),
        "src/exec/sideways.hpp": ('#include "store/file.hpp"\n', "brother"),
        "src/runtime/public.cpp": ("#include <ray/future.hpp>\n", "above it"),
        "include/ray/error.hpp": ("#include <ray/future.hpp>\n", "above it"),
        "include/ray/private.hpp": ('#include "exec/pool.hpp"\n', "private"),
        "include/ray/foreign.hpp": ("#include <concurrentqueue/concurrentqueue.h>\n", "alone"),
        "include/ray/system.hpp": ("#include <unistd.h>\n", "would reach"),
        "src/store/queue.cpp": ("#include <concurrentqueue/concurrentqueue.h>\n", "alone"),
        "src/head/clock.cpp": ("auto t = std::chrono::steady_clock::now();\n", "no clock"),
        "src/head/thread.cpp": ("#include <thread>\n", "does without"),
        "src/exec/style.cpp": ("#include <exec/pool.hpp>\n", "with quotes"),
        "src/exec/bare.cpp": ('#include "pool.hpp"\n', "no file under src"),
        "src/exec/missing.cpp": ("#include <ray/nowhere.hpp>\n", "does not exist"),
        "src/nowhere/x.cpp": ("", "no floor"),
        "src/data/table.cpp": ("#include <ray/detail/exec/job.hpp>\n", "is a detail"),
        "examples/api.cpp": ("#include <ray/detail/api/call.hpp>\n", "is a detail"),
        "examples/inside.cpp": ("#include <ray/detail/exec/job.hpp>\n", "is a detail"),
        "tests/store/up_test.cpp": ('#include "exec/pool.hpp"\n', "brother"),
        "src/exec/pool.cpp": ('#include <vector>\n#include "exec/pool.hpp"\n', "come first"),
    }

    def problems_of(files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return Checker(folder).check()

    failures = [f"sound tree: {problem}" for problem in problems_of(sound)]
    for path, (text, expected) in broken.items():
        files = {**sound, "src/runtime/loop.hpp": "", path: text}
        problems = problems_of(files)
        if not any(p.startswith(f"{path}:1: ") and expected in p for p in problems):
            failures.append(f"{path}: expected '{expected}', got {problems}")
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = self_test() if sys.argv[1] == "--self-test" else Checker(sys.argv[1]).check()
    print("\n".join(problems) if problems else "every include goes down")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
