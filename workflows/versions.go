package workflows

import "go.temporal.io/sdk/workflow"

// This file lists the changes to workflow code that open runs may replay across. A change that alters the commands of a
// workflow gets a change ID here, with its reason. The workflow checks it where the change applies:
//
//	if !hasChange(ctx, versionX) { … the old way … }
//
// Worker versioning doesn't make entries unnecessary: most installations don't use it, and auto-upgraded or reset runs replay on
// another build.
//
// An entry is never removed while a run that started before it can still be open, reset or queried. The tests of
// workflows/histories replay testdata/histories with the current code; recorded histories are never changed or removed.
//
// Some changes need no entry. A new field of a definition reaches a run with the result of its parse step, and is missing in
// older runs (event.Policy, FailOnTimeout). The same goes for the upsert step after a persist step that has already upserted:
// it depends on the entities in the persist step's result, and it comes last, so no older worker has to replay it. Likewise, a
// run only ends with the outcome of an operator's decision if an activity returned one.

// versionTakeOver: a run whose key belongs to an event with an open dead letter, or without a run, continues as that event;
// before, it ended as a duplicate. Older workers ignore this result of the persist step.
const versionTakeOver = "take-over-dead-owner"

// versionPurgeChanges: a purge also deletes the change feed.
const versionPurgeChanges = "purge-changes"

// versionPurgeArchivedLast: a purge starts with data that needs no archive, so that an archive that isn't writable doesn't block
// it; before, it started with events.
const versionPurgeArchivedLast = "purge-archived-last"

// versionLargeEvents: the steps of a large event read it from the first event of the history; before, it was their argument.
const versionLargeEvents = "large-events"

// versionLargeChanges: the same for events with large changes. Only newer workers return such a result; the version stops older
// workers from continuing the run.
const versionLargeChanges = "large-changes"

// versionNameDeadLetter: a failing run includes the ID of its dead letter in its error. Runs without this version treat any
// result of RecordDeadLetter as an operator's decision.
const versionNameDeadLetter = "name-dead-letter"

// versionKeepCancel: a run that was canceled just before continuing as new ends as canceled. Before, the next run carried on as
// if nothing had been canceled.
const versionKeepCancel = "keep-cancel"

// versionContinueSweep: a sweep of many closed runs continues as new.
const versionContinueSweep = "continue-sweep"

// versionSweepUnfinished: a sweep also checks unfinished events, whose runs Temporal may have lost.
const versionSweepUnfinished = "sweep-unfinished"

// versionSweepAccepted: a sweep also looks for acknowledged events whose runs were deleted before they were recorded.
const versionSweepAccepted = "sweep-accepted"

// versionCompareMarks: a sweep compares its marks in the two stores, and restores what one of them lacks after it was set back.
const versionCompareMarks = "compare-marks"

// versionPersistAgain: a run whose upsert step finds no row, since the database was set back to before its persist step, persists
// the event again; before, it retried the upsert step until its dead letter.
const versionPersistAgain = "persist-again"

// versionFailAsOwner: a run that fails before finding that its key belongs to an event with an open dead letter fails as that
// event, also in its memo; before, it opened its own dead letter.
const versionFailAsOwner = "fail-as-dead-owner"

// versionFetchState: a run of a thin event fetches the state of what the event names, and parses the event again. Only newer
// workers return such a result of the parse step; the version stops older workers from continuing the run.
const versionFetchState = "fetch-state"

// versionFetchAlso: the same for what a fetched state names.
const versionFetchAlso = "fetch-also"

// versionActivityNames: activities have their present names; before, those of operations.FormerNames.
const versionActivityNames = "activity-names"

// named returns the activity under its present name, or under its former name for runs without versionActivityNames.
func named(ctx workflow.Context, present, former any) any {
	if hasChange(ctx, versionActivityNames) {
		return present
	}
	return former
}

// hasChange reports whether the run has the change.
func hasChange(ctx workflow.Context, changeID string) bool {
	return workflow.GetVersion(ctx, changeID, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}
