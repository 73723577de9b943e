package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The lists that providers really send end as processed, though a process is killed meanwhile:
//   - 1,000 WhatsApp statuses in a request are 1,000 events
//   - 4,000 contacts of an Evolution instance are eight events
//   - one event with 3,000 entities, which no definition can cut, is written in pages, and is processed with the last of them
func TestLongLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulky.yaml"), []byte(bulky), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "BULKY_TOKEN="+secret, "META_APP_SECRET="+secret,
		"EVOLUTION_WEBHOOK_TOKEN="+secret)
	n := i.start(t, "serve")
	whole := bulkyEvent("whole", 200, 3000)
	n.deliver(t, http.StatusAccepted, "/webhooks/bulky", whole, "X-Bulky-Token", secret)
	i.awaitCount(t, 2*time.Minute, 1, `SELECT count(*) FROM (SELECT FROM event_entities WHERE kind = 'document' LIMIT 1) AS begun`)
	n.kill()

	n = i.start(t, "serve")
	statuses := make([]string, 1000)
	for k := range statuses {
		statuses[k] = fmt.Sprintf(`{"id":"wamid.%d","status":"delivered","timestamp":"%d","recipient_id":"55119%08d"}`, k,
			time.Now().Unix(), k)
	}
	body := `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{` +
		`"messaging_product":"whatsapp","metadata":{"phone_number_id":"2"},"statuses":[` + strings.Join(statuses, ",") + `]}}]}]}`
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	n.deliver(t, http.StatusOK, "/webhooks/meta", body, "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	contacts := make([]string, 4000)
	for k := range contacts {
		contacts[k] = fmt.Sprintf(`{"remoteJid":"55119%08d@s.whatsapp.net","pushName":"Contact %d"}`, k, k)
	}
	body = `{"event":"contacts.set","instance":"shop","date_time":"2026-11-28T00:00:00.000Z","data":[` +
		strings.Join(contacts, ",") + `]}`
	n.deliver(t, http.StatusAccepted, "/webhooks/evolution/shop", body, "X-Webhook-Token", secret)

	i.awaitCount(t, 4*time.Minute, 1+1000+8, `SELECT count(*) FROM events WHERE status = 'processed'`)
	require.Equal(t, 1+1000+8, i.count(t, allEvents))
	require.Equal(t, []int{3000, 1000, 4000}, []int{
		i.count(t, `SELECT count(*) FROM entities WHERE kind = 'document'`),
		i.count(t, `SELECT count(*) FROM entities WHERE kind = 'message' AND state->>'status' = 'delivered'`),
		i.count(t, `SELECT count(*) FROM entities WHERE kind = 'contact' AND state->>'push_name' LIKE 'Contact %'`),
	})
	require.Zero(t, i.count(t, `SELECT count(*) FROM dead_letters`))
}
