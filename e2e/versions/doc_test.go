// Package versions runs tests of e2e on several versions of PostgreSQL and of the Temporal server, from the oldest supported one to the
// newest that can be installed. `make versions-test` runs it.
package versions
