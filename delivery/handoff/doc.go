// Package handoff hands events to workflows in somebody's own Temporal: it starts one, signals one, or signals one and starts it
// if it does not run.
//
//	target, message ──▶ evaluate (workflow id, input …) ──▶ encode (the profile's codec) ──▶ call, with a request id of ours
//
// An attempt is repeated under the request id of its delivery, so that a run applies it once, also where an answer was lost. What
// holds is once per run: Temporal keeps request ids in the state of one run, so that a lost answer with a continue-as-new, a
// reset or the end of the retention behind it can repeat a signal. Every input that is an object therefore carries event_id.
//
// The package must know neither when an attempt is due nor where deliveries are stored.
package handoff
