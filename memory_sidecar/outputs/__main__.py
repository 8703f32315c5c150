"""Writes the schemas: `python -m memory_sidecar.outputs`."""

from __future__ import annotations

import json
from pathlib import Path

from memory_sidecar.outputs.schema import Schema, all_schemas

FOLDER = Path(__file__).parents[1] / "schemas"


def rendered(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    schemas = all_schemas()
    for file in FOLDER.glob("*.json"):
        if file.stem not in schemas:
            file.unlink()
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas.items():
        (FOLDER / f"{name}.json").write_text(rendered(schema), encoding="utf-8")
