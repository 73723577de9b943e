// Package eventtype is the vocabulary of declared event types: their JSON Schemas, and whether a published event has the form
// that its type declares. A check reads the event and the declaration only, and is bounded: see meter.
//
// It must not depend on where types are stored, or on what becomes of an event that violates one.
package eventtype
