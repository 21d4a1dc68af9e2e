/** Which model answers, as middle-core tells it (`GET /copilotkit/info`), in words for the badge. */

import { useEffect, useState } from "react";
import { ask, browserFetch } from "./api";

export interface Model {
  readonly label: string;
  readonly offline: boolean;
}

/** The model's name as a badge. Pure. */
export function modelOf(info: unknown): Model | undefined {
  if (typeof info !== "object" || info === null || !("model" in info) || typeof info.model !== "string" || info.model === "") return undefined;
  const offline = /^offline\b/i.test(info.model);
  return { label: offline ? "Offline model" : info.model.replace(/^[\w-]+:/, ""), offline };
}

export function useModel(token: string | undefined): Model | undefined {
  const [model, setModel] = useState<Model>();
  useEffect(() => {
    if (token === undefined || model !== undefined) return;
    const gone = new AbortController();
    ask(browserFetch, "/api/info", { token, signal: gone.signal }).then(
      ({ body }) => {
        setModel(modelOf(body));
      },
      () => {
        // No badge is better than a wrong one. The next token brings the next try.
      },
    );
    return () => {
      gone.abort();
    };
  }, [token, model]);
  return model;
}
