package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/internal/devstack/fakeapi"
	"holdfast/internal/ledger"
	"holdfast/persistence"
)

// A recovery walks a list of some hundred events, a third of which were never sent. Each fault comes twice: while the list is
// read, and while the missed events are started.
var recoveryFaults = []scenario{
	walking("F95", "workers_killed_during_a_recovery", func(w *world) {
		for _, n := range w.workers {
			n.kill()
		}
		w.sleep(outage / 2)
		for _, n := range w.workers {
			n.launch(w.t)
		}
	}),
	walking("F96", "database_killed_during_a_recovery", func(w *world) {
		w.sql.kill()
		w.sleep(outage / 2)
		w.sql.start(w.t)
	}),
	walking("F97", "temporal_killed_during_a_recovery", func(w *world) {
		w.temporal.kill()
		w.sleep(outage / 2)
		w.temporal.start(w.t)
	}),
}

// shop is Stripe with its API elsewhere. Its pages are small and its rate is low, so that a walk takes as long as a fault.
const shop = `
name: shop
extends: stripe
api: {host: "{SHOP_API_HOST}", headers: {authorization: "Bearer {SHOP_API_KEY}"}, rate: {requests: 5, per: 1s}}
recover: {settle: 1s}
`

const (
	listedEvents = 400
	listedByPage = 10
	missedEvents = (listedEvents + 2) / 3
)

func walking(id, name string, fault func(*world)) scenario {
	style := fakeapi.Styles()["stripe"]
	fake := fakeapi.New(style)
	fake.PageCap = listedByPage
	return scenario{
		id: id, name: name, twice: true, prepare: func(w *world) { w.serveShop(fake) },
		fault: func(w *world) {
			missed := w.listEvents(fake, &style)
			id := w.startRecovery()
			w.awaitCount(settle, listedEvents/4, "SELECT listed FROM recoveries WHERE id = $1", id)
			fault(w)
			w.awaitCount(settle, missedEvents/4, "SELECT recovered FROM recoveries WHERE id = $1", id)
			fault(w)
			for done := missedEvents / 4; done < missedEvents; done += missedEvents / 4 { // a busy machine takes its time
				w.awaitCount(settle, done, "SELECT recovered FROM recoveries WHERE id = $1", id)
			}
			w.awaitCount(settle, 1, "SELECT count(*) FROM recoveries WHERE id = $1 AND state = 'completed'", id)
			w.requireRecovered(id)
			for i, m := range missed { // each is delivered late
				w.load.send(m, ledger.KindDuplicate, w.load.doors[i%2])
			}
		},
		after: func(w *world) {
			for query, want := range map[string]int{
				"SELECT count(*) FROM events WHERE provider = 'shop'":                                 listedEvents,
				"SELECT count(DISTINCT workflow_id) FROM events WHERE provider = 'shop'":              listedEvents,
				"SELECT count(*) FROM entities WHERE provider = 'shop' AND kind = 'customer'":         listedEvents,
				"SELECT count(*) FROM events WHERE provider = 'shop' AND receipt->>'via' = 'recover'": missedEvents,
				"SELECT count(*) FROM recovery_items":                                                 0,
			} {
				n, err := w.count(query)
				require.NoError(w.t, err)
				require.Equal(w.t, want, n, query)
			}
		},
	}
}

// serveShop serves the list, and gives the processes its definition and credential.
func (w *world) serveShop(fake *fakeapi.Server) {
	served, err := fakeapi.Serve("localhost", fake)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = served.Close() })
	dir := w.t.TempDir()
	certificate := filepath.Join(dir, "ca.pem")
	require.NoError(w.t, os.WriteFile(certificate, served.Certificate, 0o600))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(shop), 0o600))
	w.environ = []string{
		"HOLDFAST_PROVIDERS_DIR=" + dir, "SSL_CERT_FILE=" + certificate, "SHOP_API_HOST=localhost:" + served.Port,
		"SHOP_API_KEY=" + fakeapi.Credential, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8,::1/128",
		"HOLDFAST_RECOVERY_INTERVAL=8760h",
	}
}

// listEvents has events happen at the shop over an hour, sends two of three, and returns the others.
func (w *world) listEvents(fake *fakeapi.Server, style *fakeapi.Style) (missed []message) {
	begin := time.Now().Add(-time.Hour)
	for n := range listedEvents {
		e := fakeapi.Event{
			ID: fmt.Sprintf("evt_%s_listed_%d", w.load.maker.run, n), Type: "customer.updated", Object: fmt.Sprint("cus_", n),
			Time: begin.Add(time.Duration(n) * time.Hour / (listedEvents + 1)),
		}
		fake.Add(e)
		m := message{provider: "shop", key: e.ID, body: style.Body(e)}
		if n%3 == 0 {
			w.load.note(m, ledger.KindDuplicate) // in the ledger without an answer
			missed = append(missed, m)
			continue
		}
		w.load.deliver(w.load.note(m, ledger.KindDuplicate), m, ledger.KindDuplicate, w.load.doors[n%2])
	}
	require.Len(w.t, missed, missedEvents)
	w.awaitCount(settle, listedEvents-missedEvents,
		"SELECT count(*) FROM events WHERE provider = 'shop' AND status = 'processed'")
	return missed
}

func (w *world) startRecovery() (id string) {
	out, err := w.run("recover", "shop", "--since", "2h", "--accept-duplicates", "--yes", "--detach", "--json")
	require.NoError(w.t, err, out)
	var r operation.Recovery
	start := strings.Index(out, "{\n")
	require.GreaterOrEqual(w.t, start, 0, out)
	require.NoError(w.t, json.NewDecoder(strings.NewReader(out[start:])).Decode(&r), out)
	return r.ID
}

// requireRecovered compares a recovery's counts with what was never sent.
func (w *world) requireRecovered(id string) {
	w.inStore(func(ctx context.Context, s *persistence.Store) error {
		r, err := s.Recoveries.Read(ctx, id)
		require.Equal(w.t, []int64{listedEvents, listedEvents - missedEvents, missedEvents, missedEvents, 0, 0},
			[]int64{r.Listed, r.Known, r.Missed, r.Recovered, r.Arrived, r.Failed}, "%+v", r)
		return err
	})
}
