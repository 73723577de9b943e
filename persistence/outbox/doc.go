// Package outbox keeps the deliveries of events, those that wait and those that have ended: what is due is leased, and what
// became of it settled, which moves the breaker of its destination.
//
// It must never know how an attempt is made, or why an event goes to a destination: package subscriptions queues what it gives
// out.
//
// # The order of locks
//
//	events (advisory) ─▶ … ─▶ entities ─▶ delivery_queue                              the writer; never destination_states
//	subscriptions_head ─▶ destinations ─▶ subscriptions, or destination_states         changes of the API: version by version
//	destination_states (by ID) ─▶ delivery_queue                                       lease and settle
//	resends, or delivery_fanouts ─▶ delivery_queue ─▶ dead_letters                     pages of both
package outbox
