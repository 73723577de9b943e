package lab

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// sink is an OpenTelemetry collector that drops everything: the product exports as in production, and pays for it.
type sink struct {
	server *http.Server
	url    string
}

func startSink() (*sink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{url: "http://" + listener.Addr().String()}
	s.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-protobuf")
		})}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *sink) close() error {
	if err := s.server.Close(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
