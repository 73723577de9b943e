package dev

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A signed delivery is accepted within its time window; a changed body is refused, as is one outside the window. The last ones
// are shown, up to the maximum.
func TestTheSinkAcceptsSignedRequests(t *testing.T) {
	t.Parallel()
	const secret, id, signed = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`
	s, err := newSink(secret)
	require.NoError(t, err)
	post := func(body string, age time.Duration) int {
		at := time.Now().Add(-age).Unix()
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		require.NoError(t, err)
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.%s", id, at, signed)
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		request.Header.Set("Webhook-Id", id)
		request.Header.Set("Webhook-Timestamp", fmt.Sprint(at))
		request.Header.Set("Webhook-Signature", "v1,old v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		return answer.Code
	}
	require.Equal(t, http.StatusOK, post(signed, 0))
	for _, age := range []time.Duration{6 * time.Minute, -6 * time.Minute} {
		require.Equal(t, http.StatusUnauthorized, post(signed, age), age)
	}
	for n := range sinkKeeps {
		require.Equal(t, http.StatusUnauthorized, post(fmt.Sprint(n), 0))
	}
	require.Equal(t, http.StatusOK, post(signed, 4*time.Minute))

	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	var got shown
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
	require.Len(t, got.Received, sinkKeeps)
	require.True(t, got.Received[0].Verified)
	require.Equal(t, "msg_p5jXN8AQM9LWM0D4loKWxJek", got.Received[0].ID)
	require.False(t, got.Received[1].Verified)
}

// A delivery may have as many bytes as an event. Only its beginning is kept.
func TestTheSinkAcceptsLargeBodies(t *testing.T) {
	t.Parallel()
	s, err := newSink("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	for size, status := range map[int]int{
		event.MaxBody: http.StatusUnauthorized, 2*event.MaxBody + 1: http.StatusRequestEntityTooLarge,
	} {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size))))
		require.Equal(t, status, answer.Code, size)
	}
	require.Len(t, s.last, 1)
	require.Len(t, s.last[0].Body, sinkShows)
}
