package doctor

import (
	"time"

	"holdfast/internal/config"
	"holdfast/providers"
)

// OldFacts returns what definitions rely on and was checked more than a year ago or at an unknown time. It calls no server. The
// error is that of a definition that can't be read.
func OldFacts(cfg config.Config, now time.Time) ([]providers.Fact, error) {
	catalogue, err := providersOf(cfg)
	if err != nil {
		return nil, err
	}
	return catalogue.OldFacts(now), nil
}
