# middle_core: the service. Built from the root of the repository: docker build -f infra/images/middle_core.Dockerfile .
# The base images are pinned by version. Pin them by digest too, if your registry mirrors them.

FROM python:3.11.14-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml uv.lock ./
# Everything is installed by version and hash from the lock file. uv, which reads the file, stays in this stage.
RUN python -m venv /tools \
    && /tools/bin/pip install --quiet --no-cache-dir uv==0.13.9 \
    && /tools/bin/uv export --quiet --frozen --no-dev --all-extras --no-emit-project --output-file requirements.txt \
    && python -m venv --without-pip /venv \
    && /tools/bin/uv pip install --quiet --python /venv/bin/python --require-hashes --requirements requirements.txt

FROM python:3.11.14-slim-bookworm
ENV PATH=/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MIDDLE_CORE_DATA_DIR=/data
# The service writes only here, for SQLite: mount a volume. The rest may be read-only, with a tmpfs at /tmp.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin app \
    && install -d -o app -g app -m 0700 /data
WORKDIR /app
COPY --from=build /venv /venv
COPY middle_core middle_core
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["python", "-m", "middle_core", "serve", "--host", "0.0.0.0", "--port", "8000"]
