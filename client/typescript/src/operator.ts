// A client of the operator API. Its types are generated from openapi.json.
import createClient, { type Client } from "openapi-fetch";
import { authorization } from "./authorization.js";
import type { components, paths } from "./openapi.js";

export type { components, paths };

export interface OperatorOptions {
  /** The base URL of the operator port, such as http://127.0.0.1:8081. */
  url: string;
  /** Sent with each request, unless it is missing. */
  token?: string;
  /** The limit of a request and its response: milliseconds, 60000 by default. */
  timeout?: number;
}

/** Returns a client whose methods take a path of the API, and return { data } or { error }. */
export function operator({ url, token, timeout = 60_000 }: OperatorOptions): Client<paths> {
  return createClient<paths>({
    baseUrl: url,
    ...(token && { headers: { authorization: authorization(token) } }),
    fetch: (request) => fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeout)]) }),
  });
}
