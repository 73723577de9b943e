package delivery

// Codes of what ends deliveries that no attempt has ended, as the SQL of the outbox writes them. Those of attempts are their
// senders'.
const (
	// CodeLostLeases: it was leased again and again, and no process has said what became of it.
	CodeLostLeases = "lost_leases"
	// CodeExpired: it was open for longer than its destination keeps deliveries.
	CodeExpired = "expired"
	// CodeDeleted: its subscription or destination was deleted.
	CodeDeleted = "deleted"
	// CodeCanceled: an operator has canceled it.
	CodeCanceled = "canceled"
	// CodeUnreadable is of a destination whose settings this version cannot read: nothing is delivered until it is applied again.
	CodeUnreadable = "unreadable_destination"
	// CodeMissed: it could not start at the time that the rate has given it.
	CodeMissed = "missed"
	// CodeExpunged: the content of its event was removed.
	CodeExpunged = "expunged"
)
