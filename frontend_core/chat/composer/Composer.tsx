/**
 * Where people type. Enter sends, Shift+Enter breaks the line, Escape stops, or takes back what the person is asked.
 *
 * The text belongs to this component until `onSend` has taken it: a refused send costs no words.
 */

import { useCallback, useEffect, useId, useRef, useState, type KeyboardEvent, type Ref } from "react";
import { SendIcon, StopIcon } from "../ui/icons";
import styles from "./composer.module.css";
import { readDraft, writeDraft } from "./draft";
import { isKey } from "../ui/keys";

interface ComposerProps {
  readonly draftKey: string;
  /** An answer is being written: the button stops it. */
  readonly running: boolean;
  /** Why nothing can be sent right now; undefined when something can. */
  readonly blocked: string | undefined;
  readonly placeholder: string;
  readonly hint: string;
  /** True when the message was taken. */
  readonly onSend: (text: string) => boolean;
  readonly onStop: () => void;
  /** Something waits for the person's answer, and this takes it back. */
  readonly onWithdraw?: (() => void) | undefined;
  readonly inputRef: Ref<HTMLTextAreaElement>;
}

export function Composer({ draftKey, running, blocked, placeholder, hint, onSend, onStop, onWithdraw, inputRef }: ComposerProps) {
  const [text, setText] = useState(() => readDraft(sessionStorage, draftKey));
  const actionRef = useRef<HTMLButtonElement>(null);
  const hintId = useId();
  const sendable = text.trim() !== "" && blocked === undefined && !running;

  useEffect(() => {
    writeDraft(sessionStorage, draftKey, text);
  }, [draftKey, text]);

  const send = useCallback(() => {
    if (!sendable || !onSend(text.trim())) return;
    writeDraft(sessionStorage, draftKey, "");
    setText("");
  }, [sendable, onSend, text, draftKey]);

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (isKey(event.nativeEvent, "Enter") && !event.shiftKey) {
      event.preventDefault();
      send();
    }
  };

  return (
    <div className={styles.dock}>
      <form
        className={styles.inner}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <div className={styles.box}>
          <textarea
            ref={inputRef}
            id="composer"
            className={styles.input}
            data-testid="composer-input"
            rows={1}
            value={text}
            aria-label="Message"
            aria-describedby={hintId}
            placeholder={blocked ?? placeholder}
            enterKeyHint="send"
            autoComplete="off"
            onChange={(event) => {
              setText(event.target.value);
            }}
            onKeyDown={onKeyDown}
          />
          {onWithdraw !== undefined && !running && (
            <button type="button" className={styles.withdraw} data-testid="withdraw" aria-label="Withdraw the request" title="Withdraw the request (Esc)" onClick={onWithdraw}>
              <StopIcon size={18} />
              <span aria-hidden="true">Withdraw</span>
            </button>
          )}
          {running ? (
            <button
              ref={actionRef}
              type="button"
              className={`${styles.action} ${styles.stop}`}
              data-testid="stop"
              aria-label="Stop the answer"
              title="Stop (Esc)"
              onClick={onStop}
            >
              <StopIcon size={20} />
            </button>
          ) : (
            <button
              ref={actionRef}
              type="submit"
              className={styles.action}
              data-testid="send"
              aria-label="Send"
              title="Send (Enter)"
              disabled={!sendable}
            >
              <SendIcon size={20} />
            </button>
          )}
        </div>
        <p id={hintId} className={styles.hint}>
          {onWithdraw === undefined || running ? hint : "A message withdraws what you are asked, and is answered."}
        </p>
      </form>
    </div>
  );
}
