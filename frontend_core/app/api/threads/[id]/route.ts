import { proxy } from "@/proxy/instance";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

const handle = async (request: Request, { params }: { params: Promise<{ id: string }> }) => {
  const { id } = await params;
  return proxy().thread(request, id);
};

export { handle as DELETE, handle as GET };
