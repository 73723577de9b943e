// Package errorlog stores errors (error_log), and tracks which failures, in it and among the dead letters, no notification has
// reported yet.
//
// It must never store a payload, a header or a secret, nor depend on how notifications are sent.
package errorlog
