import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** What the signature of a verified request covers, next to the body. */
export interface Delivery {
  /** The webhook-id, which is the same in every attempt: process a delivery once per ID. */
  id: string;
  /** When the attempt was signed, in whole seconds. */
  sentAt: Date;
  /** The position of the secret that verified it. Once it is 0 for all deliveries, the older secrets can be removed. */
  secret: number;
}

export type VerificationCode = "missing_header" | "invalid_timestamp" | "no_matching_signature" | "too_old" | "too_new";

/** Says why a request isn't authentic. */
export class VerificationError extends Error {
  override name = "VerificationError";
  readonly code: VerificationCode;

  constructor(code: VerificationCode) {
    super(`verify delivery: ${code}`);
    this.code = code;
  }
}

/**
 * Verifies deliveries, which are signed according to Standard Webhooks. It doesn't use the package standardwebhooks, because that
 * decodes a body as UTF-8 before it signs it, and so refuses authentic bytes (1.1.1).
 */
export class Verifier {
  readonly #keys: Buffer[];
  readonly #tolerance: number;

  /**
   * Accepts what any of the secrets has signed. During a rotation these are the new secret and the old one, the new one first. The
   * tolerance is how far the time of a delivery may be from this machine's: milliseconds, 5 minutes by default.
   */
  constructor(secrets: readonly string[], options: { tolerance?: number } = {}) {
    if (secrets.length === 0) {
      throw new TypeError("a verifier needs a secret");
    }
    this.#keys = secrets.map(keyOf);
    this.#tolerance = options.tolerance ?? 5 * 60_000;
  }

  /**
   * Checks the signature of a request over the bytes of its body as they were received, and its time. It throws a
   * VerificationError if the request isn't authentic.
   */
  verify(headers: IncomingHttpHeaders | Headers, body: Uint8Array): Delivery {
    const id = read(headers, "webhook-id");
    const timestamp = read(headers, "webhook-timestamp");
    const signatures = read(headers, "webhook-signature").split(" ");
    if (!/^\d{1,12}$/.test(timestamp)) {
      throw new VerificationError("invalid_timestamp");
    }
    const secret = this.#keys.findIndex((key) => {
      const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
      return signatures.some((signature) => matches(signature, expected));
    });
    if (secret < 0) {
      throw new VerificationError("no_matching_signature");
    }
    const sentAt = new Date(Number(timestamp) * 1000);
    const age = Date.now() - sentAt.getTime();
    if (Math.abs(age) > this.#tolerance) {
      throw new VerificationError(age > 0 ? "too_old" : "too_new");
    }
    return { id, sentAt, secret };
  }
}

/** Buffer.from ignores what isn't base64, which would make another key. */
function keyOf(secret: string, position: number): Buffer {
  const encoded = secret.replace(/^whsec_/, "");
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded) || encoded === "") {
    throw new TypeError(`secret ${position} isn't whsec_ and base64`);
  }
  return Buffer.from(encoded, "base64");
}

function read(headers: IncomingHttpHeaders | Headers, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== "string" || value === "") {
    throw new VerificationError("missing_header");
  }
  return value;
}

function matches(signature: string, expected: Buffer): boolean {
  const [version, encoded = ""] = signature.split(",");
  const sent = Buffer.from(encoded, "base64");
  return version === "v1" && sent.length === expected.length && timingSafeEqual(sent, expected);
}
