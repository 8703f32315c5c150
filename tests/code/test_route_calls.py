"""Where a route is called, for a question that asks for its callers."""

from __future__ import annotations

import pytest

from tests.code.trees import search_in, write_tree

FILES = {
    "server/orders.go": 'm.Group("/api/orders", func() {\n\tm.Get("/{id}", Show)\n'
    '\tm.Post("/{id}/lines", Add)\n})\nm.Get("/api/depots", Depots)\n',
    "server/app.js": "app.get('/api/v1/parcels/:id', (request, response) => show(request))\n",
    "server/clubs.py": '@app.get("/api/clubs/{name}")\ndef show(name):\n    return club(name)\n',
    "ui/orders.js": "export const order = (id) =>\n  fetch(`/api/orders/${id}`)\n",
    "ui/lines.ts": "export const add = (id) => http.post(base + '/orders/' + id + '/lines')\n",
    "ui/Depots.vue": "<script>\nconst all = await axios.get('/api/depots?all=1')\n</script>\n",
    "ui/parcels.js": "const show = (id) => fetch(`${API_URL}/v1/parcels/${id}`)\n",
    "worker/clubs.py": 'def load(name):\n    return session.get(f"{HOST}/api/clubs/{name}")\n',
    "tests/orders.test.js": "fetch('/api/orders/42')\n",
}


@pytest.fixture
def search(make_codebase, project):
    write_tree(project, FILES)
    return search_in(project, make_codebase())


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("frontend code that calls /api/orders/42", "ui/orders.js"),
        ("callers of GET /api/orders/{id}", "ui/orders.js"),
        ("which client code uses POST /api/orders/42/lines", "ui/lines.ts"),
        ("where does the ui fetch /api/depots", "ui/Depots.vue"),
        ("who requests /api/v1/parcels/:id", "ui/parcels.js"),
        ("where is /api/clubs/chess called from", "worker/clubs.py"),
    ],
)
def test_a_question_for_callers_leads_to_the_call(search, question, file):
    assert search(question)[0].filename == file


@pytest.mark.parametrize(
    "question",
    [
        "GET /api/orders/42",
        "which handler is called for /api/orders/42",
        "what serves requests of the ui to /api/orders/42",
    ],
)
def test_any_other_question_leads_to_the_route(search, question):
    assert search(question)[0].filename == "server/orders.go"
