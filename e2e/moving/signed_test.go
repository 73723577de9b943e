package moving

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// secret signs what the providers of the tests send.
const secret = "secret-of-the-providers"

// sign is the hex HMAC of a text.
func sign(text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// sendSigned sends a request as a provider does, and returns the statuses of its events.
func (i *installation) sendSigned(t *testing.T, provider string, body []byte) (statuses []string) {
	t.Helper()
	now := time.Now()
	header, signature := "Webhook-Signature", sign(string(body))
	switch provider {
	case "retell":
		header, signature = "X-Retell-Signature", fmt.Sprintf("v=%d,d=%s", now.UnixMilli(), sign(fmt.Sprintf("%s%d", body, now.UnixMilli())))
	case "calcom":
		header = "X-Cal-Signature-256"
	case "stripe":
		header, signature = "Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", now.Unix(), sign(fmt.Sprintf("%d.%s", now.Unix(), body)))
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.ingress+"/webhooks/"+provider, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(header, signature)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, string(text))
	var answer struct{ Events []struct{ Status string } }
	require.NoError(t, json.Unmarshal(text, &answer), string(text))
	for _, e := range answer.Events {
		statuses = append(statuses, e.Status)
	}
	return statuses
}

// requireBody requires the stored bytes of an event.
func (i *installation) requireBody(t *testing.T, provider, key, body string) {
	t.Helper()
	var stored []byte
	i.query(t, "SELECT raw_body FROM events WHERE provider = $1 AND key = $2", []any{provider, key}, &stored)
	require.Equal(t, body, string(stored))
}
