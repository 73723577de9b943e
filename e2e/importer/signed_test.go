package importer

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// secret signs what the providers of the tests send.
const secret = "secret-of-the-providers"

// sign returns the hex HMAC of a text.
func sign(text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// sendSigned sends a request as a provider does.
func (i *installation) sendSigned(t *testing.T, provider string, body []byte) {
	t.Helper()
	require.NoError(t, i.trySigned(provider, body))
}

// sendMeanwhile sends requests while the test continues. Its result reports whether all were accepted.
func (i *installation) sendMeanwhile(provider string, bodies ...[]byte) <-chan error {
	all := make(chan error, 1)
	go func() {
		var failed error
		for _, body := range bodies {
			failed = errors.Join(failed, i.trySigned(provider, body))
		}
		all <- failed
	}()
	return all
}

func (i *installation) trySigned(provider string, body []byte) error {
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
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, i.ingress+"/webhooks/"+provider, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(header, signature)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s", provider, response.Status)
	}
	return nil
}

// requireBody asserts the stored bytes of an event.
func (i *installation) requireBody(t *testing.T, provider, key, body string) {
	t.Helper()
	var stored []byte
	i.query(t, "SELECT raw_body FROM events WHERE provider = $1 AND key = $2", []any{provider, key}, &stored)
	require.Equal(t, body, string(stored))
}
