package operator

import (
	"container/list"
	"net"
	"sync"

	"github.com/valyala/fasthttp"
)

// maxWaiting is how many connections may be open without a request that is being served. Beyond it the oldest of them is closed:
// one client that opens connections and sends nothing, or little, must not keep probes and operators out. Clients can't be told
// apart by their address, since behind a proxy they share one.
const maxWaiting = 128

// waiting lists the connections without a request that is being served, oldest first.
type waiting struct {
	mu       sync.Mutex
	order    *list.List
	elements map[net.Conn]*list.Element
}

// limitWaiting closes the oldest waiting connections of a server beyond maxWaiting.
func limitWaiting(server *fasthttp.Server) {
	w := &waiting{order: list.New(), elements: map[net.Conn]*list.Element{}}
	server.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		switch state {
		case fasthttp.StateNew, fasthttp.StateIdle:
			w.add(c)
		case fasthttp.StateHijacked, fasthttp.StateClosed:
			w.remove(c)
		case fasthttp.StateActive: // comes before the first byte
		}
	}
	handle := server.Handler
	server.Handler = func(c *fasthttp.RequestCtx) {
		w.remove(c.Conn())
		handle(c)
	}
}

func (w *waiting) add(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.elements[c] = w.order.PushBack(c)
	if w.order.Len() > maxWaiting {
		oldest := w.order.Remove(w.order.Front()).(net.Conn)
		delete(w.elements, oldest)
		_ = oldest.Close()
	}
}

func (w *waiting) remove(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if element, ok := w.elements[c]; ok {
		w.order.Remove(element)
		delete(w.elements, c)
	}
}
