"""demo.issuer: one private key for each folder, the same for processes that start at once. Its tokens verify, others do not."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from middle_core.auth.verify import build_verifier
from middle_core.demo.issuer import AUDIENCE, ISSUER, KEY_FILE, PEOPLE, DevIssuer, make_key
from middle_core.errors import Unauthorized
from tests.fakes.tokens import ec_key, ed_key, mint


async def test_its_tokens_verify(tmp_path: Path) -> None:
    issuer = DevIssuer.open(tmp_path / "new" / "folder")
    before = time.time()
    principal = await issuer.verifier()(issuer.token("alice", ["admin"], 60))
    assert (principal.issuer, principal.subject, principal.name) == (ISSUER, "alice", "Alice")
    assert principal.roles == frozenset({"admin"})
    assert before + 60 <= principal.expires_at <= time.time() + 61
    other = build_verifier(issuer=ISSUER, audience=AUDIENCE, public_key=issuer.public_key_pem)
    assert (await other(issuer.token("x", [], 60, name="Ximena"))).name == "Ximena"
    assert (await other(issuer.token("x", [], 60))).name == "x"


async def test_tokens_end_and_no_two_are_the_same(tmp_path: Path) -> None:
    issuer = DevIssuer.open(tmp_path)
    with pytest.raises(Unauthorized, match="expired"):
        await issuer.verifier()(issuer.token("alice", [], -1))
    assert issuer.token("alice", [], 60) != issuer.token("alice", [], 60)


async def test_the_key_stays_and_another_folder_has_another(tmp_path: Path) -> None:
    token = DevIssuer.open(tmp_path / "a").token("alice", ["admin"], 60)
    assert (await DevIssuer.open(tmp_path / "a").verifier()(token)).subject == "alice"
    with pytest.raises(Unauthorized):
        await DevIssuer.open(tmp_path / "b").verifier()(token)
    with pytest.raises(Unauthorized):
        await DevIssuer.open(tmp_path / "a").verifier()(mint(ed_key(), iss=ISSUER, aud=AUDIENCE))


def test_the_key_file_is_its_owners_alone_and_no_draft_remains(tmp_path: Path) -> None:
    DevIssuer.open(tmp_path)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [KEY_FILE]


def test_a_key_in_place_is_never_replaced(tmp_path: Path) -> None:
    make_key(tmp_path / KEY_FILE)
    first = (tmp_path / KEY_FILE).read_bytes()
    make_key(tmp_path / KEY_FILE)
    assert (tmp_path / KEY_FILE).read_bytes() == first
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.slow
def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    script = "import pathlib, sys; from middle_core.demo.issuer import DevIssuer; print(DevIssuer.open(pathlib.Path(sys.argv[1])).public_key_pem)"
    root = Path(__file__).parents[3]
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "data")], cwd=root, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    keys = {process.communicate(timeout=50)[0] for process in started}
    assert [process.returncode for process in started] == [0] * 3
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "damaged"),
        (b"no key", "damaged"),
        (ec_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "not an Ed25519 key"),
    ],
)
def test_a_damaged_key_says_what_to_do(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / KEY_FILE).write_bytes(content)
    with pytest.raises(ValueError, match=f"{says}.*Delete it"):
        DevIssuer.open(tmp_path)


def test_the_three_people() -> None:
    assert [(person.sub, person.role) for person in PEOPLE] == [("alice", "admin"), ("carol", "contributor"), ("bob", "reader")]
