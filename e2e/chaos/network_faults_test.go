package chaos

import (
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
)

var networkFaults = networkLoss()

func networkLoss() []scenario {
	var network *packets
	filter := func(w *world) { network = filterPackets(w.t) }
	return []scenario{
		// Packets to the server are lost, then those from it, then all.
		{id: "F90", name: "packets_lost_one_way", accepts: true, prepare: filter, fault: func(w *world) {
			pairs := w.pairs()
			for _, i := range w.rng.Perm(len(pairs)) {
				to, from := "tcp dport "+pairs[i].port+" counter drop", "tcp sport "+pairs[i].port+" counter drop"
				for direction, rules := range [][]string{{to}, {from}, {to, from}} {
					network.obey(rules...)
					w.sleep(w.some(outage/2, outage))
					w.t.Logf("%s, %s: %d packets", pairs[i].name, []string{"to", "from", "both ways"}[direction], network.passAll())
					w.sleep(w.some(outage/6, outage/3))
				}
				awaitStarts(w.t, w.client()) // a fault between the ingress and PostgreSQL must find Temporal, which may still look for its own
			}
		}},
		{id: "F91", name: "packets_lost_at_random", prepare: filter, fault: func(w *world) {
			var rules []string
			for _, p := range w.pairs() {
				for _, end := range []string{"dport", "sport"} {
					rules = append(rules, "tcp "+end+" "+p.port+" numgen random mod 100 < 5 counter drop")
				}
			}
			network.obey(rules...)
			w.sleep(5 * outage)
			w.t.Logf("%d packets", network.passAll())
		}},
		// Connections that exist get no packet through, and no reset; new ones work: a firewall has restarted.
		{id: "F92", name: "connections_forgotten", prepare: filter, fault: func(w *world) { forgetConnections(w, network) }},
		{id: "F93", name: "packets_late", fault: func(w *world) {
			for _, l := range []*link{w.ingressTemporal, w.ingressDatabase, w.workerTemporal, w.workerDatabase, w.store} {
				l.disturb(w.t, "latency", up, `{"latency":75,"jitter":50}`)
				l.disturb(w.t, "latency", down, `{"latency":75,"jitter":50}`)
			}
			w.sleep(5 * outage)
		}},
	}
}

// noticedWithin is how long Holdfast may hold a dead connection: 20 s to PostgreSQL; to Temporal the 30 s after which gRPC probes
// an idle one, and 15 s for the answer.
const noticedWithin = 50 * time.Second

// forgetConnections waits until the processes have left their connections, each pair for itself.
func forgetConnections(w *world, network *packets) {
	const isNew = "42"
	var rules []string
	dead := map[pair][]string{}
	for _, p := range w.pairs() {
		dead[p] = p.established(w.t)
		rules = append(rules, "tcp dport "+p.port+" tcp flags & (syn|ack) == syn ct mark set "+isNew,
			"tcp dport "+p.port+" ct mark != "+isNew+" counter drop", "tcp sport "+p.port+" ct mark != "+isNew+" counter drop")
	}
	network.obey(rules...)
	began := time.Now()
	for len(dead) > 0 && time.Since(began) < noticedWithin {
		w.sleep(100 * time.Millisecond)
		for p, ports := range dead {
			alive := p.established(w.t)
			ports = slices.DeleteFunc(ports, func(port string) bool { return !slices.Contains(alive, port) })
			if dead[p] = ports; len(ports) == 0 {
				w.t.Logf("%s: noticed after %s", p.name, time.Since(began).Round(time.Second/10))
				delete(dead, p)
			}
		}
	}
	w.t.Logf("%d packets", network.passAll())
	for p, ports := range dead {
		w.t.Logf("%s: %d connections are left", p.name, len(ports))
		assert.Equal(w.t, "Temporal to PostgreSQL", p.name, "noticed its dead connections too late")
	}
}
