// Package workflows orchestrates the processing of events, deterministically: every effect on the world is an activity's.
//
// It must never read configuration, a clock or a store. What a provider's definition says reaches it as the result of the
// parse step, and so is part of the history.
package workflows

import (
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities"
	"holdfast/event"
)

// do names the activities; the worker's own instance executes them.
var do *activities.Activities

// ProcessResult is how a run that did not fail has ended.
type ProcessResult struct {
	EventID string        `json:"event_id"`
	Outcome event.Outcome `json:"outcome"`
	// Owner is the event that owns the key, if Outcome is duplicate.
	Owner string `json:"owner,omitempty"`
	// CorrelationID is that of the request which brought the event.
	CorrelationID string `json:"correlation_id,omitempty"`
	// Verdict says who has decided, when and why, if Outcome is discarded, replaced or expunged.
	Verdict *event.Verdict `json:"verdict,omitempty"`

	rescues bool // nothing works on the owner, and this is its redelivery
}

// decided is the result of a run that an operator's verdict has ended.
func (r ProcessResult) decided(v *event.Verdict) ProcessResult {
	r.Outcome, r.Verdict = v.Outcome, v
	return r
}

// ProcessEvent takes one event through parse → persist → upsert entities, the last two in one transaction where nothing is in the
// way. The history shows each of the three as a step. What the policies cannot save is recorded as a dead letter, and the run fails, so that operators find it with
// ExecutionStatus="Failed". An event that an operator has decided about ends with the outcome of the verdict, whatever becomes of
// its steps.
func ProcessEvent(ctx workflow.Context, receipt event.Receipt, body converter.RawValue) (ProcessResult, error) {
	in := inputOf(ctx, receipt, body)
	result, parsed, failed := process(ctx, &in)
	if result.rescues && takesOver(ctx, &in.receipt, result.Owner) {
		result, parsed, failed = process(ctx, &in)
	}
	if failed != nil {
		recorded, err := deadLetter(ctx, in, *failed)
		switch {
		case err != nil:
			return ProcessResult{}, err
		case recorded.Verdict != nil:
			result = result.decided(recorded.Verdict)
		default:
			result.Outcome, result.Owner = event.OutcomeDuplicate, recorded.DuplicateOf
		}
	}
	reportProcessed(ctx, in.receipt, parsed, result)
	return result, nil
}

func process(ctx workflow.Context, in *input) (result ProcessResult, parsed event.Parsed, failed *event.Failure) {
	result = ProcessResult{
		EventID: in.receipt.ID, Outcome: event.OutcomeProcessed, CorrelationID: in.receipt.CorrelationID,
	}
	if parsed, failed = parse(ctx, in); failed != nil {
		return result, parsed, failed
	}

	var persisted event.Persisted
	persist := step{name: event.StepPersist, policy: parsed.Policy, eventID: in.receipt.ID}
	if failed = persist.run(ctx, &persisted, in.persist(parsed)); failed != nil {
		return result, parsed, failed
	}
	if persisted.Verdict != nil {
		return result.decided(persisted.Verdict), parsed, nil
	}
	if persisted.Duplicate {
		result.Outcome, result.Owner = event.OutcomeDuplicate, persisted.Owner
		result.rescues = persisted.OwnerWaits && persisted.Conflict == nil && !parsed.RejectRedelivery
		return result, parsed, nil
	}
	if parsed.Outcome == event.OutcomeIgnored {
		result.Outcome = event.OutcomeIgnored
		return result, parsed, nil
	}
	if persisted.Processed {
		showUpsert(ctx, in, persisted)
		return result, parsed, nil
	}

	upsert := step{name: event.StepUpsert, policy: parsed.Policy, eventID: in.receipt.ID}
	var upserted activities.Upserted
	if failed = upsert.run(ctx, &upserted, in.upsert(parsed)); failed == nil && upserted.Verdict != nil {
		result = result.decided(upserted.Verdict)
	}
	return result, parsed, failed
}

// showUpsert makes the upsert a step of the history where the persist step has done it, too: its result says what has become of
// which entities. Nothing hangs on it, so it isn't tried on the durable lane. A worker of an earlier release didn't say it.
func showUpsert(ctx workflow.Context, in *input, persisted event.Persisted) {
	if len(persisted.Entities) == 0 {
		return
	}
	lane := withFastLane(ctx, string(event.StepUpsert)+": "+strings.Join(persisted.Entities, ", "))
	_ = workflow.ExecuteLocalActivity(lane, do.UpsertEntities, in.small(), event.Parsed{}, persisted).Get(ctx, nil)
}

// parse runs the parse step, once more if it finds only that the event is large.
func parse(ctx workflow.Context, in *input) (parsed event.Parsed, failed *event.Failure) {
	s := step{name: event.StepParse, policy: defaultPolicy(), eventID: in.receipt.ID}
	failed = s.run(ctx, &parsed, in.parse())
	if failed == nil && parsed.Large {
		in.large, parsed = isVersioned(ctx, versionLargeChanges), event.Parsed{}
		failed = s.run(ctx, &parsed, in.parse())
	}
	return parsed, failed
}

// takesOver makes the run one of the event that owns the key, which is dead or unfinished, as the ingress does where Temporal
// still has that event's run.
func takesOver(ctx workflow.Context, receipt *event.Receipt, owner string) bool {
	if !isVersioned(ctx, versionTakeOver) {
		return false
	}
	becomes(ctx, receipt, owner)
	return true
}

// becomes makes the run one of another event. The memo says so to everybody who asks whose run this is.
func becomes(ctx workflow.Context, receipt *event.Receipt, owner string) {
	receipt.ID = owner
	_ = workflow.UpsertMemo(ctx, map[string]any{MemoEventID: owner}) // it fails only where a text cannot be encoded
}
