package delivery

// Want is what a process has room for.
type Want struct {
	// Limit is how many it leases at most.
	Limit int
	// Room says how many more attempts of each destination may begin. It is asked once, for those that are looked at in the order in
	// which they are served; nil is no bound.
	Room func(destinations []int64) []int
	// Without are destinations that get nothing, whatever waits there.
	Without []int64
	// Only are those that may get something, unless it is nil.
	Only []int64
}
