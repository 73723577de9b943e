package intake

// The state of a commit in progress. The values are bits, so that a rule can match several.
type (
	// startState is the state of the start in Temporal.
	startState uint8
	// storeState is the state of the commit to the inbox.
	storeState uint8
	// clockState is how much of the request's time is left.
	clockState uint8
)

const (
	queued    startState = 1 << iota // waiting: the request has reached maxConcurrentStarts
	down                             // not started: Temporal is considered down
	busy                             // not started: too many starts are in flight
	probing                          // in flight, to test whether Temporal is back; the inbox is considered down or isn't configured
	started                          // in flight
	stuck                            // in flight and late, and Temporal is now considered down
	confirmed                        // the event is in Temporal
	failed                           // Temporal has refused the event or failed
	anyStart  = 1<<iota - 1
)

const (
	untried     storeState = 1 << iota
	writing                // in flight, alongside the start
	stored                 // the inbox has the event, or another one with its key
	unavailable            // the write has failed, or there is no inbox
	anyStore    = 1<<iota - 1
)

const (
	inBudget   clockState = 1 << iota
	overBudget            // the ACK budget is used up; never set without an inbox
	timedOut              // the request's deadline has passed, or it was canceled
	anyTime    = 1<<iota - 1
)

// action is the next step of a commit.
type action string

const (
	awaitSlot      action = "await a slot"    // or the end of the ACK budget
	await          action = "await"           // a result in flight, the end of the ACK budget, or that of the request
	forceStart     action = "force start"     // start although too many starts are in flight
	spool          action = "spool"           // commit to the inbox; the drain starts the event
	spoolAlongside action = "spool alongside" // also spool; the drain skips the row until the start has ended
	answerStart    action = "answer with the start"
	answerStore    action = "answer with the inbox"
	giveUp         action = "give up"
)

// rules are matched from the top; the first match applies. Each store is tried at most once.
var rules = []struct {
	start startState
	store storeState
	clock clockState
	do    action
}{
	// Respond after the first commit.
	{confirmed, anyStore, anyTime, answerStart},
	{anyStart, stored, anyTime, answerStore},
	{anyStart, anyStore, timedOut, giveUp},

	// Temporal refuses the event, or can't accept it now: use the inbox.
	{down | busy | failed, untried, anyTime, spool},
	{down | failed, unavailable, anyTime, giveUp},
	{busy, unavailable, anyTime, forceStart},

	// Events of a large batch that can't be started within the ACK budget go to the inbox.
	{queued, untried, overBudget, spool},
	{queued, anyStore, anyTime, awaitSlot},

	// The start is late, or probes Temporal: commit to the inbox as well.
	{started | stuck, untried, overBudget, spoolAlongside},
	{probing, untried, anyTime, spoolAlongside},
	{stuck, unavailable, anyTime, giveUp},
	{anyStart, anyStore, anyTime, await},
}

// decide returns the next action.
func decide(start startState, store storeState, clock clockState) action {
	for _, r := range rules {
		if r.start&start != 0 && r.store&store != 0 && r.clock&clock != 0 {
			return r.do
		}
	}
	return giveUp // not reached: the last rule matches everything
}

// reason is the metric label that says why an event goes to the inbox.
func (s startState) reason() string {
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
