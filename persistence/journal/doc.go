// Package journal keeps what is told of the flow beside the events: what operators did (audit_log), what failed (error_log), what
// is reported to a channel (alerts), events that were dropped since another one has their key (conflicts), how often an event
// came again (event_duplicates); and who has logged in to the console (sessions).
//
// An entry of the audit log, and a conflict, stand in the transaction of what they tell of, into which its room queues them: so
// there is never one without the other.
//
// It must never keep a payload, a header or a secret, nor know how an alert is sent.
package journal
