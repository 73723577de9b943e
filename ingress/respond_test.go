package ingress

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// No browser may run, frame, sniff or cache any answer.
func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{SelfTest: &SelfTest{}})
	for path, status := range map[string]int{
		"/webhooks/stripe": http.StatusUnauthorized, "/nowhere": http.StatusNotFound, selfTestPath: http.StatusNotFound,
	} {
		response, err := s.app.Test(httptest.NewRequest(http.MethodPost, path, http.NoBody), 5000)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode, path)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		} {
			require.Equal(t, want, response.Header.Get(name), path)
		}
	}
}
