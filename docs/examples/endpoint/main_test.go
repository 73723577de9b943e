package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

// A delivery is processed once; one that fails is tried again; a wrong signature is refused.
func TestADeliveryIsProcessedOnce(t *testing.T) {
	var processed []string
	failure := errors.New("the database is down")
	r, err := newEndpoint(secretOfTests, func(id string, body []byte) error {
		if failure == nil {
			processed = append(processed, id+" "+string(body))
		}
		return failure
	})
	require.NoError(t, err)
	signer, err := standardwebhooks.NewWebhook(secretOfTests)
	require.NoError(t, err)
	send := func(id, signed, sent string) int {
		now := time.Now()
		signature, err := signer.Sign(id, now, []byte(signed))
		require.NoError(t, err)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks", strings.NewReader(sent))
		request.Header.Set("webhook-id", id)
		request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		request.Header.Set("webhook-signature", signature)
		response := httptest.NewRecorder()
		r.ServeHTTP(response, request)
		return response.Code
	}
	require.Equal(t, http.StatusUnauthorized, send("msg_1", "{}", `{"a":1}`))
	require.Equal(t, http.StatusInternalServerError, send("msg_1", "{}", "{}"))
	failure = nil
	require.Equal(t, http.StatusNoContent, send("msg_1", "{}", "{}"))
	require.Equal(t, http.StatusNoContent, send("msg_1", "{}", "{}"))
	require.Equal(t, []string{"msg_1 {}"}, processed)
	_, err = newEndpoint("not a secret", nil)
	require.Error(t, err)
}
