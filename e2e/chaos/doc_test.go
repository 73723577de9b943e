// Package chaos tests that nothing acknowledged is lost. Real programs run on loopback as they would in production: two
// ingresses, two workers, a Temporal server, a PostgreSQL for Holdfast and another one for Temporal, so that each can fail
// alone, with Toxiproxy on the links between them. A scenario sends load and keeps a ledger of it, makes a fault, takes it
// away, waits until the work is done, and then checks the invariants of package ledger and some that only an outsider sees.
//
// `go test ./e2e/chaos` runs the few scenarios that tell most, `make chaos` runs all of them.
package chaos
