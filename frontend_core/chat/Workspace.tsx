/** The page of somebody who is signed in: the side bar with the conversations, and the one that is open. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { ERROR_CODE } from "../contract";
import { browserFetch } from "./api";
import type { Auth, AuthState } from "./auth/auth";
import { Chat } from "./Chat";
import { CopilotProvider } from "./CopilotProvider";
import { isAway, type Failure } from "./errors/failure";
import { usePanel } from "./graph/usePanel";
import { Health } from "./health";
import { useModel } from "./model";
import { authHeaders, type SessionHost } from "./session/useThreadSession";
import { Header } from "./shell/Header";
import { OfflineBanner } from "./shell/OfflineBanner";
import { Sidebar } from "./shell/Sidebar";
import styles from "./shell/shell.module.css";
import { ThreadList } from "./threads/threadList";
import { useCurrentThread } from "./threads/threadParam";
import { useStore } from "./ui/store";
import { isVisible, onVisibility } from "./ui/visibility";

interface WorkspaceProps {
  readonly auth: Auth;
  readonly state: Extract<AuthState, { status: "signed-in" | "expired" }>;
}

export function Workspace({ auth, state }: WorkspaceProps) {
  const { token } = state;
  const headers = useMemo(() => authHeaders(token), [token]);
  return (
    <CopilotProvider headers={headers}>
      <Frame auth={auth} state={state} />
    </CopilotProvider>
  );
}

function Frame({ auth, state }: WorkspaceProps) {
  const { person, token } = state;
  const thread = useCurrentThread();
  const [recoveries, setRecoveries] = useState(0);
  const [sidebarOpen, setSidebarOpen] = useState(false);
  const menuRef = useRef<HTMLButtonElement>(null);
  const graphPanel = usePanel();
  const parts = useParts(auth, () => {
    setRecoveries((count) => count + 1);
  });
  const list = useStore(parts.list.state);
  const health = useStore(parts.health.state);
  const model = useModel(token);

  const signedIn = token !== undefined;
  const wasSignedIn = useRef(signedIn);
  useEffect(() => {
    if (signedIn && !wasSignedIn.current) {
      setRecoveries((count) => count + 1);
      parts.list.reload();
    }
    wasSignedIn.current = signedIn;
  }, [signedIn, parts]);

  const title = list.items.find(({ id }) => id === thread.id)?.title ?? "";
  useEffect(() => {
    document.title = title === "" ? "middle-core" : `${title} · middle-core`;
  }, [title]);

  const closeSidebar = useCallback(() => {
    // What lies behind the drawer is inert while it is open, and takes no focus until that is undone.
    flushSync(() => {
      setSidebarOpen(false);
    });
    menuRef.current?.focus();
  }, []);

  return (
    <>
      <a className="skip-link" href="#composer">
        Skip to the message box
      </a>
      <div className={styles.shell}>
        <Sidebar
          open={sidebarOpen}
          list={list}
          currentId={thread.id}
          onClose={closeSidebar}
          onNew={() => {
            setSidebarOpen(false);
            thread.openNew();
          }}
          onOpen={(threadId) => {
            setSidebarOpen(false);
            if (threadId !== thread.id) thread.open(threadId);
          }}
          onDelete={(threadId) => {
            void parts.list.remove(threadId).then((gone) => {
              if (gone && threadId === thread.id) thread.openNew();
            });
          }}
          onReload={parts.list.reload}
        />
        <main className={styles.main} inert={sidebarOpen}>
          <Header
            title={title === "" ? "New chat" : title}
            model={model}
            person={person}
            menuRef={menuRef}
            sidebarOpen={sidebarOpen}
            graphPanel={graphPanel}
            onOpenSidebar={() => {
              setSidebarOpen(true);
            }}
            onChoosePerson={(sub) => {
              thread.openNew();
              void auth.signIn(sub);
            }}
          />
          {health === "away" && (
            <OfflineBanner
              onRetry={() => {
                parts.health.hurry();
              }}
            />
          )}
          <Chat
            key={thread.id}
            threadId={thread.id}
            known={thread.known}
            host={parts.host}
            auth={state}
            recoveries={recoveries}
            graphPanel={graphPanel}
            offlineModel={model?.offline === true}
            onSignIn={() => void auth.signInAgain()}
            onFirstMessage={thread.settle}
          />
        </main>
      </div>
    </>
  );
}

interface Parts {
  readonly health: Health;
  readonly list: ThreadList;
  readonly host: SessionHost;
}

/** The long-lived parts of the page, made once and started with it. */
function useParts(auth: Auth, onRecovered: () => void): Parts {
  const [parts] = useState((): Parts => {
    const token = (): string | undefined => auth.state.get().token;
    const health = new Health({ fetch: browserFetch, onRecovered: () => { recovered(); } });
    const onFailure = (failure: Failure): void => {
      if (failure.code === ERROR_CODE.UNAUTHORIZED) auth.refused(token());
      else if (isAway(failure)) health.suspect();
    };
    const list = new ThreadList({
      caller: () => (token() === undefined ? undefined : { fetch: browserFetch, token: token() }),
      onFailure,
      visible: isVisible,
    });
    const recovered = (): void => {
      list.reload();
      onRecovered();
    };
    return { health, list, host: { token, onFailure, onRunChange: list.reload } };
  });
  useEffect(() => {
    const { list, health } = parts;
    const onOnline = (): void => {
      health.hurry();
    };
    const onOffline = (): void => {
      health.suspect();
    };
    list.start();
    const unsubscribe = onVisibility(list.reload);
    window.addEventListener("online", onOnline);
    window.addEventListener("offline", onOffline);
    return () => {
      unsubscribe();
      window.removeEventListener("online", onOnline);
      window.removeEventListener("offline", onOffline);
      list.stop();
      health.stop();
    };
  }, [parts]);
  return parts;
}
