import { Suspense } from "react";
import { Splash } from "@/chat/shell/Splash";
import { KnowledgeCopilot } from "@/knowledge_copilot/KnowledgeCopilot";

/** The chat page. Which conversation it shows is in the address: `/?thread=<id>`. */
export default function Page() {
  return (
    <Suspense fallback={<Splash />}>
      <KnowledgeCopilot />
    </Suspense>
  );
}
