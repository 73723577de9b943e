// Package operator is the private HTTP server: liveness, readiness, metrics, and authentication for the API and the console.
// Package access has the table of who may call what, and openapi.json describes the routes. Package httpapi parses requests and
// package api responds to them.
//
// It must not import PostgreSQL, the persistence package or Temporal's client: it declares what it needs of them as small
// interfaces or functions. Nor does it depend on how the API shows an event.
package operator
