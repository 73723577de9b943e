package delivery

// Want says for how many deliveries a process has room.
type Want struct {
	// Limit is how many it leases at most, Share how many it may have under way for one destination.
	Limit, Share int
	// Busy counts those that it has under way, by destination. They count against Share: who has reached it gets no more, whatever
	// waits there.
	Busy map[int64]int
	// First asks for deliveries of which no attempt has failed yet, and no others.
	First bool
}
