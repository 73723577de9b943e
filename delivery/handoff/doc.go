// Package handoff delivers events to workflows in the user's own Temporal: it starts a workflow, signals one, or does a
// signal-with-start.
//
//	target, message ──▶ evaluate (workflow ID, input …) ──▶ encode (the profile's codec) ──▶ call, with our request ID
//
// All attempts of a delivery use the same request ID, so that a run applies it once even if a response was lost. That guarantee
// is per run, because Temporal stores request IDs in the state of a run. If a response is lost and the workflow then continues as
// new, is reset or passes its retention, a signal can repeat. Therefore every input that is an object carries event_id.
//
// The package must not depend on when an attempt is due or where deliveries are stored.
package handoff
