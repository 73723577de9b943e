package dispatch

import (
	"log/slog"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// routes has what this process knows of each way out of it, by the name of the proxy; "" is the direct one. Each of
// them may be down while the others work.
type routes struct {
	mu     sync.Mutex
	all    map[string]*route
	create func(name string) *route
}

// route is a way out of this process.
type route struct {
	name  string
	reach *reach

	mu sync.Mutex
	// failedAt is since when the proxy can't be used; zero if it can.
	failedAt time.Time
}

func newRoutes(create func(name string) *route) *routes {
	return &routes{all: map[string]*route{}, create: create}
}

func (r *routes) of(name string) *route {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[name]
	if one == nil {
		one = r.create(name)
		r.all[name] = one
	}
	return one
}

// record records whether the proxy could be used. changed reports that it fails now and didn't before, or the other way round;
// lasted is how long it had failed.
func (r *route) record(fails bool, now time.Time) (changed bool, lasted time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fails == !r.failedAt.IsZero() {
		return false, 0
	}
	if fails {
		r.failedAt = now
		return true, 0
	}
	lasted, r.failedAt = now.Sub(r.failedAt), time.Time{}
	return true, lasted
}

// words names the way in a sentence that ends with "reached from here".
func (r *route) words() string {
	if r.name == "" {
		return ""
	}
	return " through proxy " + r.name
}

func (d *Dispatcher) newRoute(name string) *route {
	r := &route{name: name}
	r.reach = newReach(func(begins bool, lasted time.Duration) { d.reportOffline(r, begins, lasted) })
	return r
}

// checkReach keeps a failed connection from counting against the destination while this process, or the proxy that it uses, is
// offline.
func (d *Dispatcher) checkReach(to delivery.Destination, result delivery.Result) delivery.Result {
	r := d.routes.of(result.Proxy)
	d.checkProxy(r, result)
	offline := r.reach.record(hostOf(to), result.Reach, time.Now())
	if offline && result.Reach == delivery.Unreached {
		result.Kind, result.Error = delivery.Ours, "no destination can be reached from here"+r.words()+": "+result.Error
		result.Code = codeOffline
	}
	return result
}

// checkProxy alerts operators when a proxy can't be used, and when it can again. Only a new connection through it shows that:
// kept ones last while it refuses others.
func (d *Dispatcher) checkProxy(r *route, result delivery.Result) {
	fails := result.Code == delivery.CodeProxy
	if r.name == "" || !fails && !result.Connected {
		return
	}
	changed, lasted := r.record(fails, time.Now())
	switch {
	case !changed:
	case fails:
		slog.Error("dispatch.proxy_failed", "proxy", r.name, "error", result.Error)
		d.alert("proxy_failed", event.ClassTransient, "", result.Error+"; deliveries through it wait, don't count as attempts, and "+
			"continue automatically once it works")
	default:
		text := "proxy " + r.name + ": it can be used again, after " + lasted.Round(time.Second).String()
		slog.Warn("dispatch.proxy_recovered", "proxy", r.name, "error", text)
		d.alert("proxy_recovered", event.ClassTransient, "", text)
	}
}

// reportOffline alerts operators when this process, or the proxy that it uses, goes offline and when it is back.
func (d *Dispatcher) reportOffline(r *route, begins bool, lasted time.Duration) {
	if begins {
		text := "more than half of the hosts of destinations can't be reached" + r.words() + ", within " + reachWindow.String() +
			": Holdfast assumes that its own network is down; attempts don't count and breakers stay closed"
		slog.Error("dispatch.disconnected", "error", text)
		d.alert(codeOffline, event.ClassTransient, "", text)
		return
	}
	text := "destinations are reachable again" + r.words() + ", after " + lasted.Round(time.Second).String()
	slog.Warn("dispatch.connected_again", "error", text)
	d.alert("connected_again", event.ClassTransient, "", text)
}
