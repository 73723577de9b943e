package archive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/operator/importer"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
	"holdfast/providers"
)

var cluster *stacktest.Cluster

func TestMain(m *testing.M) {
	os.Exit(stacktest.Main(m, func() (err error) {
		if cluster, err = stacktest.StartCluster(); err != nil {
			return err
		}
		return cluster.Template(func(url string) error { return migrations.Up(context.Background(), url) })
	}))
}

func open(t *testing.T) *persistence.Store {
	t.Helper()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: cluster.Database(t), MaxConns: 5})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

// buckets are all kinds of archive, each of them empty.
func buckets(t *testing.T) map[string]archive.Bucket {
	t.Helper()
	folder, err := archive.Open("file://" + filepath.Join(t.TempDir(), "a", "b"))
	require.NoError(t, err)
	all := map[string]archive.Bucket{"folder": folder}
	if address := startS3(t); address != "" {
		all["s3"], err = archive.Open(address)
		require.NoError(t, err)
	}
	return all
}

// startS3 starts an S3 server on this machine, and gives the address of a bucket there; "" without the program.
func startS3(t *testing.T, flags ...string) (address string) {
	t.Helper()
	program, err := exec.LookPath("versitygw")
	if err != nil {
		program, err = exec.LookPath("../../bin/versitygw")
	}
	if err != nil {
		t.Log("S3 IS NOT TESTED: there is no versitygw on the path or in bin: make bin/versitygw")
		return ""
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "webhooks"), 0o700))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	host := listener.Addr().String()
	require.NoError(t, listener.Close())
	arguments := append(flags, "--access", "archivist", "--secret", "secret-of-the-test", "--port", host, "posix", root)
	server := exec.Command(program, arguments...)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	t.Setenv("AWS_ACCESS_KEY_ID", "archivist")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", host)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return "s3://webhooks/holdfast?region=us-east-1&endpoint=http://" + host
}

var (
	longAgo = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)
	by      = oversight.Actor{Name: "cli:ada", Reason: "INC-1"}
)

// builtIn is compiled once and never changed.
var builtIn = sync.OnceValues(func() (*providers.Catalogue, error) { return providers.Load("") })

// catalogue returns the built-in definitions.
func catalogue(t *testing.T) *providers.Catalogue {
	t.Helper()
	c, err := builtIn()
	require.NoError(t, err)
	return c
}

// parse reads events as a process does.
func parse(r event.Receipt, body []byte) (event.Parsed, error) {
	c, err := builtIn()
	if err != nil {
		return event.Parsed{}, err
	}
	return providers.Parser(c.Lookup)(r, body)
}

func receiptAt(n int) event.Receipt {
	at := longAgo.Add(time.Duration(n) * time.Minute)
	return event.Receipt{
		ID: event.FirstIDAt(at)[:14] + uuid.Must(uuid.NewV7()).String()[14:], Provider: "stripe", Key: fmt.Sprintf("evt_%d", n),
		KeyFrom: event.KeyFromEvent, Fingerprint: "sha256:abc", Type: "customer.updated", ReceivedAt: at, Source: "acct_1",
		Headers: map[string]string{"user-agent": "Stripe/1.0 \u00e4 <&>"}, Query: map[string]string{"a": "b"},
		RequestID: "req_1", CorrelationID: "corr", Root: json.RawMessage(`{"object":"list"}`),
	}
}

func bodyOf(n int) []byte {
	return fmt.Appendf(nil, "{\"id\":\"evt_%d\",  \"type\":\"customer.updated\",\"object\":\"event\",\"created\":%d,\r\n\"data\":{\"object\":"+
		"{\"id\":\"cus_%d\",\"object\":\"customer\",\"name\":\"A\\u0000da < \\ud83d\"}}}", n, longAgo.Unix()+int64(n), n%3)
}

func runOf(r event.Receipt) event.Run {
	return event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewSHA1(uuid.Nil, []byte(r.ID)).String()}
}

// process stores an event as a run does.
func process(t *testing.T, store *persistence.Store, r event.Receipt, body []byte) {
	t.Helper()
	parsed, err := parse(r, body)
	require.NoError(t, err)
	persisted, err := store.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed, runOf(r))
	require.NoError(t, err)
	require.True(t, persisted.Processed)
}

func died(t *testing.T, store *persistence.Store, r event.Receipt, body []byte) event.DeadLetter {
	t.Helper()
	require.NoError(t, store.DeadLetters.RecordDeadLetter(t.Context(), event.DeadLetter{
		Receipt: r, Body: body, Run: event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewString()}, Failure: event.Failure{
			Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json", Message: "not JSON", Attempts: 3, At: r.ReceivedAt,
		},
	}))
	letter, err := store.DeadLetters.DeadLetterOfEvent(t.Context(), r.ID)
	require.NoError(t, err)
	return letter
}

// purge removes all that is older than now.
func purge(t *testing.T, a *archive.Archiver, kind retention.Kind) (removed int64) {
	t.Helper()
	for {
		n, err := a.PurgeBatch(t.Context(), kind, persistencetest.Soon())
		require.NoError(t, err)
		if removed += n; n == 0 {
			return removed
		}
	}
}

// lines are those of an archive.
func lines(t *testing.T, b archive.Bucket) (all []importer.Line) {
	t.Helper()
	in, err := archive.Read(t.Context(), b)
	require.NoError(t, err)
	defer in.Close()
	reader := importer.Reader{Lookup: catalogue(t).Lookup, Format: importer.FormatJSON}
	require.NoError(t, reader.Each(in, func(l importer.Line) error {
		require.Empty(t, l.Problems)
		all = append(all, l)
		return nil
	}))
	return all
}

// bring imports an archive.
func bring(t *testing.T, store *persistence.Store, b archive.Bucket) operation.ImportCounts {
	t.Helper()
	var items []operation.ImportItem
	for _, l := range lines(t, b) {
		items = append(items, l.Items...)
	}
	id := operation.NewID()
	require.NoError(t, store.Imports.StageImport(t.Context(), id, true, items))
	_, err := store.Imports.Create(t.Context(), operation.Import{Base: operation.Base{ID: id, Rate: 50}, Name: "archive"}, by)
	require.NoError(t, err)
	for {
		i, err := store.Imports.Page(t.Context(), id, 100, parse)
		require.NoError(t, err)
		if i.State != operation.Running {
			require.Empty(t, i.Problems)
			return i.Counts
		}
	}
}

// content is all text of an archive.
func content(t *testing.T, b archive.Bucket) string {
	t.Helper()
	in, err := archive.Read(t.Context(), b)
	require.NoError(t, err)
	defer in.Close()
	var text strings.Builder
	_, err = fmt.Fprint(&text, readAll(t, in))
	require.NoError(t, err)
	return text.String()
}
