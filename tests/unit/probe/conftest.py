"""`/diag` alone behind a real uvicorn; the probe needs nothing else of middle-core."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from fastapi import FastAPI

from middle_core.auth.verify import secret_verifier
from middle_core.transports import diag
from middle_core.transports.http import problems
from middle_core.transports.http.caller import Caller
from tests.fakes.http_server import serving
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, ec_key

KEY = "a-diag-key-for-tests"


@pytest.fixture
async def origin() -> AsyncIterator[str]:
    """Its URL."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    problems.install(app)
    timed = diag.Diag(heartbeat_s=0.2, draining=lambda: False)
    app.include_router(diag.router(timed, Caller(secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE)), key=KEY))
    async with serving(app) as url:
        yield url


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for localhost that signs itself, as a file, and a server's context with it."""
    key = ec_key("tls")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begin = datetime.fromtimestamp(time.time() - 3600, UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context
