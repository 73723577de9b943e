package operator_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
)

// One path serves both Prometheus and JSON; the other formats have their own paths.
func TestMetricsComeInTheFormThatIsAccepted(t *testing.T) {
	t.Parallel()
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text+r.URL.RawQuery) })
	}
	_, url := serve(t, operator.Options{Metrics: says("text"), MetricsJSON: says("json"), MetricsHistory: says("history ")})
	prometheus := "application/openmetrics-text;version=1.0.0;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5," +
		"text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	for accept, want := range map[string]string{
		"": "text", "*/*": "text", prometheus: "text", "application/json": "json", "application/json, */*;q=0.1": "json",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, string(body), accept)
	}
	_, body := get(t, url+"/metrics.json")
	require.Equal(t, "json", body)
	_, body = get(t, url+"/metrics/history?since=5m")
	require.Equal(t, "history since=5m", body)
}
