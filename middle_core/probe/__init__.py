"""Does a stream arrive as it is sent? Asked of each hop between a person and the agent.

    from middle_core.probe import Options, Target, probe

    report = await probe([Target("http://127.0.0.1:8000"), Target("https://chat.example")], Options(token=jwt))
    await probe([Target("http://127.0.0.1:8123/agent", "agui")], Options())      # any AG-UI endpoint
    report.exit_code                      # 0 good, 1 a verdict is bad, 2 could not probe
    report.hops[1].verdict                # Verdict.BUFFERED; of its streams the worst
    report.changes[0].url                 # the first hop at which something changes
    print(render(report))                 # the same for people

Pure: `verdict` (arrivals against sent times), `cuts`, `headers`, `words`, `report`, `text`. With a socket: `wire`, `hop` (in front of /diag), `door` (a real endpoint), `run`.
Imported by the command line and by tests only. It knows of middle-core what anybody can see from outside.
"""

from middle_core.probe.options import DEEP_S, PROMPT, SILENCES_S, Options, Target
from middle_core.probe.report import Exit, Hop, Report
from middle_core.probe.run import probe
from middle_core.probe.text import render
from middle_core.probe.verdict import Verdict

__all__ = ["DEEP_S", "PROMPT", "SILENCES_S", "Exit", "Hop", "Options", "Report", "Target", "Verdict", "probe", "render"]
