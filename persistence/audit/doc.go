// Package audit stores what operators did (audit_log), and who is logged in to the console (sessions).
//
// An audit entry is written in the transaction of the change that it records: the package that makes the change queues it, so
// there is never one without the other.
//
// The log must never contain a payload, a header or a secret.
package audit
