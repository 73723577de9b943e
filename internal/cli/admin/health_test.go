package admin

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A container's health check asks the process next to it on its configured port:
//   - one that isn't ready makes it fail
func TestHealthAsksTheConfiguredPort(t *testing.T) {
	status := http.StatusOK
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		w.WriteHeader(status)
	}))
	defer s.Close()
	t.Chdir(t.TempDir())
	t.Setenv("HOLDFAST_OPERATOR_ADDR", strings.TrimPrefix(s.URL, "http://"))
	ask := func(args ...string) error {
		c := HealthCommand()
		c.SetArgs(args)
		c.SetOut(&bytes.Buffer{})
		c.SilenceUsage, c.SilenceErrors = true, true
		return c.Execute()
	}
	require.NoError(t, ask())
	require.Equal(t, "/readyz", asked)
	status = http.StatusServiceUnavailable
	require.ErrorContains(t, ask(), "503")
	require.Error(t, ask("--operator", s.URL+"/healthz"))
	require.Equal(t, "/healthz", asked)
}
