// Package recovery reads a provider's list of events: it compiles the `api` and `recover` fields of a definition, builds the
// request for a page, and turns the answer into the requests that the provider would have sent. Package client does the HTTP.
//
// A Walk is a position in a list. It is small JSON, so that it can be stored after every page, and a walk can continue anywhere.
// What the caller must do:
//
//   - Start oldest first. A list that is newest first has been read only when its last page was: until then, a watermark must not
//     move, because all the older pages are still missing.
//   - Fix the window when the walk begins: [watermark - Overlap, now - Settle). Stay within Reach, with a minute to spare: some
//     providers refuse a filter that is older.
//   - Never begin before recovery was switched on, or before the present `dedupe` took effect, unless an operator accepts
//     duplicates: a purged key doesn't come back when the window is widened.
//   - Split the request of each item with Provider.SplitStored. Skip an event whose KeyFrom isn't event.KeyFromEvent: a hash
//     of a body from a list isn't that of the webhook, so that the event would be processed twice.
//   - Skip events of types that Types doesn't have; without Types, those of types that haven't arrived by webhook.
//   - Expect an event twice: a list that pages by offset moves when an event is added. Both have one key.
//   - An event younger than Retrying may still arrive. It isn't missed yet.
//   - Store no fingerprint of a recovered event: the text of the item differs from that of the webhook.
//   - Keep the rate, for all processes together. Wait for Error.RetryAfter if it is set.
//
// A Fetch is a GET for the current state of what an event names, from the `fetch` field of a definition.
//
// The package must not depend on how events are stored or started, and does no I/O.
package recovery
