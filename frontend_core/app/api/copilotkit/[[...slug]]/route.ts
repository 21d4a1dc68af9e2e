import { proxy } from "@/proxy/instance";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";
/** Seconds, where a platform enforces it: the page attaches again by itself. */
export const maxDuration = 3600;

const handle = (request: Request) => proxy().copilotkit(request);

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST };
