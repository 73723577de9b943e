package process

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// startDebug serves profiles of this process, where somebody has asked for it. Nothing serves the default mux, which the import
// fills as well.
func (p *process) startDebug() error {
	if p.cfg.Debug.Addr == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index) // it also leads to heap, allocs, goroutine and the other named ones
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
