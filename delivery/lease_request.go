package delivery

// LeaseRequest limits what a process leases.
type LeaseRequest struct {
	Limit int
	// Room returns how many more attempts each destination may start. It is called once, with the candidates in the order in which
	// they are served; nil means unlimited.
	Room func(destinations []int64) []int
	// Without excludes destinations.
	Without []int64
	// Only restricts the lease to these destinations, unless it is nil.
	Only []int64
}
