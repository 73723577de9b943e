package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

var shownSecret = regexp.MustCompile(`whsec_\S+`)

// The endpoint of docs/examples/typescript gets deliveries:
//   - it stores a delivery once, also after it was restarted
//   - it refuses a wrong signature
//   - it accepts what either secret of a rotation has signed
func TestTheTypeScriptEndpointReceivesDeliveries(t *testing.T) {
	t.Parallel()
	folder := compiledExamples(t)
	i := newInstallation(t, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
	n := i.start(t, "serve")
	url := "http://" + freePorts(t, 1)[0]
	env := []string{"PORT=" + url[strings.LastIndex(url, ":")+1:], "DELIVERIES=" + t.TempDir()}

	first := i.shown(t, "subscription", "create", "payments", "--url", url+"/hooks", "--providers", "stripe")
	process := runExample(t, folder, "endpoint", append(env, "WEBHOOK_SECRETS="+first)...)
	awaitEndpoint(t, url)
	event := someEvent()
	require.Equal(t, "accepted", n.send(t, event).state())
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM deliveries WHERE status = 'delivered'")
	require.Contains(t, process.log.String(), string(event))

	require.Equal(t, http.StatusUnauthorized, postSigned(t, url, secret, "msg_1"))
	require.Equal(t, http.StatusNoContent, postSigned(t, url, first, "msg_1"))
	require.NoError(t, process.command.Process.Kill())
	<-process.exited

	second := i.shown(t, "subscription", "rotate-secret", "payments", "--grace", "48h", "--reason", "test")
	require.NotEqual(t, first, second)
	process = runExample(t, folder, "endpoint", append(env, "WEBHOOK_SECRETS="+first+" "+second)...)
	awaitEndpoint(t, url)
	require.Equal(t, "accepted", n.send(t, someEvent()).state())
	i.awaitCount(t, time.Minute, 2, "SELECT count(*) FROM deliveries WHERE status = 'delivered'")
	require.Equal(t, http.StatusNoContent, postSigned(t, url, second, "msg_1"), "it has it from before")
	require.Equal(t, http.StatusNoContent, postSigned(t, url, second, "msg_2"))
	require.Equal(t, http.StatusUnauthorized, postSigned(t, url, secret, "msg_3"))
	require.NotContains(t, process.log.String(), "msg_1")
	require.Contains(t, process.log.String(), "msg_2 {}\n")
}

// The worker of docs/examples/typescript runs the workflow that Holdfast starts for an event.
func TestTheTypeScriptWorkerRunsAWorkflow(t *testing.T) {
	t.Parallel()
	folder := compiledExamples(t)
	i := newInstallation(t)
	n := i.start(t, "serve")
	runExample(t, folder, "worker", "TEMPORAL_ADDRESS="+i.temporal(), "TEMPORAL_NAMESPACE="+i.namespace)
	out, err := i.run(t, "subscription", "create", "orders", "--task-queue", "orders", "--start", "OrderWorkflow",
		"--workflow-id", `"order:" + .event.id`, "--providers", "stripe")
	require.NoError(t, err, out)
	accepted := n.send(t, someEvent())
	require.Equal(t, "accepted", accepted.state(), string(accepted.body))
	workflowID := "order:" + accepted.Events[0].EventID
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	var done string
	require.NoError(t, i.dial(t).GetWorkflow(t.Context(), workflowID, "").Get(t.Context(), &done))
	require.Equal(t, "handled stripe customer.updated", done)
}

// requirePackages skips the test where Node.js is missing, or what a folder needs of npm, unless NO_SKIP is set.
func requirePackages(t *testing.T, folder string) {
	t.Helper()
	const install = "install Node.js and npm (apt-get install npm), then `make clients`"
	_, noNode := exec.LookPath("node")
	_, notInstalled := os.Stat(filepath.Join(folder, "node_modules"))
	if missing := errors.Join(noNode, notInstalled); missing != nil {
		if os.Getenv("NO_SKIP") == "" {
			t.Skipf("what %s needs is not on this machine: %s", folder, install)
		}
		require.NoError(t, missing, install)
	}
}

// compiledExamples compiles the examples and returns their folder.
func compiledExamples(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(root, "docs", "examples", "typescript")
	requirePackages(t, folder)
	compiled := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(folder, "node_modules"), filepath.Join(compiled, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(compiled, "package.json"), []byte(`{"type":"module"}`), 0o600))
	command := exec.Command("node_modules/.bin/tsc", "--outDir", compiled)
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	return compiled
}

// runExample runs a compiled example until the test has ended.
func runExample(t *testing.T, folder, name string, env ...string) *node {
	t.Helper()
	return runProgram(t, folder, []string{"node", name + ".js"}, env...)
}

// runProgram runs a program of a user in a folder until the test has ended.
func runProgram(t *testing.T, folder string, line []string, env ...string) *node {
	t.Helper()
	n := &node{command: exec.Command(line[0], line[1:]...), log: &syncBuffer{}, exited: make(chan struct{})}
	n.command.Dir, n.command.Env = folder, append(cleanEnvironment(), env...)
	n.command.Stdout, n.command.Stderr = n.log, n.log
	require.NoError(t, n.command.Start())
	go func() {
		_ = n.command.Wait()
		close(n.exited)
	}()
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("the end of the log of %v:\n%s", line, n.log.tail(20))
		}
	})
	return n
}

// shown runs a command and returns the secret that it shows.
func (i *installation) shown(t *testing.T, args ...string) string {
	t.Helper()
	out, err := i.run(t, args...)
	require.NoError(t, err, out)
	found := shownSecret.FindString(out)
	require.NotEmpty(t, found, out)
	return found
}

func awaitEndpoint(t *testing.T, url string) {
	t.Helper()
	eventually(t, time.Minute, "the endpoint answers", func() error {
		response, err := http.Post(url, "application/json", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusUnauthorized {
			return fmt.Errorf("it answers %s", response.Status)
		}
		return nil
	})
}

// postSigned posts a delivery that a secret has signed, and returns the status.
func postSigned(t *testing.T, url, secret, id string) int {
	t.Helper()
	signer, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	now, body := time.Now(), []byte("{}")
	signature, err := signer.Sign(id, now, body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	request.Header.Set("webhook-signature", signature)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}
