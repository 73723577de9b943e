// Package definition has the commands for authors of provider definitions: list, show, check, explain, new.
//
// It must not open a store: a definition can be tried without any server.
package definition
