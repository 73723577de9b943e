// Package keys claims the idempotency keys of events, and settles whose they are.
//
// It must not decide what an event without its key becomes: the writer does.
//
// A transaction that claims keys holds the locks of their events. All transactions claim keys in one order: Sort.
package keys
