package ingress

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/valyala/fasthttp"
)

// headings hold what is needed to answer for the requests whose body is being read: where a body cannot be read to its end,
// fasthttp has forgotten the headers. There is one entry for each connection at most; one that fasthttp gives up without a word
// is pushed out by others.
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

// noBody is the length of a request that declares none.
const noBody = -2

func (all headings) drop(h *fasthttp.RequestHeader) { all.Remove(h) }

// restore gives the headers back what was remembered of them.
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
