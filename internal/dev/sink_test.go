package dev

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The sample of Standard Webhooks' specification is taken in its time; another body is not, nor is it before or later. The last
// ones are shown, and no more than it keeps.
func TestTheSinkTakesWhatIsSigned(t *testing.T) {
	t.Parallel()
	s, err := newSink("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	signed := time.Unix(1614265330, 0)
	clock := signed
	s.now = func() time.Time { return clock }
	post := func(body string) int {
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		request.Header.Set("Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
		request.Header.Set("Webhook-Timestamp", "1614265330")
		request.Header.Set("Webhook-Signature", "v1,old v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		return answer.Code
	}
	require.Equal(t, http.StatusOK, post(`{"test": 2432232314}`))
	for _, late := range []time.Duration{6 * time.Minute, -6 * time.Minute} {
		clock = signed.Add(late)
		require.Equal(t, http.StatusUnauthorized, post(`{"test": 2432232314}`), late)
	}
	clock = signed.Add(4 * time.Minute)
	for n := range sinkKeeps {
		require.Equal(t, http.StatusUnauthorized, post(fmt.Sprint(n)))
	}
	require.Equal(t, http.StatusOK, post(`{"test": 2432232314}`))

	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	var got shown
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
	require.Len(t, got.Received, sinkKeeps)
	require.True(t, got.Received[0].Verified)
	require.Equal(t, "msg_p5jXN8AQM9LWM0D4loKWxJek", got.Received[0].ID)
	require.False(t, got.Received[1].Verified)
}
