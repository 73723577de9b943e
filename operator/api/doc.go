// Package api serves the operator API for received events: events, dead letters, entities, replays, the logs, the change feed,
// and payloads for Temporal Web. It redacts bodies as their providers' definitions require. Package deliveryapi, below it, serves
// deliveries; package api combines the two.
//
// It must not import PostgreSQL, the persistence package or Temporal's client: it declares what it needs of them as small
// interfaces. Nor does it decide who may call what: that table is in package access. Package operator tests its routes through
// the HTTP server.
package api
