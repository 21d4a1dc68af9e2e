"""demo.backend_core through its HTTP door: who may do what, and what errors look like."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from middle_core.backend.contract.models import Problem, SourceKind
from middle_core.demo.backend_core import MAX_BODY_BYTES, REMEMBERED_HEADERS, BackendCore, create_app
from middle_core.demo.issuer import AUDIENCE, ISSUER, DevIssuer
from middle_core.demo.library import Document
from middle_core.errors import BackendUnavailable
from tests.fakes.http_server import serving
from tests.fakes.tokens import claims, ed_key, mint

SEED = Document("stop", "Stop", SourceKind.document, "guide/stop.md", "# Stop\n\nThe stop button ends the work, not only the display.")


class Service:
    """The app, running in this process, and the person who calls it."""

    def __init__(self, app: BackendCore, issuer: DevIssuer, http: httpx.AsyncClient) -> None:
        self.app, self.issuer, self.http = app, issuer, http

    async def ask(
        self, method: str, path: str, *, roles: list[str] | None = None, token: str = "", sub: str = "someone", **more: object
    ) -> httpx.Response:
        token = token or self.issuer.token(sub, ["admin"] if roles is None else roles, 60)
        headers = {"Authorization": f"Bearer {token}", **(more.pop("headers", None) or {})}  # type: ignore[dict-item]  # tests pass dicts
        return await self.http.request(method, f"/api/v1/{path}", headers=headers, **more)  # type: ignore[arg-type]  # httpx's own options


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[Service]:
    issuer = DevIssuer.open(folder)
    app = create_app(database=folder / "b.db", verify=issuer.verifier(), seeds=[SEED], pace_s=0)
    assert isinstance(app, BackendCore)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://backend") as http:
        yield Service(app, issuer, http)


def assert_problem(response: httpx.Response, status: int, code: str) -> Problem:
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem = Problem.model_validate_json(response.content)
    assert (problem.status, problem.code) == (status, code)
    return problem


ROUTES = [
    ("GET", "search?q=stop", "reader", 200),
    ("GET", "sources", "reader", 200),
    ("GET", "sources/stop", "reader", 200),
    ("GET", "stats", "reader", 200),
    ("GET", "jobs/none", "contributor", 404),
    ("POST", "ingest", "contributor", 202),
    ("DELETE", "sources/none", "admin", 404),
]


@pytest.mark.parametrize(("method", "path", "role", "status"), ROUTES)
async def test_a_role_includes_those_below_it(tmp_path: Path, method: str, path: str, role: str, status: int) -> None:
    ranks = ["nobody", "reader", "contributor", "admin"]
    async with service(tmp_path) as backend:
        for held in ranks:
            response = await backend.ask(method, path, roles=[held], json={"text": "words"} if method == "POST" else None)
            if ranks.index(held) >= ranks.index(role):
                assert response.status_code == status, held
            else:
                problem = assert_problem(response, 403, "forbidden")
                assert role in problem.detail


@pytest.mark.parametrize(("method", "path", "role", "status"), ROUTES)
async def test_without_a_valid_token_it_is_401_with_a_challenge(tmp_path: Path, method: str, path: str, role: str, status: int) -> None:
    async with service(tmp_path) as backend:
        good = backend.issuer.token("alice", ["admin"], 60)
        answers = [
            await backend.http.request(method, f"/api/v1/{path}"),
            *[
                await backend.http.request(method, f"/api/v1/{path}", headers={"Authorization": value})
                for value in (
                    "",
                    "Bearer",
                    "Bearer x",
                    "Basic YTpi",
                    good,
                    f"Bearer {mint(ed_key(), iss=ISSUER, aud=AUDIENCE)}",
                    f"Bearer {good[:-6]}AAAAAA",
                )
            ],
        ]
        for response in answers:
            assert_problem(response, 401, "unauthorized")
            assert response.headers["www-authenticate"].startswith("Bearer ")
            assert good not in response.text


@pytest.mark.parametrize(
    ("said", "status"),
    [({"roles": "reader, admin"}, 200), ({"roles": None, "scope": "openid reader"}, 200), ({"roles": None}, 403), ({"roles": []}, 403)],
)
async def test_roles_come_from_the_claims_and_no_claim_is_no_role(tmp_path: Path, said: dict[str, object], status: int) -> None:
    async with service(tmp_path) as backend:
        token = mint(backend.issuer._key, **claims(iss=ISSUER, aud=AUDIENCE) | said)
        assert (await backend.ask("GET", "sources", token=token)).status_code == status


async def test_a_failing_verifier_is_a_503_not_a_401(tmp_path: Path) -> None:
    async def unable(_: str) -> None:
        raise BackendUnavailable("Your sign-in cannot be checked right now. Try again in a moment.", retry_after=7.4)

    async with service(tmp_path) as backend:
        backend.app.state.verify = unable
        response = await backend.ask("GET", "sources")
        assert_problem(response, 503, "backend_unavailable")
        assert response.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("method", "path", "body", "names"),
    [
        ("GET", "search", None, "q"),
        ("GET", "search?q=a&k=0", None, "k"),
        ("GET", "search?q=a&k=51", None, "k"),
        ("GET", "search?q=a&k=many", None, "k"),
        ("GET", "search?q=" + "a" * 1001, None, "q"),
        ("GET", "sources/" + "a" * 201, None, "source_id"),
        ("POST", "ingest", b"{", "body"),
        ("POST", "ingest", b"[]", "body"),
        ("POST", "ingest", b"{}", "text"),
        ("POST", "ingest", b'{"text": "a", "url": "b"}', "text"),
        ("POST", "ingest", b'{"text": ""}', "text"),
        ("POST", "ingest", b'{"text": 5}', "text"),
        ("POST", "ingest", b'{"title": "' + b"t" * 201 + b'", "text": "a"}', "title"),
    ],
)
async def test_bad_input_is_a_422_that_names_the_field(tmp_path: Path, method: str, path: str, body: bytes | None, names: str) -> None:
    async with service(tmp_path) as backend:
        response = await backend.ask(method, path, content=body, headers={"Content-Type": "application/json"})
        assert names in assert_problem(response, 422, "invalid_request").detail


async def test_a_delete_key_must_be_of_sane_length(tmp_path: Path) -> None:
    async with service(tmp_path) as backend:
        for key in ("", "k" * 201):
            response = await backend.ask("DELETE", "sources/stop", headers={"Idempotency-Key": key})
            assert_problem(response, 422, "invalid_request")
        assert (await backend.ask("GET", "sources/stop")).status_code == 200


async def test_the_same_key_deletes_once_and_answers_the_same_to_its_owner_only(tmp_path: Path) -> None:
    async with service(tmp_path) as backend:
        key = {"Idempotency-Key": "k"}
        answers = await asyncio.gather(*(backend.ask("DELETE", "sources/stop", sub="alice", headers=key) for _ in range(20)))
        assert {(response.status_code, response.text) for response in answers} == {(200, answers[0].text)}
        assert_problem(await backend.ask("DELETE", "sources/stop", sub="mallory", headers=key), 404, "not_found")
        assert_problem(await backend.ask("DELETE", "sources/other", sub="alice", headers=key), 422, "invalid_request")


async def test_unknown_paths_and_methods_are_problems_too(tmp_path: Path) -> None:
    async with service(tmp_path) as backend:
        assert_problem(await backend.ask("GET", "nothing"), 404, "not_found")
        assert_problem(await backend.ask("PUT", "sources"), 405, "invalid_request")
        assert_problem(await backend.ask("GET", "sources/a%2Fb"), 404, "not_found")
        assert_problem(await backend.ask("GET", "sources/..%2F..%2Fetc"), 404, "not_found")


async def test_a_body_is_bounded_with_or_without_its_length(tmp_path: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 1000 + 2):
            yield b"x" * 1000

    async with service(tmp_path) as backend:
        assert_problem(await backend.ask("POST", "ingest", content=b"x" * (MAX_BODY_BYTES + 1)), 413, "too_large")
        assert_problem(await backend.ask("POST", "ingest", content=endless()), 413, "too_large")


async def test_a_bug_is_a_500_without_its_text(tmp_path: Path) -> None:
    async with service(tmp_path) as backend:
        backend.app.state.library._db.execute("DROP TABLE sources")
        problem = assert_problem(await backend.ask("GET", "sources"), 500, "internal")
        assert "table" not in problem.detail


async def test_a_url_into_this_machine_is_refused_by_the_job(tmp_path: Path) -> None:
    async with service(tmp_path) as backend, serving(backend.app) as inside:
        job = (await backend.ask("POST", "ingest", json={"url": f"{inside}/healthz"})).json()
        async with asyncio.timeout(10):
            while job["status"] not in ("done", "failed"):
                job = (await backend.ask("GET", f"jobs/{job['id']}")).json()
        assert (job["status"], job["source_id"]) == ("failed", None)
        assert "cannot be fetched from" in job["error"]


async def test_a_job_is_seen_by_its_owner_only(tmp_path: Path) -> None:
    async with service(tmp_path) as backend:
        job = (await backend.ask("POST", "ingest", sub="alice", json={"text": "words"})).json()
        assert (await backend.ask("GET", f"jobs/{job['id']}", sub="alice")).status_code == 200
        foreign = await backend.ask("GET", f"jobs/{job['id']}", sub="bob")
        absent = await backend.ask("GET", "jobs/job-0", sub="bob")
        assert_problem(foreign, 404, "not_found")
        assert foreign.text == absent.text


async def test_the_headers_are_remembered_byte_for_byte_and_boundedly(tmp_path: Path) -> None:
    async with service(tmp_path) as backend:
        token = backend.issuer.token("alice", ["admin"], 60)
        await backend.ask("GET", "sources", token=token)
        assert list(backend.app.state.authorizations) == [b"Bearer " + token.encode()]
        for _ in range(REMEMBERED_HEADERS + 5):
            await backend.ask("GET", "nothing")
            await backend.ask("GET", "stats", token="x")
        assert len(backend.app.state.authorizations) == REMEMBERED_HEADERS
        stored = await asyncio.to_thread(lambda: [file.read_bytes() for file in tmp_path.iterdir()])
        assert len(stored) >= 2
        assert not any(token.encode() in content for content in stored)


async def test_alive_without_a_token_and_not_in_the_contract(tmp_path: Path) -> None:
    async with service(tmp_path) as backend:
        assert (await backend.http.get("/healthz")).json() == {"status": "ok"}
        assert "/healthz" not in json.dumps(backend.app.openapi())
