import { proxy } from "@/proxy/instance";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

export const POST = (request: Request) => proxy().devToken(request);
