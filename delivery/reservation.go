package delivery

// Reserver reserves what a delivery needs that is attempted by the process that commits it: such a delivery is leased when it is
// inserted, and skips the queue.
type Reserver interface {
	// Reserve reserves a slot and memory for an attempt with a body of bodyBytes. It returns nil if none is free now, and doesn't
	// wait.
	Reserve(destinationID int64, bodyBytes int) Reservation
}

// Reservation is used up by exactly one call of one of its methods. Neither waits.
type Reservation interface {
	// Start makes the attempt in the background. The transaction that has leased the job must be committed.
	Start(j Job, t Target, m Message)
	// Free gives the slot and the memory back.
	Free()
}
