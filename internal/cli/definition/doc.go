// Package definition has the commands for authors of provider definitions: list, show, connect, check, explain, refusals, new.
//
// It must not open a store: a definition can be tried without any server.
package definition
