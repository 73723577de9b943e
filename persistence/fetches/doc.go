// Package fetches stores the states that were fetched for events.
//
// It must not depend on how a state is fetched, or on what it means.
package fetches
