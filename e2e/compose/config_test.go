package compose

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// service is a service in docker-compose.yml.
type service struct {
	ReadOnly        bool                                  `json:"read_only"`
	PidsLimit       int64                                 `json:"pids_limit"`
	StopGracePeriod string                                `json:"stop_grace_period"`
	DependsOn       map[string]struct{ Condition string } `json:"depends_on"`
}

// defaultGrace is Docker's.
const defaultGrace = 10 * time.Second

// grace is how long the container gets to stop.
func (s service) grace(t *testing.T) time.Duration {
	t.Helper()
	if s.StopGracePeriod == "" {
		return defaultGrace
	}
	d, err := time.ParseDuration(s.StopGracePeriod)
	require.NoError(t, err)
	return d
}

// services returns the file's services as Compose reads them.
func (p *project) services(t *testing.T) map[string]service {
	t.Helper()
	var file struct{ Services map[string]service }
	raw := faulttest.Stdout(t, p.compose("config", "--format", "json"))
	require.NoError(t, json.Unmarshal([]byte(raw), &file))
	require.NotEmpty(t, file.Services)
	return file.Services
}
