// Package loadgen sends webhooks as the providers would: correctly signed, at a given rate or as fast as a number of
// connections allows, with duplicates and forgeries mixed in. It writes a ledger of what it sends, and measures the answers.
//
// It shares its machine with what it measures, so a request costs as little as possible: a body is a template with a few
// holes, and nothing is evaluated while it runs. What a run sends is decided by its seed and the number of each request alone.
//
// It knows nothing of what becomes of the events: that is for whoever reads the ledger.
package loadgen
