// Package cli is the form that all commands have: filters that refuse what they cannot match, tables, JSON, progress, exit codes,
// and the tools that a command works with.
//
// It must never know what a command is for. Those stand in the rooms below it, by noun.
package cli
