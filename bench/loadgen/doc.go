// Package loadgen sends webhooks as the providers would: correctly signed, at a given rate or as fast as a number of
// connections allows, with duplicates and forgeries mixed in. It writes a ledger of what it sends, and measures the answers.
//
// It shares its machine with the system under test, so requests are cheap: a body is a template with a few holes, and nothing
// is evaluated during a run. What a run sends depends only on its seed and the number of each request.
//
// It doesn't check what happens to the events: readers of the ledger do.
package loadgen
