package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event/operation"
	"holdfast/internal/devstack/fakeapi"
)

// shop is Stripe with its API elsewhere.
const shop = `
name: shop
extends: stripe
api:
  host: "{SHOP_API_HOST}"
  headers: {authorization: "Bearer {SHOP_API_KEY}"}
  rate: {requests: 20, per: 1s}
recover: {settle: 1s}
`

// unscheduled leaves the recoveries to the test.
const unscheduled = "HOLDFAST_RECOVERY_INTERVAL=8760h"

// serveAPI serves an API over HTTPS as localhost, and returns its host and the file of its certificate.
func serveAPI(t *testing.T, api http.Handler) (host, certificate string) {
	t.Helper()
	served, err := fakeapi.Serve("localhost", api)
	require.NoError(t, err)
	t.Cleanup(func() { _ = served.Close() })
	certificate = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(certificate, served.Certificate, 0o600))
	return "localhost:" + served.Port, certificate
}

// newShop returns an installation that knows the shop, whose API is a fake.
func newShop(t *testing.T, fake *fakeapi.Server, environ ...string) *installation {
	t.Helper()
	host, certificate := serveAPI(t, fake)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(shop), 0o600))
	return newInstallation(t, append(environ, "HOLDFAST_PROVIDERS_DIR="+dir, "SHOP_API_HOST="+host, "SHOP_API_KEY="+fakeapi.Credential,
		"SSL_CERT_FILE="+certificate, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8,::1/128")...)
}

func (i *installation) recovers(t *testing.T, args ...string) (r operation.Recovery) {
	t.Helper()
	out, err := i.run(t, append([]string{"recover", "shop", "--yes", "--json"}, args...)...)
	require.NoError(t, err, out)
	start := strings.Index(out, "{\n")
	require.GreaterOrEqual(t, start, 0, out)
	require.NoError(t, json.NewDecoder(strings.NewReader(out[start:])).Decode(&r), out)
	return r
}

// 100 events happen at a provider, and 14 of them are never sent:
//   - a dry run names the 14, and changes nothing
//   - they are recovered, although the worker is killed in the middle: each once, with its entity
//   - a late delivery is a duplicate, and not a conflict
//   - a second recovery finds nothing
func TestEventsThatNeverArrivedAreRecovered(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	i := newShop(t, fake, "HOLDFAST_WORKER_GRACE=1s", unscheduled)
	door, worker := i.start(t, "ingress"), i.start(t, "worker")
	time.Sleep(time.Second) // the provider's times are whole seconds, and recovery was switched on when the worker started

	send := func(e fakeapi.Event) answer {
		body := customerUpdated(e.ID, e.Object, "Ada", e.Time)
		a, err := door.post("/webhooks/shop", body, "Stripe-Signature", sign(body, secret, time.Now()))
		require.NoError(t, err)
		return a
	}
	var missed []fakeapi.Event
	var names []string
	for n := range 100 {
		e := fakeapi.Event{ID: uniqueID("evt"), Type: "customer.updated", Time: time.Now(), Object: fmt.Sprint("cus_", n)}
		fake.Add(e)
		if n%7 == 3 {
			missed, names = append(missed, e), append(names, "shop:"+e.ID)
			continue
		}
		require.Equal(t, 202, send(e).status)
	}
	require.Len(t, missed, 14)
	i.awaitCount(t, time.Minute, 86, processedEvents)
	time.Sleep(2 * time.Second) // until the events have settled

	out, err := i.run(t, "recover", "gocardless", "--dry-run")
	require.Error(t, err)
	require.Contains(t, out, "set GOCARDLESS_ACCESS_TOKEN")
	out, err = i.run(t, "recover", "adyen", "--dry-run")
	require.Error(t, err)
	require.Contains(t, out, "describes no list of events")

	dry := i.recovers(t, "--since", "48h", "--dry-run")
	require.Equal(t, []int64{100, 86, 14, 14, 0}, []int64{dry.Listed, dry.Known, dry.Missed, dry.Retrying, dry.Recovered}, "%+v", dry)
	require.Equal(t, operation.CutSwitchedOn, dry.Cut)
	var found []string
	for _, e := range dry.Examples {
		found = append(found, e.WorkflowID)
	}
	require.ElementsMatch(t, names, found)
	require.Equal(t, 86, i.count(t, "SELECT count(*) FROM events"))

	r := i.recovers(t, "--rate", "2/s", "--detach")
	eventually(t, time.Minute, "some are recovered", func() error {
		return atLeast(i.count(t, "SELECT count(*) FROM events WHERE receipt->>'via' = 'recover'"), 3)
	})
	worker.kill()
	i.start(t, "worker")
	i.awaitCount(t, 2*time.Minute, 1, "SELECT count(*) FROM recoveries WHERE state = 'completed' AND NOT dry_run")
	i.awaitCount(t, time.Minute, 100, processedEvents)
	require.Equal(t, []int{14, 14, 0}, []int{
		i.count(t, "SELECT recovered FROM recoveries WHERE id = $1", r.ID),
		i.count(t, "SELECT count(*) FROM events WHERE receipt->>'via' = 'recover'"), i.count(t, "SELECT count(*) FROM recovery_items"),
	})
	require.Equal(t, 100, i.count(t, "SELECT count(*) FROM entities WHERE provider = 'shop' AND kind = 'customer'"))
	require.Equal(t, 100, i.count(t, "SELECT count(*) FROM event_entities"))
	i.awaitStatus(t, "recovery/"+r.ID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "recovery_completed", "recovery/"+r.ID)

	late := send(missed[0])
	require.True(t, late.Duplicate, string(late.body))
	require.Equal(t, "processed", late.state())
	require.NotContains(t, string(late.body), "conflict")
	require.Zero(t, i.count(t, openDeadLetters))

	again := i.recovers(t)
	require.Equal(t, []int64{0, 0}, []int64{again.Missed, again.Recovered})
	require.EqualValues(t, 100, again.Known)
}

// A provider fails, and an operator cancels the recovery in Temporal: it waits as long as the provider asks, and ends.
func TestARecoveryWaitsForItsProvider(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	fake.Fault = func(n int) fakeapi.Fault {
		if n == 1 {
			return fakeapi.Fault{Status: http.StatusTooManyRequests, RetryAfter: "31"}
		}
		return fakeapi.Fault{Status: http.StatusUnauthorized}
	}
	i := newShop(t, fake, unscheduled)
	i.start(t, "worker")
	out, err := i.run(t, "recover", "shop", "--since", "1h", "--accept-duplicates", "--yes")
	require.Error(t, err)
	require.Contains(t, out, "429")
	require.Contains(t, out, "the credential is refused: check that SHOP_API_HOST, SHOP_API_KEY may read this")
	require.Equal(t, 2, fake.Requests())
	var id string
	require.NoError(t, i.tryQuery("SELECT id FROM recoveries WHERE state = 'paused'", nil, &id))
	i.runTool(t, "temporal", "workflow", "cancel", "--workflow-id", "recovery/"+id)
	i.awaitStatus(t, "recovery/"+id, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED)
	i.replay(t, "recovery_canceled", "recovery/"+id)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM recoveries WHERE state = 'canceled'"))
}
