package access

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// lockoutFailures wrong tokens within lockoutWindow lock an address out for lockoutTime.
	lockoutFailures = 10
	lockoutWindow   = 5 * time.Minute
	lockoutTime     = 5 * time.Minute
	// lockoutAddresses bounds the memory: beyond it, the address whose last failure is the oldest is dropped.
	lockoutAddresses = 4096
)

// Lockout counts wrong tokens by address. Guessing a 256-bit token is hopeless anyway; the lockout makes attempts stand out in
// the log.
type Lockout struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[netip.Prefix]*list.Element
	order   *list.List // of *offender, the latest first
}

// offender counts the failures of one address.
type offender struct {
	address  netip.Prefix
	count    int
	since    time.Time
	lockedAt time.Time
}

// NewLockout returns an empty Lockout.
func NewLockout() *Lockout {
	return &Lockout{now: time.Now, entries: map[netip.Prefix]*list.Element{}, order: list.New()}
}

// Remaining returns how long the address stays locked out, or 0.
func (l *Lockout) Remaining(ip net.IP) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	element, ok := l.entries[networkOf(ip)]
	if !ok {
		return 0
	}
	o := element.Value.(*offender)
	if o.lockedAt.IsZero() {
		return 0
	}
	return max(o.lockedAt.Add(lockoutTime).Sub(l.now()), 0)
}

// Fail counts a wrong token; locked is true for the one that locks the address out.
func (l *Lockout) Fail(ip net.IP) (locked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, o := l.now(), l.offender(networkOf(ip))
	expired := now.Sub(o.since) > lockoutWindow
	unlocked := !o.lockedAt.IsZero() && now.Sub(o.lockedAt) >= lockoutTime
	if expired || unlocked {
		o.count, o.since, o.lockedAt = 0, now, time.Time{}
	}
	o.count++
	if o.count == lockoutFailures {
		o.lockedAt = now
		return true
	}
	return false
}

// offender returns the entry of an address, creating it if necessary, and moves it to the front.
func (l *Lockout) offender(address netip.Prefix) *offender {
	if element, ok := l.entries[address]; ok {
		l.order.MoveToFront(element)
		return element.Value.(*offender)
	}
	if l.order.Len() >= lockoutAddresses {
		oldest := l.order.Back()
		delete(l.entries, l.order.Remove(oldest).(*offender).address)
	}
	o := &offender{address: address, since: l.now()}
	l.entries[address] = l.order.PushFront(o)
	return o
}

// networkOf maps an IP to the unit that is locked out. For IPv6 that is the /64, the least that a network's customer gets.
func networkOf(ip net.IP) netip.Prefix {
	address, _ := netip.AddrFromSlice(ip)
	address = address.Unmap()
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits)
	return prefix
}
