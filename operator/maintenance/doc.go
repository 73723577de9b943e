// Package maintenance does what operators do to the stores as a whole: it purges what is past its retention, expunges single
// events, and repairs what a restore of one store has lost.
//
// It must not depend on how the stores work, or on how results are shown.
package maintenance
