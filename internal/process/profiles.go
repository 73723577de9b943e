package process

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// startDebug serves profiles of this process if configured. It doesn't serve the default mux, to which the import also adds
// them.
func (p *process) startDebug() error {
	if p.cfg.Debug.Addr == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index) // it also serves heap, allocs, goroutine and the other named profiles
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	p.onStop("profiles", func(context.Context) error { return server.Close() })
	return p.serveOn("profiles", p.cfg.Debug.Addr, func(l net.Listener) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}
