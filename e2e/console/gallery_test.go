package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
	"holdfast/operator/access"
)

// gallery is an installation on the stack's servers whose content is always the same, except for times and IDs: a shop with
// Stripe and GitHub, a mapping that was broken and is fixed, and a destination that fails.
type gallery struct {
	env               []string
	ingress, operator string
	token             string
	database          string
	orders            string // the file of the definition
	process           *exec.Cmd
}

// ordersBroken names an order by its address, whose text of two lines is no ID.
const ordersBroken = `
name: orders
title: Orders of the shop
extends: standard-webhooks
type: .body.type
occurred_at: []
replay: {base: 24h}
entities:
  - kind: order
    id: .body.order.address
    op: snapshot
    state: .body.order
`

const hookSecret = "whsec_Z2FsbGVyeSBvZiB0aGUgY29uc29sZQ=="

func newGallery(t *testing.T) *gallery {
	t.Helper()
	ports, err := stacktest.FreePorts(2)
	require.NoError(t, err)
	g := &gallery{ingress: "http://127.0.0.1:" + ports[0], operator: "http://127.0.0.1:" + ports[1]}
	text, token, err := access.NewToken("ada", access.RoleOperator)
	require.NoError(t, err)
	g.token = text
	definitions := t.TempDir()
	g.orders = filepath.Join(definitions, "orders.yaml")
	require.NoError(t, os.WriteFile(g.orders, []byte(ordersBroken), 0o644))
	given := holdfast.configured(t)
	g.env = append([]string{}, holdfast.env...)
	for name, value := range given {
		g.env = append(g.env, name+"="+value)
	}
	g.env = append(g.env, "DATABASE_URL="+g.createDatabase(t, given["DATABASE_URL"]), "TEMPORAL_NAMESPACE=gallery",
		"HOLDFAST_INGRESS_ADDR=127.0.0.1:"+ports[0], "HOLDFAST_OPERATOR_ADDR=127.0.0.1:"+ports[1],
		"HOLDFAST_INGRESS_PUBLIC_URL=https://hooks.example.com", "HOLDFAST_OPERATOR_TOKENS="+token.String(),
		"HOLDFAST_OPERATOR_TEMPORAL_WEB=https://temporal.example.com", "HOLDFAST_OPERATOR_TRACE_URL=",
		"HOLDFAST_PROVIDERS_DIR="+definitions, "STRIPE_WEBHOOK_SECRET="+hookSecret, "GITHUB_WEBHOOK_SECRET="+hookSecret,
		"HOLDFAST_REPLAY_AUTOMATIC=false")
	out, err := exec.Command(filepath.Join(holdfast.dir, "temporal"), "operator", "namespace", "create", "--namespace", "gallery",
		"--retention", "72h", "--address", given["TEMPORAL_ADDRESS"]).CombinedOutput()
	require.NoError(t, err, string(out))
	eventually(t, "the namespace is known", func() error { return g.try("migrate") })
	g.start(t)
	return g
}

// createDatabase creates an empty database on the stack's PostgreSQL.
func (g *gallery) createDatabase(t *testing.T, of string) string {
	t.Helper()
	execOn(t, of, "CREATE DATABASE gallery")
	at, err := url.Parse(of)
	require.NoError(t, err)
	at.Path = "/gallery"
	g.database = at.String()
	return g.database
}

// try runs a command of the program.
func (g *gallery) try(args ...string) error {
	command := exec.Command(filepath.Join(holdfast.dir, "holdfast"), args...)
	command.Env = g.env
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (g *gallery) start(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(holdfast.dir, "gallery.log"))
	require.NoError(t, err)
	g.process = exec.Command(filepath.Join(holdfast.dir, "holdfast"), "serve")
	g.process.Env, g.process.Stdout, g.process.Stderr = g.env, log, log
	require.NoError(t, g.process.Start())
	t.Cleanup(func() {
		_ = g.process.Process.Signal(syscall.SIGTERM)
		_ = g.process.Wait()
		_ = log.Close()
	})
	eventually(t, "the gallery is ready", func() error {
		response, err := client.Get(g.operator + "/readyz")
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			text, _ := os.ReadFile(log.Name())
			return errors.New(string(text))
		}
		return nil
	})
}

// deliver sends a request with a header, and requires the status.
func (g *gallery) deliver(t *testing.T, status int, path, body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.ingress+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, status, response.StatusCode, "%s: %s", path, text)
}

// stripe sends an event of Stripe; the object begins with its type.
func (g *gallery) stripe(t *testing.T, number int, kind, object string) {
	t.Helper()
	now := time.Now().Unix()
	body := fmt.Sprintf(`{"id":"evt_1SgQ2dLkdIwHu7ix%04d","object":"event","created":%d,"livemode":true,"type":%q,"data":{"object":%s}}`,
		number, now, kind, object)
	signed := macOf(hookSecret, fmt.Sprintf("%d.%s", now, body))
	g.deliver(t, http.StatusAccepted, "/webhooks/stripe", body, http.Header{
		"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%s", now, signed)}, "User-Agent": {"Stripe/1.0"},
	})
}

// push sends a push of GitHub.
func (g *gallery) push(t *testing.T, delivery string) {
	t.Helper()
	body := fmt.Sprintf(`{"ref":"refs/heads/main","after":%q,"repository":{"id":17,"full_name":"analytical/engine"},"commits":[]}`,
		macOf("commit", delivery)[:40])
	g.deliver(t, http.StatusAccepted, "/webhooks/github", body, http.Header{
		"X-Github-Event": {"push"}, "X-Github-Delivery": {delivery}, "X-Hub-Signature-256": {"sha256=" + macOf(hookSecret, body)},
	})
}

// order sends an event of the shop, and waits until it is a dead letter. One of the kind order.cut isn't JSON.
func (g *gallery) order(t *testing.T, number int, kind string) {
	t.Helper()
	body := fmt.Sprintf(`{"type":%q,"order":{"number":"A-%d","customer":"cus_SgX4mPqLr8Tn2V","total":"49.00","currency":"EUR","address":"4 Piccadilly\nLondon",`+
		`"lines":[{"sku":"engine-monthly","quantity":1}]}}`, kind, number)
	key := fmt.Sprintf("msg_2mRk%d_%s", number, strings.TrimPrefix(kind, "order."))
	if kind == "order.cut" {
		body = body[:80]
	}
	g.deliver(t, http.StatusAccepted, "/webhooks/orders", body, standardWebhook(t, key, body))
	g.awaitRows(t, 1, "SELECT count(*) FROM dead_letters WHERE key = '"+key+"'") // so that they always have the same numbers
}

func macOf(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

const (
	customer = `{"id":"cus_SgX4mPqLr8Tn2V","object":"customer","name":%q,"email":"ada@analytical.example","balance":%d,"currency":"eur"}`
	invoice  = `{"id":"in_1SgQ3aLkdIwHu7ixB2","object":"invoice","customer":"cus_SgX4mPqLr8Tn2V","number":"2026-0042",` +
		`"status":%q,"amount_due":4900,"amount_paid":%d,"currency":"eur"}`
	charge = `{"id":"ch_3SgQ3bLkdIwHu7ix0T","object":"charge","customer":"cus_SgX4mPqLr8Tn2V","amount":4900,"currency":"eur","paid":true}`
)

// fill lets the events come in, one after the other, and moves them into the past.
func (g *gallery) fill(t *testing.T) {
	t.Helper()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }))
	t.Cleanup(backend.Close)
	require.NoError(t, g.try("subscription", "create", "backend", "--url", backend.URL+"/hooks", "--providers", "stripe,github"))
	require.NoError(t, g.try("subscription", "create", "warehouse", "--url", "http://127.0.0.1:9/hooks", "--types", "invoice.paid,charge.succeeded"))
	execOn(t, g.database, outageOfWarehouse)

	g.deliver(t, http.StatusUnauthorized, "/webhooks/github", "{}", http.Header{"X-Github-Event": {"ping"}})
	g.push(t, "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	g.stripe(t, 1, "customer.created", fmt.Sprintf(customer, "Ada Byron", 0))
	g.stripe(t, 2, "invoice.created", fmt.Sprintf(invoice, "draft", 0))
	g.stripe(t, 3, "invoice.finalized", fmt.Sprintf(invoice, "open", 0))
	g.order(t, 1040, "order.cut")
	g.order(t, 1041, "order.placed")
	g.stripe(t, 4, "charge.succeeded", charge)
	g.stripe(t, 5, "invoice.paid", fmt.Sprintf(invoice, "paid", 4900))
	g.order(t, 1042, "order.placed")
	g.order(t, 1042, "order.paid")
	g.stripe(t, 6, "customer.updated", fmt.Sprintf(customer, "Ada Lovelace", 0))
	g.push(t, "8ab94d70-cc78-11e3-9d2c-2f5b1c0a7e11")
	g.stripe(t, 7, "customer.updated", fmt.Sprintf(customer, "Ada Lovelace", -500))
	g.awaitRows(t, 9, "SELECT count(*) FROM events WHERE status = 'processed'")
	g.awaitRows(t, 9, "SELECT count(*) FROM deliveries WHERE status = 'delivered'")
	g.awaitRows(t, 2, "SELECT count(*) FROM delivery_queue")
	execOn(t, g.database, past)

	fixed := strings.Replace(ordersBroken, ".body.order.address", ".body.order.number", 1)
	require.NoError(t, os.WriteFile(g.orders, []byte(fixed), 0o644))
	require.NoError(t, g.process.Process.Signal(syscall.SIGHUP))
}

// awaitRows waits until a query counts n.
func (g *gallery) awaitRows(t *testing.T, n int, sql string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), g.database)
	require.NoError(t, err)
	defer connection.Close(t.Context())
	eventually(t, sql, func() error {
		var got int
		if err := connection.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != n {
			return fmt.Errorf("there are %d: %w", got, err)
		}
		return nil
	})
}

// outageOfWarehouse opens the breaker before the first delivery, so that none is attempted.
const outageOfWarehouse = `
INSERT INTO destination_states AS s (destination_id, failing_since, failure, failures, breaker, open_until, held, next_at, low_at)
SELECT id, now() - interval '38 min', '503', 5, 'open', now() + interval '9 min', 'open', now() + interval '9 min',
       now() + interval '9 min' FROM destinations WHERE name = 'warehouse'
    ON CONFLICT (destination_id) DO UPDATE
   SET (failing_since, failure, failures, breaker, open_until, held, next_at, low_at) = (excluded.failing_since, excluded.failure,
       excluded.failures, excluded.breaker, excluded.open_until, excluded.held, excluded.next_at, excluded.low_at)`

// past spreads what has come in within seconds over more than an hour, gives the destination that fails its attempts, and adds
// the counts of a day for the charts. Those of deliveries are of 22 hours: a page adds up those of the time of its chart, which begins
// with a bar.
const past = `
CREATE TEMPORARY TABLE ago AS
SELECT id, (count(*) OVER () - row_number() OVER (ORDER BY id)) * interval '7 min 13 s' + interval '40 s' AS ago
  FROM (SELECT id FROM events UNION SELECT event_id FROM dead_letters) AS all_of_them;
UPDATE events SET occurred_at = occurred_at - ago,
       receipt = (receipt::jsonb || jsonb_build_object('received_at', (receipt->>'received_at')::timestamptz - ago))::json
  FROM ago WHERE ago.id = events.id;
UPDATE dead_letters SET first_failed_at = first_failed_at - ago, last_failed_at = last_failed_at - ago,
       receipt = (receipt::jsonb || jsonb_build_object('received_at', (receipt->>'received_at')::timestamptz - ago))::json
  FROM ago WHERE ago.id = event_id;
UPDATE events SET received_at = (receipt->>'received_at')::timestamptz;
UPDATE events SET persisted_at = received_at + interval '12 ms', processed_at = received_at + interval '19 ms';
UPDATE event_entities SET occurred_at = occurred_at - ago FROM ago WHERE ago.id = event_id;
UPDATE entities SET occurred_at = occurred_at - ago FROM ago WHERE ago.id = last_event_id;
UPDATE deliveries SET ms = 41, queued_at = received_at + interval '19 ms', done_at = received_at + interval '63 ms'
  FROM events WHERE events.id = event_id;
UPDATE delivery_queue SET queued_at = queued_at - ago, attempts = 3, last_code = '503', due_at = now() + interval '9 min'
  FROM ago WHERE ago.id = event_id;
UPDATE error_log SET at = at - ago FROM ago WHERE ago.id = event_id;
INSERT INTO delivery_attempts (event_id, subscription_id, lease, at, generation, ok, code, error, ms, answer)
SELECT event_id, subscription_id, gen_random_uuid(), queued_at + (4 ^ n) * interval '10 s', 0, false, '503',
       'the endpoint answered 503 Service Unavailable', 41, 'maintenance'
  FROM delivery_queue, generate_series(0, 2) AS n;
INSERT INTO event_minutes AS m (provider, starts_at, processed, ignored, dead)
SELECT provider, at, (share * (24 + 14 * sin(i / 29.0) + 5 * sin(i * 1.7)))::int, (share * (2 + sin(i * 0.9)))::int,
       CASE WHEN provider = 'orders' AND i BETWEEN 1 AND 9 THEN 6 + i % 3 ELSE 0 END
  FROM generate_series(1, 288) AS i, (VALUES ('stripe', 1.0), ('github', 0.3), ('orders', 0.4)) AS p (provider, share),
       LATERAL (SELECT date_bin('5 min', now(), timestamptz 'epoch') - i * interval '5 min' AS at) AS t
    ON CONFLICT (provider, starts_at) DO NOTHING;
INSERT INTO delivery_minutes AS m (destination_id, starts_at, succeeded, failed, ms)
SELECT d.id, at, CASE WHEN fails THEN 0 ELSE 9 + (4 * sin(i / 17.0))::int END, CASE WHEN fails THEN 4 ELSE 0 END,
       (9 + 4 * sin(i / 17.0)) * (40 + 9 * sin(i / 5.0))
  FROM generate_series(1, 264) AS i, destinations AS d,
       LATERAL (SELECT date_bin('5 min', now(), timestamptz 'epoch') - i * interval '5 min' AS at,
                       d.name = 'warehouse' AND i < 8 AS fails) AS t
    ON CONFLICT (destination_id, starts_at) DO NOTHING`

// one returns a value of the API, by the names of fields and the indexes of lists.
func (g *gallery) one(t *testing.T, path string, at ...string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.operator+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+g.token)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var value any
	require.NoError(t, json.NewDecoder(response.Body).Decode(&value))
	for _, key := range at {
		if list, ok := value.([]any); ok {
			n, err := strconv.Atoi(key)
			require.NoError(t, err)
			require.Greater(t, len(list), n, path)
			value = list[n]
			continue
		}
		object, ok := value.(map[string]any)
		require.True(t, ok, "%s has no %s: %v", path, key, value)
		value = object[key]
	}
	return fmt.Sprint(value)
}
