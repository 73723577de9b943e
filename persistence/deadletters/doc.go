// Package deadletters keeps what is needed to understand and run again an event that could not be processed or delivered,
// and the redrives that run many of them.
//
// # The states of a dead letter
//
//	from                         to          when
//	-                            open        a failure is recorded
//	open                         redriving   by hand, by a redrive, by the schedule
//	open                         exhausted   no automatic attempt is left
//	exhausted                    redriving   by hand, by a redrive
//	redriving                    open        it failed again, was given back, or was not heard of for a lease
//	open, redriving, exhausted   resolved    the writer has processed the event, or the delivery has succeeded
//	open, exhausted              discarded   an operator gives it up, or edits it
//	open, redriving, exhausted   discarded   its delivery is canceled, or its subscription is deleted
//	discarded                    open        an operator reopens it
//
// An event has at most one dead letter of its own that is open, redriving or exhausted, and at most one for each subscription
// that it could not be delivered to. Taking is a compare-and-set on the state, so that of many at once one wins; whoever has
// taken one and is not heard of for a lease loses it. A discard of an event's own dead letter passes a verdict, which the writer
// obeys: the event is done, whatever tries it again.
//
// Locks are taken in the order of package writer: the event's before the row of its dead letter.
//
// It must never know how an event is run again: it says which, and takes note of the runs that were started.
package deadletters
