package client

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Verifier verifies deliveries, which are signed according to Standard Webhooks. It may be used concurrently.
type Verifier struct {
	// Tolerance is how far the time of a delivery may be from this machine's, in both directions. NewVerifier sets it to 5 minutes.
	Tolerance time.Duration

	webhooks []*standardwebhooks.Webhook
}

// NewVerifier accepts what any of the secrets has signed. During a rotation these are the new secret and the old one, the new one
// first. The error names the secret that can't be used by its position, and contains none of it.
func NewVerifier(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, errors.New("a verifier needs a secret")
	}
	v := &Verifier{Tolerance: 5 * time.Minute}
	for i, secret := range secrets {
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err != nil || strings.TrimPrefix(secret, "whsec_") == "" {
			return nil, fmt.Errorf("secret %d isn't whsec_ and base64", i)
		}
		v.webhooks = append(v.webhooks, webhook)
	}
	return v, nil
}

// Delivery is what the signature of a verified request covers, next to the body.
type Delivery struct {
	// ID is the webhook-id, which is the same in every attempt: process a delivery once per ID.
	ID string
	// SentAt is when the attempt was signed, in whole seconds.
	SentAt time.Time
	// Secret is the position of the secret that verified it. Once it is 0 for all deliveries, the older secrets can be removed.
	Secret int
}

// Verify checks the signature of a request over the bytes of its body as they were received, and its time. The error wraps one of
// the library's: ErrRequiredHeaders, ErrInvalidHeaders, ErrNoMatchingSignature, ErrMessageTooOld or ErrMessageTooNew.
func (v *Verifier) Verify(header http.Header, body []byte) (Delivery, error) {
	err := standardwebhooks.ErrNoMatchingSignature
	for i, webhook := range v.webhooks {
		// The library's own tolerance can't be set.
		if err = webhook.VerifyIgnoringTimestamp(body, header); err == nil {
			return v.deliveryOf(header, i)
		}
	}
	return Delivery{}, err
}

func (v *Verifier) deliveryOf(header http.Header, secret int) (Delivery, error) {
	seconds, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return Delivery{}, fmt.Errorf("verify delivery: %w", standardwebhooks.ErrInvalidHeaders)
	}
	d := Delivery{ID: header.Get(standardwebhooks.HeaderWebhookID), SentAt: time.Unix(seconds, 0), Secret: secret}
	switch age := time.Since(d.SentAt); {
	case age > v.Tolerance:
		return Delivery{}, fmt.Errorf("verify delivery %s: %w", d.ID, standardwebhooks.ErrMessageTooOld)
	case age.Abs() > v.Tolerance: // the smallest duration has no negative
		return Delivery{}, fmt.Errorf("verify delivery %s: %w", d.ID, standardwebhooks.ErrMessageTooNew)
	}
	return d, nil
}
