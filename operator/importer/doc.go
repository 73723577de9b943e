// Package importer reads the data of another system: a file with one record per line, which describes a key, an event, a dead
// letter, an entity or a subscription. It finds the keys of stored bodies with the current definitions, reports each mistake
// with its line and field, and requests the import of what it has read.
//
// It must not depend on SQL or Temporal, nor repeat a value of a file in an error, except the name of a kind: others may be a
// payload or a secret.
package importer
