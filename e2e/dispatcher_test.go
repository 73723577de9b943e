package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dispatcherClient is written for the previous dispatcher: it is configured with one base URL and one token.
type dispatcherClient struct{ base, token string }

// call makes a request and decodes the answer into a value.
func (d dispatcherClient) call(t *testing.T, method, path, body string, status int, into any) {
	t.Helper()
	answered, text := d.try(t, method, path, body)
	for range 5 { // retries after a 503, as Retry-After says
		if answered == status || answered != http.StatusServiceUnavailable {
			break
		}
		<-time.After(time.Second)
		answered, text = d.try(t, method, path, body)
	}
	require.Equal(t, status, answered, "%s %s: %s", method, path, text)
	if into != nil {
		require.NoError(t, json.Unmarshal(text, into), string(text))
	}
}

func (d dispatcherClient) try(t *testing.T, method, path, body string) (status int, text []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, d.base+path, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+d.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, text
}

// The shapes that such a client reads.
type (
	oldEvent struct {
		ID          string
		Type        string
		Source      string
		Data        json.RawMessage
		Status      string
		Attempts    int
		MaxAttempts int     `json:"max_attempts"`
		LastError   string  `json:"last_error"`
		NextAttempt *string `json:"next_attempt_at"`
		DeliveredAt *string `json:"delivered_at"`
	}
	oldAttempt struct {
		EventID       string `json:"event_id"`
		AttemptNumber int    `json:"attempt_number"`
		StatusCode    int    `json:"status_code"`
		ResponseBody  string `json:"response_body"`
	}
	oldSubscription struct {
		ID         string
		URL        string
		EventTypes []string `json:"event_types"`
		RateLimit  float64  `json:"rate_limit"`
		Active     bool
		Secret     string
	}
	oldError struct {
		Error struct{ Code, Message, Detail string }
	}
)

func (d dispatcherClient) awaitStatus(t *testing.T, id, status string) (e oldEvent) {
	t.Helper()
	eventually(t, time.Minute, id+" is "+status, func() error {
		d.call(t, "GET", "/events/"+id, "", 200, &e)
		if e.Status != status {
			return fmt.Errorf("it is %+v", e)
		}
		return nil
	})
	return e
}

// oldReceiver checks the previous dispatcher's signature, and counts deliveries by the producer's ID.
type oldReceiver struct {
	*httptest.Server

	refuses atomic.Bool
	mu      sync.Mutex
	taken   map[string]int
	forged  int
}

func newOldReceiver(t *testing.T, secret string) *oldReceiver {
	t.Helper()
	o := &oldReceiver{taken: map[string]int{}}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		var e struct{ ID string }
		_ = json.Unmarshal(body, &e)
		o.mu.Lock()
		defer o.mu.Unlock()
		switch {
		case r.Header.Get("X-Webhook-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)):
			o.forged++
		case o.refuses.Load():
			http.Error(w, "not now", http.StatusInternalServerError)
		default:
			o.taken[e.ID]++
		}
	}))
	t.Cleanup(o.Close)
	return o
}

const (
	dispatcherToken = "token-of-the-dispatchers-clients"
	receiverSecret  = "a secret of the dispatcher before"
)

// A client of the previous dispatcher continues with another base URL and another token:
//   - without the setting it isn't served; with it, a wrong token is refused
//   - its malformed events are refused with the problem, and leave nothing behind; those of others become a dead letter, as
//     usual
//   - right after the 202, before any worker has it, the event can be read by the producer's own ID, whatever its source
//   - an ID that two sources have published can be read by naming the source
//   - a subscription can be created once, listed with URL and rate, changed, and deleted; those of others and their attempts
//     are hidden, and an endpoint that one of them uses can't be changed
//   - the endpoint checks the old signature; an event published twice is delivered once
//   - attempts are numbered, and the event shows their number, their maximum, and why the last one failed
func TestDispatcherClientsWorkUnchanged(t *testing.T) {
	t.Parallel()
	receiver := newOldReceiver(t, receiverSecret)
	i := newInstallation(t, "EVENTS_TOKEN=token-of-publishers-alone", "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
	off := dispatcherClient{i.start(t, "ingress").ingress, dispatcherToken}
	off.call(t, "GET", "/subscriptions", "", 405, nil)
	off.call(t, "POST", "/events", `{"id":"evt_1","type":"order.paid"}`, 401, nil)
	on := i.start(t, "ingress", "HOLDFAST_DISPATCHER_TOKEN="+dispatcherToken).ingress
	d, publisher := dispatcherClient{on, dispatcherToken}, dispatcherClient{on, "token-of-publishers-alone"}
	for _, path := range []string{"/events/evt_1", "/events/evt_1/attempts", "/subscriptions", "/subscriptions/crm"} {
		publisher.call(t, "GET", path, "", 401, nil)
	}
	publisher.call(t, "DELETE", "/subscriptions/crm", "", 401, nil)
	d.call(t, "GET", "/health", "", 200, nil)

	for body, message := range map[string]string{
		`{"id":"evt_1","type":`:                             "the body is not a JSON object, or a list of them",
		`"evt_1"`:                                           "the body is not a JSON object, or a list of them",
		`{"id":"evt_1","source":"shop"}`:                    "type: is missing",
		`{"id":7,"type":"order.paid"}`:                      "id: must be a string",
		`[{"id":"a","type":"x"},{"id":"b","type":["y"]}]`:   "event 2: type: must be a string",
		`{"id":"evt_1","type":"order.paid","time":"later"}`: "",
	} {
		var refused oldError
		d.call(t, "POST", "/events", body, 400, &refused)
		require.Equal(t, "invalid_event", refused.Error.Code, body)
		if message != "" {
			require.Equal(t, message, refused.Error.Message, body)
		}
	}
	require.Zero(t, i.runsOf(t, "WorkflowType = 'ProcessEvent'"))
	d.call(t, "GET", "/events/evt_1", "", 404, nil)

	var made, listed oldSubscription
	d.call(t, "POST", "/subscriptions", fmt.Sprintf(`{"url":%q,"event_types":["order.*"],"secret":%q,"rate_limit":50,"active":true}`,
		receiver.URL, receiverSecret), 201, &made)
	d.call(t, "GET", "/subscriptions/"+made.ID, "", 200, &listed)
	require.Equal(t, oldSubscription{ID: made.ID, URL: receiver.URL, EventTypes: []string{"order.*"}, RateLimit: 50, Active: true}, listed)
	out, err := i.run(t, "subscription", "create", "of-others", "--url", receiver.URL, "--providers", "stripe")
	require.NoError(t, err, out)
	d.call(t, "GET", "/subscriptions/of-others", "", 404, nil)
	d.call(t, "DELETE", "/subscriptions/of-others", "", 404, nil)
	var all []oldSubscription
	d.call(t, "GET", "/subscriptions", "", 200, &all)
	require.Equal(t, []oldSubscription{listed}, all)

	d.call(t, "POST", "/subscriptions", fmt.Sprintf(`{"id":%q,"url":%q}`, made.ID, receiver.URL), 409, nil)
	internal := newOldReceiver(t, receiverSecret) // of a subscription to all events, whose answers are not for the dispatcher's clients
	out, err = i.run(t, "subscription", "create", "audit", "--url", internal.URL, "--types", "order.*")
	require.NoError(t, err, out)

	const paid = `{"id":"evt_1","type":"order.paid","source":"shop","data":{"id":"o1","total":7}}`
	d.call(t, "POST", "/events", paid, 202, nil)
	var e oldEvent
	d.call(t, "GET", "/events/evt_1", "", 200, &e)
	require.Equal(t, oldEvent{
		ID: "evt_1", Type: "order.paid", Source: "shop", Data: json.RawMessage(`{"id":"o1","total":7}`), Status: "pending",
		MaxAttempts: 5,
	}, e)
	publisher.call(t, "POST", "/events", `{"id":"untyped","source":"erp"}`, 202, nil)

	i.start(t, "worker")
	e = d.awaitStatus(t, "evt_1", "delivered")
	require.NotNil(t, e.DeliveredAt)
	require.Equal(t, "failed", d.awaitStatus(t, "untyped", "failed").Status)
	d.call(t, "POST", "/events", paid, 200, nil)

	d.call(t, "POST", "/events", `{"id":"evt_1","type":"cart.left","source":"erp"}`, 202, nil)
	require.Equal(t, "cart.left", d.awaitStatus(t, "evt_1?source=erp", "delivered").Type)
	d.call(t, "GET", "/events/evt_1", "", 409, nil)

	receiver.refuses.Store(true)
	d.call(t, "POST", "/events", `{"id":"evt_2","type":"order.paid","source":"shop"}`, 202, nil)
	e = d.awaitStatus(t, "evt_2", "retrying")
	require.Equal(t, oldEvent{
		ID: "evt_2", Type: "order.paid", Source: "shop", Status: "retrying", Attempts: 1, MaxAttempts: 5, LastError: "the endpoint answered 500 Internal Server Error",
		NextAttempt: e.NextAttempt,
	}, e)
	receiver.refuses.Store(false)
	d.awaitStatus(t, "evt_2", "delivered")
	var attempts []oldAttempt
	d.call(t, "GET", "/events/evt_2/attempts", "", 200, &attempts)
	require.Equal(t, []oldAttempt{{"evt_2", 1, 500, "not now\n"}, {"evt_2", 2, 200, ""}}, attempts)

	shared := filepath.Join(t.TempDir(), "shared.yaml")
	require.NoError(t, os.WriteFile(shared, fmt.Appendf(nil, "subscriptions: {shared: {events: {providers: [stripe]}, to: %s}}\n", made.ID), 0o600))
	out, err = i.run(t, "subscription", "apply", "-f", shared)
	require.NoError(t, err, out)
	d.call(t, "PATCH", "/subscriptions/"+made.ID, `{"rate_limit":1}`, 409, nil)
	out, err = i.run(t, "subscription", "delete", "shared")
	require.NoError(t, err, out)

	d.call(t, "PUT", "/subscriptions/"+made.ID, `{"event_types":["order.shipped"],"rate_limit":0,"active":false}`, 200, &listed)
	require.Equal(t, oldSubscription{ID: made.ID, URL: receiver.URL, EventTypes: []string{"order.shipped"}}, listed)
	elsewhere := fmt.Sprintf(`{"url":%q`, receiver.URL+"/elsewhere")
	d.call(t, "PATCH", "/subscriptions/"+made.ID, elsewhere+`}`, 400, nil)
	d.call(t, "PATCH", "/subscriptions/"+made.ID, elsewhere+fmt.Sprintf(`,"secret":%q}`, receiverSecret), 200, &listed)
	require.Equal(t, receiver.URL+"/elsewhere", listed.URL)
	d.call(t, "DELETE", "/subscriptions/"+made.ID, "", 204, nil)
	d.call(t, "GET", "/subscriptions/"+made.ID, "", 404, nil)
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	require.Equal(t, map[string]int{"evt_1": 1, "evt_2": 1}, receiver.taken)
	require.Zero(t, receiver.forged)
}
