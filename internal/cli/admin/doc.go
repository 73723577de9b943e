// Package admin has the commands that inspect and maintain a whole installation: health, doctor, statistics, reports, errors,
// audit, reconcile, purge, tokens, keys, configuration.
//
// It must not decide what a change means: the domain packages do, for the API as well.
package admin
