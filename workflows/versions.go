package workflows

import "go.temporal.io/sdk/workflow"

// This file is the ledger of changes to workflow code that a run may meet half way. A change that alters the commands of a
// workflow gets a change ID here, with the reason and the release that brought it, and is asked for where it applies:
//
//	if !isVersioned(ctx, versionX) { … the old way … }
//
// That workers may have versions (a pinned run meets no other build than its own) makes no entry needless: most installations run
// without, a run that goes over to another build replays there, and so does one that is reset.
//
// An entry is never removed while a run that started before it can still be open, reset or queried. The histories in
// testdata/histories are replayed by the tests of workflows/histories against today's code; that corpus only ever grows.
//
// What a definition declares anew is no entry: it reaches a run with the result of its parse step (event.Policy), in which it is
// missing where the run is older (FailOnTimeout). So is the upsert step of an event that its persist step has upserted: the result of
// the persist step names the entities, which it did not in older runs. A version would cost each event two more events of its
// history. The step comes last, in the task that completes the run, so that no older worker finds it half way. That a run ends with the outcome of a verdict hangs on results of activities
// that no history from before has.

// versionTakeOver: a run that finds its key with an event whose dead letter waits, or whose run is gone, goes on as that event;
// before, it ended as that one's duplicate. The persist step of a newer worker may have said so to an older one, which took no
// notice.
const versionTakeOver = "take-over-dead-owner"

// versionPurgeChanges: a purge removes the change feed, too, which there was not before.
const versionPurgeChanges = "purge-changes"

// versionPurgeArchivedLast: a purge begins with what needs no archive, so that one which cannot be written stops nothing else;
// before, it began with events.
const versionPurgeArchivedLast = "purge-archived-last"

// versionLargeEvents: the steps of a large event read it from the first event of the history; before, each was given all of it.
const versionLargeEvents = "large-events"

// versionLargeChanges: so do the steps of an event whose body isn't large but whose changes are. No older worker says so of an
// event; the version keeps them from going on with it.
const versionLargeChanges = "large-changes"

// versionNameDeadLetter: a run that dies asks for the number of its dead letter and fails with it; before, it failed without. To
// a run that does not ask, any result of RecordDeadLetter is a verdict.
const versionNameDeadLetter = "name-dead-letter"

// versionKeepCancel: a run that was canceled just before it continues as new ends as canceled. Before, the next run went on as if
// nothing had happened.
const versionKeepCancel = "keep-cancel"

// versionContinueSweep: a sweep of many closed runs continues as new; before, all its pages were in one history.
const versionContinueSweep = "continue-sweep"

// versionSweepUnfinished: a sweep looks at unfinished events, too, whose runs Temporal may have lost; before, it looked at runs
// alone.
const versionSweepUnfinished = "sweep-unfinished"

// versionFailAsOwner: a run that fails before it has found its key with an event whose dead letter waits fails as that event, and
// its memo says so; before, it opened a dead letter of its own.
const versionFailAsOwner = "fail-as-dead-owner"

// isVersioned says whether the run is on the new side of a change.
func isVersioned(ctx workflow.Context, changeID string) bool {
	return workflow.GetVersion(ctx, changeID, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}
