"""The report for people: aligned, hop by hop, what it means and what to do. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from middle_core.probe.report import Exit, Hop, Level, Report, said

MARKS = {Level.OK: "ok  ", Level.WARN: "warn", Level.BAD: "BAD "}
WIDTH = 110
ENDS = {
    Exit.GOOD: "Good: streams arrive as they are sent.",
    Exit.BAD: "Bad: see what is marked BAD above.",
    Exit.NOT_PROBED: "Not all could be probed: see above.",
}


def render(report: Report) -> str:
    """The whole text."""
    lines: list[str] = []
    for number, hop in enumerate(report.hops, 1):
        lines += [f"{number}. {hop.url}  ({hop.door}{', ' + hop.http_version if hop.http_version else ''})", *_hop(hop), ""]
    if report.changes:
        lines.append("Where it changes, from the inside to the outside:")
        lines += [f"   {one.what}: at hop {one.hop + 1}, {one.url}: {one.before} -> {one.after}" for one in report.changes]
        lines.append("")
    lines.append(f"{ENDS[Exit(report.exit_code)]} ({report.took_s:.1f} s)")
    return "\n".join(lines)


def _hop(hop: Hop) -> Iterator[str]:
    if hop.problem is not None:
        yield from _row("BAD ", "not probed", hop.problem.words, "")
        return
    for stream in hop.streams:
        level = Level.OK if stream.verdict == "INCREMENTAL" else Level.WARN if stream.verdict == "UNCLEAR" else Level.BAD
        facts = f"{said(stream)}, {len(stream.arrived_ms)} events in {stream.wire_reads} pieces"
        if stream.sent_ms:
            facts += f", late by {stream.late_ms:.0f} ms (worst {stream.held_ms:.0f})"
        facts += f", headers after {_ms(stream.headers_ms)}, first byte after {_ms(stream.first_byte_ms)}"
        if stream.content_encoding:
            facts += f", compressed: {stream.content_encoding}"
        yield from _row(MARKS[level], stream.accept_encoding, facts, stream.words)
    if hop.heartbeats is not None:
        beats = hop.heartbeats
        facts = f"every {beats.interval_ms / 1000:.1f} s ({beats.seen} seen)" if beats.interval_ms else "none seen"
        yield from _row(MARKS[beats.level], "heartbeats", facts, beats.words)
    if hop.silences:
        silent = [
            f"{one.asked_s:g} s {'ok' if one.survived else f'{one.how} after {one.cut_after_s:.1f} s'}"
            for one in hop.silences
            if one.kind == "silent"
        ]
        yield from _row("    ", "silences", ", ".join(silent), "")
        for one in hop.silences:
            if one.kind != "silent":
                fate = "survived" if one.survived else f"{one.how} after {one.cut_after_s:.1f} s"
                yield from _row("    ", f"  {one.kind}", f"{one.asked_s:g} s, {fate}", "")
    for cut in hop.cuts:
        answer = f", answers {cut.status} {cut.body!r}" if cut.status else ""
        yield from _row(MARKS[cut.level], f"{cut.kind} timeout", f"{cut.after_s:.1f} s{answer}", cut.words)
    for cancel in hop.cancels:
        facts = f"reached the server within {cancel.took_ms:.0f} ms" if cancel.took_ms is not None else "not seen to reach the server"
        yield from _row(MARKS[cancel.level], f"leave {cancel.kind}", facts, cancel.words)
    for check in hop.headers:
        yield from _row(MARKS[check.level], check.name, check.value or "absent", check.words)


def _row(mark: str, name: str, facts: str, words: str) -> list[str]:
    lead = f"   {mark:4} {name:<18} "
    lines = textwrap.wrap(facts, WIDTH - len(lead)) or [""]
    rows = [lead + lines[0], *(" " * len(lead) + line for line in lines[1:])]
    return rows + [" " * len(lead) + line for line in textwrap.wrap(words, WIDTH - len(lead))]


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"
