"""auth.verify: valid tokens are accepted with their claims, forged ones are refused, and no error text reveals anything."""

from __future__ import annotations

import time
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.auth.jwks import JwksCache
from middle_core.auth.verify import (
    EXPIRED,
    NOT_YET,
    Verifier,
    build_verifier,
    check_form,
    jwks_verifier,
    name_of,
    public_key_verifier,
    roles_of,
    secret_verifier,
    words,
)
from middle_core.errors import Unauthorized
from tests.fakes.http_server import http_client
from tests.fakes.tokens import (
    AUDIENCE,
    ISSUER,
    SECRET,
    JwksServer,
    PrivateKey,
    assemble,
    ec_key,
    ed_key,
    forgeries,
    honest_payload,
    hs256,
    jwk_of,
    mint,
    p384_key,
    pem_of,
    rsa_key,
)

KEYS: dict[str, PrivateKey] = {"rsa": rsa_key(), "ec": ec_key(), "ed25519": ed_key()}


@cache
def forged(kind: str) -> dict[str, str]:
    """The table of forged tokens, made once, because RSA signatures are slow."""
    return forgeries(KEYS[kind])


def by_key(key: PrivateKey) -> Verifier:
    return public_key_verifier(pem_of(key), issuer=ISSUER, audience=AUDIENCE)


def by_secret() -> Verifier:
    return secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE)


async def test_an_honest_token_becomes_a_principal() -> None:
    token = mint(rsa_key(), sub="u-1", name="Ada", roles=["reader", "admin"], exp=int(time.time()) + 60)
    principal = await by_key(rsa_key())(token)
    assert (principal.issuer, principal.subject, principal.name) == (ISSUER, "u-1", "Ada")
    assert principal.roles == frozenset({"reader", "admin"})
    assert principal.expires_at == principal.credential.expires_at == principal.claims["exp"]
    assert principal.credential.token == token


async def test_a_principal_shows_neither_token_nor_claims() -> None:
    shown = repr(await by_secret()(mint(email="ada@example.org")))
    assert "ada@example.org" not in shown
    assert "eyJ" not in shown


@pytest.mark.parametrize("key", [rsa_key(), ec_key(), p384_key(), ed_key()], ids=["rsa", "p256", "p384", "ed25519"])
async def test_each_type_of_public_key_verifies(key: PrivateKey) -> None:
    assert (await by_key(key)(mint(key))).subject == "alice"


@pytest.mark.parametrize("alg", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
async def test_an_rsa_key_verifies_every_rsa_algorithm(alg: str) -> None:
    assert (await by_key(rsa_key())(mint(rsa_key(), alg=alg))).subject == "alice"


async def test_a_secret_verifies_hs256_only() -> None:
    long = SECRET * 2
    verify = secret_verifier(long, issuer=ISSUER, audience=AUDIENCE)
    assert (await verify(mint(long))).subject == "alice"
    for alg in ("HS384", "HS512"):
        with pytest.raises(Unauthorized):
            await verify(mint(long, alg=alg))


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("forgery", forged("ed25519"))
async def test_forged_tokens_are_refused(kind: str, forgery: str) -> None:
    token = forged(kind)[forgery]
    with pytest.raises(Unauthorized) as refused:
        await by_key(KEYS[kind])(token)
    assert_tells_nothing(refused.value, token)


async def test_forged_tokens_are_refused_by_a_key_set_and_cause_no_fetch() -> None:
    async with JwksServer([jwk_of(rsa_key(), "k1"), jwk_of(ec_key(), "k2")]) as issuer, http_client() as http:
        verify = jwks_verifier(JwksCache(issuer.url, http), issuer=ISSUER, audience=AUDIENCE)
        await verify(mint(rsa_key(), kid="k1"))
        for forgery, token in forgeries(rsa_key(), "k1", attacker_url=f"{issuer.http.url}/elsewhere").items():
            with pytest.raises(Unauthorized) as refused:
                await verify(token)
            assert_tells_nothing(refused.value, token)
            assert issuer.fetches == 1, forgery


async def test_the_keys_own_type_fixes_the_algorithm_in_a_key_set() -> None:
    async with JwksServer([jwk_of(rsa_key(), "rsa"), jwk_of(ec_key(), "ec")]) as issuer, http_client() as http:
        verify = jwks_verifier(JwksCache(issuer.url, http), issuer=ISSUER, audience=AUDIENCE)
        assert (await verify(mint(ec_key(), kid="ec"))).subject == "alice"
        with pytest.raises(Unauthorized):
            await verify(mint(ec_key(), kid="rsa"))


async def test_a_secret_that_the_attacker_does_not_have() -> None:
    for secret in (b"", b"secret", SECRET.encode() + b"\n"):
        with pytest.raises(Unauthorized):
            await by_secret()(assemble({"typ": "JWT", "alg": "HS256"}, honest_payload(), hs256(secret)))


async def test_a_token_lives_exactly_to_its_exp_and_may_begin_a_little_early() -> None:
    now = int(time.time())
    with pytest.raises(Unauthorized, match=EXPIRED):
        await by_secret()(mint(exp=now))
    assert (await by_secret()(mint(nbf=now + 50, iat=now + 50))).subject == "alice"
    with pytest.raises(Unauthorized, match=NOT_YET):
        await by_secret()(mint(nbf=now + 90))


async def test_one_of_several_audiences_is_enough() -> None:
    assert (await by_secret()(mint(aud=["other", AUDIENCE]))).subject == "alice"


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
async def test_no_text_does_anything_but_be_refused(text: str) -> None:
    for verify in (by_secret(), by_key(ed_key())):
        with pytest.raises(Unauthorized):
            await verify(text)


def test_the_form_is_checked_before_anything_is_parsed() -> None:
    with pytest.raises(Unauthorized, match="not signed in"):
        check_form("")
    with pytest.raises(Unauthorized):
        check_form("a" * 20_000 + ".b.c")


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({"roles": ["admin", "reader"]}, {"admin", "reader"}),
        ({"roles": "admin reader"}, {"admin", "reader"}),
        ({"roles": "admin,reader"}, {"admin", "reader"}),
        ({"roles": " admin , reader\tcontributor "}, {"admin", "reader", "contributor"}),
        ({"roles": [" admin ", 7, None, ""]}, {"admin"}),
        ({"roles": ["admin,reader"]}, {"admin,reader"}),
        ({"roles": []}, set()),
        ({"roles": ""}, set()),
        ({"roles": [], "scope": "admin"}, set()),
        ({"role": "reader"}, {"reader"}),
        ({"roles": None, "role": ["reader"]}, {"reader"}),
        ({"roles": {"a": 1}, "role": "reader"}, {"reader"}),
        ({"roles": 5}, None),
        ({"realm_access": {"roles": ["contributor"]}}, {"contributor"}),
        ({"realm_access": ["contributor"]}, None),
        ({"scp": "reader contributor"}, {"reader", "contributor"}),
        ({"scp": ["admin"]}, {"admin"}),
        ({"scope": "openid profile admin"}, {"admin"}),
        ({"scope": "openid profile email"}, None),
        ({"scp": "openid", "scope": "reader"}, {"reader"}),
        ({"role": "reader", "scope": "admin"}, {"reader"}),
        ({}, None),
    ],
)
def test_roles(claims: dict[str, object], roles: set[str] | None) -> None:
    assert roles_of(claims) == roles


@given(st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text() | st.integers()) | st.dictionaries(st.text(), st.text()))
def test_words_never_fail_and_are_never_blank(value: object) -> None:
    assert all(word and word == word.strip() for word in words(value) or ())


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": "Ada", "sub": "1"}, "Ada"),
        ({"preferred_username": "ada", "email": "a@b", "sub": "1"}, "ada"),
        ({"email": "a@b", "sub": "1"}, "a@b"),
        ({"sub": "1"}, "1"),
        ({"name": "", "sub": "1"}, "1"),
        ({"name": 5, "sub": "1"}, "1"),
        ({"name": "A\u202eda\n", "sub": "1"}, "Ada"),
        ({"name": "x" * 500, "sub": "1"}, "x" * 100),
    ],
)
def test_names(claims: dict[str, object], name: str) -> None:
    assert name_of(claims) == name


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "exactly one"),
        ({"secret": SECRET, "public_key": pem_of(ed_key())}, "exactly one"),
        ({"secret": SECRET, "issuer": ""}, "issuer and the audience"),
        ({"secret": SECRET, "audience": ""}, "issuer and the audience"),
        ({"secret": "short"}, "at least 32 bytes"),
        ({"secret": pem_of(rsa_key())}, "PEM key"),
        ({"jwks_url": "https://issuer.example/jwks"}, "HTTP client"),
    ],
)
def test_a_wrong_configuration_says_what_to_do(given: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says) as wrong:
        build_verifier(**{"issuer": ISSUER, "audience": AUDIENCE, **given})  # type: ignore[arg-type]  # `http` is not among them
    assert SECRET not in str(wrong.value)


async def test_build_verifier_makes_each_kind() -> None:
    assert (await build_verifier(issuer=ISSUER, audience=AUDIENCE, secret=SECRET)(mint())).subject == "alice"
    assert (await build_verifier(issuer=ISSUER, audience=AUDIENCE, public_key=pem_of(ec_key()))(mint(ec_key()))).subject == "alice"
    async with JwksServer([jwk_of(ed_key())]) as issuer, http_client() as http:
        verify = build_verifier(issuer=ISSUER, audience=AUDIENCE, jwks_url=issuer.url, http=http)
        assert (await verify(mint(ed_key()))).subject == "alice"


def assert_tells_nothing(error: Unauthorized, token: str) -> None:
    """The text for people has no part of the token, and no part of the library's own text."""
    assert error.detail.endswith("in again.") or error.detail.endswith("Sign in first.")
    assert not any(part in error.detail for part in token.split(".") if len(part) > 8)
    cause = error.__cause__
    assert cause is None or not str(cause) or str(cause) not in error.detail
