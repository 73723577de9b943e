package operator_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
)

// A client that opens hundreds of connections without finishing a request doesn't block others, and a request that is being
// served keeps its connection.
func TestHalfOpenConnectionsBlockNoOtherClient(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = fmt.Fprint(w, "served")
	})
	_, url := serve(t, operator.Options{Metrics: slow})
	served := make(chan string, 1)
	go func() {
		res, err := http.Get(url + "/metrics")
		if err != nil {
			served <- err.Error()
			return
		}
		_ = res.Body.Close()
		served <- res.Status
	}()
	<-entered
	for i := range 300 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = fmt.Fprint(conn, []string{"", "GET /readyz HTTP/1.1\r\nHost:", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"}[i%3])
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		res, body := get(t, url+path)
		require.Equal(t, 200, res.StatusCode, body)
	}
	close(release)
	require.Equal(t, "200 OK", <-served)
}
