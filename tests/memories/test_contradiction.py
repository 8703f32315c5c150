"""Which of two texts that are near to each other may contradict the other."""

from __future__ import annotations

import pytest

from memory_sidecar.memories.contradiction import NEAR, NEAR_IF_COUNTED, Doubt, may_contradict


@pytest.mark.parametrize(
    ("older", "newer", "doubt"),
    [
        ("We use RabbitMQ for jobs.", "Jobs run from Postgres; RabbitMQ was removed.", "CHANGED"),
        ("Data is deleted after 18 months.", "Data is deleted after 12 months now.", "CHANGED"),
        ("Wir liefern freitags aus.", "Freitags liefern wir nicht mehr aus.", "CHANGED"),
        ("Deploy on Fridays after lunch.", "Never deploy on Fridays.", "DENIED"),
        ("Do not squash commits.", "Always squash commits.", "DENIED"),
        ("Don\u2019t squash commits.", "Always squash commits.", "DENIED"),
        ("Retry failed mails 3 times.", "Failed mails: retry them five times.", "COUNTED"),
        ("Uploads of 20 MB are accepted.", "Accept uploads of 1,000 MB.", "COUNTED"),
        ("Retry failed mails 3 times.", "Mails that failed: retry three times.", None),
        ("Retry failed mails 3 times.", "Retry of failed mails takes 5 minutes.", None),
        ("Never deploy on Fridays.", "Do not deploy on Fridays.", None),
        ("Uses Python 3.11.", "The lock file of Python is uv.lock.", None),
        ("The cache lives in Redis.", "Invoices are numbered again since May, never twice.", None),
        ("Use pnpm for packages.", "Use pnpm, not npm, for packages.", None),
        ("Run make gen after edits of protos.", "After a merge, run make gen again.", None),
        ("ValueError is raised for dates.", "KeyError is raised for columns.", None),
        ("Die API läuft in Bonn.", "Die API läuft jetzt auch in Ulm.", None),
        ("The German site has a footer.", "The French site has a footer now.", None),
        ("The lobby was moved to Bonn.", "The match server was moved to Ulm.", None),
        ("Retry with backoff on HTTP 503.", "Do not retry on HTTP 400.", None),
        ("Web tokens last 15 minutes.", "App tokens last 60 minutes.", None),
        ("Sprint 14 closed 23 tickets.", "Sprint 15 closed 31 tickets.", None),
        ("It supports iOS 15 and later.", "It supports iOS 16 and later.", None),
        ("", "Never deploy on Fridays.", None),
        ("缓存在 Redis 里", "缓存不在 Redis 里", None),
    ],
)
def test_a_newer_text_may_contradict_an_older_one(older, newer, doubt):
    assert may_contradict(older, newer, cosine=0.9) == (Doubt[doubt] if doubt else None)


def test_what_is_not_near_does_not():
    older, newer = "Retry failed mails 3 times.", "Failed mails: retry them 5 times."
    assert may_contradict(older, newer, cosine=NEAR_IF_COUNTED) is Doubt.COUNTED
    assert may_contradict(older, newer, cosine=NEAR_IF_COUNTED - 0.01) is None
    assert may_contradict("Squash commits.", "Never squash commits.", cosine=NEAR) is Doubt.DENIED
    assert may_contradict("Squash commits.", "Never squash commits.", cosine=NEAR - 0.01) is None
