// Package definition holds the commands for whoever writes a provider's definition: list, show, check, explain, new.
//
// It must never open a store: a definition can be tried out without any server.
package definition
