package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client keeps enough connections for a storm of requests.
var client = &http.Client{
	Timeout:   20 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256},
}

// answer is the answer that a sender gets.
type answer struct {
	status int
	header http.Header
	body   []byte

	Duplicate bool   `json:"duplicate"`
	RequestID string `json:"request_id"`
	Counts    struct {
		Accepted  int `json:"accepted"`
		Duplicate int `json:"duplicate"`
	} `json:"counts"`
	Events []struct {
		WorkflowID string `json:"workflow_id"`
		EventID    string `json:"event_id"`
		EventHash  string `json:"event_hash"`
		Status     string `json:"status"`
		Outcome    string `json:"outcome"`
		Conflict   bool   `json:"conflict"`
		Rewritten  bool   `json:"rewritten"`
		Cached     struct {
			Result        string    `json:"result"`
			ProcessedAt   time.Time `json:"processed_at"`
			CorrelationID string    `json:"correlation_id"`
		} `json:"cached_result"`
		DeadLetterID int `json:"dead_letter_id"`
	} `json:"events"`
	Error struct {
		Code string `json:"code"`
	} `json:"error"`
}

// state returns the state of the answer's only event.
func (a answer) state() string {
	if len(a.Events) != 1 {
		return fmt.Sprintf("%d events", len(a.Events))
	}
	return a.Events[0].Status
}

// sign implements Stripe's scheme independently, so that the tests don't use the code under test as the reference.
func sign(body []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.", at.Unix())
	mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// send delivers a signed Stripe event to the node.
func (n *node) send(t *testing.T, body []byte) answer {
	t.Helper()
	a, err := n.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, secret, time.Now()))
	require.NoError(t, err)
	return a
}

// awaitProcessed sends a processed event until the answer says processed, and returns that answer. While Temporal fails the
// answer is spooled, and then processing until the inbox has checked; no answer may report a new event.
func (n *node) awaitProcessed(t *testing.T, body []byte) (a answer) {
	t.Helper()
	eventually(t, time.Minute, "the event is known to be processed", func() error {
		if a = n.send(t, body); a.state() == "processed" {
			return nil
		}
		require.Contains(t, []string{"spooled", "processing"}, a.state())
		return errors.New(a.state())
	})
	return a
}

// post sends a request with headers given as alternating names and values.
func (n *node) post(path string, body []byte, headers ...string) (answer, error) {
	request, err := http.NewRequest(http.MethodPost, n.ingress+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return a, err
	}
	err = json.Unmarshal(a.body, &a)
	return a, err
}

var sequence atomic.Int64

// uniqueID returns an ID unique to this run of the tests, because workflow IDs outlive a test.
func uniqueID(prefix string) string {
	return fmt.Sprintf("%s_%d_%d", prefix, time.Now().UnixNano(), sequence.Add(1))
}

// customerUpdated returns a Stripe event about one customer, in Stripe's layout (two spaces of indentation).
func customerUpdated(eventID, customerID, name string, created time.Time) []byte {
	return []byte(strings.NewReplacer("$EVENT", eventID, "$CUSTOMER", customerID, "$NAME", name,
		"$CREATED", fmt.Sprint(created.Unix())).Replace(`{
  "id": "$EVENT",
  "object": "event",
  "api_version": "2024-06-20",
  "created": $CREATED,
  "data": {
    "object": {
      "id": "$CUSTOMER",
      "object": "customer",
      "balance": 12345678901234567890,
      "email": null,
      "name": "$NAME"
    },
    "previous_attributes": {"name": "before"}
  },
  "livemode": false,
  "type": "customer.updated"
}
`))
}

// sendStandard delivers an event signed according to Standard Webhooks.
func (n *node) sendStandard(t *testing.T, path, id string, body []byte) answer {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	at := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	a, err := n.post(path, body, "Webhook-Id", id, "Webhook-Timestamp", at,
		"Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	require.NoError(t, err)
	return a
}
