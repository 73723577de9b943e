package workflows

// This file is the ledger of changes to workflow code that a run may meet half way. A change that alters the commands of a
// workflow gets a change ID here, with the reason and the release that brought it, and is asked for where it applies:
//
//	if workflow.GetVersion(ctx, versionX, workflow.DefaultVersion, 1) == workflow.DefaultVersion { … the old way … }
//
// An entry is never removed while a run that started before it can still be open, reset or queried. The histories in
// testdata/histories are replayed by a test against today's code; that corpus only ever grows.
//
// No entry yet: the histories recorded so far replay as they are.
