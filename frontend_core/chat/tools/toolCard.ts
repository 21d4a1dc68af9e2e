/** What a card is told of its tool call. */

import type { Progress } from "../session/progress";
import type { ToolState } from "./outcome";

export interface ToolCardProps {
  readonly state: ToolState;
  /** As far as they have been streamed. */
  readonly args: Readonly<Record<string, unknown>>;
  /** What the tool returned, as it was told to the model. Whether the call is done, `state` says, never this text. */
  readonly result: string | undefined;
  readonly progress: Progress | undefined;
}
