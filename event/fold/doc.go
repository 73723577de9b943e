// Package fold makes the state of an entity of the changes that events bring, in whatever order those arrive, and says what each
// change has made of it: which fields differ, and where a field has its value from.
//
// It is pure: the same changes give the same bytes. It must never know where changes are stored, nor which of them are read.
package fold
