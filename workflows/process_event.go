// Package workflows orchestrates the processing of events, deterministically: all side effects are in activities.
//
// It must never read configuration, a clock or a database. The provider's definition reaches it as the result of the parse step
// and so is part of the history.
package workflows

import (
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities"
	"holdfast/event"
)

// do provides the activity names of the event steps.
var do *activities.Activities

// ProcessResult is the result of a run that didn't fail.
type ProcessResult struct {
	EventID string        `json:"event_id"`
	Outcome event.Outcome `json:"outcome"`
	// Owner is the event that owns the key, if Outcome is duplicate.
	Owner string `json:"owner,omitempty"`
	// CorrelationID is the correlation ID of the request.
	CorrelationID string `json:"correlation_id,omitempty"`
	// Decision is set if an operator made a decision about the event (discarded, replaced or expunged).
	Decision *event.Decision `json:"decision,omitempty"`
	// PassedTo is the event that has the key now, if the decision has passed it on.
	PassedTo *event.KeyOwner `json:"passed_to,omitempty"`

	rescues bool // the key's owner is dead or unfinished, and this redelivery can continue it
}

// decided returns the result of a run that an operator's decision ended.
func (r ProcessResult) decided(v *event.Decision) ProcessResult {
	r.Outcome, r.Decision = v.Outcome, v
	return r
}

// ProcessEvent processes one event: parse → fetch, if it is thin → persist → upsert entities, the last two in one transaction if
// possible. The history shows all steps. If the retries are exhausted, it records a dead letter and fails, so that
// ExecutionStatus="Failed" finds the run. If an operator has made a decision about the event, the run ends with that outcome.
func ProcessEvent(ctx workflow.Context, receipt event.Receipt, body converter.RawValue) (ProcessResult, error) {
	in := inputOf(receipt, body)
	result, parsed, failed := process(ctx, &in)
	if result.rescues {
		takeOver(ctx, &in.receipt, result.Owner)
		result, parsed, failed = process(ctx, &in)
	}
	if failed != nil {
		recorded, err := deadLetter(ctx, in, *failed)
		switch {
		case err != nil:
			return ProcessResult{}, err
		case recorded.Decision != nil:
			result = result.decided(recorded.Decision)
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
	if parsed, failed = parseFetched(ctx, in); failed != nil {
		return result, parsed, failed
	}
	showType(ctx, in.receipt, parsed)
	stored, failed := store(ctx, in, parsed, result, true)
	if failed != nil && lacksRow(failed.Code) {
		stored, failed = store(ctx, in, parsed, result, false)
	}
	return stored, parsed, failed
}

// store persists a parsed event and upserts its entities. With persistsAgain it ends as soon as the upsert finds that the
// database was set back to before the persist step.
func store(
	ctx workflow.Context, in *input, parsed event.Parsed, result ProcessResult, persistsAgain bool,
) (ProcessResult, *event.Failure) {
	var persisted event.Persisted
	persist := step{name: event.StepPersist, policy: parsed.Policy, eventID: in.receipt.ID, isSlow: in.isStored()}
	if failed := persist.run(ctx, &persisted, in.persist(parsed)); failed != nil {
		return result, failed
	}
	if persisted.Decision != nil {
		result.PassedTo = persisted.PassedTo
		return result.decided(persisted.Decision), nil
	}
	if persisted.Duplicate {
		result.Outcome, result.Owner = event.OutcomeDuplicate, persisted.Owner
		result.rescues = persisted.OwnerWaits && persisted.Conflict == nil && !parsed.RejectRedelivery
		return result, nil
	}
	if parsed.Outcome == event.OutcomeIgnored {
		result.Outcome = event.OutcomeIgnored
		return result, nil
	}
	if persisted.Processed {
		showUpsert(ctx, in, persisted)
		return result, nil
	}

	upsert := step{
		name: event.StepUpsert, policy: parsed.Policy, eventID: in.receipt.ID, persistsAgain: persistsAgain, isSlow: in.isStored(),
	}
	var upserted activities.Upserted
	failed := upsert.run(ctx, &upserted, in.upsert(parsed))
	if failed == nil && upserted.Decision != nil {
		result = result.decided(upserted.Decision)
	}
	return result, failed
}

// showUpsert adds the upsert step to the history if the persist step has already upserted the entities. It only makes the
// entities visible, so its error is ignored.
func showUpsert(ctx workflow.Context, in *input, persisted event.Persisted) {
	if len(persisted.Entities) == 0 {
		return
	}
	activityCtx := withLocalOptions(ctx, string(event.StepUpsert)+": "+strings.Join(persisted.Entities, ", "))
	_ = workflow.ExecuteLocalActivity(activityCtx, do.UpsertEntities, in.small(), event.Parsed{}, persisted).Get(ctx, nil)
}

// parse runs the parse step. If the changes turn out to be large, it runs the step again as for a large event.
func parse(ctx workflow.Context, in *input) (parsed event.Parsed, failed *event.Failure) {
	s := step{name: event.StepParse, policy: defaultPolicy(), eventID: in.receipt.ID, isSlow: in.isStored()}
	failed = s.run(ctx, &parsed, in.parse())
	if failed == nil && parsed.Large {
		in.large, parsed = true, event.Parsed{}
		failed = s.run(ctx, &parsed, in.parse())
	}
	return parsed, failed
}

// parseFetched runs the parse step. If the event is thin, it fetches the state of what the event names, and parses the event with
// it; then, up to twice, what the state names.
func parseFetched(ctx workflow.Context, in *input) (parsed event.Parsed, failed *event.Failure) {
	parsed, failed = parse(ctx, in)
	for range 3 {
		if failed != nil || parsed.Fetch == nil {
			break
		}
		s := step{name: event.StepFetch, summary: "fetch: " + parsed.Fetch.From, policy: parsed.Fetch.Policy, eventID: in.receipt.ID}
		var fetched event.Fetched
		if failed = s.runOn(ctx, QueueFetch, &fetched, in.fetch()); failed == nil {
			parsed, failed = parse(ctx, in)
		}
	}
	return parsed, failed
}

// showType corrects the search attribute of the event's type.
func showType(ctx workflow.Context, r event.Receipt, parsed event.Parsed) {
	if parsed.Type != "" && parsed.Type != r.Type && workflow.GetVersion(ctx, versionTypeShown, workflow.DefaultVersion, 1) == 1 {
		_ = workflow.UpsertTypedSearchAttributes(ctx, SearchEventType.ValueSet(parsed.Type)) // fails only if it can't be encoded
	}
}

// takeOver continues the run as the event that owns the key, also in its memo: that event is dead or unfinished. The ingress does
// the same if Temporal still has that event's run.
func takeOver(ctx workflow.Context, receipt *event.Receipt, owner string) {
	receipt.ID = owner
	_ = workflow.UpsertMemo(ctx, map[string]any{MemoEventID: owner}) // fails only if a string can't be encoded
}
