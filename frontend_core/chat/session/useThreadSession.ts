/** The session of the thread on the screen, from mount to unmount, and the watch that goes with it. */

import { randomUUID } from "@ag-ui/client";
import { useCopilotKit } from "@copilotkit/react-core/v2/headless";
import { useContext, useEffect, useState } from "react";
import { ERROR_CODE } from "../../contract";
import { ask, browserFetch } from "../api";
import { failureOfThrown, type Failure } from "../errors/failure";
import { threadStatus } from "../threads/threadApi";
import { PageOutcomesContext } from "../tools/usePageTool";
import { useStore } from "../ui/store";
import { isVisible, onVisibility } from "../ui/visibility";
import type { SessionView } from "./viewModel";
import { ThreadSession } from "./threadSession";
import { watchThread } from "./threadPolling";

/** The runtime's name for the default agent of middle-core. */
const RUNTIME_AGENT = "default";

export interface SessionHost {
  readonly token: () => string | undefined;
  readonly onFailure: (failure: Failure) => void;
  readonly onRunChange: () => void;
}

export function useThreadSession(threadId: string, known: boolean, host: SessionHost): { session: ThreadSession; view: SessionView } {
  const { copilotkit } = useCopilotKit();
  const outcomes = useContext(PageOutcomesContext);
  const [session] = useState(
    () =>
      new ThreadSession({
        core: copilotkit,
        threadId,
        known,
        runtimeAgentId: RUNTIME_AGENT,
        withOutcomes: outcomes.told,
        newId: randomUUID,
        nextFrame: (callback) => requestAnimationFrame(callback),
        postStop: async () => {
          const path = `/api/copilotkit/agent/${RUNTIME_AGENT}/stop/${encodeURIComponent(threadId)}`;
          const { body } = await ask(browserFetch, path, { method: "POST", json: {}, token: host.token() });
          return typeof body === "object" && body !== null && "stopped" in body && body.stopped === true;
        },
        beforeRequest: () => {
          copilotkit.setHeaders(authHeaders(host.token()));
        },
        onFailure: host.onFailure,
        onRunChange: host.onRunChange,
      }),
  );

  useEffect(() => {
    session.start();
    const unwatch = watchThread({
      fetchStatus: (etag) => threadStatus({ fetch: browserFetch, token: host.token() }, threadId, etag),
      ready: () => session.known && session.view.get().phase === "idle" && host.token() !== undefined,
      seenRunId: () => session.seenRunId,
      attach: () => {
        session.attach();
      },
      onError: (error) => {
        const failure = failureOfThrown(error);
        if (failure.code !== ERROR_CODE.NOT_FOUND) host.onFailure(failure);
      },
      visible: isVisible,
      onVisibility,
    });
    return () => {
      unwatch();
      session.dispose();
    };
  }, [session, threadId, host]);

  return { session, view: useStore(session.view) };
}

export function authHeaders(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
