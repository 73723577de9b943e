package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The database becomes read-only while Temporal doesn't answer, so that every event gets 503:
//   - /health and /readyz say so, although the database still answers
//   - they recover with the database
func TestHealthIsWhetherAnEventCanBeCommitted(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "ingress", "TEMPORAL_ADDRESS="+silent(t))
	becomes := func(status int) {
		t.Helper()
		for _, address := range []string{n.ingress + "/health", n.operator + "/readyz", n.ingress + "/webhooks/_selftest"} {
			eventually(t, time.Minute, fmt.Sprintf("%s is %d", address, status), func() error {
				response, err := client.Get(address)
				if err != nil {
					return err
				}
				defer response.Body.Close()
				if response.StatusCode != status {
					return fmt.Errorf("it is %s", response.Status)
				}
				return nil
			})
		}
	}
	readOnly := func(value string) {
		t.Helper()
		i.exec(t, `BEGIN READ WRITE; DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = `+value+`', current_database());
		END $$; COMMIT`)
		i.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	require.Equal(t, http.StatusAccepted, n.send(t, someEvent()).status)
	becomes(http.StatusOK)

	readOnly("on")
	require.Equal(t, http.StatusServiceUnavailable, n.send(t, someEvent()).status)
	becomes(http.StatusServiceUnavailable)
	readOnly("off")
	becomes(http.StatusOK)
	accepted(t, func() answer { return n.send(t, someEvent()) })
}
