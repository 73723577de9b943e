package intake

// What is known of a commit while it goes on. Each is a bit, so that a rule can name several.
type (
	// start is how far the start in Temporal has come.
	start uint8
	// store is how far the commit to the inbox has come.
	store uint8
	// clock is how much of the request's time is left.
	clock uint8
)

const (
	queued    start = 1 << iota // the request has as many starts under way as it may
	down                        // not begun: Temporal counts as down
	busy                        // not begun: too many starts are under way
	probing                     // under way, to see whether Temporal is back; the inbox counts as down as well, or there is none
	started                     // under way
	stuck                       // under way, late, and Temporal has come to count as down
	confirmed                   // the event is in Temporal
	failed                      // Temporal has not taken it
	anyStart  = 1<<iota - 1
)

const (
	unasked   store = 1 << iota
	writing         // under way, beside the start
	stored          // the event is in the inbox, or one of its key is
	exhausted       // it has failed, or there is no inbox
	anyStore  = 1<<iota - 1
)

const (
	early   clock = 1 << iota
	late          // the ACK budget is used up; without an inbox nobody counts it
	over          // nobody waits any more
	anyTime = 1<<iota - 1
)

// action is what is to be done next.
type action string

const (
	awaitSlot   action = "await a slot" // or the end of the ACK budget
	await       action = "await"        // whatever comes first of what is under way and the end of the time
	insist      action = "insist"       // start although too many are under way
	spool       action = "spool"        // commit to the inbox, whose drain starts it
	spoolBeside action = "spool beside" // the same beside the start; the drain leaves the row alone until that has ended
	answerStart action = "answer with the start"
	answerStore action = "answer with the inbox"
	giveUp      action = "give up"
)

// rules are read from the top; the first that fits holds. Each store is asked once at most.
var rules = []struct {
	start start
	store store
	clock clock
	do    action
}{
	// Whoever commits first answers.
	{confirmed, anyStore, anyTime, answerStart},
	{anyStart, stored, anyTime, answerStore},
	{anyStart, anyStore, over, giveUp},

	// Temporal does not take it, or not now: the inbox does.
	{down | busy | failed, unasked, anyTime, spool},
	{down | failed, exhausted, anyTime, giveUp},
	{busy, exhausted, anyTime, insist},

	// In a large batch what cannot be started within the ACK budget goes to the inbox.
	{queued, unasked, late, spool},
	{queued, anyStore, anyTime, awaitSlot},

	// The start is late: the inbox takes the event as well.
	{started | stuck, unasked, late, spoolBeside},
	{probing, unasked, anyTime, spoolBeside},
	{stuck, exhausted, anyTime, giveUp},
	{anyStart, anyStore, anyTime, await},
}

// decide gives what is to be done.
func decide(start start, store store, clock clock) action {
	for _, r := range rules {
		if r.start&start != 0 && r.store&store != 0 && r.clock&clock != 0 {
			return r.do
		}
	}
	return giveUp // not reached: the last rule fits all
}

// reason is why an event goes to the inbox: a label of a metric.
func (s start) reason() string {
	switch s {
	case down, probing:
		return "down"
	case busy:
		return "busy"
	case failed:
		return "failed"
	default:
		return "slow"
	}
}
