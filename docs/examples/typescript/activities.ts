// Envelope is the argument of the workflow. Its other fields: docs/deliveries-reference.md.
export interface Envelope {
  id: string;
  provider: string;
  type: string;
  // data is the body.
  data: unknown;
}

// fulfill does the work. It can run more than once, so make its effects idempotent, for example by the event's ID.
export async function fulfill(event: Envelope): Promise<string> {
  return `handled ${event.provider} ${event.type}`;
}
