package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Two ingresses share the rates of a provider, of each of its senders, and of providers without one:
//   - of forty concurrent requests to both, as many pass as the rate allows, and the others get a Retry-After
//   - a provider whose definition says none isn't limited
//   - while the database doesn't answer, each ingress counts alone, and accepts events
func TestIngressesShareRates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, rates := range map[string]string{
		"acme":   "rate: {requests: 10, per: 1h}\n",
		"teams":  "rate: none\nsource: .body.team\nsource_rate: {requests: 3, per: 1h}\n",
		"late":   "rate: {requests: 4, per: 1h}\n",
		"others": "", "free": "rate: none\n",
	} {
		text := fmt.Sprintf("name: %s\nauth: [{token: {secrets: ACME_TOKEN, in: header, name: x-acme-token}}]\n"+
			"type: .body.type\nkey: {parts: [.body.id]}\n%s", name, rates)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
	}
	const token = "token-of-the-tests"
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN="+token, "HOLDFAST_PROVIDERS_RATE=5/1h")
	nodes := []*node{i.start(t, "ingress"), i.start(t, "ingress")}
	accepted := func(provider string, teams ...string) (n int64) {
		var accepted atomic.Int64
		var wg sync.WaitGroup
		for k := range 40 {
			wg.Go(func() {
				body := fmt.Appendf(nil, `{"id":%q,"type":"paid","team":%q}`, uniqueID("r"), teams[k/2%len(teams)])
				a, err := nodes[k%2].post("/webhooks/"+provider, body, "X-Acme-Token", token)
				switch {
				case err != nil:
					t.Error(err)
				case a.status == 202:
					accepted.Add(1)
				default:
					wait, err := strconv.Atoi(a.header.Get("Retry-After"))
					if a.status != 429 || err != nil || wait < 1 || wait > 3600 {
						t.Errorf("status %d, Retry-After %d", a.status, wait)
					}
				}
			})
		}
		wg.Wait()
		return accepted.Load()
	}
	share := func(want int64, provider string, teams ...string) {
		t.Helper()
		got := accepted(provider, teams...)
		if strings.Contains(nodes[0].log.String()+nodes[1].log.String(), "rates.local") {
			require.GreaterOrEqual(t, got, want, "the database took too long for a moment")
			require.LessOrEqual(t, got, 2*want)
			return
		}
		require.Equal(t, want, got)
	}
	share(10, "acme", "a")
	share(6, "teams", "a", "b")
	share(5, "others", "a")
	require.EqualValues(t, 40, accepted("free", "a"))
	require.EqualValues(t, 0, accepted("acme", "a"))

	conn, err := pgx.Connect(t.Context(), i.database)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE rates IN EXCLUSIVE MODE")
	require.NoError(t, err)
	require.EqualValues(t, 2*4, accepted("late", "a"))
	require.EqualValues(t, 0, accepted("acme", "a"), "they remember that it is used up")
	_, err = conn.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	for _, n := range nodes {
		eventually(t, 10*time.Second, "the ingress shares its rates again", func() error {
			if strings.Contains(n.log.String(), "rates.shared") {
				return nil
			}
			body := fmt.Appendf(nil, `{"id":%q,"type":"paid","team":%[1]q}`, uniqueID("r"))
			_, err := n.post("/webhooks/teams", body, "X-Acme-Token", token)
			return errors.Join(err, errors.New("not in the log"))
		})
	}
}
