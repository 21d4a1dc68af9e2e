"use client";

import { Panel } from "@/chat/ui/Panel";

/** Whatever breaks while rendering: words and a way on, instead of a blank page. */
export default function ErrorPage({ reset }: Readonly<{ error: Error; reset: () => void }>) {
  return (
    <Panel
      title="The page ran into a problem"
      text="Your conversations are kept on the server. Load the page again to go on."
      action={{ label: "Load again", onClick: reset }}
    />
  );
}
