// Package word reads what people type: a value of a closed set, with the one that was probably meant, and a time. It also writes
// a number with its noun.
//
// It must never know what the values are for: states, roles, providers and commands are chosen alike.
package word
