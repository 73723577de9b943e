package main

import (
	"context"
	"log/slog"
	"time"

	"holdfast/activities"
	"holdfast/ingress"
	"holdfast/operator"
	"holdfast/persistence"
)

// runOperator comes first, so that health and metrics can be read while the others start, and ends last.
func runOperator(_ context.Context, p *process) error {
	server, err := operator.New(operator.Options{Ready: p.ready, Metrics: p.telemetry.Gatherer()})
	if err != nil {
		return err
	}
	p.operator = server
	p.onStop("operator side", server.Shutdown)
	address, err := p.serveOn("the operator side", p.cfg.Operator.Addr, server.Serve)
	if err == nil {
		slog.Info("operator.listening", "address", address.String())
	}
	return err
}

func runIngress(ctx context.Context, p *process) error {
	p.check("temporal", p.temporalReachable)
	if err := waitFor(ctx, "Temporal", p.temporalReachable); err != nil {
		return nil // the process is stopping
	}
	server, err := ingress.New(ingressOptions(p))
	if err != nil {
		return err
	}
	p.onStop("ingress", func(ctx context.Context) error {
		time.Sleep(p.cfg.Ingress.DrainDelay)
		ctx, cancel := context.WithTimeout(ctx, p.cfg.Ingress.ShutdownGrace)
		defer cancel()
		return server.Shutdown(ctx)
	})
	address, err := p.serveOn("webhooks", p.cfg.Ingress.Addr, server.Serve)
	if err == nil {
		slog.Info("ingress.listening", "address", address.String())
	}
	return err
}
