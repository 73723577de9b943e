package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A developer listens to a Holdfast from their own machine, with a token:
//   - earlier events are replayed, and new ones are forwarded, byte for byte
//   - each is signed again with the developer's own secret
//   - a viewer's token is refused, since it may not see bodies
func TestADeveloperListensToRealEvents(t *testing.T) {
	t.Parallel()
	const own = "whsec_b25lIG9mIG9uZSdzIG93bg=="
	crew := newOperators(t)
	i := newInstallation(t, "HOLDFAST_OPERATOR_TOKENS="+crew.entries)
	n := i.start(t, "serve")
	first := customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now())
	require.Equal(t, 202, n.send(t, first).status)
	i.awaitCount(t, time.Minute, 1, processedEvents)

	came := make(chan []byte, 10)
	developer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		signature := r.Header.Get("Stripe-Signature")
		at, _, _ := strings.Cut(strings.TrimPrefix(signature, "t="), ",")
		seconds, parseErr := strconv.ParseInt(at, 10, 64)
		if err != nil || parseErr != nil || signature != sign(body, own, time.Unix(seconds, 0)) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		came <- body
	}))
	t.Cleanup(developer.Close)

	listen := func(token string) (*exec.Cmd, *syncBuffer) {
		command := exec.Command(holdfast, "listen", "--operator", n.operator, "--provider", "stripe", "--since", "1h",
			"--forward", developer.URL+"/hooks", "--secret", own, "--print")
		command.Env = append(cleanEnvironment(), "HOLDFAST_SECRET_TOKEN="+token)
		out := &syncBuffer{}
		command.Stdout, command.Stderr = out, out
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Kill() })
		return command, out
	}
	refused, out := listen(crew.tokens["viewer"])
	require.Error(t, refused.Wait())
	require.Contains(t, out.String(), "operator")
	refused, out = listen("nonsense")
	require.Error(t, refused.Wait())
	require.Contains(t, out.String(), "the token is invalid")

	command, out := listen(crew.tokens["operator"])
	second := customerUpdated(uniqueID("evt"), uniqueID("cus"), "Grace", time.Now())
	require.Equal(t, 202, n.send(t, second).status)
	for _, want := range [][]byte{first, second} {
		select {
		case got := <-came:
			require.Equal(t, want, got)
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing is forwarded", out.String())
		}
	}
	eventually(t, time.Minute, "both are shown", func() error {
		return atLeast(strings.Count(out.String(), "-> 200 OK in "), 2)
	})
	require.Contains(t, out.String(), "stripe customer.updated")
	require.Contains(t, out.String(), `"Grace"`)
	require.NoError(t, command.Process.Signal(os.Interrupt))
	require.NoError(t, command.Wait(), "it ends as it is told")
}
