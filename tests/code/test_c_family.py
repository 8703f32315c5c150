"""What a name of C or C++ means: of headers, of classes in other files, of one file alone."""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

FILES = {
    "cart.h": (
        "typedef struct cart cart;\nint cart_add(cart *to);\n"
        "static inline int cart_size(cart *of) { return 1; }\n"
    ),
    "cart.c": (
        '#include "cart.h"\nstruct cart { int size; };\n'
        "int cart_add(cart *to) { return to->size + cart_size(to); }\n"
    ),
    "bin.c": (
        '#include "cart.h"\nstruct bin { int size; };\n'
        "int bin_size(struct bin *of) { return of->size; }\n"
        "int use(cart *some, struct bin *other) {\n"
        "    return cart_size(some) + cart_add(some);\n}\n"
    ),
    "log.h": (
        "struct Base { void flush(); int level_; };\n"
        "class Log : public Base {\n    enum Mode { FULL };\n"
        "    void write();\n    int level_;\n};\n"
        "class Other { void flush(); int level_; };\nENTER_KIT\nenum class Shade { DARK };\n"
        "struct Config { Config(int of); };\nLEAVE_KIT\n"
    ),
    "log.cc": (
        '#include "log.h"\n#include <utility>\n'
        "void Log::write() {\n    level_ = 1;\n    flush();\n}\n"
        "int mode() { return Log::FULL; }\n"
        "kit::Config make(int n) { return std::swap(kit::Shade::DARK); }\n"
    ),
    "swap.h": "int swap(int a);\n",
}


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("cart.h:2", ["bin.c:5 exact"]),  # as is its definition
        ("cart.c:3", ["bin.c:5 exact"]),
        ("cart_size", ["bin.c:5 exact", "cart.c:3 exact"]),
        (
            "cart.c:2",
            [f"{line} exact" for line in "bin.c:4 cart.c:3 cart.h:1 cart.h:2 cart.h:3".split()],
        ),
        ("cart.size", ["cart.c:3 exact"]),
        ("bin.size", ["bin.c:3 exact"]),
        ("Log.level_", ["log.cc:4 exact"]),
        ("Base.flush", ["log.cc:5 exact"]),
        ("Other.flush", []),
        ("FULL", ["log.cc:7 exact"]),
        ("log.h:9", ["log.cc:8 likely"]),
        ("log.h:10", ["log.cc:8 likely"]),
        ("swap", []),
    ],
)
def test_a_name_of_c_is_told_apart(tmp_path, name, uses):
    write_tree(tmp_path, FILES)
    assert sorted(set(told_in(tmp_path)("refs", name))) == uses


def test_classes_of_one_name_in_two_files_share_no_members(tmp_path):
    """Two programs have a struct of one name, and templates have specialisations."""
    box = "template <> struct Box<{0}> {{\n  int open() {{ return inner_; }}\n  int inner_;\n}};\n"
    run = '#include "config.h"\nint run(Config *one) { return one->port; }\n'
    write_tree(
        tmp_path,
        {
            **{f"{each}.h": box.format(each) for each in ("int", "char")},
            **{f"{each}/config.h": "struct Config {\n  int port;\n};\n" for each in ("cli", "web")},
            "cli/main.cpp": run,
            "run.cpp": run,
        },
    )
    ask = told_in(tmp_path)
    assert ask("refs", "int.h:3") == ["int.h:2 exact"]
    assert ask("refs", "cli/config.h:2") == ["cli/main.cpp:2 likely", "run.cpp:2 by name"]
    assert ask("refs", "web/config.h:2") == ["run.cpp:2 by name"]
