// Package bulk stores what operators start over many events: replays, rebuilds, resends and imports have a table each, and
// share this code.
package bulk
