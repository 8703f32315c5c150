"""The loop of an owner: what comes first, how long it waits, what it tries again. No real clock."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path

import pytest

from memory_sidecar.core.errors import StoreBusy, StoreError
from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.results import Silent
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.loop import RETRY_FIRST_S, Loop
from memory_sidecar.index.requests import Request, Requests, Urgency
from tests.conftest import Notices
from tests.waiting import eventually

DEADLINE_S = 60.0


class Due:
    """Something that is due at a time, and what happens then."""

    def __init__(self) -> None:
        self.at_s = math.inf
        self.does: Callable[[], None] = lambda: None
        self.done = 0

    def due_s(self) -> float:
        return self.at_s

    def do(self) -> None:
        self.at_s = math.inf
        self.done += 1
        self.does()


@pytest.fixture
def due() -> Due:
    return Due()


@pytest.fixture
def failures() -> list[Exception]:
    return []


@pytest.fixture
def make_loop(tmp_path, clock, due, failures):
    def make() -> Loop:
        return Loop(
            WriterLock(tmp_path / "writer.lock", data_dir=tmp_path),
            name="a database",
            due_s=due.due_s,
            do_due=due.do,
            note=failures.append,
            around=lambda work, reporter: work(reporter),
            now_s=clock,
        )

    return make


@pytest.fixture
def loop(make_loop) -> Loop:
    made: Loop = make_loop()
    return made


def ask(loop: Loop, work, urgency=Urgency.LONG, patience_s=0.0, **options):
    return loop.ask(
        lambda _: work(), options.pop("reporter", Silent()), urgency=urgency,
        patience_s=patience_s, **options,
    )  # fmt: skip


def test_without_tending_the_caller_does_it(loop):
    assert ask(loop, threading.current_thread) is threading.current_thread()
    assert not loop.is_running


def test_tended_a_thread_does_it_and_ends(loop):
    loop.run_in_background(lambda: None)
    assert ask(loop, threading.current_thread) is not threading.current_thread()
    eventually(lambda: not loop.is_running)


def test_what_fails_is_raised_and_the_next_one_is_done(loop):
    def fail() -> None:
        raise StoreError("no luck")

    for tended in (False, True):
        if tended:
            loop.run_in_background(lambda: None)
        with pytest.raises(StoreError, match="no luck"):
            ask(loop, fail)
        assert ask(loop, lambda: 1) == 1


def test_work_may_ask_for_more(loop):
    assert ask(loop, lambda: ask(loop, lambda: 7)) == 7


def test_what_is_short_comes_before_what_takes_long_and_between_its_slices(loop):
    order: list[str] = []
    started, go_on = threading.Event(), threading.Event()

    def take_long() -> None:
        started.set()
        assert go_on.wait(DEADLINE_S)
        for number in range(3):
            order.append(f"slice {number}")
            loop.serve()

    loop.run_in_background(lambda: None)
    first = loop.ask_soon(take_long, urgency=Urgency.LONG, key="long")
    assert started.wait(DEADLINE_S)
    asked = loop.ask_soon(lambda: order.append("asked"), urgency=Urgency.LONG, key="asked")
    short = loop.ask_soon(lambda: order.append("short"), urgency=Urgency.SHORT, key="short")
    go_on.set()
    for future in (first, asked, short):
        future.result(DEADLINE_S)
    assert order == ["slice 0", "short", "slice 1", "slice 2", "asked"]


def test_who_waits_behind_something_else_hears_how_far_that_is(loop):
    heard, go_on = threading.Event(), threading.Event()
    told: list[tuple[str, int, int]] = []

    class Waiting(Silent):
        def progress(self, stage: str, done: int, total: int) -> None:
            told.append((stage, done, total))
            heard.set()

    def take_long() -> None:
        loop.share_progress("files", 3, 7)
        assert go_on.wait(DEADLINE_S)

    loop.run_in_background(lambda: None)
    first = loop.ask_soon(take_long, urgency=Urgency.LONG, key="long")
    asking = threading.Thread(target=ask, args=(loop, lambda: None), kwargs={"reporter": Waiting()})
    asking.start()
    assert heard.wait(DEADLINE_S)
    go_on.set()
    first.result(DEADLINE_S)
    asking.join(DEADLINE_S)
    assert set(told) == {("files", 3, 7)}


def test_only_what_is_more_urgent_comes_between_the_slices_of_what_came_between(loop, due):
    order: list[str] = []

    def barrier() -> None:
        loop.ask_soon(lambda: order.append("asked"), urgency=Urgency.LONG, key="asked")
        loop.ask_soon(lambda: order.append("short"), urgency=Urgency.SHORT, key="short")
        loop.serve()
        order.append("barrier")

    def by_itself() -> None:
        loop.ask_soon(barrier, urgency=Urgency.BARRIER, key="barrier")
        loop.serve()
        order.append("by itself")

    due.at_s, due.does = 0.0, by_itself
    loop.run_in_background(lambda: None)
    loop.begin()
    eventually(lambda: not loop.is_running)
    assert order == ["short", "barrier", "asked", "by itself"]


def test_what_takes_long_waits_for_no_barrier_whose_caller_has_given_up(loop, clock):
    order: list[str] = []

    def queue(name: str, urgency: Urgency) -> None:
        loop.ask_soon(lambda: order.append(name), urgency=urgency, key=name)

    def barrier() -> None:
        queue("asked", Urgency.LONG)
        queue("another barrier", Urgency.BARRIER)
        clock.now_s += 0.9
        loop.serve()
        order.append("too late")
        clock.now_s += 0.2
        loop.serve()
        order.append("barrier")

    loop.run_in_background(lambda: None)
    loop.ask_soon(barrier, urgency=Urgency.BARRIER, key="barrier", wait_s=1.0).result(DEADLINE_S)
    eventually(lambda: not loop.is_running)
    assert order == ["too late", "asked", "barrier", "another barrier"]


def test_what_no_caller_waits_for_is_done_when_nothing_else_is(loop, due):
    order: list[str] = []

    def by_itself() -> None:
        loop.ask_soon(lambda: order.append("no hurry"), urgency=Urgency.BACKGROUND, key="no hurry")
        loop.ask_soon(lambda: order.append("asked"), urgency=Urgency.LONG, key="asked")
        loop.serve()
        order.append("by itself")

    due.at_s, due.does = 0.0, by_itself
    loop.run_in_background(lambda: None)
    loop.begin()
    eventually(lambda: len(order) == 3)
    eventually(lambda: not loop.is_running)
    assert order == ["asked", "by itself", "no hurry"]


def test_many_callers_of_one_key_are_answered_by_one(loop):
    done: list[int] = []
    release = threading.Event()
    loop.run_in_background(lambda: None)
    loop.ask_soon(release.wait, urgency=Urgency.LONG, key="")
    eventually(lambda: not loop._queue)
    futures = {
        id(loop.ask_soon(lambda: done.append(1), urgency=Urgency.SHORT, key="count"))
        for _ in range(6)
    }
    release.set()
    eventually(lambda: not loop.is_running)
    assert (len(futures), done) == (1, [1])


def test_who_waits_on_loses_no_place_to_one_of_the_same_key(clock):
    requests = Requests()

    def second_comes() -> bool:
        requests.put(Request(lambda: None, Urgency.SHORT, math.inf, key="count"))
        return False

    first = requests.put(
        Request(lambda: None, Urgency.SHORT, math.inf, is_redundant=second_comes, key="count")
    )
    requests.fail_impatient(clock.now_s, StoreBusy("another process writes"))
    assert requests.take([*Urgency]) is first


def test_in_other_hands_patience_ends_with_the_name_of_the_holder(make_loop, tmp_path, clock):
    holder = WriterLock(tmp_path / "writer.lock", data_dir=Path("/theirs"))
    assert holder.acquire()
    for is_tended in (False, True):
        loop = make_loop()
        if is_tended:
            loop.run_in_background(lambda: None)
        with pytest.raises(StoreBusy, match="data directory /theirs"):
            ask(loop, lambda: 1)
        eventually(lambda: not loop.is_running)  # noqa: B023  called at once
    holder.release()


@pytest.mark.parametrize("is_tended", [True, False])
def test_who_waits_is_told_for_whom_and_gets_its_turn(loop, tmp_path, is_tended):
    holder = WriterLock(tmp_path / "writer.lock", data_dir=Path("/theirs"))
    assert holder.acquire()
    notices = Notices()
    if is_tended:
        loop.run_in_background(lambda: None)
    answers: list[int | None] = []
    caller = threading.Thread(
        target=lambda: answers.append(ask(loop, lambda: 1, patience_s=60.0, reporter=notices))
    )
    caller.start()
    eventually(lambda: notices.has("/theirs"))
    holder.release()
    caller.join(DEADLINE_S)
    assert answers == [1]


def test_what_another_process_has_done_is_not_waited_for(loop, tmp_path):
    holder = WriterLock(tmp_path / "writer.lock", data_dir=tmp_path)
    assert holder.acquire()
    assert ask(loop, pytest.fail, patience_s=60.0, is_redundant=lambda: True) is None
    holder.release()


def test_what_is_due_is_done_and_a_failure_is_tried_again_after_a_pause(loop, clock, due, failures):
    def fail() -> None:
        due.at_s = clock.now_s  # it is due all the time
        raise StoreError("the disk is full")

    woken = threading.Semaphore(0)
    loop.run_in_background(woken.release)
    due.does = fail
    due.at_s = clock.now_s
    pauses = []
    for _ in range(8):
        loop.begin()
        assert woken.acquire(timeout=DEADLINE_S)
        pauses.append(loop.due_s - clock.now_s)
        clock.now_s = loop.due_s
    assert pauses == [RETRY_FIRST_S * factor for factor in (1, 2, 4, 8, 16, 32, 60, 60)]
    assert [str(failure) for failure in failures] == ["the disk is full"] * 8
    due.does = lambda: None
    loop.begin()
    assert woken.acquire(timeout=DEADLINE_S)
    assert (due.done, loop.due_s) == (9, math.inf)


def test_a_caller_need_not_wait_for_the_pause(loop, clock, due):
    loop.run_in_background(lambda: None)
    due.at_s, due.does = clock.now_s, lambda: (_ for _ in ()).throw(StoreError("no"))
    loop.begin()
    eventually(lambda: not loop.is_running)
    assert ask(loop, lambda: 1) == 1


def test_what_is_asked_while_an_interrupt_ends_the_loop_is_answered(loop, tmp_path):
    asked: list[Future[object]] = []

    def ask_too() -> None:
        asked.append(loop.ask_soon(lambda: "done", urgency=Urgency.SHORT, key="later"))

    def ask_in_another_thread(_failed: Future[object]) -> None:
        other.start()
        other.join(0.1)

    class Interrupting(Silent):
        def notice(self, text: str) -> None:
            del text
            failing = loop.ask_soon(int, urgency=Urgency.LONG, key="first")
            failing.add_done_callback(ask_in_another_thread)
            raise KeyboardInterrupt

    other = threading.Thread(target=ask_too)
    holder = WriterLock(tmp_path / "writer.lock", data_dir=tmp_path)
    assert holder.acquire()
    with pytest.raises(KeyboardInterrupt):
        loop.ask(lambda _: None, Interrupting(), urgency=Urgency.LONG, patience_s=60.0)
    holder.release()
    other.join(DEADLINE_S)
    assert wait(asked, DEADLINE_S).done


def test_closing_ends_every_wait(loop, tmp_path):
    holder = WriterLock(tmp_path / "writer.lock", data_dir=tmp_path)
    assert holder.acquire()
    loop.run_in_background(lambda: None)
    errors: list[Exception] = []

    def call() -> None:
        try:
            ask(loop, pytest.fail, patience_s=math.inf)
        except Stopped as error:
            errors.append(error)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    eventually(lambda: len(loop._queue._waiting) == 3)
    assert loop.close(until_s=math.inf)
    for caller in callers:
        caller.join(DEADLINE_S)
    assert len(errors) == 3
    holder.release()


def test_closing_waits_for_what_hangs_no_longer_than_it_may(loop, clock):
    release = threading.Event()
    loop.run_in_background(lambda: None)
    hanging = loop.ask_soon(release.wait, urgency=Urgency.SHORT, key="")
    eventually(hanging.running)
    assert not loop.close(until_s=clock.now_s)
    release.set()
    assert loop.close(until_s=math.inf)


def test_closing_waits_for_what_a_caller_does_and_not_for_the_caller(loop, clock):
    began, goes_on, is_over = threading.Event(), threading.Event(), threading.Event()

    def work(_) -> None:
        began.set()
        assert goes_on.wait(DEADLINE_S)

    def caller() -> None:
        loop.ask(work, Silent(), urgency=Urgency.LONG, patience_s=1)
        assert is_over.wait(DEADLINE_S)

    thread = threading.Thread(target=caller)
    thread.start()
    assert began.wait(DEADLINE_S)
    assert not loop.close(until_s=clock.now_s)
    goes_on.set()
    assert loop.close(until_s=clock.now_s + DEADLINE_S)
    assert thread.is_alive()
    is_over.set()
    thread.join()


def test_closing_waits_for_a_thread_that_is_just_beginning(loop, clock, monkeypatch):
    is_beginning, may_begin = threading.Event(), threading.Event()
    start, ended = threading.Thread.start, []

    def slow_start(thread: threading.Thread) -> None:
        is_beginning.set()
        assert may_begin.wait(DEADLINE_S)
        start(thread)

    loop.run_in_background(lambda: None)
    beginning = threading.Thread(target=loop.begin)
    closing = threading.Thread(target=lambda: ended.append(loop.close(until_s=clock.now_s + 60)))
    monkeypatch.setattr(threading.Thread, "start", slow_start)
    start(beginning)
    assert is_beginning.wait(DEADLINE_S)
    start(closing)
    closing.join(0.1)
    may_begin.set()
    beginning.join(DEADLINE_S)
    closing.join(DEADLINE_S)
    assert ended == [True]


def test_it_goes_on_after_the_system_had_no_thread_for_it(loop, due, clock, monkeypatch):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    loop.run_in_background(lambda: None)
    due.at_s = clock.now_s
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            loop.begin()
    assert not loop.is_running
    loop.begin()
    eventually(lambda: due.done == 1)
