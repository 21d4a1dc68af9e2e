"""Public keys that may verify a token, and the algorithms that each type of key allows.

The type of the key decides about the algorithm, never the token (RFC 8725, section 3.1). This module knows no token and fetches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

PublicKey: TypeAlias = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

MIN_RSA_BITS: Final = 2048
KINDS: Final[Mapping[str, type[RSAAlgorithm | ECAlgorithm | OKPAlgorithm]]] = {"RSA": RSAAlgorithm, "EC": ECAlgorithm, "OKP": OKPAlgorithm}
CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


def load_public_key(pem: str) -> PublicKey:
    """A public key from PEM text. Many .env files write a line end as the two characters `\\n`; that is accepted too.

    Raises:
        ValueError: the text is not a public key of a type that can verify here.
    """
    text = pem.replace("\\n", "\n").strip()
    if "PRIVATE KEY" in text:
        raise ValueError("The public key for tokens is a private key. Set only its public half, and replace the pair: it is known now.")
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("The public key for tokens is not PEM text that starts with -----BEGIN PUBLIC KEY-----.") from error
    if not isinstance(key, RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey):
        raise ValueError("The public key for tokens must be an RSA, EC or Ed25519 key.")  # noqa: TRY004 - the value is wrong, not the caller
    algorithms_of(key)
    return key


def algorithms_of(key: PublicKey) -> tuple[str, ...]:
    """The algorithms that a key of this type verifies.

    Raises:
        ValueError: an RSA key is too short, or the curve of an EC key is not supported.
    """
    if isinstance(key, RSAPublicKey):
        if key.key_size < MIN_RSA_BITS:
            raise ValueError(f"The RSA key for tokens must have at least {MIN_RSA_BITS} bits.")
        return ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
    if isinstance(key, Ed25519PublicKey):
        return ("EdDSA",)
    if key.curve.name not in CURVES:
        raise ValueError("The EC key for tokens must be on the curve P-256, P-384 or P-521.")
    return (CURVES[key.curve.name],)


def from_jwk(jwk: Mapping[str, Any]) -> tuple[PublicKey, tuple[str, ...]] | None:
    """The key and its algorithms, or None for a JWK that verifies nothing here.

    These verify nothing: secrets (`oct`), private keys, keys for encryption, weak keys, unknown types and curves, and keys whose
    `alg` does not fit. If `alg` fits, it is the only algorithm allowed (RFC 7517, section 4).
    """
    kind = KINDS.get(str(jwk.get("kty")))
    if kind is None or jwk.get("use", "sig") != "sig":
        return None
    try:
        if "verify" not in jwk.get("key_ops", ["verify"]):
            return None
        key = kind.from_jwk(dict(jwk))
        if not isinstance(key, RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey):
            return None
        algorithms = algorithms_of(key)
    except (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        return None  # one broken key must not make the others of the set useless
    alg = jwk.get("alg")
    if alg is None:
        return key, algorithms
    return (key, (alg,)) if alg in algorithms else None
