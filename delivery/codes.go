package delivery

// Codes of deliveries that ended without an attempt, also used in the SQL of the outbox. Senders define the codes of attempts.
const (
	// CodeLostLeases: the delivery was leased repeatedly and no process reported a result.
	CodeLostLeases = "lost_leases"
	// CodeExpired: the delivery was open for longer than Destination.Keep.
	CodeExpired = "expired"
	// CodeDeleted: its subscription or destination was deleted.
	CodeDeleted  = "deleted"
	CodeCanceled = "canceled"
	// CodeUnreadable: this release can't read the destination's settings. Nothing is delivered until it is applied again.
	CodeUnreadable = "unreadable_destination"
	// CodeLateStart: the attempt couldn't start in the slot that the rate limit gave it.
	CodeLateStart = "late_start"
	CodeExpunged  = "expunged"
)
