// Package outbox stores the deliveries of events, pending and ended: due ones are leased, and their outcomes settled, which
// updates the circuit breaker of their destination.
//
// It must not depend on how an attempt is made, or why an event goes to a destination: package subscriptions queues the
// deliveries.
//
// # Lock order
//
//	events (advisory) ─▶ … ─▶ entities ─▶ destination_states ─▶ delivery_queue         the writer, which skips locked destinations
//	subscriptions_head ─▶ destinations ─▶ subscriptions, or destination_states         API changes, one version at a time
//	destination_states (by ID) ─▶ delivery_queue                                       lease and settle
//	sorter (advisory) ─▶ delivery_queue, one statement for each step                   the sorter of ordered deliveries
//	resends, delivery_fanouts or delivery_unmatched ─▶ delivery_queue ─▶ dead_letters  pages of each
package outbox
