package process

import (
	"context"

	"holdfast/ingress"
	"holdfast/runs"
)

// selfTest is nil where it is turned off.
func (p *process) selfTest() *ingress.SelfTest {
	if !p.cfg.Ingress.SelfTest {
		return nil
	}
	stores := map[string]func(context.Context) error{"temporal": p.probeTemporal()}
	if p.side != nil {
		stores["database"] = p.side.Ping
	}
	test := &ingress.SelfTest{
		Stores: stores,
		Queues: runs.Queues{Client: p.temporal, Namespace: p.cfg.Temporal.Namespace}.Read,
	}
	if p.inboxDepth != nil {
		test.Inbox = p.inboxDepth.Read
	}
	return test
}
