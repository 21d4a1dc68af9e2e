/** What the assistant did and said: its tool calls as status lines, its words as Markdown, and how it ended. */

import { useRenderToolCall } from "@copilotkit/react-core/v2/headless";
import { memo } from "react";
import { Guarded } from "../approvals/ApprovalsProvider";
import type { Row } from "../session/rows";
import { ToolOutcomeContext } from "../tools/ToolCard";
import { StopIcon } from "../ui/icons";
import { CutOff } from "./CutOff";
import { CopyButton, Markdown } from "./Markdown";
import styles from "./messages.module.css";

type AssistantRow = Extract<Row, { kind: "assistant" }>;

interface AssistantMessageProps {
  readonly row: AssistantRow;
  /** Asks for the rest of an answer that was cut off. */
  readonly onGoOn: (() => void) | undefined;
}

export const AssistantMessage = memo(function AssistantMessage({ row, onGoOn }: AssistantMessageProps) {
  const renderToolCall = useRenderToolCall();
  const finished = !row.streaming && row.text !== "";
  return (
    <div className={styles.assistant} data-testid="message-assistant" data-message-id={row.id} data-streaming={row.streaming}>
      <span className="sr-only">Assistant: </span>
      {row.text !== "" && <Markdown text={row.text} />}
      {row.tools.length > 0 && (
        <div className={styles.tools}>
          {row.tools.map(({ call, result, outcome }) => (
            <Guarded key={call.id} callId={call.id}>
              <ToolOutcomeContext value={outcome}>
                {renderToolCall(result === undefined ? { toolCall: call } : { toolCall: call, toolMessage: result })}
              </ToolOutcomeContext>
            </Guarded>
          ))}
        </div>
      )}
      {(finished || row.stopped || row.cutOff !== undefined) && (
        <div className={styles.foot}>
          {row.stopped && <StoppedMark words={row.interrupted ? "Interrupted" : "Stopped"} />}
          {row.cutOff !== undefined && <CutOff reason={row.cutOff} onGoOn={onGoOn} />}
          {finished && <CopyButton label="Copy answer" text={() => row.text} />}
        </div>
      )}
    </div>
  );
});

export function StoppedMark({ words = "Stopped" }: { readonly words?: string }) {
  return (
    <span className={styles.stopped} data-testid="stopped-mark">
      <StopIcon size={14} />
      {words}
    </span>
  );
}
