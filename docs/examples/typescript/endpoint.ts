// An endpoint for deliveries of Holdfast. It verifies signatures, drops requests that it has already seen, and stores the rest.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

// Holdfast's largest events have 25 MiB; an envelope is larger.
const maxBody = 50 * 1024 * 1024;

// What `holdfast subscription create` has shown. From a rotation until its grace period is over: both secrets, with a space between.
const webhooks = (process.env.WEBHOOK_SECRETS ?? "").split(" ").map((secret) => new Webhook(secret));
const folder = process.env.DELIVERIES ?? "deliveries";
mkdirSync(folder, { recursive: true });

createServer(async (request, response) => {
  try {
    response.writeHead(await handle(request));
  } catch (error) {
    console.error("answer 500:", error);
    response.writeHead(500); // Holdfast tries again
  }
  response.end();
}).listen(Number(process.env.PORT ?? 9099), "127.0.0.1");

// handle returns the status: 204 once the delivery is stored, 401 if its signature is wrong.
async function handle(request: IncomingMessage): Promise<number> {
  const body = await read(request);
  if (body === undefined) {
    return 413;
  }
  if (!isSigned(body, request)) {
    return 401;
  }
  commit(String(request.headers["webhook-id"]), body);
  return 204;
}

async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > maxBody) {
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

// isSigned reports whether one of the secrets has signed the bytes of the body. The library also checks the time.
function isSigned(body: Buffer, request: IncomingMessage): boolean {
  return webhooks.some((webhook) => {
    try {
      webhook.verify(body, request.headers as Record<string, string>);
      return true;
    } catch (error) {
      if (error instanceof WebhookVerificationError) {
        return false;
      }
      throw error;
    }
  });
}

// commit stores a delivery unless it was stored before: an attempt whose response got lost is repeated with the same ID. Yours is a
// transaction of your database, which inserts the ID into a column with a unique index and does the work.
function commit(id: string, body: Buffer): void {
  const path = join(folder, encodeURIComponent(id) + ".json");
  if (existsSync(path)) {
    return;
  }
  const file = openSync(path + ".new", "w");
  writeSync(file, body);
  fsyncSync(file);
  closeSync(file);
  renameSync(path + ".new", path);
  const entries = openSync(folder, "r");
  fsyncSync(entries);
  closeSync(entries);
  console.log(id, body.toString());
}
