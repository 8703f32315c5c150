"""Which of the C# classes of one name a file sees tells whose member stands behind it."""

from __future__ import annotations

from tests.code.trees import told_in, write_tree

PROGRAM = "static class Program\n{\n    public static App Make() => null;\n}\n"
APP = "class App\n{\n    protected App Make() => Program.Make();\n}\n"


def test_behind_a_class_stands_a_member_of_that_which_the_file_sees(tmp_path):
    files = {
        "One/Program.cs": f"namespace Shop.One;\n{PROGRAM}",
        "Two/Program.cs": f"namespace Shop.Two;\n{PROGRAM}",
        "One/App.cs": f"namespace Shop.One.Phone;\n{APP}",
        "Two/App.cs": f"using Shop.Two;\nnamespace Phone;\n{APP}",
        "Three/App.cs": f"namespace Shop.Three;\n{APP}",
    }
    write_tree(tmp_path, files)
    ask = told_in(tmp_path)
    assert ask("refs", "One.Program.Make") == ["One/App.cs:4 exact", "Three/App.cs:4 by name"]
    assert ask("refs", "Two.Program.Make") == ["Two/App.cs:5 exact", "Three/App.cs:4 by name"]
    assert ask("refs", "Three.App.Make") == []
