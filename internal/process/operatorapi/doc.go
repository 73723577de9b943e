// Package operatorapi builds the operators' view of a running process: the operator API and the console, their connection pool,
// access tokens, and the link that logs in.
//
// It must not start, stop or serve anything: package process does.
package operatorapi
