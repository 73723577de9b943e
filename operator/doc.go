// Package operator is the private HTTP side: whether the process lives, whether it is ready, its metrics, and the door to the API
// and the console for the people who run it. Who may call what stands in one table (access.go); what is served is described by
// openapi.json. How a request is read stands in the room exchange, what the API answers in the room api.
//
// It is given everything that it shows. It must never know PostgreSQL, the persistence package or Temporal's client: what it
// needs of them it declares as small interfaces or functions of its own. Nor must it know what the API shows of an event.
package operator
