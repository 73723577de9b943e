// Package doctor looks at an installation from where it stands: database, Temporal, definitions, host. Each check gives a
// verdict, what was found, and what to do about it.
//
// It must never repair or print. It changes nothing but for one run that nobody executes, which it deletes.
package doctor
