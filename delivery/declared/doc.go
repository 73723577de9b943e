// Package declared compares declared destinations, subscriptions and event types with the stored ones, and plans how the one
// becomes the other.
//
// It must not depend on how they are stored or declared.
package declared
