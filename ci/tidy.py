#!/usr/bin/env python3
"""The rules of the tree that a program can check: arrows between rooms, sizes, words, headers.

    ci/tidy.py [--root FOLDER] [rule...]    all rules, or those named; exit 1, one line a finding

Each rule is a function from the tree to findings, a row of RULES at the end; tests/tidy/ feeds
every rule a tree that breaks it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = {"CMakeLists.txt", "LICENSE", "README.md", "apps", "ci", "docs", "fixtures", "gpu",
       "properties", "reference", "tests"}
IGNORED = re.compile(r"build.*|\.carry|\.git|__pycache__|shared")
CPP = {".hpp", ".cpp", ".cuh", ".cu", ".h"}
CODE = CPP | {".py", ".sh", ".cmake", ".txt", ".yml"}
HEADERS = {".hpp", ".cuh", ".h"}

GPU_INTERFACE = r"gpu/[a-z_]+\.hpp"  # a backend or a kernel is nobody else's business
ARROWS = {  # room: what it may include from the tree
    "reference": r"reference/.*",
    "gpu": r"gpu/.*",
    "properties": rf"(reference|properties)/.*|{GPU_INTERFACE}",
    "apps": rf"(apps|properties)/.*|{GPU_INTERFACE}",
    "tests": r"(reference|gpu|properties|tests)/.*",  # the command only as a process
    "fixtures": r"(?!)",
}
HEAVY = r"Eigen/.*|boost/multiprecision/.*|rapidcheck.*|gtest/.*|gmock/.*"
CUDA = r"cuda.*|cublas.*|mma\.h"
OUTSIDE = {  # room: what it must not include from elsewhere
    "reference": rf"{CUDA}|random|chrono|ctime|time\.h|gtest/.*|rapidcheck.*",
    "gpu": rf"{HEAVY}|gmp.*|mpfr\.h|fmt/.*|nlohmann/.*|CLI/.*",
    "properties": rf"{CUDA}|random|gtest/.*|CLI/.*",
    "apps": rf"{CUDA}|{HEAVY}",
}
LINKS = {  # room: libraries its CMakeLists.txt must not name
    "reference": r"halfulp_(gpu|properties)|CUDA::",
    "gpu": r"halfulp_(reference|properties)",
    "properties": r"CUDA::",
    "apps": r"halfulp_reference|CUDA::",
}

LINES, FUNCTION_LINES, COLUMNS = 400, 70, 100
# Words that judge by a hand-chosen distance, GoogleTest's comparison within 4 ulp among them.
NEARNESS = re.compile(
    r"\b(atol|rtol|\w*tolerance\w*|\w*isApprox\w*|(EXPECT|ASSERT)_(NEAR|FLOAT_EQ|DOUBLE_EQ)|"
    r"(Float|Double)(Near|Eq))\b", re.IGNORECASE)
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b")
# What a kernel may ask about where it is built.
BUILDS = r"__CUDACC__|__CUDA_ARCH__|HALFULP_BUILD|HALFULP_FEW_VARIANTS"
SWITCH = re.compile(rf"^\s*#\s*(if|ifdef|ifndef|elif)\b(?!.*\b({BUILDS})\b)")
FAULT_NAME = re.compile(r"\b\w*(mutant|inject|planted|fault_switch)\w*\b", re.IGNORECASE)


class Tree:
    """Files under `root` by their path from it; folders that git ignores are left out."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.top = sorted(entry for entry in os.listdir(self.root) if not IGNORED.fullmatch(entry))
        self.lines = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not IGNORED.fullmatch(name))
            for name in sorted(files):
                path = pathlib.Path(folder, name)
                if path.suffix in CODE | {".md"}:
                    self.lines[str(path.relative_to(self.root))] = path.read_text().split("\n")

    def numbered(self, suffixes, *rooms):
        """(path, line number, line) of every line, of all rooms when none is named."""
        for path in self.paths(suffixes, *rooms):
            for number, line in enumerate(self.lines[path], 1):
                yield path, number, line

    def paths(self, suffixes, *rooms):
        return [path for path in self.lines
                if pathlib.Path(path).suffix in suffixes and (not rooms or room(path) in rooms)]

    def includes(self):
        """(path, line number, included name, whether it is quoted) in C++ files."""
        for path, number, line in self.numbered(CPP):
            if match := re.match(r'\s*#\s*include\s*(["<])([^">]+)', line):
                yield path, number, match[2], match[1] == '"'


def room(path):
    return path.split("/")[0]


def top_level(tree):
    for name in tree.top:
        if name not in TOP and not name.startswith("."):
            yield name, 1, "not one of the project's top-level entries"


def arrows(tree):
    generated = "\n".join(line for path, _, line in tree.numbered({".txt", ".cmake"}))
    for path, number, name, quoted in tree.includes():
        here = room(path)
        exists = (tree.root / name).exists() or f"generated/{name}" in generated
        if quoted and not exists:
            yield path, number, f'"{name}" is not spelled from the repository root'
        elif name == "apps/cli.hpp" and re.search(r"^tests/(.*[/_])?main\.cpp$", path):
            continue  # a command with further kernels, which tests run as a process
        elif quoted and not re.fullmatch(ARROWS.get(here, ".*"), name):
            yield path, number, f"{here}/ may not include {name}"
        elif not quoted and re.fullmatch(OUTSIDE.get(here, "(?!)"), name):
            yield path, number, f"{here}/ may not include <{name}>"
        elif not quoted and path.endswith((".cu", ".cuh")) and re.fullmatch(HEAVY, name):
            yield path, number, f"<{name}> is too heavy for CUDA code"
    for path, number, line in tree.numbered({".txt"}):
        match = re.search(LINKS.get(room(path), "(?!)"), line)
        if match and path.endswith("CMakeLists.txt"):
            yield path, number, f"{room(path)}/ may not link {match[0]}"


def size(tree):
    for path in tree.paths(CODE):
        lines = tree.lines[path]
        if len(lines) - 1 > LINES:
            yield path, len(lines) - 1, f"{len(lines) - 1} lines, more than {LINES}"
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                yield path, number, f"{len(line)} columns, more than {COLUMNS}"


def functions(tree):
    """Bodies of functions, members among them; a table that a function returns may be long."""
    quoted = re.compile(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*')
    for path in tree.paths(CPP):
        scopes = []  # one an open brace: the line where a function's body opens, otherwise None
        table = False
        excused = 0
        for number, line in enumerate(tree.lines[path], 1):
            text = quoted.sub("", line)
            table = (table or text == "  return {") and text != "  };"
            excused += table
            for brace in re.findall("[{}]", text):
                if brace == "{":
                    opens = not any(scopes) and re.search(r"\)[^=;]*\{", text)
                    scopes.append(number if opens else None)
                    excused = 0 if opens else excused
                elif scopes and (start := scopes.pop()):
                    length = number - start + 1 - excused
                    if length > FUNCTION_LINES:
                        yield path, start, f"function of {length} lines, more than {FUNCTION_LINES}"


def opening(tree):
    """The first comment says what a file is; a body may leave that to the header beside it."""
    for path in tree.paths(CODE):
        lines = [line for line in tree.lines[path] if not line.startswith("#!")]
        beside = path.endswith(".cpp") and path[:-4] + ".hpp" in tree.lines
        comment = re.match(r'//|# |/\*|"""|cmake_minimum_required', lines[0] if lines else "")
        if not comment and not beside:
            yield path, 1, "does not open with a comment that says what it is"


def words(tree):
    for path, number, line in tree.numbered(CODE | {".md"}):
        if match := UNFINISHED.search(line):
            yield path, number, f"{match[0]}: do it, or leave it out"
    for path, number, line in tree.numbered(CPP, "reference", "gpu", "properties", "apps", "tests"):
        if match := NEARNESS.search(line):
            yield path, number, f"{match[0]}: nothing is judged by a distance chosen by hand"


def kernels(tree):
    for path in tree.paths(CPP, "gpu"):
        if path.startswith("gpu/kernels/"):
            for number, line in enumerate(tree.lines[path], 1):
                if SWITCH.search(line):
                    yield path, number, "conditional code: a kernel under test has one form"
                elif match := FAULT_NAME.search(line):
                    yield path, number, f"{match[0]}: kernels carry no fault switches"


def citations(tree):
    derived = set(re.findall(r"\bB\d+\b", "\n".join(tree.lines.get("docs/bounds.md", []))))
    for path, number, line in tree.numbered(CPP):
        for name in re.findall(r"\[(B\d+)\]", line):
            if name not in derived:
                yield path, number, f"[{name}] is not in docs/bounds.md"


def headers(tree):
    """Every header compiles alone, with g++ and no CUDA, or with nvcc (where there is one) when it
    is called cuda*.cuh; what another room includes drags no heavy library along."""
    interfaces = {name for path, _, name, quoted in tree.includes()
                  if quoted and room(path) not in (room(name), "tests")}
    nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")

    def compiler(program, *arguments):
        return subprocess.run([program, "-std=c++20", "-w", "-I", str(tree.root), *arguments],
                              cwd=tree.root, capture_output=True, text=True)

    def examine(path):
        if re.search(r"/cuda[^/]*\.cuh$", path):
            if not nvcc:
                return []
            alone = compiler(nvcc, "-arch=sm_80", "-x", "cu", "-c", "-o", "/dev/null", path)
        else:
            alone = compiler("g++", "-fsyntax-only", "-x", "c++", path)
        if alone.returncode:
            errors = [line for line in alone.stderr.split("\n") if "error" in line]
            return [(path, 1, f"does not compile alone: {(errors or [alone.stderr])[0]}")]
        if path in interfaces:
            heavy = HEAVY.replace(".*", "")
            needed = compiler("g++", "-M", "-x", "c++", path).stdout
            if dragged := re.search(rf"/((eigen3/)?({heavy}))", needed):
                return [(path, 1, f"an interface header that drags {dragged[1]} along")]
        return []

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(examine, tree.paths(HEADERS)):
            yield from found


RULES = {rule.__name__: rule for rule in
         (top_level, arrows, size, functions, opening, words, kernels, citations, headers)}


def findings(root, names=()):
    tree = Tree(root)
    return [f"{path}:{number}: {name}: {what}"
            for name in names or RULES for path, number, what in RULES[name](tree)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("rules", nargs="*", metavar="rule", help=" ".join(RULES))
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.rules if name not in RULES]:
        parser.error(f"no rule named {unknown[0]}; there are: {' '.join(RULES)}")
    found = findings(arguments.root, arguments.rules)
    print("\n".join(found) if found else f"tidy: {' '.join(arguments.rules or RULES)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
