"""Every rule of ci/tidy.py is silent on a good tree and speaks on a tree with one fault.

    python3 tests/tidy/tidy_test.py
"""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "ci"))
import tidy  # noqa: E402

NEAR = "EXPECT_" + "NEAR"  # spelled in two parts: the rule reads this file's neighbours
LATER = "TO" + "DO"
HEADER = "// What it is.\n#pragma once\n"

GOOD = {
    "CMakeLists.txt": "# The build.\n",
    "README.md": "A project.\n",
    ".gitignore": "/build/\n",
    "build/rubbish.cpp": "int " + "x" * 200 + LATER + ";\n",
    "docs/bounds.md": "## B7 A bound\n",
    "reference/CMakeLists.txt": "# Truth.\nadd_library(halfulp_reference a.cpp)\n",
    "reference/a.hpp": HEADER + "#include <vector>\nstd::vector<int> a();  // [B7]\n",
    "reference/a.cpp": '#include "reference/a.hpp"\nstd::vector<int> a() { return {}; }\n',
    "gpu/kernel.hpp": HEADER + "struct Kernel {};\n",
    "gpu/CMakeLists.txt": "# Kernels.\nfile(GENERATE OUTPUT generated/gpu/entries.hpp CONTENT x)\n",
    "gpu/table.cpp": '// The table.\n#include "gpu/entries.hpp"\n',
    "gpu/kernels/add.cuh": "// Adds.\n#pragma once\n#ifdef __CUDACC__\n#endif\nvoid add();\n",
    "properties/check.hpp": HEADER + '#include "gpu/kernel.hpp"\n#include "reference/a.hpp"\n',
    "properties/rows.cpp": "// Rows.\nRows f() {\n  return {\n" + "    1,\n" * 99 + "  };\n}\n",
    "apps/main.cpp": '// The command.\n#include "properties/check.hpp"\n',
    "apps/cli.hpp": HEADER + "int cli_main();\n",
    "tests/main.cpp": '// The command with more kernels.\n#include "apps/cli.hpp"\n',
    "tests/a_test.cpp": '// A test.\n#include <gtest/gtest.h>\n#include "reference/a.hpp"\n',
}

# rule: (path, content) of a file that breaks it when it joins, or replaces one in, the good tree.
BAD = {
    "top_level": [("helpers/a.cpp", "// A room too many.\n")],
    "arrows": [
        ("reference/b.hpp", HEADER + '#include "gpu/kernel.hpp"\n'),
        ("reference/b.hpp", HEADER + "#include <cuda_runtime.h>\n"),
        ("reference/b.hpp", HEADER + "#include <random>\n"),
        ("reference/b.hpp", HEADER + '#include "a.hpp"\n'),
        ("reference/CMakeLists.txt", "# Truth.\ntarget_link_libraries(a halfulp_gpu)\n"),
        ("gpu/b.hpp", HEADER + '#include "reference/a.hpp"\n'),
        ("gpu/b.hpp", HEADER + '#include "properties/check.hpp"\n'),
        ("gpu/b.cu", "// Adds.\n#include <Eigen/Dense>\n"),
        ("tests/b.cu", "// Adds.\n#include <gtest/gtest.h>\n"),
        ("properties/b.hpp", HEADER + '#include "gpu/kernels/add.cuh"\n'),
        ("properties/b.hpp", HEADER + "#include <cuda_fp16.h>\n"),
        ("properties/b.hpp", HEADER + '#include "tests/a_test.cpp"\n'),
        ("apps/b.cpp", '// A part.\n#include "reference/a.hpp"\n'),
        ("tests/b.cpp", '// A test.\n#include "apps/cli.hpp"\n'),
    ],
    "size": [
        ("reference/b.hpp", HEADER + "int x;\n" * 400),
        ("reference/b.hpp", HEADER + "// " + "long " * 20 + "\n"),
    ],
    "functions": [
        ("reference/b.cpp", "// B.\nint f() {\n" + "  g();\n" * 70 + "}\n"),
        ("reference/b.cpp", "// B.\nclass B {\n  int f() {\n" + "g();\n" * 70 + "  }\n};\n"),
    ],
    "opening": [
        ("reference/b.hpp", "#pragma once\n"),
        ("reference/b.cpp", "#include <vector>\n"),
    ],
    "words": [
        ("docs/a.md", f"{LATER}: write this\n"),
        ("tests/b.cpp", f"// B.\nvoid f() {{ {NEAR}(1, 2, 1e-3); }}\n"),
        ("properties/b.hpp", HEADER + "double relative_toler" + "ance = 1e-3;\n"),
    ],
    "kernels": [
        ("gpu/kernels/b.cuh", HEADER + "#ifdef HALFULP_BREAK_TAIL\n#endif\n"),
        ("gpu/kernels/b.cuh", HEADER + "void b(bool inject_race);\n"),
    ],
    "citations": [("reference/b.hpp", HEADER + "// Within the bound [B8].\n")],
    "headers": [
        ("reference/b.hpp", HEADER + "std::string b();\n"),
        ("properties/check.hpp", HEADER + "#include <gtest/gtest.h>\n"),
    ],
}


def findings(files, names=()):
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return tidy.findings(root, names)


class TidyTest(unittest.TestCase):
    def test_a_good_tree_has_no_findings(self):
        self.assertEqual(findings(GOOD), [])

    def test_every_rule_has_a_tree_that_breaks_it(self):
        self.assertEqual(set(BAD), set(tidy.RULES))

    def test_every_fault_is_found_once_and_named(self):
        for rule, faults in BAD.items():
            for path, content in faults:
                with self.subTest(rule=rule, content=content[:80]):
                    found = findings({**GOOD, path: content}, [rule])
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(f": {rule}: ", found[0])


if __name__ == "__main__":
    unittest.main()
