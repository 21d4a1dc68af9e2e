import { proxy } from "@/proxy/instance";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

export const GET = (request: Request) => proxy().info(request);
