"""Makes tokens: valid ones of every key type, a table of forged ones, and a key-set server on loopback.

Keys are made once for each process, because RSA keys are slow to make.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Self

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.fakes.http_server import HttpServer, Request, answer

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey

ISSUER: Final = "https://issuer.example"
AUDIENCE: Final = "middle-core"
SECRET: Final = "a-shared-secret-of-more-than-32-bytes!"


@cache
def rsa_key(which: str = "first", bits: int = 2048) -> RSAPrivateKey:
    """The RSA key of that name."""
    return generate_rsa_key(65537, bits)


@cache
def ec_key(which: str = "first") -> EllipticCurvePrivateKey:
    """The P-256 key of that name."""
    return generate_private_key(SECP256R1())


@cache
def p384_key() -> EllipticCurvePrivateKey:
    return generate_private_key(SECP384R1())


@cache
def ed_key(which: str = "first") -> Ed25519PrivateKey:
    """The Ed25519 key of that name."""
    return Ed25519PrivateKey.generate()


def algorithm_of(key: PrivateKey) -> str:
    if isinstance(key, RSAPrivateKey):
        return "RS256"
    if isinstance(key, Ed25519PrivateKey):
        return "EdDSA"
    return {"secp256r1": "ES256", "secp384r1": "ES384"}[key.curve.name]


def pem_of(key: PrivateKey) -> str:
    """The public half, as a service would be configured with it."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def jwk_of(key: PrivateKey, kid: str | None = None, **more: Any) -> dict[str, Any]:
    """The public half as a JWK."""
    if isinstance(key, RSAPrivateKey):
        jwk = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, Ed25519PrivateKey):
        jwk = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        jwk = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**{name: value for name, value in jwk.items() if name != "key_ops"}, **({"kid": kid} if kid else {}), **more}


def claims(**changes: Any) -> dict[str, Any]:
    """The claims of a valid token. A change to None removes the claim."""
    now = int(time.time())
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "name": "Alice", "roles": ["admin"], "iat": now, "exp": now + 3600, **changes}
    return {name: value for name, value in said.items() if value is not None}


def mint(
    key: PrivateKey | str = SECRET, *, kid: str | None = None, headers: Mapping[str, Any] | None = None, alg: str = "", **changes: Any
) -> str:
    """A token signed with the key: valid, or with changed claims or headers."""
    head = {**({"kid": kid} if kid else {}), **(headers or {})}
    return jwt.encode(claims(**changes), key, algorithm=alg or ("HS256" if isinstance(key, str) else algorithm_of(key)), headers=head)


A_DAY: Final = 86_400
"""Seconds. The table of forgeries is made when tests are collected, and its future times must still be in the future for the last test."""


# forgery ------------------------------------------------------------------------------------------
def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def assemble(header: Mapping[str, Any], payload: bytes, sign: Callable[[bytes], bytes] = lambda _: b"") -> str:
    """A compact JWS by hand, because a library refuses to make it."""
    signing = f"{b64(json.dumps(header).encode())}.{b64(payload)}"
    return f"{signing}.{b64(sign(signing.encode()))}"


def honest_payload(**changes: Any) -> bytes:
    return json.dumps(claims(**changes)).encode()


def hs256(secret: bytes) -> Callable[[bytes], bytes]:
    return lambda data: hmac.new(secret, data, hashlib.sha256).digest()


def tampered(token: str) -> str:
    """The same signature over another subject."""
    head, _, signature = token.split(".")
    return f"{head}.{b64(honest_payload(sub='mallory'))}.{signature}"


def same_kind(key: PrivateKey, which: str) -> PrivateKey:
    """Another key of the same type."""
    if isinstance(key, RSAPrivateKey):
        return rsa_key(which)
    return ed_key(which) if isinstance(key, Ed25519PrivateKey) else ec_key(which)


def forgeries(key: PrivateKey, kid: str | None = None, attacker_url: str = "https://attacker.example/jwks.json") -> dict[str, str]:
    """Tokens that a service which trusts `key` must refuse, by what is wrong with them."""
    now = int(time.time())
    head = {"typ": "JWT", **({"kid": kid} if kid else {})}
    other = same_kind(key, "attacker")
    attacker = jwk_of(other, kid)
    pem = pem_of(key).encode()
    honest = mint(key, kid=kid)
    return {
        "empty": "",
        "not a token": "hello",
        "two parts": "a.b",
        "spaces": honest + " ",
        "newline": honest + "\n",
        "with scheme": f"Bearer {honest}",
        "too long": honest + "A" * 20_000,
        "alg none": assemble({**head, "alg": "none"}, honest_payload()),
        "alg none with a signature": assemble({**head, "alg": "none"}, honest_payload(), hs256(b"x")),
        "alg None in capitals": assemble({**head, "alg": "NONE"}, honest_payload(), hs256(b"x")),
        "alg missing": assemble(head, honest_payload(), hs256(b"x")),
        "alg a number": assemble({**head, "alg": 256}, honest_payload(), hs256(b"x")),
        "HS256 with the public key as secret": assemble({**head, "alg": "HS256"}, honest_payload(), hs256(pem)),
        "HS256 with the public key without its last newline": assemble({**head, "alg": "HS256"}, honest_payload(), hs256(pem.strip())),
        "HS256 with an empty secret": assemble({**head, "alg": "HS256"}, honest_payload(), hs256(b"")),
        "another algorithm family": mint(ec_key("attacker") if isinstance(key, RSAPrivateKey) else rsa_key("attacker"), kid=kid),
        "another key of the same type": mint(other, kid=kid),
        "signature cut": honest.rpartition(".")[0] + ".",
        "signature of another payload": tampered(honest),
        "expired": mint(key, kid=kid, exp=now - 1),
        "exp long ago": mint(key, kid=kid, exp=1),
        "exp text": assemble_signed(key, kid, honest_payload(exp="tomorrow")),
        "exp infinite": assemble_signed(key, kid, honest_payload(exp=float("inf"))),
        "exp not a number": assemble_signed(key, kid, honest_payload(exp=float("nan"))),
        "exp beyond a float": assemble_signed(key, kid, honest_payload(exp=10**400)),
        "nbf in the future": mint(key, kid=kid, nbf=now + A_DAY),
        "iat in the future": mint(key, kid=kid, iat=now + A_DAY),
        "wrong iss": mint(key, kid=kid, iss="https://issuer.example.evil"),
        "iss with a slash more": mint(key, kid=kid, iss=ISSUER + "/"),
        "iss a list": assemble_signed(key, kid, honest_payload(iss=[ISSUER])),
        "wrong aud": mint(key, kid=kid, aud="another-service"),
        "aud empty list": mint(key, kid=kid, aud=[]),
        "no exp": mint(key, kid=kid, exp=None),
        "no iss": mint(key, kid=kid, iss=None),
        "no aud": mint(key, kid=kid, aud=None),
        "no sub": mint(key, kid=kid, sub=None),
        "sub empty": mint(key, kid=kid, sub=""),
        "sub a number": assemble_signed(key, kid, honest_payload(sub=7)),
        "sub too long": mint(key, kid=kid, sub="s" * 300),
        "sub with NUL": mint(key, kid=kid, sub="alice\0"),
        "sub with a lone surrogate": assemble_signed(key, kid, honest_payload(sub="\ud800")),
        "payload no object": assemble_signed(key, kid, b'["alice"]'),
        "payload no JSON": assemble_signed(key, kid, b"{"),
        "payload nested deeply": assemble_signed(key, kid, b"[" * 9_000),
        "header nested deeply": b64(b"[" * 9_000) + ".e30.AAAA",
        "header no object": b64(b"[]") + ".e30.AAAA",
        "unknown crit": mint(key, kid=kid, headers={"crit": ["exp-policy"], "exp-policy": 1}),
        "kid a number": assemble({**head, "alg": algorithm_of(key), "kid": 7}, honest_payload(), hs256(b"x")),
        "jku to the attacker": mint(other, kid=kid, headers={"jku": attacker_url}),
        "x5u to the attacker": mint(other, kid=kid, headers={"x5u": attacker_url}),
        "jwk of the attacker": mint(other, kid=kid, headers={"jwk": attacker}),
    }


def assemble_signed(key: PrivateKey, kid: str | None, payload: bytes) -> str:
    """Any bytes as a payload, with a correct signature."""
    return jwt.api_jws.encode(payload, key, algorithm=algorithm_of(key), headers={"typ": "JWT", **({"kid": kid} if kid else {})})


# the issuer's key set -----------------------------------------------------------------------------
@dataclass
class JwksServer:
    """Serves `keys` as a JWK set on loopback. `mode` makes it fail. `fetches` counts the requests."""

    keys: list[dict[str, Any]] = field(default_factory=list)
    mode: str = "ok"
    """ok | status | redirect | huge | gzip | garbage | nested | empty | hang_up | silent | gate"""
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        self.http = await HttpServer(self._handle).__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.__aexit__()

    @property
    def url(self) -> str:
        return f"{self.http.url}/jwks.json"

    @property
    def fetches(self) -> int:
        return len(self.http.requests)

    async def _handle(self, request: Request) -> bytes | None:
        body = json.dumps({"keys": self.keys}).encode()
        kind = {"Content-Type": "application/json"}
        match self.mode:
            case "hang_up":
                return None
            case "silent":
                await asyncio.Event().wait()
            case "gate":
                await self.gate.wait()
        if request.target == "/elsewhere":
            return answer(200, body, kind)
        return {
            "status": answer(500, body, kind),
            "redirect": answer(302, b"", {"Location": "/elsewhere"}),
            "huge": answer(200, body + b" " * 1_000_000, kind),
            "gzip": answer(200, body, {**kind, "Content-Encoding": "gzip"}),
            "garbage": answer(200, b"<html>sign in</html>"),
            "nested": answer(200, b"[" * 200_000),
            "empty": answer(200, b'{"keys": []}', kind),
        }.get(self.mode, answer(200, body, kind))
