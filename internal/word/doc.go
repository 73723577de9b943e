// Package word tells which value of a closed set a text names, and which was probably meant.
//
// It must never know what the values are for: states, roles, providers and commands are chosen alike.
package word
