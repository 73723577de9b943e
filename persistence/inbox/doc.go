// Package inbox stores events that wait to be started, each once per dedupe window.
//
// # The states of a row
//
//	spooled ── due ──▶ claimed by a drain ─┬─ started ──────────────▶ gone
//	   ▲                                   ├─ dead, or unreadable ──▶ gone, a dead letter instead
//	   └── postponed, with its last error ─┘
//
// A claim is a row lock that ends with the drain's transaction: if its process dies, the row is unchanged. Rows claimed by
// another process are skipped. Package writer claims the rows of the bulk lane and writes them in batches; events that leave a
// batch move to the overflow lane, and are drained from there.
//
// The package must not depend on how events are started: the drain calls a function for each row.
package inbox
