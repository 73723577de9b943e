// Package intake is how an event becomes durable: it commits the event to Temporal, or to the inbox where Temporal does not
// confirm in time, and later starts what waits there.
//
// It must never know HTTP, a provider's definition, SQL, or how Temporal is spoken to.
//
// # The states of a commit
//
// What is done next is read from a table (decision.go) by three things that are known: how far the start in Temporal has come,
// how far the commit to the inbox, and how much of the request's time is left.
//
//	queued ─▶ asks the breaker ─┬─ let through ─▶ started ─┬─ confirmed ─▶ 2xx
//	  │                         ├─ busy ─┐           ▲     ├─ late ──┐
//	  │ late, in a large batch  └─ down ─┤           │     └─ fails ─┤
//	  ▼                                  ▼           │               ▼
//	the inbox ◀──────────────────────────────────────┼───────────────┘
//	  ├─ stored ─▶ 2xx, "spooled"                    │
//	  └─ exhausted ─┬─ Temporal was only busy ───────┘
//	                ├─ a start is under way: it is waited for
//	                └─ else ─▶ 503
//
// Each store is asked once. The first that commits answers, and nothing is answered with a 2xx before. A start goes on when
// nobody waits for it any more; if it is confirmed after the inbox has the event, the row is removed. Should both be left, the
// workflow ID makes one of them a duplicate.
//
// Where both stores count as down, one request now and then probes them at once and waits for a moment only. A start that is
// late while Temporal has come to count as down is stuck: with the inbox exhausted as well, nobody waits for it.
//
// # The lanes of the inbox
//
// The overflow lane has what Temporal could not take: the drain starts it, one workflow for each event, beside live traffic. The
// bulk lane has what is meant to be there: the bulk starter calls workflows that work off many events at once.
package intake
