// Package chaos tests that no acknowledged event is lost. Real programs run on loopback as they would in production: two
// ingresses, two workers, a Temporal server, a PostgreSQL for Holdfast and another one for Temporal, so that each can fail
// alone, with Toxiproxy on the links between them. A scenario sends load and records it in a ledger, injects a fault, removes
// it, waits until everything is processed, and then checks the invariants of package ledger and some that are visible only from
// outside.
//
// `go test ./e2e/chaos` runs the few most significant scenarios, `make chaos` runs all of them.
package chaos
