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
//	queued ─▶ asks the breaker ─┬─ let through ─▶ started ─┬─ confirmed ─▶ 2xx
//	  │                         ├─ busy ─┐           ▲     ├─ late ──┐
//	  │ late, in a large batch  └─ down ─┤           │     └─ fails ─┤
//	  ▼                                  ▼           │               ▼
//	the inbox ◀──────────────────────────────────────┼───────────────┘
//	  ├─ stored ─▶ 2xx, "spooled"                    │
//	  └─ exhausted ─┬─ Temporal was only busy ───────┘
//	                ├─ a start is in flight: wait for it
//	                └─ else ─▶ 503
//
// Each store is asked once. The first to commit answers, and there is no 2xx before that. A start continues after its request
// has stopped waiting; if it is confirmed after the inbox has the event, the row is removed. If both remain, the workflow ID
// makes one of them a duplicate.
//
// If both stores count as down, an occasional request probes them at once and waits only for a moment. A late start is stuck if
// Temporal counts as down by then: with the inbox exhausted as well, its request stops waiting.
//
// # The lanes of the inbox
//
// The overflow lane has the events that Temporal couldn't accept: the drain starts one workflow for each, alongside live
// traffic. The bulk lane is filled deliberately: the bulk starter starts workflows that process many events at once.
package intake
