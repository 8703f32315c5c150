"""The version of a database, which changes with its tables."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest

from memory_sidecar.agents.store import AgentStore
from memory_sidecar.code.store import CodeStore

TABLES = {
    CodeStore: (10, "3a570dbf"),
    AgentStore: (7, "51fde68c"),
}
"""The version of each schema, and the digest of its SQL without comments."""


@pytest.mark.parametrize("store", TABLES)
def test_a_change_of_tables_is_a_new_version(store):
    """Else databases of the old tables would be read as new ones.

    Raise the `-- version` in the file whose tables changed, then put the new values above.
    """
    sql = "\n".join(script.read() for script in store.SCHEMA.scripts)
    statements = " ".join(re.sub(r"--.*", "", sql).split())
    assert (store.SCHEMA.version, sha256(statements.encode()).hexdigest()[:8]) == TABLES[store]
