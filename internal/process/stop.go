package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/telemetry"
)

// flushLog writes the last lines. A blocked reader doesn't delay the stop.
func flushLog(lines *telemetry.Lines) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = lines.Flush(ctx)
		return nil
	}
}

type stop struct {
	name string
	run  func(context.Context) error
}

func (p *process) onStop(name string, run func(context.Context) error) {
	p.stops = append(p.stops, stop{name, run})
}

// stopMargin is for steps without their own grace period: closing clients, exporting the last spans.
const stopMargin = 15 * time.Second

// stop stops the parts in reverse order of their start.
func (p *process) stop() error {
	limit := p.cfg.Ingress.DrainDelay + p.cfg.Ingress.ShutdownGrace + p.cfg.Worker.Grace + p.cfg.Deliveries.Grace + stopMargin
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if p.operator != nil {
		p.operator.Drain()
	}
	var failures []error
	for i := len(p.stops) - 1; i >= 0; i-- {
		if err := p.stops[i].run(ctx); err != nil {
			failures = append(failures, fmt.Errorf("stop %s: %w", p.stops[i].name, err))
		}
	}
	p.stops = nil
	return errors.Join(failures...)
}
