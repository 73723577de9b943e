// Package eventlist reads providers' lists of events page by page, and turns their items into events that can be started: with
// the key that the webhook would have had, and without a fingerprint, because the text differs.
//
// It must not depend on how events are stored or started, nor choose what to read.
package eventlist
