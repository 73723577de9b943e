package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// newPayloadKey returns an entry as the program creates it.
func newPayloadKey(t *testing.T, id string) string {
	t.Helper()
	out, err := (&installation{}).run(t, "payload-key", "new", id)
	require.NoError(t, err, out)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// With payload keys everything works as without:
//   - the answer to a duplicate names the event that it duplicates
//   - the exact bytes are stored
//   - a terminated run becomes a dead letter with its body
//   - temporal and tctl show the body through the codec endpoint with an operator's token, and not without
func TestEncryptedPayloadsAreShownToThoseWhoMay(t *testing.T) {
	t.Parallel()
	o := newOperators(t)
	i := newInstallation(t, "HOLDFAST_PAYLOAD_KEYS="+newPayloadKey(t, "2026"), "HOLDFAST_OPERATOR_TOKENS="+o.entries,
		"HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	n := i.start(t, "serve")
	id := uniqueID("evt")
	body := customerUpdated(id, uniqueID("cus"), "Ada Lovelace", time.Now())
	first := n.send(t, body)
	require.Equal(t, 202, first.status)
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	again := n.send(t, body)
	require.Equal(t, []string{"200", "processed", first.Events[0].EventID},
		[]string{fmt.Sprint(again.status), again.state(), again.Events[0].EventID})
	var stored []byte
	i.query(t, "SELECT raw_body FROM events", nil, &stored)
	require.Equal(t, string(body), string(stored))

	for name, show := range map[string]func(auth ...string) string{
		"temporal": func(auth ...string) string {
			return i.runTool(t, "temporal", append([]string{"workflow", "show", "--workflow-id", "stripe:" + id, "--detailed"}, auth...)...)
		},
		"tctl": func(auth ...string) string {
			return i.runTool(t, "tctl", append(auth, "--namespace", i.namespace, "workflow", "show", "--workflow_id", "stripe:"+id,
				"--print_full")...)
		},
	} {
		flags := map[string][]string{
			"temporal": {"--codec-endpoint", n.operator + "/codec", "--codec-auth"},
			"tctl":     {"--codec_endpoint", n.operator + "/codec", "--codec_auth"},
		}[name]
		require.NotContains(t, show(), "Lovelace", name)
		require.Contains(t, show(append(flags, "Bearer "+o.tokens["operator"])...), "Lovelace", name)
	}
	for token, status := range map[string]int{"": 401, o.tokens["viewer"]: 403} {
		api{n.operator, token}.call(t, "POST", "/codec/decode", `{"payloads":[]}`, status, nil)
	}
	n.terminate(t)

	n = i.start(t, "ingress")
	lost := uniqueID("evt")
	require.Equal(t, 202, n.send(t, customerUpdated(lost, uniqueID("cus"), "Bob", time.Now())).status)
	i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", "stripe:"+lost, "--reason", "a test")
	i.start(t, "worker")
	i.awaitCount(t, time.Minute, 1, openDeadLetters+" AND error_code = 'terminated'")
	i.query(t, "SELECT raw_body FROM dead_letters", nil, &stored)
	require.Contains(t, string(stored), "Bob")
}

// A worker lacks the key of an event, as in the middle of a rotation or by mistake:
//   - the run neither fails nor ends, and there is no dead letter
//   - a worker with the key finishes it; so are runs recorded in clear text before the keys
func TestAnEventWaitsForItsKey(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	ingress := i.start(t, "ingress")
	plain := uniqueID("evt")
	require.Equal(t, 202, ingress.send(t, customerUpdated(plain, uniqueID("cus"), "Ada", time.Now())).status)
	ingress.terminate(t)
	young, old := newPayloadKey(t, "young"), newPayloadKey(t, "old")
	ingress = i.start(t, "ingress", "HOLDFAST_PAYLOAD_KEYS="+young+","+old)
	id := uniqueID("evt")
	require.Equal(t, 202, ingress.send(t, customerUpdated(id, uniqueID("cus"), "Ada", time.Now())).status)

	for _, keys := range []string{"", old} {
		without := i.start(t, "worker", "HOLDFAST_PAYLOAD_KEYS="+keys)
		eventually(t, 30*time.Second, "the worker has failed a task for want of the key", func() error {
			if log := without.log.String(); !strings.Contains(log, "Failed to process workflow task") || !strings.Contains(log, "young") {
				return errors.New("its log does not say so")
			}
			return nil
		})
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, i.describe(t, "stripe:"+id).GetStatus())
		without.terminate(t)
	}
	i.start(t, "worker", "HOLDFAST_PAYLOAD_KEYS="+young+","+old)
	for _, id := range []string{id, plain} {
		i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	}
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// `holdfast dev` with a key:
//   - Temporal Web is configured with the codec endpoint, which allows its pages
//   - the tools in another terminal use the key
func TestTemporalWebOfTheDevStackDecrypts(t *testing.T) {
	t.Parallel()
	d := newDev(t)
	d.env = append([]string{"HOLDFAST_PAYLOAD_KEYS=" + newPayloadKey(t, "dev")}, d.env...)
	n := d.start(t)
	d.env = d.env[1:]
	d.sendAndShow(t)
	out, err := d.run(t, "event", "list", "--json")
	require.NoError(t, err, out)

	web := "http://127.0.0.1:" + strings.TrimPrefix(d.env[len(d.env)-2], "HOLDFAST_DEV_TEMPORAL_UI_PORT=")
	response, err := client.Get(web + "/api/v1/settings")
	require.NoError(t, err)
	defer response.Body.Close()
	var settings struct{ Codec struct{ Endpoint string } }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&settings))
	require.Equal(t, n.operator+"/codec", settings.Codec.Endpoint)

	request, err := http.NewRequest(http.MethodPost, settings.Codec.Endpoint+"/decode", strings.NewReader(`{"payloads":[]}`))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-Namespace": "default", "Origin": web, "Sec-Fetch-Site": "same-site",
	} {
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, 200, answer.StatusCode)
	require.Equal(t, web, answer.Header.Get("Access-Control-Allow-Origin"))
}
