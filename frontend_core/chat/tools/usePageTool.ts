/**
 * A tool of the page whose failure is told: to the model in words, to people as an outcome.
 *
 * With CopilotKit's `useFrontendTool` alone, a handler that throws ends the run, and the model hears of it with the next message only.
 */

import { useFrontendTool, type ReactFrontendTool } from "@copilotkit/react-core/v2/headless";
import { createContext, useContext, type DependencyList } from "react";
import { failed } from "./outcome";
import { PageOutcomes } from "./pageOutcomes";

export const PageOutcomesContext = createContext(new PageOutcomes());

/** The page could not do what the tool was asked for. The message is for people and for the model. */
export class CannotDo extends Error {
  override readonly name = "CannotDo";
}

/** As `useFrontendTool`, and a handler may throw `CannotDo`: the call has failed, and the model goes on with the reason. */
export function usePageTool<T extends Record<string, unknown>>(tool: ReactFrontendTool<T>, deps?: DependencyList): void {
  const outcomes = useContext(PageOutcomesContext);
  useFrontendTool({ ...tool, ...(tool.handler === undefined ? {} : { handler: telling(tool.handler, outcomes) }) }, deps);
}

type Handler<T extends Record<string, unknown>> = NonNullable<ReactFrontendTool<T>["handler"]>;

export function telling<T extends Record<string, unknown>>(handler: Handler<T>, outcomes: PageOutcomes): Handler<T> {
  return async (args, context) => {
    try {
      return await handler(args, context);
    } catch (error) {
      if (!(error instanceof CannotDo)) throw error;
      outcomes.note(context.toolCall.id, failed(error.message));
      return error.message;
    }
  };
}
