// Package console is what operators see in a browser: pages that are rendered here, which read and change through the interfaces
// of the API, so that what a role sees and may do is the same in both. Every page works without JavaScript.
//
// It must never know PostgreSQL, the persistence package or Temporal's client, nor decide who gets in: package operator does.
package console
