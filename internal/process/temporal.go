package process

import (
	"context"
	"sync/atomic"

	"go.temporal.io/sdk/client"

	"holdfast/internal/installation"
	"holdfast/providers"
)

// probeTemporal looks whether Temporal answers and, until it once was so, whether the namespace is prepared.
func (p *process) probeTemporal() func(context.Context) error {
	var prepared atomic.Bool
	return func(ctx context.Context) error {
		if prepared.Load() {
			_, err := p.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		}
		if err := installation.RequireSearchAttributes(ctx, p.temporal, p.cfg.Temporal.Namespace); err != nil {
			return err
		}
		prepared.Store(true)
		return nil
	}
}

// typeLabel is the type of an event as metrics have it.
func (p *process) typeLabel(provider, eventType string) string {
	if d, ok := p.catalogue.Lookup(provider); ok {
		return d.TypeLabel(eventType)
	}
	return providers.OtherType
}
