package operator

import (
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Registered are the routes that Fiber answers, for tests.
func (s *Server) Registered() []fiber.Route { return s.app.GetRoutes(true) }

// Needed is the role that the access table asks for; "" for a route that it does not name.
func Needed(method, path string) Role { return access[method+" "+path] }

// Guarded are the entries of the access table.
func Guarded() (all []string) {
	for name := range access {
		all = append(all, name)
	}
	return all
}

// Lockout is lockout with a clock, for tests.
type Lockout struct{ lockout *lockout }

// NewLockout takes the time from now.
func NewLockout(now func() time.Time) Lockout {
	l := newLockout()
	l.now = now
	return Lockout{l}
}

// Fail and Remaining are those of lockout; Len is how many addresses it knows.
func (l Lockout) Fail(ip string) bool { return l.lockout.fail(net.ParseIP(ip)) }

// Remaining is how long the address is locked out.
func (l Lockout) Remaining(ip string) time.Duration { return l.lockout.remaining(net.ParseIP(ip)) }

// Len is how many addresses it knows.
func (l Lockout) Len() int { return len(l.lockout.entries) }
