"""demo.library: search takes any text, deletions happen once, deleted seeds stay deleted, and the numbers are true."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from middle_core.backend.contract.models import JobStatus, SourceKind
from middle_core.demo.library import Document, Library, fts_query, new_source_id
from middle_core.demo.seeds import documents, source_id_of
from middle_core.errors import InvalidRequest, NotFound

STREAMS = "# Streams\n\nEach word becomes an event that the page draws at the next frame, one after the other."
STOP = "# Stop\n\nThe stop button closes the stream to the model within milliseconds and keeps the text so far."


def document(source_id: str, markdown: str = STREAMS) -> Document:
    return Document(source_id, source_id.title(), SourceKind.document, f"docs/{source_id}.md", markdown)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(tmp_path / "b.db") as opened:
        opened.seed([document("streams"), document("stop", STOP)])
        yield opened


def test_the_best_passage_comes_first_with_where_it_stands(library: Library) -> None:
    hits = library.search("What does the stop button do?", 5)
    assert hits[0].source_id == "stop"
    assert (hits[0].title, hits[0].location) == ("Stop", "docs/stop.md#stop")
    assert "stop button" in hits[0].text
    assert hits[0].snippet
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in hits)


def test_words_are_stemmed_and_accents_do_not_matter(library: Library) -> None:
    assert library.search("stopping BUTTONS", 1)[0].source_id == "stop"
    assert library.search("évènt", 1)[0].source_id == "streams"


def test_k_bounds_the_answer_and_no_word_finds_nothing(library: Library) -> None:
    assert len(library.search("stream page model", 1)) == 1
    assert library.search("", 5) == library.search("?!", 5) == library.search("otters", 5) == []


def test_a_search_can_be_limited_to_sources(library: Library) -> None:
    both = {hit.source_id for hit in library.search("stream stop", 5)}
    assert both == {"streams", "stop"}
    assert {hit.source_id for hit in library.search("stream stop", 5, ["stop"])} == {"stop"}
    assert {hit.source_id for hit in library.search("stream stop", 5, ["stop", "streams", "stop"])} == both
    assert library.search("stream stop", 5, ["no such source", "'); DROP TABLE sources; --"]) == []


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(['"', "'", "*", "(", ")", "NEAR", "AND", "OR", "NOT", "^", ":", "title:", "-", "+", "{", "}", "stop", ",", "\0"]),
        max_size=30,
    ).map(" ".join)
)
@example('"')
@example('stop" OR "x')
@example("title: NEAR(stop, 5) AND NOT {")
@example("_ __ ___")
@example("² ½ ① ᵃ")
@example("\0stop\0")
@example("\ud800 stop")
@example("'; DROP TABLE sources; --")
@example("x" * 5000)
def test_no_text_is_a_syntax_error(library: Library, text: str) -> None:
    for hit in library.search(text, 5):
        assert 0 <= hit.score <= 1


def test_operators_are_just_words() -> None:
    assert fts_query("stop AND near(run) NOT title:x*") == '"stop" OR "near" OR "run" OR "title" OR "x"'
    assert fts_query("what is the who") == '"what" OR "is" OR "the" OR "who"'
    assert fts_query("Stop stop STOP") == '"stop"'
    assert fts_query(" ".join(f"w{n}" for n in range(100))).count('"') == 64


def test_sources_are_listed_by_name_with_their_counts(library: Library) -> None:
    assert [(source.id, source.object_count) for source in library.list_sources()] == [("stop", 1), ("streams", 1)]
    assert library.get_source("stop").location == "docs/stop.md"
    with pytest.raises(NotFound):
        library.get_source("absent")


def test_a_delete_takes_the_passages_along(library: Library) -> None:
    deletion = library.delete_source("stop", owner="a", key=None)
    assert (deletion.source_id, deletion.name, deletion.deleted_objects) == ("stop", "Stop", 1)
    assert [hit.source_id for hit in library.search("stop button stream", 5)] == ["streams"]
    with pytest.raises(NotFound):
        library.delete_source("stop", owner="a", key=None)


def test_the_same_key_gets_the_first_answer_and_deletes_nothing_more(library: Library) -> None:
    first = library.delete_source("stop", owner="a", key="k")
    library.add(document("stop", STOP))
    assert library.delete_source("stop", owner="a", key="k") == first
    assert library.get_source("stop").object_count == 1
    with pytest.raises(InvalidRequest, match="another source"):
        library.delete_source("streams", owner="a", key="k")
    assert library.delete_source("streams", owner="b", key="k").source_id == "streams"


def test_a_key_of_a_failed_delete_is_free(library: Library) -> None:
    with pytest.raises(NotFound):
        library.delete_source("absent", owner="a", key="k")
    assert library.delete_source("stop", owner="a", key="k").source_id == "stop"


def test_many_deletes_at_once_with_one_key_delete_once(library: Library) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: library.delete_source("stop", owner="a", key="k"), range(40)))
    assert len({answer.model_dump_json() for answer in answers}) == 1


def test_a_failed_write_leaves_nothing_behind(library: Library) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        library.add(document("stop"))
    assert library.stats().per_day[-1].ingested == 0
    assert library.get_source("stop").object_count == 1


def test_seeds_are_brought_up_to_date_but_stay_deleted(tmp_path: Path) -> None:
    with Library(tmp_path / "b.db") as library:
        library.seed([document("a"), document("b")])
        library.delete_source("a", owner="o", key="k")
    with Library(tmp_path / "b.db") as library:
        library.seed([document("a", STOP), document("b", STOP)])
        assert [source.id for source in library.list_sources()] == ["b"]
        assert library.search("stop button", 1)[0].source_id == "b"
        assert library.delete_source("a", owner="o", key="k").source_id == "a"  # the key outlives a restart


def test_a_job_is_its_owners_alone_and_does_not_outlive_a_restart_as_running(tmp_path: Path) -> None:
    with Library(tmp_path / "b.db") as library:
        job = library.start_job("a")
        library.move_job(job.id, status="running", step="Indexing", progress=0.7)
        assert (library.get_job(job.id, "a").progress, library.stats().jobs_running) == (0.7, 1)
        with pytest.raises(NotFound):
            library.get_job(job.id, "b")
    with Library(tmp_path / "b.db") as library:
        job = library.get_job(job.id, "a")
        assert (job.status, job.error) == (JobStatus.failed, "The service was restarted.")
        assert library.stats().jobs_running == 0


def test_numbers_are_counted_not_made_up(library: Library) -> None:
    before = library.stats()
    assert (before.sources, before.objects, before.queries_served) == (2, 2, 0)
    library.search("stop", 1)
    library.search("?", 1)
    library.add(document("more"))
    after = library.stats()
    assert (after.sources, after.objects, after.queries_served) == (3, 3, 2)
    assert len(after.per_day) == 14
    assert [day.day for day in after.per_day] == sorted(day.day for day in after.per_day)
    assert (after.per_day[-1].queries, after.per_day[-1].ingested) == (2, 1)
    assert sum(day.queries + day.ingested for day in after.per_day[:-1]) == 0


def test_source_ids_can_be_recognised_and_do_not_collide() -> None:
    assert new_source_id("Ünser Handbuch: Teil 1!").startswith("nser-handbuch-teil-1-")
    assert new_source_id("日本").startswith("source-")
    assert new_source_id("a") != new_source_id("a")
    assert source_id_of("docs/Some_Page.md") == "docs-some-page"


def test_the_shipped_documents_answer_a_question(tmp_path: Path) -> None:
    with Library(tmp_path / "b.db") as library:
        library.seed(documents())
        assert len([source for source in library.list_sources() if source.location.startswith("guide/")]) >= 10
        assert any(hit.source_id == "guide-05-stop" for hit in library.search("What happens when I press stop?", 3))


def test_a_projects_own_pages_are_taken_and_unreadable_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ops.md").write_text("# Operations\n\n<!-- hidden -->Visible.")
    (tmp_path / "docs" / "broken.md").write_bytes(b"# Caf\xe9")
    (tmp_path / "docs" / "big.md").write_text("x" * 600_000)
    (tmp_path / "docs" / "image.png").write_bytes(b"\x89PNG")
    found = {item.source_id: item for item in documents(tmp_path) if not item.source_id.startswith("guide-")}
    assert set(found) == {"docs-ops", "docs-broken"}
    assert (found["docs-ops"].name, found["docs-ops"].location) == ("Operations", "docs/ops.md")
    assert "hidden" not in found["docs-ops"].markdown


def test_closing_waits_for_a_thread_that_is_inside(tmp_path: Path) -> None:
    """A cancelled task leaves its thread running, so the connection must stay open until the thread is done."""
    inside, leave = threading.Event(), threading.Event()
    library = Library(tmp_path / "b.db")

    def work() -> int:
        with library._transaction() as db:
            inside.set()
            assert leave.wait(5)
            return int(db.execute("SELECT 1").fetchone()[0])

    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(work)
        assert inside.wait(5)
        closing = pool.submit(library.__exit__)
        assert not closing.done()
        leave.set()
        assert working.result(5) == 1
        closing.result(5)
    with pytest.raises(sqlite3.ProgrammingError):
        library.stats()
