/** What a card is told of its tool call. */

import type { Progress } from "../session/progress";
import type { ToolState } from "./describeTool";

export interface ToolCardProps {
  readonly state: ToolState;
  /** As far as they have been streamed. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The tool's text: JSON where it returned data, words where it failed. */
  readonly result: string | undefined;
  readonly progress: Progress | undefined;
}
