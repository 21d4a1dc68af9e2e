"""A compact JWT becomes a `Principal` or is refused with `Unauthorized`. A verifier is a function, not a class.

The configured key decides which algorithms may have signed a token; the token's own header can only narrow that. So `none`, HMAC
with a public key as its secret, and keys that the token brings or points to (`jwk`, `jku`, `x5u`, `x5c`) are never accepted.
`exp`, `iss`, `aud` and `sub` are required. `nbf` and `iat` may lie `LEEWAY_S` in the future, `exp` may not lie in the past at all.
See RFC 7519 and RFC 8725.

`auth.jwks` fetches key sets, `auth.keys` knows key types, and `auth.access` decides what a caller may see. Error texts contain
nothing of the token and nothing of the library's own texts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import httpx
import jwt

from middle_core.auth.jwks import JwksCache
from middle_core.auth.keys import PublicKey, algorithms_of, load_public_key
from middle_core.auth.principal import Credential, Principal
from middle_core.errors import Unauthorized

Verifier: TypeAlias = Callable[[str], Awaitable[Principal]]

MAX_TOKEN_CHARS: Final = 16 * 1024
MAX_SUBJECT_CHARS: Final = 255
"""OpenID Connect Core, section 2."""
MAX_NAME_CHARS: Final = 100
MIN_SECRET_BYTES: Final = 32
"""RFC 7518, section 3.2: the key must be at least as long as the hash."""
LEEWAY_S: Final = 60.0
"""How far the issuer's clock may be ahead of ours. The leeway does not prolong a token: `exp` is exact, because streams close at it."""

COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
OIDC_SCOPES: Final = frozenset({"openid", "profile", "email", "address", "phone", "offline_access"})

EXPIRED = "Your sign-in has expired. Sign in again."
INVALID = "Your sign-in is not valid here. Sign in again."
NOT_YET = "Your sign-in is not valid yet. Check the clock of the machine that issued it, then sign in again."


def build_verifier(
    *, issuer: str, audience: str, public_key: str = "", secret: str = "", jwks_url: str = "", http: httpx.AsyncClient | None = None
) -> Verifier:
    """The verifier for the one key source that is given.

    Args:
        issuer: what a token's `iss` must be.
        audience: what a token's `aud` must contain.
        public_key: PEM text.
        secret: a shared secret for HS256.
        jwks_url: the address of the issuer's key set.
        http: the client that fetches the key set; needed with `jwks_url` only.

    Raises:
        ValueError: the text says what to set.
    """
    if sum(map(bool, (public_key, secret, jwks_url))) != 1:
        raise ValueError("Give exactly one of a JWKS address, a public key and a shared secret: the key type fixes the algorithm.")
    if not issuer or not audience:
        raise ValueError("Give the issuer and the audience that a token must name.")
    if public_key:
        return public_key_verifier(public_key, issuer=issuer, audience=audience)
    if secret:
        return secret_verifier(secret, issuer=issuer, audience=audience)
    if http is None:
        raise ValueError("A JWKS address needs an HTTP client to fetch it.")
    return jwks_verifier(JwksCache(jwks_url, http), issuer=issuer, audience=audience)


def public_key_verifier(pem: str, *, issuer: str, audience: str) -> Verifier:
    """Verify with one public key in PEM text: RSA of 2048 bits or more, EC on a NIST curve, or Ed25519."""
    key = load_public_key(pem)
    algorithms = algorithms_of(key)

    async def verify(token: str) -> Principal:
        return principal_of(token, key, algorithms, issuer=issuer, audience=audience)

    return verify


def secret_verifier(secret: str, *, issuer: str, audience: str) -> Verifier:
    """Verify HS256 with a shared secret of at least 32 bytes."""
    if len(secret.encode()) < MIN_SECRET_BYTES:
        raise ValueError(
            f"The shared secret for tokens must be at least {MIN_SECRET_BYTES} bytes long. Make one with: openssl rand -base64 48"
        )
    if "-----BEGIN" in secret:
        raise ValueError("The shared secret for tokens is a PEM key. Set it as the public key instead.")

    async def verify(token: str) -> Principal:
        return principal_of(token, secret, ("HS256",), issuer=issuer, audience=audience)

    return verify


def jwks_verifier(keys: JwksCache, *, issuer: str, audience: str) -> Verifier:
    """Verify with the issuer's published key set. The verifier raises `BackendUnavailable` while nobody can tell whether the key exists."""

    async def verify(token: str) -> Principal:
        key = await keys.key(kid_of(token))
        if key is None:
            raise Unauthorized(INVALID)
        return principal_of(token, key.key, key.algorithms, issuer=issuer, audience=audience)

    return verify


def principal_of(token: str, key: PublicKey | str, algorithms: Iterable[str], *, issuer: str, audience: str) -> Principal:
    """The principal of a token that this key signed.

    Args:
        token: a compact JWT.
        key: the public key or the shared secret.
        algorithms: the algorithms that may have signed it.
        issuer: what `iss` must be.
        audience: what `aud` must contain.

    Raises:
        Unauthorized: the token is not valid here, has ended, or is not valid yet.
    """
    check_form(token)
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=list(algorithms),
            issuer=issuer,
            audience=audience,
            leeway=LEEWAY_S,
            options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
        )
        expires_at = float(claims["exp"])
    except jwt.ExpiredSignatureError as error:
        raise Unauthorized(EXPIRED) from error
    except jwt.ImmatureSignatureError as error:
        raise Unauthorized(NOT_YET) from error
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
        raise Unauthorized(INVALID) from error
    if not expires_at > time.time():
        raise Unauthorized(EXPIRED)
    subject = claims["sub"]
    if not subject or len(subject) > MAX_SUBJECT_CHARS or not subject.isprintable():
        raise Unauthorized(INVALID)
    return Principal(
        issuer=issuer,
        subject=subject,
        name=name_of(claims),
        roles=roles_of(claims),
        expires_at=expires_at,
        claims=MappingProxyType(claims),
        credential=Credential(token, expires_at),
    )


def check_form(token: str) -> None:
    """Raise `Unauthorized` for a token that is missing, too long or not a compact JWT, before anything parses it."""
    if not token:
        raise Unauthorized("You are not signed in. Sign in first.")
    if len(token) > MAX_TOKEN_CHARS or not COMPACT.fullmatch(token):
        raise Unauthorized(INVALID)


def kid_of(token: str) -> str | None:
    """The key id in the token's header. Nothing else of the header is read."""
    check_form(token)
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except jwt.PyJWTError as error:
        raise Unauthorized(INVALID) from error
    return kid if isinstance(kid, str) else None


def roles_of(claims: Mapping[str, Any]) -> frozenset[str] | None:
    """The roles that the token names, or None if no claim names any.

    The first of these claims counts: `roles`, `role`, Keycloak's `realm_access.roles`, `scp`, `scope`. A claim is a list of texts, or
    one text with spaces or commas. The scopes that OpenID Connect defines are not roles.
    """
    realm = claims.get("realm_access")
    nested = realm.get("roles") if isinstance(realm, Mapping) else None
    for value in (claims.get("roles"), claims.get("role"), nested):
        if (roles := words(value)) is not None:
            return roles
    for value in (claims.get("scp"), claims.get("scope")):
        if roles := (words(value) or frozenset()) - OIDC_SCOPES:
            return roles
    return None


def words(value: object) -> frozenset[str] | None:
    """The words of a list, or of a text with spaces or commas; None for any other type."""
    if isinstance(value, str):
        return frozenset(re.split(r"[\s,]+", value)) - {""}
    if isinstance(value, list):
        return frozenset(item.strip() for item in value if isinstance(item, str)) - {""}
    return None


def name_of(claims: Mapping[str, Any]) -> str:
    """A printable, short name for people: `name`, `preferred_username`, `email` or the subject."""
    for claim in ("name", "preferred_username", "email", "sub"):
        value = claims.get(claim)
        if isinstance(value, str) and (name := "".join(c for c in value if c.isprintable()).strip()):
            return name[:MAX_NAME_CHARS]
    return ""
