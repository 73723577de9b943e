package ingress

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/valyala/fasthttp"
)

// headings keep the headers needed to answer the requests whose body is being read: if reading a body fails, fasthttp has
// discarded the headers. There is at most one entry per connection; an entry that fasthttp abandons is evicted by later ones.
type headings struct {
	*lru.Cache[*fasthttp.RequestHeader, heading]
}

// heading is the part of the headers that an answer depends on.
type heading struct {
	uri           string
	requestID     string
	correlationID string
}

func newHeadings(maxConns int) (headings, error) {
	cache, err := lru.New[*fasthttp.RequestHeader, heading](maxConns)
	return headings{cache}, err
}

func (all headings) remember(h *fasthttp.RequestHeader) {
	if length := h.ContentLength(); length == 0 || length == noBody {
		return
	}
	all.Add(h, heading{
		uri:           string(h.RequestURI()),
		requestID:     string(h.Peek(headerRequestID)),
		correlationID: string(h.Peek(headerCorrelationID)),
	})
}

// The length of a request that declares none.
const noBody = -2

func (all headings) drop(h *fasthttp.RequestHeader) { all.Remove(h) }

// restore sets the headers that were kept.
func (all headings) restore(h *fasthttp.RequestHeader) {
	known, ok := all.Peek(h)
	if !ok {
		return
	}
	all.Remove(h)
	h.SetRequestURI(known.uri)
	h.Set(headerRequestID, known.requestID)
	h.Set(headerCorrelationID, known.correlationID)
}
