package ingress

import (
	"context"
	"net"

	"github.com/valyala/fasthttp"
)

// limitConnections sets what Fiber does not expose. The body's limit is set before a byte of it is read, because the buffer
// is allocated from the declared length.
func (s *Server) limitConnections() {
	server := s.app.Server()
	server.SecureErrorLogMessage = true
	server.CloseOnShutdown = true
	server.MaxConnsPerIP = s.MaxConnsPerIP
	server.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		return fasthttp.RequestConfig{MaxRequestBodySize: s.bodyLimit(h)}
	}
}

// bodyLimit runs outside of every middleware, so that it recovers by itself.
func (s *Server) bodyLimit(h *fasthttp.RequestHeader) (limit int) {
	defer func() {
		if recover() != nil {
			limit = s.BodyLimit
		}
	}()
	var uri fasthttp.URI
	if uri.Parse(nil, h.RequestURI()) != nil {
		return s.BodyLimit
	}
	provider, _, ok := s.Catalogue.ByPath(string(uri.Path()))
	if !ok || provider.BodyLimit() == 0 {
		return s.BodyLimit
	}
	return provider.BodyLimit()
}

// Serve answers on the listener until Shutdown; if that came first, not at all.
func (s *Server) Serve(listener net.Listener) error {
	s.mu.Lock()
	s.listener = listener
	stopped := s.stopped
	s.mu.Unlock()
	if stopped {
		return listener.Close()
	}
	return s.app.Listener(listener)
}

// Shutdown stops accepting and lets the requests that are under way be answered.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	listener := s.listener
	s.mu.Unlock()
	err := s.app.ShutdownWithContext(ctx)
	if listener != nil {
		_ = listener.Close() // fasthttp has closed it, unless it was about to begin
	}
	return err
}
