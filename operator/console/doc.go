// Package console renders the operators' web interface. It reads and changes through the API's interfaces, so roles see and may
// do the same in both. Every page works without JavaScript.
//
// It must not import PostgreSQL, the persistence package or Temporal's client, nor authenticate users: package operator does.
package console
