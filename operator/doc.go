// Package operator is the private HTTP side: whether the process lives, whether it is ready, its metrics, and the API for
// the people who run it. Who may call what stands in one table (access.go); what is served is described by openapi.json.
//
// It is given everything that it shows. It must never know PostgreSQL, the persistence package or Temporal's client: what
// it needs of them it declares as small interfaces or functions of its own.
package operator
