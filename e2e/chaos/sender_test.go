package chaos

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The secrets, which contain the canary.
var (
	stripeSecret   = "whsec_" + canary + "-of-stripe"
	standardSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(canary+"-of-standard-webhooks"))
	hmacSecret     = canary + "-of-hmac"
)

// message is an event as sent, each time with the same bytes.
type message struct {
	provider, key string
	body          []byte
	header        map[string]string
	poison        bool // can't be processed: a dead letter is right
}

func (m message) workflowID() string { return m.provider + ":" + m.key }

// signed returns the headers of a request that is sent now. The providers' schemes are implemented again here, so that the
// tests don't use the code under test as the reference.
func (m message) signed(now time.Time, forged bool) map[string]string {
	headers := map[string]string{"Content-Type": "application/json", "X-Canary": canary}
	for name, value := range m.header {
		headers[name] = value
	}
	body := string(m.body)
	if forged {
		body += " "
	}
	at := fmt.Sprint(now.Unix())
	switch m.provider {
	case "stripe", "shop":
		headers["Stripe-Signature"] = "t=" + at + ",v1=" + hex.EncodeToString(mac(stripeSecret, at+"."+body))
	case "standard-webhooks":
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardSecret, "whsec_"))
		headers["Webhook-Id"], headers["Webhook-Timestamp"] = m.key, at
		headers["Webhook-Signature"] = "v1," + base64.StdEncoding.EncodeToString(mac(string(key), m.key+"."+at+"."+body))
	case "hmac":
		headers["X-Signature"] = "sha256=" + hex.EncodeToString(mac(hmacSecret, body))
	case "github":
		headers["X-Hub-Signature-256"] = "sha256=" + hex.EncodeToString(mac(hmacSecret, body))
	}
	return headers
}

func mac(secret, text string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// post sends it once; status is 0 without an answer.
func (m message) post(
	ctx context.Context, client *http.Client, door string, forged bool,
) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, door+"/webhooks/"+m.provider, bytes.NewReader(m.body))
	if err != nil {
		return 0, nil, err
	}
	for name, value := range m.signed(time.Now(), forged) {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return 0, nil, err
	}
	return response.StatusCode, answer, nil
}
