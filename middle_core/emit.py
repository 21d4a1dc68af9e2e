"""What a team's node code imports to emit: the public name of `node_api.emit`.

Teams import this module, so the name stays wherever the implementation lives. It adds nothing of its own.
"""

from __future__ import annotations

from middle_core.node_api.emit import emit_chunk, emit_message, emit_state, emit_token, new_message_id, progress, refuse

__all__ = ["emit_chunk", "emit_message", "emit_state", "emit_token", "new_message_id", "progress", "refuse"]
