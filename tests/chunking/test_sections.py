"""Scenes, resources and tables are cut at their headers."""

from __future__ import annotations

from memory_sidecar.chunking.chunk import chunk_text


def node(name: str) -> str:
    values = "\n".join(f"property_{number} = Vector2({number}, 0)" for number in range(25))
    return f'[node name="{name}" type="Sprite2D" parent="."]\n{values}\n\n'


def test_scene_is_cut_at_headers():
    head = '[gd_scene load_steps=2 format=3]\n\n[ext_resource path="res://a.gd" id="1"]\n\n'
    chunks = chunk_text(head + node("Player") + node("Enemy"), "godot")
    assert [chunk.scope for chunk in chunks] == [
        "gd_scene load_steps=2 format=3",
        'node name="Enemy" type="Sprite2D" parent="."',
    ]
    assert chunks[1].code.startswith('[node name="Enemy"')


def test_large_section_keeps_its_header_as_scope():
    text = '[node name="Map"]\n' + "".join(f"tile_{n} = {n}\n" for n in range(400))
    chunks = chunk_text(text, "godot")
    assert len(chunks) > 3
    assert {chunk.scope for chunk in chunks} == {'node name="Map"'}


def test_toml_tables_keep_their_comments():
    values = "".join(f"key_{number} = [{number}]\n" for number in range(70))
    text = f"title = 'a'\n{values}\n# About b.\n[tool.b] # same\n{values}\n[[tool.c]]\n{values}"
    chunks = chunk_text(text, "toml")
    assert [chunk.scope for chunk in chunks] == ["", "tool.b", "tool.c"]
    assert chunks[1].code.startswith("# About b.")


def test_spaces_without_end_end_a_header_soon():
    spaces = " " * 200_000
    assert chunk_text(f"[a{spaces}b]\nx = 1\n", "toml")[0].scope == "a"
    assert chunk_text(f"[a{spaces}\nx = 1\n", "toml")[0].scope == ""


def test_list_in_a_toml_array_is_no_header():
    text = "[a]\nx = [\n  [1, 2],\n  [3],\n]\n" + "key = 1\n" * 200
    assert {chunk.scope for chunk in chunk_text(text, "toml")} == {"a"}
