package chaos

import (
	"bufio"
	"net"
	"os"
	"time"

	"github.com/stretchr/testify/require"
)

var systemFaults = []scenario{
	{id: "F57", name: "everything_off_and_on", twice: true, fault: func(w *world) {
		for range 2 {
			parts := w.parts()
			for _, i := range w.rng.Perm(len(parts)) {
				parts[i].off()
			}
			w.sleep(w.some(time.Second, 3*time.Second))
			for _, i := range w.rng.Perm(len(parts)) {
				w.t.Logf("on: %s", parts[i].name)
				parts[i].on()
				w.sleep(w.some(0, time.Second))
			}
			w.temporal.awaitReady(w.t)
			w.sleep(2 * time.Second)
		}
	}},
	{id: "F57", name: "swizzle_clog", fault: swizzle},
	{id: "F58", name: "log_reader_stands_still", fault: func(w *world) {
		w.silence(w.ingresses[0], w.workers[0])
		w.sleep(2 * outage)
	}},
	{id: "F58", name: "trace_backend_black_hole", fault: traceToNowhere},
}

// part is something that can be down.
type part struct {
	name    string
	off, on func()
}

// parts are all programs, with the hardest way to end them.
func (w *world) parts() []part {
	parts := []part{
		{"database", w.sql.kill, func() { w.sql.start(w.t) }},
		{"temporal's database", w.memory.kill, func() { w.memory.start(w.t) }},
		{"temporal", w.temporal.kill, func() { w.temporal.launch(w.t) }},
	}
	for _, n := range w.nodes() {
		parts = append(parts, part{n.name, n.kill, func() { n.launch(w.t) }})
	}
	return parts
}

// swizzle is FoundationDB's swizzle-clogging: random parts are stopped one by one, and resumed in another order. Programs are
// killed or frozen, links cut.
func swizzle(w *world) {
	rounds := 2
	for range rounds {
		parts := w.parts()
		for _, n := range w.nodes() {
			parts = append(parts, part{n.name + ", frozen", n.freeze, n.thaw})
		}
		for _, l := range []*link{w.ingressTemporal, w.ingressDatabase, w.workerTemporal, w.workerDatabase, w.store} {
			parts = append(parts, part{l.name, l.cut, func() { l.heal(w.t) }})
		}
		chosen := w.rng.Perm(len(parts))[:2+w.rng.IntN(len(parts)-3)]
		for _, i := range chosen {
			w.t.Logf("off: %s", parts[i].name)
			parts[i].off()
			w.sleep(w.some(100*time.Millisecond, 600*time.Millisecond))
		}
		for _, k := range w.rng.Perm(len(chosen)) {
			w.t.Logf("on: %s", parts[chosen[k]].name)
			parts[chosen[k]].on()
			w.sleep(w.some(100*time.Millisecond, 600*time.Millisecond))
		}
		w.recover()
		w.temporal.awaitReady(w.t)
	}
}

// silence restarts processes with a pipe for their log that is never read.
func (w *world) silence(nodes ...*node) {
	for _, n := range nodes {
		reader, writer, err := os.Pipe()
		require.NoError(w.t, err)
		n.terminate(w.t)
		n.output = writer
		n.start(w.t)
		w.t.Cleanup(func() { reader.Close(); writer.Close() })
	}
}

// traceToNowhere restarts everything with a collector that accepts connections and never answers.
func traceToNowhere(w *world) {
	collector, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	w.t.Cleanup(func() { collector.Close() })
	go func() {
		for {
			c, err := collector.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = bufio.NewReader(c).Peek(1) }() // keeps the connection open
		}
	}()
	for _, n := range w.nodes() {
		n.environ = append(append([]string{}, n.environ...), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+collector.Addr().String())
		n.terminate(w.t)
		n.start(w.t)
	}
	w.sleep(outage)
}
