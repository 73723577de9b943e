// Package decisions stores what operators decided about events: discarded, replaced or expunged. A decision undoes what the event
// did to entities, and keeps its key, so that no further run or redelivery processes it.
//
// It must not depend on what is written of events without a decision.
package decisions
