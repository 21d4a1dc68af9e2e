import { proxy } from "@/proxy/instance";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";
/** Seconds, where a platform enforces it: as the chat's own route, which this one stands for. */
export const maxDuration = 3600;

export const GET = (request: Request) => proxy().diag(request);
