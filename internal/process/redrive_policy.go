package process

import (
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/config"
)

// automaticRedrive is the policy of the configuration and of the definitions as they are now. The zero value is none.
func (p *process) automaticRedrive() operation.AutomaticRedrive {
	cfg := p.cfg.Redrive
	if !cfg.Automatic {
		return operation.AutomaticRedrive{}
	}
	policy := operation.AutomaticRedrive{
		RedrivePolicy: configuredRedrive(cfg), Own: map[string]operation.RedrivePolicy{}, Rate: cfg.Rate,
	}
	for name, own := range p.catalogue.Catalogue().Redrives() {
		policy.Own[name] = own.Over(policy.RedrivePolicy)
	}
	return policy
}

// configuredRedrive is the policy of providers whose definitions say nothing.
func configuredRedrive(cfg config.Redrive) operation.RedrivePolicy {
	policy := operation.RedrivePolicy{
		Base: cfg.Base, Attempts: cfg.Attempts, Classes: []event.Class{event.ClassFailed, event.ClassTransient},
	}
	if cfg.Rejected {
		policy.Classes = append(policy.Classes, event.ClassRejected)
	}
	return policy
}
