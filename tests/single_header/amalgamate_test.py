#!/usr/bin/env python3
"""The amalgamator on small trees: what it puts in, in which order, and what it refuses."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import amalgamate  # noqa: E402

TREE = {
    "CMakeLists.txt": "project(ray\n  VERSION 1.2.3)\n",
    "include/ray/ray.hpp": "#pragma once\n#include <ray/b.hpp>\n#include <ray/a.hpp>\n",
    "include/ray/a.hpp": "#pragma once\n#include <vector>\n\nint a();\n",
    "include/ray/b.hpp": "#pragma once\n#include <ray/a.hpp>\n#include <vector>\nint b();\n",
    "src/exec/pool.hpp": "#pragma once\n#include <queue.h>\nint pool();\n",
    "src/exec/pool.cpp": '#include "exec/pool.hpp"\n#include <ray/a.hpp>\nint pool() { return 1; }\n',
    "src/base/id.cpp": "#include <ray/a.hpp>\nint a() { return 2; }\n",
}


def amalgamated(changes):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**TREE, **changes}.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return amalgamate.Amalgamator(folder).run()


class Text(unittest.TestCase):
    def test_order(self):
        text = amalgamated({})
        marks = ["ray 1.2.3", "#pragma once", "int a();", "int b();", "#ifdef RAY_IMPLEMENTATION",
                 "return 2", "#include <queue.h>", "int pool();", "return 1", "#endif"]
        places = [text.index(mark) for mark in marks]
        self.assertEqual(places, sorted(places))
        for once in ("#pragma once", "#include <vector>", "int a();", "int pool();"):
            self.assertEqual(text.count(once), 1, once)
        self.assertNotIn("#include <ray", text)
        self.assertNotIn('#include "', text)

    def test_conditional_system_includes_stay(self):
        conditional = "#pragma once\n#if X\n#include <vector>\n#endif\n"
        text = amalgamated({"include/ray/b.hpp": conditional})
        self.assertEqual(text.count("#include <vector>"), 2)


class Refusals(unittest.TestCase):
    def refused(self, changes, message):
        with self.assertRaisesRegex(amalgamate.AmalgamationError, message):
            amalgamated(changes)

    def two(self, first, second=None):
        wrap = "namespace ray::detail {{ namespace {{ {} }} }}\n".format
        return {"src/exec/one.cpp": wrap(first), "src/exec/two.cpp": wrap(second or first)}

    def test_same_private_names(self):
        for declaration in (
            "struct entry { int x; };", "enum class kind : int { a };", "using name = int;",
            "typedef int name;", "int f() { return 1; }", "constexpr int limit = 3;",
            "thread_local std::vector<int> v{1};", "std::map<int, std::string> f(const T<3>& x);",
            "template <typename X, int N = (1 > 0)> [[nodiscard]] X f(X x) { return x; }",
            "constexpr auto f = [](int x) { return x; };", "char buffer[16];",
            "const char* names[] = {\"a\"};", "concept c = true;", "static int counter;",
            "std::atomic<int>& f() noexcept { return x; }",
        ):
            with self.subTest(declaration):
                self.refused(self.two(declaration), "is private here and in")

    def test_static_functions(self):
        text = "namespace ray { static int f() { return 1; } }\n"
        self.refused({"src/exec/one.cpp": text, "src/exec/two.cpp": text}, "'ray::f' is private")

    def test_private_hides_visible(self):
        self.refused({"src/exec/one.hpp": "namespace ray { struct entry {}; }",
                      "src/exec/one.cpp": '#include "exec/one.hpp"\n',
                      "src/exec/two.cpp": "namespace ray { namespace { struct entry {}; } }"},
                     "hides the one of src/exec/one.hpp")

    def test_what_is_allowed(self):
        amalgamated({
            "src/exec/one.cpp": "namespace ray::a { namespace { int f() { int g = 1; return g; } } }",
            "src/exec/two.cpp": "namespace ray::b { namespace { int f() { int g = 1; return g; } } }",
            "src/exec/three.cpp": "namespace ray { static_assert(sizeof(int) == 4);\n"
                                  "int thing::f() { static int x; return x; } // namespace { int f;\n"
                                  "template <> struct trait<int> { int f; };\n"
                                  "bool operator==(x, y) { return true; } }",
            "src/exec/four.cpp": "namespace ray { int other::f() { static int x; return x; }\n"
                                 "extern \"C\" int environ_of();\n"
                                 "template <> struct trait<long> { int f; };\n"
                                 "const char* s() { return R\"(namespace { int f; })\"; } }",
        })

    def test_macros(self):
        define = "#define LIMIT 3\n"
        self.refused({"src/exec/one.cpp": define, "src/exec/two.cpp": define}, "macro LIMIT")
        self.refused({"include/ray/a.hpp": define}, "without the prefix RAY_")
        undone = define + "#undef LIMIT\n"
        amalgamated({"src/exec/one.cpp": undone, "src/exec/two.cpp": undone})

    def test_global_scope(self):
        self.refused({"src/exec/one.cpp": "using namespace std;\n"}, "at global scope")
        self.refused({"src/exec/one.cpp": "namespace { int x; }\n"}, "inside namespace ray")

    def test_includes(self):
        self.refused({"src/exec/one.cpp": '#include "exec/none.hpp"\n'}, "neither under")
        self.refused({"src/exec/one.cpp": "#include <ray/none.hpp>\n"}, "neither under")
        self.refused({"src/exec/one.cpp": "#if X\n#include <ray/c.hpp>\n#endif\n",
                      "include/ray/c.hpp": ""}, "under a condition")
        self.refused({"src/nowhere/one.cpp": ""}, "has no place")


if __name__ == "__main__":
    unittest.main()
