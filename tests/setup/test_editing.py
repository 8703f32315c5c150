"""Entries go into settings of the user's, and every other byte stays."""

from __future__ import annotations

import json
import tomllib

import pytest

from memory_sidecar.setup.editing import (
    Taken,
    Unreadable,
    json_element,
    json_member,
    remove_entry,
    toml_table,
)

AT = ["mcpServers", "memory-sidecar"]
ENTRY = {"command": "/bin/sidecar", "args": ["mcp"]}
DEEP = f'{{"a": {"[" * 3_000}{"]" * 3_000}}}'  # no removal could read it


@pytest.mark.parametrize(
    ("entry", "is_ours"),
    [
        ({"command": "memory-sidecar", "args": ["mcp"]}, True),
        ({"command": "/a/.venv/bin/memory-sidecar", "args": ["mcp", "--agent", "a"]}, True),
        ({"command": "C:\\bin\\memory-sidecar.exe", "args": ["mcp"]}, True),
        ({"command": "uvx", "args": ["memory-sidecar", "mcp"]}, True),
        ({"command": "memory-sidecar", "args": ["--mcp", "--agent", "a"]}, True),
        ({"command": "memory-sidecar", "args": ["mcp"], "disabled": True}, False),
        ({"command": "npx", "args": ["server-filesystem", "/src/memory-sidecar"]}, False),
        ({"command": "memory-sidecar", "args": 7}, False),
        (7, False),
    ],
)
def test_a_server_of_another_name_that_starts_this_program_gets_none_beside_it(entry, is_ours):
    fields = entry if isinstance(entry, dict) else {}
    table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items())
    texts = json.dumps({"mcpServers": {"memory": entry}}), f"[mcpServers.memory]\n{table}\n"
    for text, insert in zip(texts, (json_member, toml_table), strict=True):
        if is_ours:
            with pytest.raises(Taken, match=r"mcpServers\.memory starts memory-sidecar already"):
                insert(text, AT, ENTRY)
        else:
            assert insert(text, AT, ENTRY) is not None


@pytest.mark.parametrize(
    "before",
    [
        "{}",
        "{ }\n",
        '{"theme": "dark"}',
        '{\n  "mcpServers": {}\n}\n',
        '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
        '{"ü€": 1, "mcpServers": {"other": {}}}',
    ],
)
def test_a_member_is_added_and_nothing_else_changes(before):
    insertion = json_member(before, AT, ENTRY)
    assert insertion is not None
    after = insertion.apply_to(before)
    expected = json.loads(before)
    expected.setdefault("mcpServers", {})["memory-sidecar"] = ENTRY
    assert json.loads(after) == expected
    assert after.replace(insertion.text, "") == before
    assert json_member(after, AT, ENTRY) is None


@pytest.mark.parametrize("indent", ["\t", " ", "  ", "   ", "    "])
def test_an_entry_is_indented_as_the_file_is(indent):
    settings = {"theme": "dark", "mcpServers": {"other": {"args": ["x"]}}}
    insertion = json_member(json.dumps(settings, indent=indent), AT, ENTRY)
    assert insertion is not None
    after = insertion.apply_to(json.dumps(settings, indent=indent))
    expected = {"theme": "dark", "mcpServers": {"memory-sidecar": ENTRY, "other": {"args": ["x"]}}}
    assert after == json.dumps(expected, indent=indent)


def test_an_entry_has_lines_of_its_own_in_an_object_on_one_line():
    before = '{\n    "mcpServers": {"other": {}}\n}\n'
    insertion = json_member(before, AT, {"args": []})
    assert insertion is not None
    after = insertion.apply_to(before)
    assert after.splitlines()[2:6] == [
        '        "memory-sidecar": {',
        '            "args": []',
        "        },",
        '        "other": {}}',
    ]
    assert remove_entry(after, AT, {"args": []}, piece=insertion.text) == before


def test_comments_and_trailing_commas_of_editors_are_read_and_kept():
    before = '// mine\n{\n  /* servers */\n  "mcpServers": {\n    "x": {}, // last\n  },\n}\n'
    insertion = json_member(before, AT, ENTRY)
    assert insertion is not None
    after = insertion.apply_to(before)
    assert json_member(after, AT, ENTRY) is None
    assert remove_entry(after, AT, ENTRY) == before


def test_an_entry_does_not_become_part_of_the_comment_that_the_file_ends_with():
    insertion = json_member("// mine", AT, ENTRY)
    assert insertion is not None
    after = insertion.apply_to("// mine")
    assert json_member(after, AT, ENTRY) is None
    assert remove_entry(after, AT, ENTRY, piece=insertion.text) == "// mine"


@pytest.mark.parametrize(
    "held",
    [
        '{"a": 1},',
        '{"a": 1}, {"b": 1, "c": 2, },',
        '{"a": 1} // mine\n',
        '{"a": 1}, {"b": 1}, // mine\n',
        "/**/",
    ],
)
def test_an_element_joins_an_array_with_comments_and_trailing_commas(held):
    path = ["hooks", "PostToolUse"]
    before = f'{{"allow": ["a",], "hooks": {{"PostToolUse": [{held} ]}}}}'
    insertion = json_element(before, path, ENTRY)
    assert insertion is not None
    after = insertion.apply_to(before)
    assert json_element(after, path, ENTRY) is None
    assert remove_entry(after, path, ENTRY, piece=insertion.text) == before


def test_an_element_joins_the_array_that_others_use():
    before = '{"hooks": {"PostToolUse": [{"matcher": "Edit"}]}}'
    insertion = json_element(before, ["hooks", "PostToolUse"], {"matcher": "Read"})
    assert insertion is not None
    after = json.loads(insertion.apply_to(before))
    assert after == {"hooks": {"PostToolUse": [{"matcher": "Read"}, {"matcher": "Edit"}]}}
    assert (
        json_element(insertion.apply_to(before), ["hooks", "PostToolUse"], {"matcher": "Read"})
        is None
    )


def test_a_server_of_that_name_with_another_command_is_not_replaced():
    with pytest.raises(Taken):
        json_member('{"mcpServers": {"memory-sidecar": {"command": "mine"}}}', AT, ENTRY)
    with pytest.raises(Taken):
        toml_table(
            '[mcp_servers.memory-sidecar]\ncommand = "mine"\n', ["mcp_servers", AT[1]], ENTRY
        )


@pytest.mark.parametrize(
    "before",
    [
        *("[1]", '{"mcpServers": 3}', '{"a": }', "{", "{} {}", "nonsense", DEEP),
        *('{"a\tb": 1}', '{"\\u12": 1}'),  # names of members that the grammar lets pass
    ],
)
def test_what_is_no_settings_file_is_refused(before):
    with pytest.raises(Unreadable):
        json_member(before, AT, ENTRY)


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("a = ", "not TOML"),
        ("mcp_servers = {}\n", r"as \[mcp_servers.NAME\] tables"),
        ("mcp_servers = 3\n", "mcp_servers is not a table"),
        ("[[mcp_servers]]\n", "mcp_servers is not a table"),
    ],
)
def test_what_is_no_toml_or_closed_to_tables_is_refused(before, reason):
    with pytest.raises(Unreadable, match=reason):
        toml_table(before, ["mcp_servers", AT[1]], ENTRY)


def test_a_table_is_appended():
    before, entry = 'model = "x"\n', {"command": 'a"b\\\x01\x7f\U0001f600', "args": []}
    insertion = toml_table(before, ["mcp_servers", AT[1]], entry)
    assert insertion is not None
    after = insertion.apply_to(before)
    assert after.startswith(before)
    assert tomllib.loads(after)["mcp_servers"][AT[1]] == entry
    assert toml_table(after, ["mcp_servers", AT[1]], entry) is None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('{"mcpServers": {"memory-sidecar": {"a": 1}, "x": {}}}', {"mcpServers": {"x": {}}}),
        ('{"mcpServers": {"x": {}, "memory-sidecar": {"a": 1}}}', {"mcpServers": {"x": {}}}),
        ('{"mcpServers": {"memory-sidecar": {"a": 1}}}', {"mcpServers": {}}),
    ],
)
def test_a_member_is_cut_out_wherever_it_stands(text, rest):
    left = remove_entry(text, AT, {"a": 1})
    assert left is not None
    assert json.loads(left) == rest
    assert remove_entry(text, AT, {"a": 2}) is None
