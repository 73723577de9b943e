// Package word parses users' input: a value of a closed set, with a suggestion for a typo, and a time. It also formats a number
// with its noun.
//
// It must not depend on the meaning of the values: states, roles, providers and commands are parsed alike.
package word
