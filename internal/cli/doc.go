// Package cli has what all commands share: strict filters, tables, JSON, progress, exit codes, and the stores that commands use.
//
// It must not depend on any command. The commands are in the packages below it, by noun.
package cli
