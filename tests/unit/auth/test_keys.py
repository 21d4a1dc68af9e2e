"""auth.keys: which public keys the configuration may hold, and the error for the others."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from middle_core.auth.keys import algorithms_of, load_public_key
from tests.fakes.tokens import PrivateKey, ec_key, ed_key, p384_key, pem_of, rsa_key


@pytest.mark.parametrize(
    ("key", "algorithms"),
    [
        (rsa_key(), ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
        (ec_key(), ("ES256",)),
        (p384_key(), ("ES384",)),
        (ed_key(), ("EdDSA",)),
    ],
    ids=["rsa", "p256", "p384", "ed25519"],
)
def test_the_type_of_the_key_fixes_the_algorithms(key: PrivateKey, algorithms: tuple[str, ...]) -> None:
    assert algorithms_of(load_public_key(pem_of(key))) == algorithms


def test_line_ends_may_be_written_as_in_an_env_file() -> None:
    assert algorithms_of(load_public_key(pem_of(ed_key()).strip().replace("\n", "\\n"))) == ("EdDSA",)


PRIVATE = ed_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize(
    ("pem", "says"),
    [
        ("", "not PEM text"),
        ("no key", "not PEM text"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "not PEM text"),
        (PRIVATE, "is a private key"),
        (pem_of(rsa_key("weak", 1024)), "at least 2048 bits"),
        (pem_of(generate_private_key(SECP256K1())), "P-256, P-384 or P-521"),
        (
            Ed448PrivateKey.generate().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
            "RSA, EC or Ed25519",
        ),
    ],
    ids=["empty", "text", "broken", "private", "weak", "curve", "ed448"],
)
def test_another_key_is_refused_with_what_to_do(pem: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as wrong:
        load_public_key(pem)
    assert PRIVATE.splitlines()[1] not in str(wrong.value)
