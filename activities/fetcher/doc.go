// Package fetcher gets the current state of what an event names from the API of its provider.
//
// It must not depend on where states are stored, or on what they change.
package fetcher
