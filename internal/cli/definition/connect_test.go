package definition

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// A provider is connected in a terminal:
//   - the address, the variables and the steps are shown
//   - each refusal since then is shown with its cause, once
//   - the command ends with the first event since then, whatever the clocks say
func TestAProviderIsConnected(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOLDFAST_INGRESS_PUBLIC_URL", "https://hooks.example.com")
	// The server's clock is an hour behind.
	now := time.Now().Add(-time.Hour)
	before := oversight.Refusal{At: now, Cause: "no_signature", Status: 401}
	refused := []oversight.Refusal{before}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "stripe", r.URL.Query().Get("provider"))
		if r.URL.Path == "/refusals" {
			_ = json.NewEncoder(w).Encode(httpapi.List[oversight.ProviderRefusals]{Items: []oversight.ProviderRefusals{{
				Provider: "stripe", Count: int64(len(refused)), Last: refused,
				Causes: []oversight.RefusalCause{
					{Cause: "bad_signature", Means: "it is wrong", Next: "correct it"},
					{Cause: "too_old", Means: "it is too old", Next: "set the clock"},
				},
			}}})
			return
		}
		events := httpapi.List[arrived]{Items: []arrived{{ID: "01a1", Type: "charge.failed", Status: "processed"}}}
		switch asked++; asked {
		case 2: // two at once, the newest first
			refused = []oversight.Refusal{
				{At: now.Add(2 * time.Second), Cause: "too_old", Status: 401},
				{At: now.Add(time.Second), Cause: "bad_signature", Status: 401}, before,
			}
		case 3:
			events.Items = []arrived{{ID: "01a2", Type: "charge.succeeded", Status: "processed"}}
		}
		_ = json.NewEncoder(w).Encode(events)
	}))
	defer server.Close()

	out, err := run(t, "", "provider", "connect", "stripe", "--operator", server.URL)
	require.NoError(t, err)
	require.Regexp(t, `(?s)^address    https://hooks\.example\.com/webhooks/stripe
secret in  STRIPE_WEBHOOK_SECRET
secret     missing \(no_secret\)
docs       https://docs\.stripe\.com/webhooks

1\. Add a webhook at Stripe .*
3\. Send a test event .*holdfast send stripe.*
waiting for an event … \(Ctrl-C ends\)
refused with 401: bad_signature: it is wrong
  correct it
refused with 401: too_old: it is too old
  set the clock
received charge\.succeeded, processed: holdfast event show 01a2
$`, out)

	out, err = run(t, "", "provider", "connect", "stripe", "--json")
	require.NoError(t, err)
	var how struct {
		Address string
		Secrets []string
		Secret  string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &how))
	require.Equal(t, "https://hooks.example.com/webhooks/stripe", how.Address)
	require.Equal(t, []string{"STRIPE_WEBHOOK_SECRET"}, how.Secrets)
	require.Equal(t, "missing", how.Secret)
	_, err = run(t, "", "provider", "connect", "stripe", "--operator", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "no server is listening")
}
