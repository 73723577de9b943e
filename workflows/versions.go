package workflows

// This file lists the changes to workflow code that open runs may replay across. A change that alters the commands of a
// workflow gets a change ID here, with its reason:
//
//	const versionX = "x"
//
// The workflow checks it where the change applies:
//
//	if workflow.GetVersion(ctx, versionX, workflow.DefaultVersion, 1) == workflow.DefaultVersion { … the old way … }
//
// Worker versioning doesn't make entries unnecessary: most installations don't use it, and auto-upgraded or reset runs replay on
// another build.
//
// An entry is never removed while a run that started before it can still be open, reset or queried. The tests of
// workflows/histories replay testdata/histories with the current code; recorded histories are never changed or removed. Those
// whose names begin with v1 are of the first release, which needs no entry.
//
// Some changes need no entry. A new field of a definition reaches a run with the result of its parse step, and is missing in
// older runs (event.Policy, FailOnTimeout). The same goes for the upsert step after a persist step that has already upserted:
// it depends on the entities in the persist step's result, and it comes last, so no older worker has to replay it. Likewise, a
// run only ends with the outcome of an operator's decision if an activity returned one.

// versionTypeShown: from 0.10 on, a run whose parse step finds another type than the ingress did corrects its search attribute
// EventType. The ingress had an older definition, or couldn't read the type. Without it, Temporal Web and lists of accepted
// events don't find the run by the type that the event is stored with.
const versionTypeShown = "event-type-shown"
