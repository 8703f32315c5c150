"""Which type is meant by a question for a model, a table or its columns."""

from __future__ import annotations

import pytest

from memory_sidecar.code.data_models import model_names
from tests.code.trees import search_in, write_tree


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("schema of the feed token table", ["FeedToken"]),
        ("which columns does the feed_token table have", ["FeedToken"]),
        ("what columns are in the users table", ["Users", "User"]),
        ("what fields does a category have", ["Category"]),
        ("database schema for categories", ["Categories", "Category"]),
        ("the feed token model", ["FeedToken"]),
        ("order line model definition", ["OrderLine"]),
        ("columns of FeedToken", ["FeedToken"]),
        ("how is the price model updated", []),
        ("fields of the request that a proxy in front of it may change", []),
        ("model", []),
    ],
)
def test_a_question_for_a_model_names_its_type(question, names):
    assert model_names(question) == names


def test_the_model_comes_before_its_migrations_and_what_speaks_of_it(make_codebase, project):
    change = "def up():\n    add_column('feed_token', Text(), schema=table)\n"
    changes = {f"feeds/migrations/000{n}_feed_token.py": change for n in range(1, 7)}
    model = "class FeedToken(Model):\n    key = Text()\n    user = Foreign(User)\n"
    page = "def feed_token_table(feed_token):\n    return Table('feed token', schema=feed_token)\n"
    write_tree(project, changes | {"feeds/models.py": model, "feeds/feed_token_table.py": page})
    search = search_in(project, make_codebase())
    files = [hit.filename for hit in search("schema of the feed token table")[:5]]
    assert files[0] == "feeds/models.py"
    assert sum("migrations" in file for file in files) < 4
