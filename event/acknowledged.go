package event

// CodeBodyLost is the code of the dead letter of an acknowledged event whose run was deleted before it was recorded, or of a
// large event whose body PostgreSQL no longer has, since it was set back to before the event.
const CodeBodyLost = "body_lost"

// BodyLostText is the message of such a dead letter.
const BodyLostText = "the event was acknowledged, but its run was deleted from Temporal before it ended, and nothing has its " +
	"body: have the provider send it again, or recover it from the provider's list; the event then resolves this dead letter. " +
	"Or discard it"

// Acknowledged is an event that Temporal has accepted, and its run there.
type Acknowledged struct {
	Receipt Receipt
	RunID   string
}

// ForLoss returns the part of a receipt that is kept until its event is recorded: what tells operators which event it was, and
// lets the same event, sent again, resolve its dead letter.
func (r Receipt) ForLoss() Receipt {
	r.Headers, r.Query, r.Path, r.Root, r.Trace = nil, nil, nil, nil, ""
	r.BodyLost = true
	return r
}
