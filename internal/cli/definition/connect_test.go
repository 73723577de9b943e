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
//   - a refusal is shown with its cause, once
//   - the command ends with the first event
func TestAProviderIsConnected(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOLDFAST_INGRESS_PUBLIC_URL", "https://hooks.example.com")
	asked, refusedAt := 0, time.Now().Add(time.Minute)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "stripe", r.URL.Query().Get("provider"))
		if r.URL.Path == "/refusals" {
			_ = json.NewEncoder(w).Encode(httpapi.List[oversight.ProviderRefusals]{Items: []oversight.ProviderRefusals{{
				Provider: "stripe", Count: 1, Last: []oversight.Refusal{{At: refusedAt, Cause: "bad_signature", Status: 401}},
				Causes: []oversight.RefusalCause{{Cause: "bad_signature", Means: "it is wrong", Next: "correct it"}},
			}}})
			return
		}
		var events httpapi.List[arrived]
		if asked++; asked > 2 {
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
