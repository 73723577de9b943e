package process

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// The part started last stops first; one that can't stop doesn't block the others, and is named.
func TestPartsStopInOppositeOrder(t *testing.T) {
	t.Parallel()
	var stopped []string
	p := &process{}
	for _, name := range []string{"log", "database", "ingress"} {
		p.onStop(name, func(context.Context) error {
			stopped = append(stopped, name)
			if name == "database" {
				return errors.New("it hangs")
			}
			return nil
		})
	}
	require.EqualError(t, p.stop(), "stop database: it hangs")
	require.Equal(t, []string{"ingress", "database", "log"}, stopped)
	require.NoError(t, p.stop(), "each part stops once")
	require.Len(t, stopped, 3)
}
