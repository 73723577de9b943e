package handoff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"holdfast/delivery"
	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/devstack/temporalserver"
)

// A Temporal on PostgreSQL with default limits accepts workflow IDs of up to 1,000 characters and can store 255: such an event is
// a dead letter and says nothing about the destination, which still gets the others.
func TestAnIDThatPostgresCannotStore(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "bin", "temporal-server")); err != nil {
		t.Skip("needs a Temporal server for PostgreSQL: make server")
	}
	postgres, err := temporalserver.Start(t.Context(), temporalserver.Options{
		Bin: filepath.Join(root, "bin"), Dir: t.TempDir(), Store: stacktest.NewCluster(t).URL("postgres"), Shards: 4,
	})
	require.NoError(t, err)
	t.Cleanup(postgres.Kill)
	c, err := client.Dial(client.Options{HostPort: postgres.Address(), Namespace: postgres.Namespace(), Logger: discard})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	b := &bench{Sender: NewSender(Options{Client: c, Namespace: postgres.Namespace()}), t: t, client: c}
	start := func(id string, sub delivery.Subscription) delivery.Result {
		return b.send(sub, newJob(t), `{"order": "`+id+`"}`)
	}
	require.Eventually(t, func() bool { return start(uuid.NewString(), starting()).Kind == delivery.OK }, time.Minute, 100*time.Millisecond)
	for _, length := range []int{256, 1000} {
		for _, sub := range []delivery.Subscription{starting(), both(""), signaling()} {
			id := uuid.NewString() + strings.Repeat("x", length-36)
			r := start(id, sub)
			if sub.Signal != nil { // nothing is stored, so nothing is too long
				requireResult(t, r, delivery.Missing, "workflow_not_found")
				continue
			}
			requireResult(t, r, delivery.Final, codeInvalidID)
			require.Contains(t, r.Error, "255")
			require.NotContains(t, r.Error, id[:36])
		}
	}
	for _, id := range []string{uuid.NewString() + strings.Repeat("x", 255-36), uuid.NewString()} {
		requireResult(t, start(id, starting()), delivery.OK, codeStarted)
	}
}
