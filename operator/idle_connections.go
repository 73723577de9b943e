package operator

import (
	"container/list"
	"net"
	"sync"

	"github.com/valyala/fasthttp"
)

// maxIdleConnections bounds open connections without a request in progress. Beyond it the oldest one is closed: a client that
// opens connections and sends little or nothing must not lock out probes and operators. Clients can't be told apart by
// address, since behind a proxy they share one.
const maxIdleConnections = 128

// idleConnections lists the connections without a request in progress, oldest first.
type idleConnections struct {
	mu       sync.Mutex
	order    *list.List
	elements map[net.Conn]*list.Element
}

// limitIdleConnections closes a server's oldest waiting connections beyond maxIdleConnections.
func limitIdleConnections(server *fasthttp.Server) {
	w := &idleConnections{order: list.New(), elements: map[net.Conn]*list.Element{}}
	server.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		switch state {
		case fasthttp.StateNew, fasthttp.StateIdle:
			w.add(c)
		case fasthttp.StateHijacked, fasthttp.StateClosed:
			w.remove(c)
		case fasthttp.StateActive: // precedes the first byte
		}
	}
	handle := server.Handler
	server.Handler = func(c *fasthttp.RequestCtx) {
		w.remove(c.Conn())
		handle(c)
	}
}

func (w *idleConnections) add(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.elements[c] = w.order.PushBack(c)
	if w.order.Len() > maxIdleConnections {
		oldest := w.order.Remove(w.order.Front()).(net.Conn)
		delete(w.elements, oldest)
		_ = oldest.Close()
	}
}

func (w *idleConnections) remove(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if element, ok := w.elements[c]; ok {
		w.order.Remove(element)
		delete(w.elements, c)
	}
}
