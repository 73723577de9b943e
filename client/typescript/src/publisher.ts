import { setTimeout as sleep } from "node:timers/promises";
import { authorization } from "./authorization.js";

/** What a service publishes. */
export interface Event {
  /**
   * Identifies the event forever within its source. Choose it when the event happens, and store it with what happened: Holdfast
   * recognizes an event that is published again by this ID.
   */
  id: string;
  /** A name such as order.paid. */
  type: string;
  /** That of the declared type, such as 2. Without it, the lowest declared version counts. */
  version?: string;
  /** When it happened. Without it, the time of receipt counts. */
  time?: Date;
  /** Encoded as JSON. */
  data?: unknown;
}

export interface PublisherOptions {
  /** The base URL of Holdfast's public port, such as http://127.0.0.1:8080. */
  url: string;
  /** One of the tokens in Holdfast's EVENTS_TOKEN. */
  token: string;
  /** Names the service. IDs of events are unique within their source. */
  source: string;
  /** After this time no further attempt starts: milliseconds, 60000 by default. 0 means one attempt. */
  retryFor?: number;
  /** The limit of each attempt: milliseconds, 15000 by default. */
  timeout?: number;
}

/** Says that Holdfast has committed an event durably. All fields but the flags are missing if the response ended early. */
export interface Receipt {
  /** Holdfast's ID of the event. For a duplicate it is that of the first one, if it is known yet. */
  eventId?: string;
  workflowId?: string;
  /** accepted or spooled, or for a duplicate processing, processed or dead. */
  status?: string;
  /** Holdfast already had the event, for example from an attempt whose response got lost. */
  duplicate: boolean;
  /** The ID belongs to an event with other content: this one is kept as a dead letter. */
  conflict: boolean;
  /** How the event violates its declared type, or that the type's version is deprecated. */
  warning?: string;
  /** Finds the request in Holdfast's log. */
  requestId?: string;
}

/** Describes the last attempt to publish an event. */
export class PublishError extends Error {
  override name = "PublishError";
  /** The event's ID, as its publisher chose it. */
  readonly id: string;
  /** Counts the requests. */
  readonly attempts: number;
  /** The status of the response, or 0 if there was none. */
  readonly status: number;
  /** Identifies the problem and is stable; "no_response" if there was none. */
  readonly code: string;
  readonly requestId: string | undefined;
  /** The pause that the response asks for, in milliseconds. */
  readonly retryAfter: number;

  constructor(id: string, attempts: number, failure: Failure) {
    super(`publish event ${id}: attempt ${attempts}: ${failure.message}`, { cause: failure.cause });
    this.id = id;
    this.attempts = attempts;
    this.status = failure.status;
    this.code = failure.code;
    this.requestId = failure.requestId;
    this.retryAfter = failure.retryAfter;
  }

  /** Whether publishing the event again can succeed. If not, Holdfast has refused it and stored nothing. */
  get retryable(): boolean {
    return isRetryable(this.status);
  }
}

/** Why one attempt failed. */
interface Failure {
  status: number;
  code: string;
  message: string;
  retryAfter: number;
  requestId?: string | undefined;
  cause?: unknown;
}

/** Publishes the events of one source. */
export class Publisher {
  readonly #url: string;
  readonly #authorization: string;
  readonly #source: string;
  readonly #retryFor: number;
  readonly #timeout: number;

  /** Throws a TypeError for a URL or a token with which no request can be made. */
  constructor({ url, token, source, retryFor = 60_000, timeout = 15_000 }: PublisherOptions) {
    this.#url = addressOf(url);
    this.#authorization = authorization(token);
    this.#source = source;
    this.#retryFor = retryFor;
    this.#timeout = timeout;
  }

  /**
   * Sends an event until Holdfast has committed it durably, which is when it returns a receipt. All attempts send the same ID and
   * bytes, so the event exists once, however many of them arrive.
   *
   * It retries if there is no response, and on 408, 429 and 5xx, with pauses that double from 0.25 to 10 seconds, and not before
   * Retry-After. It throws a PublishError if the attempts failed. If that is retryable, or the signal aborts, the event may be
   * committed: publish it again with the same ID.
   */
  async publish(event: Event, signal?: AbortSignal): Promise<Receipt> {
    const body = encode(event, this.#source);
    const last = Date.now() + this.#retryFor;
    for (let attempt = 1; ; attempt++) {
      const result = await this.#attempt(body, signal);
      if (!("message" in result)) {
        return result;
      }
      const pause = Math.max(backoff(attempt), result.retryAfter);
      if (!isRetryable(result.status) || Date.now() + pause > last) {
        throw new PublishError(event.id, attempt, result);
      }
      await sleep(pause, undefined, signal && { signal });
    }
  }

  async #attempt(body: string, signal?: AbortSignal): Promise<Receipt | Failure> {
    const limit = AbortSignal.timeout(this.#timeout);
    let response: Response;
    try {
      response = await fetch(this.#url, {
        method: "POST",
        headers: { authorization: this.#authorization, "content-type": "application/json" },
        body,
        redirect: "manual",
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
    } catch (cause) {
      signal?.throwIfAborted();
      return { status: 0, code: "no_response", message: `no response: ${reasonOf(cause)}`, retryAfter: 0, cause };
    }
    const answer = parse(await beginningOf(response)); // the status decides
    return response.ok ? receiptOf(answer) : failureOf(response, answer);
  }
}

/** Refuses what fetch does: its own error would contain the password. */
function addressOf(base: string): string {
  const { username, password } = new URL(base);
  if (username || password) {
    throw new TypeError("the URL has a user or a password: use the token");
  }
  return base.replace(/\/$/, "") + "/events";
}

const maxResponse = 1 << 20; // bytes

/** Returns as much of a response's body as arrives, up to a limit. */
async function beginningOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxResponse) {
        break; // which cancels the rest
      }
    }
  } catch {
    // The connection ended early.
  }
  return Buffer.concat(chunks).toString();
}

/** Returns the body of the request, which is the same for every attempt. */
function encode(event: Event, source: string): string {
  if (!event.id || !event.type || !source) {
    throw new TypeError("an event needs an id, a type and a source");
  }
  const { id, type, version, time, data } = event;
  return JSON.stringify({ id, type, source, version, time: time?.toISOString(), data });
}

function isRetryable(status: number): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

/**
 * Returns the pause in milliseconds after an attempt, which is 1 for the first. It varies, so that publishers don't return all at
 * once.
 */
function backoff(attempt: number): number {
  return Math.min(250 * 2 ** (attempt - 1), 10_000) * (0.5 + Math.random() / 2);
}

/** fetch says only "fetch failed"; its cause says why. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || String(cause) : message;
}

interface Answer {
  duplicate?: boolean;
  conflict?: boolean;
  request_id?: string;
  events?: { event_id?: string; workflow_id: string; status: string; warning?: string }[];
  error?: { code: string; message: string; request_id: string } | string;
}

/** Reads the body of a response. One that can't be read doesn't change what its status says. */
function parse(text: string): Answer {
  try {
    return (JSON.parse(text) as Answer | null) ?? {};
  } catch {
    return {};
  }
}

function receiptOf(answer: Answer): Receipt {
  const receipt: Receipt = { duplicate: answer.duplicate ?? false, conflict: answer.conflict ?? false };
  const event = answer.events?.[0];
  if (event !== undefined) {
    Object.assign(receipt, {
      eventId: event.event_id, workflowId: event.workflow_id, status: event.status, requestId: answer.request_id,
      ...(event.warning && { warning: event.warning }),
    });
  }
  return receipt;
}

function failureOf(response: Response, answer: Answer): Failure {
  const { status } = response;
  const error = typeof answer.error === "object" && answer.error?.code
    ? answer.error
    : { code: "unknown", message: response.statusText, request_id: undefined }; // of a proxy, perhaps
  return {
    status,
    code: error.code,
    message: `status ${status}: ${error.code}: ${error.message}`,
    retryAfter: retryAfter(response.headers.get("retry-after")),
    requestId: error.request_id,
  };
}

/** Reads the header: seconds, or a date. It returns milliseconds. */
function retryAfter(header: string | null): number {
  if (header === null) {
    return 0;
  }
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Math.max(0, wait || 0);
}
