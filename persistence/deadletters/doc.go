// Package deadletters stores what is needed to understand and rerun an event that could not be processed or delivered, and the
// replays that rerun many of them.
//
// # The states of a dead letter
//
//	from                         to          when
//	-                            open        a failure is recorded
//	open                         replaying   by an operator or the schedule
//	open                         exhausted   no automatic attempt is left
//	exhausted                    replaying   by an operator
//	replaying                    open        it failed again, was released, or its lease ended
//	open, replaying, exhausted   resolved    the writer has processed the event, or the delivery has succeeded
//	open, exhausted              discarded   an operator discards or edits it
//	open, replaying, exhausted   discarded   its delivery is canceled, or its subscription is deleted
//	discarded                    open        an operator reopens it
//
// An event has at most one dead letter of its own that is open, replaying or exhausted (other packages call all three open), and
// at most one for each subscription that it could not be delivered to. A claim is a compare-and-set on the state, so that only
// one of several concurrent claims wins; an owner that doesn't finish before its lease ends loses it. Discarding an event's own
// dead letter stores a decision that the writer obeys: no later attempt processes the event.
//
// Locks are taken in the order of package writer: the event's before the row of its dead letter.
//
// The package must not depend on how an event is rerun: it selects events, and records the runs that were started.
package deadletters
