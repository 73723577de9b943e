package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdfast/event/operation"
	"holdfast/internal/devstack/stacktest"
)

// installation is one Holdfast: a database, a namespace of Temporal, and the process that serves them.
type installation struct {
	database string
	env      []string
	ingress  string // base URL of the public port
	operator string // base URL of the operator port
	dir      string
	posted   []string // workflow IDs since the last settle
}

// start starts a Holdfast with these variables, and waits until it is ready. Automatic replays happen within seconds, if they
// are allowed.
func start(t *testing.T, env ...string) *installation {
	t.Helper()
	ports, err := stacktest.FreePorts(2)
	require.NoError(t, err)
	i := &installation{
		database: cluster.Database(t), dir: t.TempDir(),
		ingress: "http://127.0.0.1:" + ports[0], operator: "http://127.0.0.1:" + ports[1],
	}
	i.env = append(cleanEnvironment(),
		"DATABASE_URL="+i.database, "TEMPORAL_ADDRESS="+temporal.Address(), "TEMPORAL_NAMESPACE="+createNamespace(t),
		"HOLDFAST_INGRESS_ADDR=127.0.0.1:"+ports[0], "HOLDFAST_OPERATOR_ADDR=127.0.0.1:"+ports[1],
		"HOLDFAST_WORKER_GRACE=5s", "HOLDFAST_INGRESS_ACK_BUDGET=15s", "HOLDFAST_INGRESS_START_TIMEOUT=20s",
		"HOLDFAST_INGRESS_HANDLER_BUDGET=25s", "HOLDFAST_INGRESS_SHUTDOWN_GRACE=30s",
		"HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8", "CRM_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	i.env = append(i.env, env...)
	i.mustRun(t, "migrate")
	i.serve(t)
	return i
}

func (i *installation) serve(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(i.dir, "log"))
	require.NoError(t, err)
	command := exec.Command(binary, "serve")
	command.Env, command.Stdout, command.Stderr = i.env, log, log
	require.NoError(t, command.Start())
	exited := make(chan struct{})
	go func() { _ = command.Wait(); close(exited) }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-exited
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the end of its log:\n%s", text[max(0, len(text)-3000):])
		}
	})
	eventually(t, "the process is ready", func() error {
		select {
		case <-exited:
			require.FailNow(t, "the process has ended")
		default:
		}
		response, err := client.Get(i.operator + "/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz answers %s", response.Status)
		}
		return nil
	})
}

// createNamespace creates a namespace for one test, because workers of two installations would take each other's events.
func createNamespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("moving-%d", time.Now().UnixNano())
	namespaces, err := sdk.NewNamespaceClient(sdk.Options{HostPort: temporal.Address()})
	require.NoError(t, err)
	defer namespaces.Close()
	require.NoError(t, namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}))
	c, err := sdk.NewLazyClient(sdk.Options{HostPort: temporal.Address(), Namespace: name})
	require.NoError(t, err)
	defer c.Close()
	eventually(t, "the namespace is known", func() error {
		_, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: name})
		return err
	})
	return name
}

// cleanEnvironment returns the tests' environment without variables that would point Holdfast elsewhere.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "DATABASE_URL" || strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "HOLDFAST_") ||
			strings.HasPrefix(name, "OTEL_")
	})
}

// run runs a command of the program, and returns its output.
func (i *installation) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	command.Env = i.env
	out, err := command.CombinedOutput()
	return string(out), err
}

func (i *installation) mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := i.run(args...)
	require.NoError(t, err, "%v: %s", args, out)
	return out
}

// write writes a file, and returns its path.
func (i *installation) write(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(i.dir, name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// importFile imports a file without failures.
func (i *installation) importFile(t *testing.T, file string) (done operation.Import) {
	t.Helper()
	out := i.mustRun(t, "import", file, "--yes", "--json", "--reason", "moving in")
	start := strings.Index(out, "{\n")
	require.GreaterOrEqual(t, start, 0, out)
	require.NoError(t, json.NewDecoder(strings.NewReader(out[start:])).Decode(&done), out)
	require.Equal(t, operation.Completed, done.State)
	require.Zero(t, done.Counts.Sum().Failed, done.Problems)
	return done
}

// counted formats the results for a file, by record: "event 2 new, 1 there; …".
func counted(done operation.Import) string {
	var all []string
	for _, record := range operation.ImportRecords() {
		if n, ok := done.Counts[record]; ok {
			text := fmt.Sprintf("%s %d new, %d there", record, n.New, n.There)
			if n.Unreadable > 0 {
				text += fmt.Sprintf(", %d unreadable", n.Unreadable)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// compare returns the output of compare for a file, without its table, and whether nothing differs.
func (i *installation) compare(t *testing.T, file string) (differences []string, isSame bool) {
	t.Helper()
	all := i.differences(t, file)
	for _, d := range all {
		differences = append(differences, strings.Join(strings.Fields(fmt.Sprint(
			d.Record, " ", d.Differ, " ", i.nameOf(t, d), " ", d.Field, " ", string(d.There), " ", string(d.Here))), " "))
	}
	slices.Sort(differences)
	return differences, len(all) == 0
}

// differences returns the differences that compare finds; its exit code says whether there are any.
func (i *installation) differences(t *testing.T, file string) []operation.ImportDifference {
	t.Helper()
	out, err := i.run("compare", file, "--json")
	var all []operation.ImportDifference
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "{") { // otherwise it belongs to the counts
			var one operation.ImportDifference
			require.NoError(t, json.Unmarshal([]byte(line), &one), line)
			all = append(all, one)
		}
	}
	require.NotContains(t, out, "invalid")
	require.Equal(t, len(all) > 0, err != nil, out)
	return all
}

// listOfTheGuide is the guide's jq expression for the events that wait in a file and are processed here.
var listOfTheGuide = regexp.MustCompile(`jq -r '([^']+)' differences.ndjson`)

// onlyProcessedHere returns the IDs of the events that the guide's commands list. No subscription has delivered them: the one here
// was not active yet.
func (i *installation) onlyProcessedHere(t *testing.T, file string) (events []string) {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join(root, "docs", "moving.md"))
	require.NoError(t, err)
	found := listOfTheGuide.FindSubmatch(guide)
	require.NotNil(t, found, "the guide's command")
	expression, err := gojq.Parse(string(found[1]))
	require.NoError(t, err)
	out, _ := i.run("compare", file, "--json") // differences are an error
	for line := range strings.Lines(out) {
		var difference any
		if json.Unmarshal([]byte(line), &difference) != nil {
			continue // it belongs to the counts
		}
		for listed := expression.Run(difference); ; {
			event, ok := listed.Next()
			if !ok {
				break
			}
			require.IsType(t, "", event)
			events = append(events, event.(string))
		}
	}
	return events
}

// send sends events to a subscription as the guide does.
func (i *installation) send(t *testing.T, events []string, subscription string) {
	t.Helper()
	for _, event := range events {
		i.mustRun(t, "delivery", "resend", event, subscription, "--missing")
	}
}

// nameOf returns the type of an event, since its key may be a hash; other records have names.
func (i *installation) nameOf(t *testing.T, d operation.ImportDifference) (name string) {
	t.Helper()
	if d.Record == operation.ImportEntity {
		return d.Name
	}
	i.query(t, "SELECT coalesce((SELECT min(type) FROM events WHERE provider = $1 AND key = $2), $2)", []any{d.Provider, d.Name}, &name)
	return name
}

// query reads one row of the installation's database.
func (i *installation) query(t *testing.T, sql string, args []any, into ...any) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), i.database)
	require.NoError(t, err)
	defer c.Close(context.Background())
	require.NoError(t, c.QueryRow(context.Background(), sql, args...).Scan(into...))
}

// count returns the number from a query.
func (i *installation) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	i.query(t, sql, args, &n)
	return n
}

// awaitCount waits until the query returns the number.
func (i *installation) awaitCount(t *testing.T, want int, sql string, args ...any) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s = %d", sql, want), func() error {
		if got := i.count(t, sql, args...); got != want {
			return fmt.Errorf("it is %d", got)
		}
		return nil
	})
}

const (
	processedEvents = "SELECT count(*) FROM events WHERE status = 'processed'"
	allEvents       = "SELECT count(*) FROM events"
	openDeadLetters = "SELECT count(*) FROM dead_letters WHERE state IN ('open', 'replaying', 'exhausted')"
	openRuns        = "SELECT count(*) FROM inbox"
	unexpiredKeys   = "(SELECT * FROM idempotency_keys WHERE expires_at IS NULL OR expires_at > now())"
)

// contents returns everything in these tables, to check that nothing has changed. Expired keys are left out: at each full hour they
// are purged, and an import writes those of its events again.
func (i *installation) contents(t *testing.T) (text string) {
	t.Helper()
	for _, table := range []string{"events", "dead_letters", "entities", "event_entities", unexpiredKeys, "deliveries"} {
		var rows string
		i.query(t, "SELECT coalesce(string_agg(r::text, E'\n' ORDER BY r::text), '') FROM "+table+" AS r", nil, &rows)
		text += table + "\n" + rows + "\n"
	}
	return text
}

// entity returns the state of an entity.
func (i *installation) entity(t *testing.T, provider, kind, id string) (state string) {
	t.Helper()
	i.query(t, "SELECT state::text FROM entities WHERE provider = $1 AND kind = $2 AND external_id = $3",
		[]any{provider, kind, id}, &state)
	return state
}

var client = &http.Client{Timeout: time.Minute}

// post sends a request like a provider, and returns the status of its event: accepted, spooled, processing, processed or dead.
// Headers are alternating names and values.
func (i *installation) post(t *testing.T, path string, body []byte, headers ...string) (eventID, status string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.ingress+path, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	for n := 0; n+1 < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, string(text))
	var answer struct {
		Events []struct {
			EventID    string `json:"event_id"`
			WorkflowID string `json:"workflow_id"`
			Status     string `json:"status"`
		} `json:"events"`
	}
	require.NoError(t, json.Unmarshal(text, &answer), string(text))
	require.Len(t, answer.Events, 1, string(text))
	i.posted = append(i.posted, answer.Events[0].WorkflowID)
	return answer.Events[0].EventID, answer.Events[0].Status
}

// settle waits until no run of an event is open: every event is processed or a dead letter. Temporal's list lags, so the runs of
// what was posted are asked for by their IDs.
func (i *installation) settle(t *testing.T) {
	t.Helper()
	c, err := sdk.NewLazyClient(sdk.Options{HostPort: temporal.Address(), Namespace: i.namespace()})
	require.NoError(t, err)
	defer c.Close()
	eventually(t, "no event is being processed", func() error {
		if waits := i.count(t, openRuns); waits > 0 {
			return fmt.Errorf("%d events wait in the inbox", waits)
		}
		for len(i.posted) > 0 {
			run, err := c.DescribeWorkflowExecution(context.Background(), i.posted[0], "")
			var notFound *serviceerror.NotFound
			switch {
			case err != nil && !errors.As(err, &notFound):
				return err
			case run.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
				return fmt.Errorf("%s is running", i.posted[0])
			}
			i.posted = i.posted[1:]
		}
		open, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: i.namespace(), Query: "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Running'",
		})
		if err == nil && open.GetCount() > 0 {
			err = fmt.Errorf("%d runs are open", open.GetCount())
		}
		return err
	})
}

func (i *installation) namespace() string {
	for _, variable := range slices.Backward(i.env) {
		if name, ok := strings.CutPrefix(variable, "TEMPORAL_NAMESPACE="); ok {
			return name
		}
	}
	return ""
}

// eventually polls until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(t, "not yet: "+what, "%v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
