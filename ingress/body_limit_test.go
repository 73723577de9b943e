package ingress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/ingress/intake"
	"holdfast/providers"
)

// Without a secret no request can be authentic, so a large body is only memory that strangers could use. A definition's limit
// above the ingress's own applies once the provider has a secret.
func TestLargeBodiesAreForProvidersWithASecret(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secrets []string
		length  int
		want    int
	}{
		"with a secret, within its own limit":       {[]string{secret}, 4 << 20, http.StatusContinue},
		"with a secret, beyond its own limit":       {[]string{secret}, 4<<20 + 1, http.StatusRequestEntityTooLarge},
		"without a secret, beyond the limit of all": {nil, 256<<10 + 1, http.StatusRequestEntityTooLarge},
		"without a secret, within the limit of all": {nil, 256 << 10, http.StatusContinue},
		"a secret that everybody knows":             {[]string{"changeme"}, 4 << 20, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, "", withSecrets(c.secrets...))
			connection, answer := d.declare(t, c.length, "Expect: 100-continue\r\n")
			defer func() { _ = connection.Close() }()
			response, err := http.ReadResponse(answer, nil)
			require.NoError(t, err)
			require.Equal(t, c.want, response.StatusCode)
		})
	}
}

// However many connections declare large bodies to a provider without a secret, memory stays within the ingress's own limit:
// the answer comes before the buffer is allocated.
func TestUnsignedConnectionsAreLimited(t *testing.T) {
	const connections, limit = 150, 256 << 10
	d := openDoor(t, "", withSecrets())
	before := allocated()
	var answers []*bufio.Reader
	for range connections {
		connection, answer := d.declare(t, 4<<20, "")
		t.Cleanup(func() { _ = connection.Close() })
		_, err := io.WriteString(connection, "{")
		require.NoError(t, err)
		answers = append(answers, answer)
	}
	for _, answer := range answers {
		response, err := http.ReadResponse(answer, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	}
	require.LessOrEqual(t, allocated(), before+connections*limit)
}

// allocated returns the total bytes allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// withSecrets gives every provider the same secrets.
func withSecrets(secrets ...string) func(*Options, *intake.Options) {
	return func(o *Options, _ *intake.Options) {
		o.Catalogue = o.Catalogue.(*providers.Catalogue).WithSecrets(func(string) []string { return secrets })
	}
}

// declare sends the head of a request to a provider whose definition allows large bodies.
func (d *door) declare(t *testing.T, length int, more string) (net.Conn, *bufio.Reader) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(connection, "POST /webhooks/gocardless HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n", more, length)
	require.NoError(t, err)
	return connection, bufio.NewReader(connection)
}

// Bodies as large as their senders document are accepted by the built-in definitions, without any setting.
func TestDocumentedSizesAreAccepted(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "", func(o *Options, in *intake.Options) { o.BodyLimit, in.Inbox = 0, instantInbox{} })
	item := func(id string) string { return fmt.Sprintf(`{"id":%q,"pad":%q}`, id, strings.Repeat("x", 1_500_000)) }
	for name, c := range map[string]struct {
		provider, body string
	}{
		"updates of Meta, 3 MB":        {"meta", `{"object":"page","entry":[` + item("1") + "," + item("2") + "]}"},
		"a call of Retell, an hour":    {"retell", `{"event":"call_ended","call":{"call_id":"c","x":"` + strings.Repeat("x", 1_100_000) + `"}}`},
		"a push to GitHub, over 4 MiB": {"github", `{"ref":"refs/heads/main","x":"` + strings.Repeat("x", 5<<20) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := d.deliver(t, c.provider, "/webhooks/"+c.provider, c.body, true, "x-github-event", "push", "x-github-delivery", "g1")
			require.Less(t, r.status, 300, r.raw)
		})
	}
}

// A body over the limit is a lost event if its provider really sent it: the error log has it for the doctor. A path without a
// provider isn't anybody's event.
func TestBodiesOverTheLimitAreLogged(t *testing.T) {
	t.Parallel()
	sink := make(chan oversight.ErrorEntry, 10)
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.BodyLimit, o.Errors = 0, errorSink(sink) })
	large := strings.Repeat("x", 4<<20+1)
	require.Equal(t, http.StatusNotFound, d.deliver(t, "stripe", "/webhooks/nobody", "{}", true).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, d.deliver(t, "stripe", "/webhooks/stripe", large, true).status)
	e := <-sink
	require.Equal(t, oversight.ErrorEntry{
		At: e.At, Phase: event.PhaseReceive, Provider: "stripe", Class: event.ClassRejected, Code: oversight.ReasonTooLarge,
		Message: e.Message,
	}, e)
	require.Empty(t, sink)
}

type errorSink chan oversight.ErrorEntry

func (s errorSink) Record(e oversight.ErrorEntry) { s <- e }
