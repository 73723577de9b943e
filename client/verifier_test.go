package client

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

const (
	newSecret = "whsec_bmV3IHNlY3JldCBvZiB0aGUgdGVzdHM="
	oldSecret = "whsec_b2xkIHNlY3JldCBvZiB0aGUgdGVzdHM="
)

// signedWith returns the headers of a delivery that the secrets have signed.
func signedWith(t *testing.T, at time.Time, body []byte, secrets ...string) http.Header {
	t.Helper()
	header := http.Header{}
	header.Set("webhook-id", "msg_1")
	header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	var signatures string
	for _, secret := range secrets {
		webhook, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		signature, err := webhook.Sign("msg_1", at, body)
		require.NoError(t, err)
		signatures += " " + signature
	}
	header.Set("webhook-signature", signatures[1:])
	return header
}

func TestADeliveryNamesTheSecretThatSignedIt(t *testing.T) {
	t.Parallel()
	v, err := NewVerifier(newSecret, oldSecret)
	require.NoError(t, err)
	now, body := time.Now().Truncate(time.Second), []byte("caf\xe9")
	for want, secrets := range [][]string{{oldSecret, newSecret}, {oldSecret}} {
		d, err := v.Verify(signedWith(t, now, body, secrets...), body)
		require.NoError(t, err)
		require.Equal(t, Delivery{ID: "msg_1", SentAt: now, Secret: want}, d)
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	t.Parallel()
	v, err := NewVerifier(newSecret)
	require.NoError(t, err)
	now, body := time.Now(), []byte("{}")
	_, err = v.Verify(signedWith(t, now, body, oldSecret), body)
	require.ErrorIs(t, err, standardwebhooks.ErrNoMatchingSignature)
	_, err = v.Verify(signedWith(t, now, body, newSecret), []byte("{ }"))
	require.ErrorIs(t, err, standardwebhooks.ErrNoMatchingSignature)
	_, err = v.Verify(http.Header{}, body)
	require.ErrorIs(t, err, standardwebhooks.ErrRequiredHeaders)
	header := signedWith(t, now, body, newSecret)
	header.Set("webhook-timestamp", "now")
	_, err = v.Verify(header, body)
	require.ErrorIs(t, err, standardwebhooks.ErrInvalidHeaders)
}

func TestTheToleranceIsKept(t *testing.T) {
	t.Parallel()
	v, err := NewVerifier(newSecret)
	require.NoError(t, err)
	for age, want := range map[time.Duration]error{
		4 * time.Minute: nil, -4 * time.Minute: nil,
		6 * time.Minute: standardwebhooks.ErrMessageTooOld, -6 * time.Minute: standardwebhooks.ErrMessageTooNew,
	} {
		_, err = v.Verify(signedWith(t, time.Now().Add(-age), nil, newSecret), nil)
		require.ErrorIs(t, err, want)
	}
	farFuture := time.Unix(1<<40, 0) // further away than the largest duration
	_, err = v.Verify(signedWith(t, farFuture, nil, newSecret), nil)
	require.ErrorIs(t, err, standardwebhooks.ErrMessageTooNew)
	v.Tolerance = time.Hour
	_, err = v.Verify(signedWith(t, time.Now().Add(-6*time.Minute), nil, newSecret), nil)
	require.NoError(t, err)
}

func TestUnusableSecretsAreRefused(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{{}, {""}, {"whsec_"}, {newSecret, "whsec_not base64"}} {
		_, err := NewVerifier(secrets...)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "not base64")
	}
}
