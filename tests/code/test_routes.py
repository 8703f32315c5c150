"""Where the route is declared whose path a question has, with its parameters filled in."""

from __future__ import annotations

import time

import pytest

from memory_sidecar.core.results import Silent
from memory_sidecar.index.scored import NAMED_FROM
from tests.code.trees import search_in, write_tree

FILES = {
    "routes.rb": "draw do\n  scope :api do\n    resources :users do\n      resources :orders\n"
    "      resource :avatar\n    end\n    resources :carts\n  end\nend\n",
    "web.go": 'm.Group("/teams", func() {\n\tm.Get("/:id", team.Show)\n'
    '\tm.Group("/:id/members", func() {\n\t\tm.Delete("/:name", team.Remove)\n\t})\n})\n'
    'm.Group("/clubs", func() {\n\tm.Get("/:id", club.Show)\n})\n',
    "BookApi.java": '@RequestMapping("/books/{id}")\nclass BookApi {\n'
    '  @GetMapping("pages")\n  void pages() {}\n\n  @PostMapping("pages")\n  void add() {}\n}\n',
    "urls.py": "urlpatterns = [\n    path('posts/<int:pk>/edit/', edit),\n"
    "    re_path(r'^tags/(?P<name>[-\\w]+)/feed/?$', feed),\n]\n",
    "parcels.ts": "router.get('/:id', show)\nrouter.get('/:id/label', label)\n",
    "client.js": "get(`/posts/${id}/edit`)\nget(`/parcels/${id}/label`)\nopen('status')\n",
    "tests/test_posts.py": "def test_edit():\n    client.get('/posts/42/edit')\n",
    "api.md": "`GET /posts/42/edit` and `/users/42/orders` are pages.\n",
}


@pytest.fixture
def search(make_codebase, project):
    write_tree(project, FILES)
    return search_in(project, make_codebase())


@pytest.mark.parametrize(
    ("text", "file", "line"),
    [
        ("GET /api/users/42/orders", "routes.rb", 4),
        ("POST /api/carts/7 404", "routes.rb", 7),
        ("which handler serves /teams/42/members/jane", "web.go", 4),
        ("https://shop.example/clubs/42?page=2", "web.go", 8),
        ("/books/42/pages", "BookApi.java", 3),
        ("/posts/my-title/edit", "urls.py", 2),
        ('127.0.0.1 - - "GET /tags/new-york/feed HTTP/1.1" 500 12', "urls.py", 3),
        ("curl http://localhost:8080/v1/parcels/42/label", "parcels.ts", 2),
        ("/parcels/42", "parcels.ts", 1),
    ],
)
def test_a_filled_path_leads_to_the_line_that_declares_its_route(search, text, file, line):
    best = search(text)[0]
    assert best.filename == file
    assert best.start_line <= line <= best.end_line


def test_routes_are_looked_for_where_the_filter_allows(search):
    found = search("/posts/42/edit", languages=("javascript",))
    assert {hit.language for hit in found} == {"javascript"}


def test_a_word_alone_that_ends_the_path_of_a_file_declares_no_route(search):
    assert max(hit.score for hit in search("/proc/self/status is read")) < NAMED_FROM
    assert search("/teams/42/members/jane")[0].score > NAMED_FROM


def test_a_file_made_to_be_slow_does_not_hold_up_a_question(search, make_codebase, project):
    rows = [f'"/orders" "/users/{number}"' for number in range(8_000)]
    outer = [" " * depth + '"/orders" ' * 9 for depth in range(200)]
    (project / "many.js").write_text("\n".join([*rows, *outer, *outer[-1:] * 2_000]))
    (project / "long.js").write_text(f'"/depots/{"{a}0" * 40}1"\n')
    make_codebase().index([project], reporter=Silent())
    began_s = time.process_time()
    search("/users/77/orders")
    search(f"/depots/{'0' * 40}")  # each way through it would take years
    assert time.process_time() - began_s < 10  # or minutes
