// Package access identifies callers by bearer token or session, defines what each role may do, and locks out addresses that
// guess.
//
// It must not handle requests: package operator does.
package access
