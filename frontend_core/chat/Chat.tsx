/** One conversation on the screen: its messages, the composer, and what the keyboard and a screen reader get. */

import { CopilotChatConfigurationProvider } from "@copilotkit/react-core/v2/headless";
import { useEffect, useMemo, useRef, type ComponentProps } from "react";
import { Approvals, OpenInterrupts, useWaiting } from "./approvals/ApprovalsProvider";
import { SessionExpired } from "./auth/SessionExpired";
import type { AuthState } from "./auth/auth";
import styles from "./chat.module.css";
import { Composer } from "./composer/Composer";
import { GraphPanel } from "./graph/GraphPanel";
import { GRAPH_TOGGLE, type PanelState } from "./graph/usePanel";
import { GO_ON } from "./messages/CutOff";
import { MessageList } from "./messages/MessageList";
import { useRegistry } from "./registry";
import { announcementOf } from "./session/announcement";
import { useThreadSession, type SessionHost } from "./session/useThreadSession";
import { Welcome } from "./shell/Welcome";
import { Suggestions } from "./suggestions/Suggestions";
import { RunStateContext, useToolRenderer } from "./tools/ToolCard";
import { isKey } from "./ui/keys";

interface ChatProps {
  readonly threadId: string;
  readonly known: boolean;
  readonly host: SessionHost;
  readonly auth: Extract<AuthState, { status: "signed-in" | "expired" }>;
  /** Grows each time the server has come back or the person has signed in again. */
  readonly recoveries: number;
  /** The answers come from the offline model. */
  readonly offlineModel: boolean;
  readonly graphPanel: PanelState;
  readonly onSignIn: () => void;
  /** The first message of a new conversation was sent. */
  readonly onFirstMessage: (threadId: string) => void;
}

export function Chat({ threadId, known, host, auth, recoveries, offlineModel, graphPanel, onSignIn, onFirstMessage }: ChatProps) {
  const { Provider, words } = useRegistry();
  const { session, view } = useThreadSession(threadId, known, host);
  const inputRef = useRef<HTMLTextAreaElement>(null);
  const signedIn = auth.status === "signed-in";
  const running = view.phase === "running" || view.phase === "reconnecting";
  useToolRenderer();

  useEffect(() => {
    if (recoveries > 0) session.recovered();
  }, [recoveries, session]);

  useEffect(() => {
    // A touch keyboard should come up because somebody wants to type, not because a page was opened.
    if (window.matchMedia("(hover: hover)").matches) inputRef.current?.focus();
  }, []);

  useEscape(running, () => {
    session.stop();
  });

  const send = (text: string): boolean => {
    if (!session.send(text)) return false;
    if (!known) onFirstMessage(threadId);
    inputRef.current?.focus();
    return true;
  };

  // A stopped run still says what became of its calls.
  const open = running || view.phase === "stopping" || view.asking;
  const runState = useMemo(() => ({ running: open, progress: view.progress }), [open, view.progress]);
  const blocked = !signedIn ? "Sign in again to send" : view.phase === "loading" ? "Loading the conversation…" : undefined;
  return (
    <CopilotChatConfigurationProvider agentId={session.agentId} threadId={threadId} hasExplicitThreadId>
      <RunStateContext value={runState}>
        <Approvals session={session} view={view} signedIn={signedIn}>
          <Provider state={view.state} setState={session.setState} busy={view.phase !== "idle"}>
            <div className={styles.stage}>
              <div className={styles.conversation}>
                <MessageList
                  view={view}
                  welcome={<Welcome name={auth.person.name} disabled={!signedIn} onAsk={send} />}
                  signedIn={signedIn}
                  onRetry={() => {
                    session.retry();
                  }}
                  onDismiss={() => {
                    session.dismissFailure();
                  }}
                  onGoOn={() => {
                    send(GO_ON);
                  }}
                >
                  <OpenInterrupts />
                  {signedIn && view.phase === "idle" && view.failure === undefined && <Suggestions rows={view.rows} onAsk={send} />}
                </MessageList>
              </div>
              <div className={styles.dock}>
                {auth.status === "expired" && <SessionExpired person={auth.person} again={auth.again} onSignIn={onSignIn} />}
                <AskingComposer
                  draftKey={`${auth.person.sub}.${known ? threadId : "new"}`}
                  running={running}
                  blocked={blocked}
                  placeholder={words.placeholder}
                  hint={offlineModel ? words.offlineHint : words.hint}
                  onSend={send}
                  onStop={() => {
                    session.stop();
                    inputRef.current?.focus();
                  }}
                  inputRef={inputRef}
                />
              </div>
              {graphPanel.open && (
                <GraphPanel
                  graph={view.graph}
                  onClose={() => {
                    graphPanel.setOpen(false);
                    document.getElementById(GRAPH_TOGGLE)?.focus();
                  }}
                />
              )}
            </div>
            <p className="sr-only" role="status" aria-live="polite" data-testid="announcement">
              {announcementOf(view)}
            </p>
          </Provider>
        </Approvals>
      </RunStateContext>
    </CopilotChatConfigurationProvider>
  );
}

type ComposerProps = Omit<ComponentProps<typeof Composer>, "onWithdraw" | "inputRef"> & { readonly inputRef: React.RefObject<HTMLTextAreaElement | null> };

/** The composer, with the way to take back what the person is asked while there is something. */
function AskingComposer(props: ComposerProps) {
  const { waiting, withdraw } = useWaiting();
  const { inputRef } = props;
  const takeBack = (): void => {
    withdraw();
    inputRef.current?.focus();
  };
  useEscape(waiting, takeBack);
  return <Composer {...props} onWithdraw={waiting ? takeBack : undefined} />;
}

/** Escape, wherever it is pressed, unless something nearer has taken it or an input method composes. */
function useEscape(active: boolean, onEscape: () => void): void {
  const latest = useRef(onEscape);
  useEffect(() => {
    latest.current = onEscape;
  });
  useEffect(() => {
    if (!active) return;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (isKey(event, "Escape") && !event.defaultPrevented) latest.current();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
    };
  }, [active]);
}
