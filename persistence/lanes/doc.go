// Package lanes has the rows of the inbox that are written or removed with an event: those that a batch claims in the bulk lane,
// and the copies and large bodies that are set aside for an event on its way through a run.
//
// It must not depend on what is written of an event. How events wait in the inbox and leave it is package inbox's.
package lanes
