// Package deadletters keeps what is needed to understand and run again an event that could not be processed, and the redrives
// that run many of them.
//
// # The states of a dead letter
//
//	from                         to          when
//	-                            open        a failure is recorded
//	open                         redriving   by hand, by a redrive, by the schedule
//	open                         exhausted   no automatic attempt is left
//	exhausted                    redriving   by hand, by a redrive
//	redriving                    open        it failed again, was given back, or was not heard of for a lease
//	open, redriving, exhausted   resolved    the writer has processed the event
//	open, exhausted              discarded   an operator gives it up, or edits it
//	discarded                    open        an operator reopens it
//
// An event has at most one dead letter that is open, redriving or exhausted. Taking is a compare-and-set on the state, so that of
// many at once one wins; whoever has taken one and is not heard of for a lease loses it. A discard passes a verdict, which the
// writer obeys: the event is done, whatever tries it again.
//
// Locks are taken in the order of package writer: the event's before the row of its dead letter.
//
// It must never know how an event is run again: it says which, and takes note of the runs that were started.
package deadletters
