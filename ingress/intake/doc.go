// Package intake makes events durable: it commits an event to Temporal, or to the inbox if Temporal doesn't confirm in time,
// and later starts the events in the inbox.
//
// It must not depend on HTTP, a provider's definition, SQL or the Temporal client.
//
// # The states of a commit
//
// The next action is looked up in a table (decision.go) by three states: of the start in Temporal, of the commit to the inbox,
// and of the request's remaining time.
//
//	queued ─▶ check the breaker ┬─ permitted ───▶ started ─┬─ confirmed ─▶ 2xx
//	  │                         ├─ busy ─┐           ▲     ├─ late ──┐
//	  │ late, in a large batch  └─ down ─┤           │     └─ fails ─┤
//	  ▼                                  ▼           │               ▼
//	the inbox ◀──────────────────────────────────────┼───────────────┘
//	  ├─ stored ─▶ 2xx, "spooled"                    │
//	  └─ unavailable ─┬─ Temporal was only busy ─────┘
//	                  ├─ a start is in flight: wait for it
//	                  └─ else ─▶ 503
//
// Each store is tried once. The response is sent after the first commit, never before. A start continues after its request has
// stopped waiting; if it is confirmed after the inbox has the event, the row is removed. If both remain, the workflow ID makes
// one of them a duplicate.
//
// If both stores are considered down, an occasional request probes both at the same time and waits only briefly. A start that is
// late while Temporal is considered down counts as stuck: if the inbox is unavailable as well, the request stops waiting for it.
//
// With Options.Both an event must be in both stores, one after the other: see commitBoth.
//
// # The lanes of the inbox
//
// The overflow lane holds events that Temporal couldn't accept: the drain starts one workflow for each, alongside live traffic.
// Bulk events go to the bulk lane directly: the bulk starter starts workflows that process many events at once. The copy lane
// holds copies of events that Temporal has, until they are stored.
package intake
