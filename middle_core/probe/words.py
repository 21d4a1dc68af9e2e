"""What findings mean and what to do about them, in words; and texts of others made safe to show. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from middle_core.probe.report import BROKEN, Cancel, Level
from middle_core.probe.verdict import Judged, Verdict
from middle_core.probe.wire import Taken

SHOWN: Final = 120
SOON_MS: Final = 1000.0


def clean(text: str, secrets: Sequence[str]) -> str:
    """One short line of a foreign text: no secret of ours, no control characters."""
    for secret in secrets:
        text = text.replace(secret, "***")
    line = " ".join(re.sub(r"[^\x20-\x7e\xa0-\uffff]", " ", text).split())
    return line if len(line) <= SHOWN else line[: SHOWN - 3] + "..."


def meaning(judged: Judged, headers: Mapping[str, str], *, ended: str) -> str:
    """What a person sees, and what to do. ended: see `Taken`."""
    if ended in BROKEN:
        return "The stream was broken off before its end. Look at the timeouts below, and in the hop's own log."
    compressed = headers.get("content-encoding") not in {None, "identity"}
    cause = (
        "The hop compresses the stream: exclude text/event-stream from compression there."
        if compressed
        else "Turn response buffering off at the hop (nginx: proxy_buffering off; Application Gateway: enableResponseBuffering=false; "
        "API Management: buffer-response=false), and let it keep X-Accel-Buffering and no-transform."
    )
    unclear = (
        "The hop took the stream and let hardly anything through in the time that all of it should have taken."
        if ended == "patience"
        else "Too little came, or too fast, to tell. Ask for more events (--events), further apart (--gap-ms), or for a longer answer (--prompt)."
    )
    return {
        Verdict.BUFFERED: f"The whole answer appears at once, at its end. {cause}",
        Verdict.PARTIAL: f"The answer appears in jerks of about {judged.burst} events. {cause}",
        Verdict.DELAYED: (
            f"Each word comes alone, but {judged.late:.0f} ms late. Look for a hop that waits before it sends (HAProxy: option http-no-delay), "
            "or for a busy machine."
        ),
        Verdict.INCREMENTAL: "Each word is seen when it is said.",
        Verdict.UNCLEAR: unclear,
    }[judged.verdict]


def cancelled(kind: Literal["talking", "silent"], ms: float) -> Cancel:
    """The far side noticed."""
    late = ms > SOON_MS
    words = "It took more than a second: the model works on for that long." if late else ""
    return Cancel(kind=kind, took_ms=round(ms, 1), level=Level.WARN if late else Level.OK, words=words)


def not_cancelled(kind: Literal["talking", "silent"], within_s: float, *, known: bool) -> Cancel:
    """The far side did not notice, or could not be asked (known: it could)."""
    if not known:
        words = "The server that sent the stream could not be asked again. With several replicas probe one of them, or bind the session."
        return Cancel(kind=kind, took_ms=None, level=Level.WARN, words=words)
    words = f"The client's leaving was not noticed within {within_s:g} s: the hop keeps the stream open behind itself."
    return Cancel(kind=kind, took_ms=None, level=Level.BAD, words=words)


def weigh(cancels: Sequence[Cancel]) -> list[Cancel]:
    """A hop that notices at its next write is tolerable: heartbeats are writes."""
    talks = any(one.kind == "talking" and one.took_ms is not None for one in cancels)
    tolerable = "A silent stream's end is noticed at the next write only, so at the next heartbeat at the latest."
    return [
        one.model_copy(update={"level": Level.WARN, "words": tolerable})
        if talks and one.kind == "silent" and one.level is Level.BAD
        else one
        for one in cancels
    ]


REFUSALS: Final = {
    0: ("silent", "It took the request and did not answer. Is it an HTTP server, and does what stands behind it work?"),
    401: ("unauthorized", "Not signed in, or not any more. Give a good token with --token-file, or the diag key with --key-file."),
    403: ("forbidden", "The token is known, and may not do this."),
    404: ("not_found", "There is no such endpoint. Give the whole address that takes the request."),
    405: ("not_found", "That address takes no such request. Give the whole address that does."),
    429: ("rate_limited", "Too many requests. Try again in a moment."),
}
NO_EVENTS: Final = ("no_events", "The event stream ended before an event came. Is the server restarting?")
NO_DIAG: Final = (
    "no_diag",
    "There is no /diag here: not middle-core, or a Next site without FRONTEND_CORE_DIAG=1. Any AG-UI endpoint: --agui URL.",
)


def refusal(taken: Taken, *, diag: bool) -> tuple[str, str]:
    """Code and words for an answer that is not the stream that was asked for."""
    status = taken.status
    if diag and status in {404, 405}:
        return NO_DIAG
    if taken.streaming:
        return NO_EVENTS
    if status == 200:
        kind = taken.headers.get("content-type", "no type").split(";")[0]
        return "no_stream", f"It answered with {clean(kind, ())} instead of an event stream. Is it the right address?"
    if 300 <= status < 400:
        return "redirect", "It redirects. Probe the address that it leads to: credentials are not sent on."
    if status in {502, 503, 504}:
        return "unavailable", f"It answered {status}: what stands behind it is away, restarting or too slow."
    return REFUSALS.get(status, ("refused", f"It answered {status}."))
