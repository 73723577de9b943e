// Package moving reads what another system has: a file with one record a line, which tells of keys, events, dead letters,
// entities or subscriptions. It finds the keys of stored bodies by the definitions of today, names each mistake with its line
// and field, and asks for the import of what it has read.
//
// It must never know SQL or Temporal, nor repeat a value of a file in an error, but for the name of a kind: others may be a
// payload or a secret.
package moving
