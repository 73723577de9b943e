// Package operator is the private HTTP side: whether the process lives, whether it is ready, its metrics, and later the
// API and the console for the people who run it.
//
// It is given everything that it shows. It must never know PostgreSQL, the persistence package or Temporal's client: what
// it needs of them it declares as small interfaces or functions of its own.
package operator
