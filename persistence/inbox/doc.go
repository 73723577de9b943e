// Package inbox keeps events that wait to be started, each once for a dedupe window.
//
// # The states of a row
//
//	spooled ── due ──▶ claimed by a drain ─┬─ started ──────────────▶ gone
//	   ▲                                   ├─ dead, or unreadable ──▶ gone, a dead letter instead
//	   └── postponed, with its last error ─┘
//
// A claim is a row lock that ends with the transaction of the drain: should its process die, the row is as it was. What another
// one works on is passed over. Rows of the bulk lane are taken by package writer, which writes them in batches; those that leave
// a batch are moved to the overflow lane, and drained from there.
//
// It must never know what starts an event: the drain asks a function for each row.
package inbox
