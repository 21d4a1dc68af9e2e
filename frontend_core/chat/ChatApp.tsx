"use client";

/** The page from the top: who is signed in decides what is shown. */

import { useEffect, useState } from "react";
import { ERROR_CODE } from "../contract";
import { browserFetch } from "./api";
import { Auth } from "./auth/auth";
import { isAway } from "./errors/failure";
import { wordsOf } from "./errors/errorMessages";
import { RegistryProvider, type ChatRegistry } from "./registry";
import { Splash } from "./shell/Splash";
import { Button } from "./ui/Button";
import { Panel } from "./ui/Panel";
import { useStore } from "./ui/store";
import { Workspace } from "./Workspace";

export function ChatApp({ registry }: { readonly registry: ChatRegistry }) {
  return (
    <RegistryProvider registry={registry}>
      <SignedInPage people={registry.people} />
    </RegistryProvider>
  );
}

function SignedInPage({ people }: Pick<ChatRegistry, "people">) {
  const [auth] = useState(
    () => new Auth({ fetch: browserFetch, people, session: () => sessionStorage, remembered: () => localStorage, now: () => Date.now() }),
  );
  const state = useStore(auth.state);

  useEffect(() => {
    void auth.start();
    return () => {
      auth.stop();
    };
  }, [auth]);

  switch (state.status) {
    case "starting":
    case "signing-in":
      return <Splash />;
    case "signed-in":
    case "expired":
      // Another person is another page: nothing of one is left for the next.
      return <Workspace key={state.person.sub} auth={auth} state={state} />;
    case "failed": {
      const away = isAway(state.failure);
      return (
        <Panel
          title={away ? "The service is away" : "No sign-in here"}
          text={
            away
              ? "It cannot be reached right now. Try again in a moment."
              : state.failure.code === ERROR_CODE.NOT_FOUND
                ? "Signing in as a demo person works in development, on this machine. Elsewhere your own app hands its token over."
                : wordsOf(state.failure).text
          }
          action={{ label: "Try again", onClick: () => void auth.signIn(state.person?.sub ?? people[0].sub) }}
        >
          {!away && people.filter(({ sub }) => sub !== state.person?.sub).map(({ sub, name }) => (
            <Button key={sub} onClick={() => void auth.signIn(sub)}>
              Sign in as {name}
            </Button>
          ))}
        </Panel>
      );
    }
  }
}
