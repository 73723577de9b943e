// Package api is what the operator side says and changes of what came in: events, dead letters, entities, what is run again, the
// logs, the feed of changes, and payloads for Temporal Web. What somebody may see of a body is decided here, by what the
// definition of its provider hides. What goes out has a room below; package api puts both together.
//
// It is given everything that it shows. It must never know PostgreSQL, the persistence package or Temporal's client: what it
// needs of them it declares as small interfaces of its own. Nor must it know who may call what: that is one table, in package
// operator, through whose door its routes are tested, too.
package api
