import { Suspense } from "react";
import { App } from "@/chat/App";
import { Splash } from "@/chat/shell/Splash";

/** The chat page. Which conversation it shows is in the address: `/?thread=<id>`. */
export default function Page() {
  return (
    <Suspense fallback={<Splash />}>
      <App />
    </Suspense>
  );
}
