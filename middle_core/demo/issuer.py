"""Tokens for development: one random key per data folder, and three people to sign in as.

The key is made once, readable by its owner only, and put in place atomically, so that processes which start at the same time use the
same key. To verify, its public half is enough. Never for production: anyone who can read the data folder can sign in as anybody.
"""

from __future__ import annotations

import math
import os
import secrets
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat, load_pem_private_key

from middle_core.auth.verify import Verifier, public_key_verifier

ISSUER: Final = "urn:middle-core:dev"
AUDIENCE: Final = "middle-core"
KEY_FILE: Final = "dev-key.pem"


@dataclass(frozen=True, slots=True)
class Person:
    """A person to sign in as. backend-core knows which other roles the one role includes."""

    sub: str
    name: str
    role: str


PEOPLE: Final = (Person("alice", "Alice", "admin"), Person("carol", "Carol", "contributor"), Person("bob", "Bob", "reader"))


class DevIssuer:
    """Issues tokens signed with the data folder's development key (Ed25519)."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def open(cls, data_dir: Path) -> Self:
        """The issuer of this folder. The folder and the key are made if they do not exist.

        Raises:
            ValueError: the folder cannot be used, or the key file is damaged.
        """
        path = data_dir / KEY_FILE
        try:
            if not path.exists():
                data_dir.mkdir(parents=True, exist_ok=True)
                make_key(path)
            pem = path.read_bytes()
        except OSError as error:
            raise ValueError(
                f"MIDDLE_CORE_DATA_DIR: the folder {data_dir} cannot be used ({error.strerror}). Name one that can be written."
            ) from error
        try:
            key = load_pem_private_key(pem, password=None)
        except ValueError as error:
            raise ValueError(f"{KEY_FILE} in the data folder is damaged. Delete it; a new one is made at the next start.") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"{KEY_FILE} in the data folder is not an Ed25519 key. Delete it; a new one is made at the next start.")  # noqa: TRY004 - the file is wrong, not the caller
        return cls(key)

    def token(self, sub: str, roles: Iterable[str], ttl_s: float, name: str | None = None) -> str:
        """A compact JWT for this subject that lives for `ttl_s` seconds (rounded up to a whole second)."""
        now = time.time()
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": sub,
            "name": name or next((person.name for person in PEOPLE if person.sub == sub), sub),
            "roles": list(roles),
            "iat": int(now),
            "exp": math.ceil(now + ttl_s),
            "jti": secrets.token_urlsafe(12),
        }
        return jwt.encode(claims, self._key, algorithm="EdDSA")

    @property
    def public_key_pem(self) -> str:
        """The public half as PEM: `build_verifier(public_key=..., issuer=ISSUER, audience=AUDIENCE)` accepts the tokens."""
        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def verifier(self) -> Verifier:
        """A verifier of this issuer's tokens."""
        return public_key_verifier(self.public_key_pem, issuer=ISSUER, audience=AUDIENCE)


def make_key(path: Path) -> None:
    """Put a new key at `path`, unless another process does so first. A reader sees a whole key or none."""
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".dev-key-")  # made with mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # unlike a rename it fails where a key is already in place
        except FileExistsError:
            return
    finally:
        Path(draft).unlink()
