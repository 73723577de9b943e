package ingress

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/valyala/fasthttp"
)

// headerCache keeps the headers needed to answer the requests whose body is being read: if reading a body fails, fasthttp has
// discarded the headers. There is at most one entry per connection; an entry that fasthttp abandons is evicted by later ones.
type headerCache struct {
	*lru.Cache[*fasthttp.RequestHeader, savedHeaders]
}

// savedHeaders is the part of the headers that an answer depends on.
type savedHeaders struct {
	uri           string
	requestID     string
	correlationID string
}

func newHeaderCache(maxConns int) (headerCache, error) {
	cache, err := lru.New[*fasthttp.RequestHeader, savedHeaders](maxConns)
	return headerCache{cache}, err
}

func (all headerCache) remember(h *fasthttp.RequestHeader) {
	if length := h.ContentLength(); length == 0 || length == noBody {
		return
	}
	all.Add(h, savedHeaders{
		uri:           string(h.RequestURI()),
		requestID:     string(h.Peek(headerRequestID)),
		correlationID: string(h.Peek(headerCorrelationID)),
	})
}

// The length of a request that declares none.
const noBody = -2

// restore sets the headers that were kept.
func (all headerCache) restore(h *fasthttp.RequestHeader) {
	known, ok := all.Peek(h)
	if !ok {
		return
	}
	all.Remove(h)
	h.SetRequestURI(known.uri)
	h.Set(headerRequestID, known.requestID)
	h.Set(headerCorrelationID, known.correlationID)
}
