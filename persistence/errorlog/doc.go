// Package errorlog keeps what failed (error_log), and which failures, in it and among the dead letters, no notification has
// reported yet.
//
// It must never keep a payload, a header or a secret, nor know how a notification is sent.
package errorlog
