package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// threat is one row of the catalogue of bad input.
type threat struct {
	// id is the ID of the row in the catalogue.
	id, what string
	// request is sent byte for byte. If it is "", bodies are sent instead, each signed as an event of hmac, with the lines of
	// head among its headers; $ID in a body is an ID unique to the row.
	request string
	bodies  []string
	head    string
	// want has the expected answers in order, "status" or "status code", and "closed" if the connection must be closed after
	// them.
	want string
	// stored is the expected state of each accepted event: "event", or "dead " and the code of its dead letter; "" if nothing is
	// accepted.
	stored string
	// holds is an additional condition on the stored event's row. Its bytes are always compared.
	holds string
	// why explains a deliberate but unexpected behaviour of the product.
	why string
}

// hostileEnv sets times that a test can wait for, and the secrets of the providers in the table.
func hostileEnv(t *testing.T, tmp string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, definition := range map[string]string{
		"large":     "body_limit: 1572864\n",
		"limited":   "rate: {requests: 1, per: 1h}\n",
		"versioned": "entities:\n  - {kind: thing, id: .body.data.id, op: snapshot, state: .body.data, version: .body.version}\n",
	} {
		text := "name: " + name + "\nextends: hmac\n" + definition
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
	}
	return []string{
		"HMAC_WEBHOOK_SECRET=" + secret + "," + oldSecret,
		"GITHUB_WEBHOOK_SECRET=" + secret,
		"UMNICO_NETWORKS=10.9.9.9/32",
		"HOLDFAST_PROVIDERS_DIR=" + dir,
		"HOLDFAST_INGRESS_BODY_LIMIT=256KiB",
		"HOLDFAST_INGRESS_HEADER_TIMEOUT=2s", "HOLDFAST_INGRESS_BODY_TIMEOUT=3s", "HOLDFAST_INGRESS_WRITE_TIMEOUT=2s",
		fmt.Sprintf("HOLDFAST_INGRESS_MAX_CONNS_PER_IP=%d", maxConnsPerIP),
		"TMPDIR=" + tmp,
	}
}

// oldSecret is the other secret of a rotation.
const oldSecret = "whsec_the_second_one_of_a_rotation"

// marker is in all hostile requests. No log may contain it.
const marker = "CANARY"

// The catalogue of bad input, over raw sockets, while a well-behaved client continues to send:
//   - each row gets its answers, and the connection is closed if the rest of it can't be trusted
//   - each row leaves what it declares: nothing, an event with its bytes, or a dead letter with its bytes and reason
//   - all of the good client's events are accepted and processed
//   - afterwards memory, goroutines and files are back at their baseline; no log line is forged, and none has a secret or a
//     payload
func TestHostileInput(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	i := newInstallation(t, hostileEnv(t, tmp)...)
	n := i.start(t, "serve")
	polite := n.startPolite(t)
	baseline := n.settle(t)

	var left leftovers
	for _, x := range slices.Concat(framingThreats(), identityThreats(), contentThreats()) {
		t.Run(x.id+" "+x.what, func(t *testing.T) { left.add(x, n.attack(t, x)) })
	}
	n.besiege(t)

	accepted := polite.stop(t)
	i.assertLeft(t, left, accepted)
	n.assertSettled(t, baseline)
	n.assertLogIsClean(t)
	files, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, files, "temporary files")
}

// received is one answer, with the body of the request that it is for.
type received struct {
	answer

	sent string
}

// probe is sent after each row: its answer shows that the connection was still open, and where the row's answers end.
const probe = "GET /probe HTTP/1.1\r\nHost: x\r\nX-Request-Id: the-probe\r\nConnection: close\r\n\r\n"

// attack sends a row, asserts its answers and returns the 2xx ones. A machine too busy to process a large body in time asks for
// a retry, and gets it, as from any sender.
func (n *node) attack(t *testing.T, x threat) (accepted []received) {
	t.Helper()
	name := x.id + " " + x.what
	got, accepted := n.try(t, name, x)
	for tries := 0; got == "503 unavailable" && tries < 5; tries++ {
		got, accepted = n.try(t, name, x)
	}
	require.Equal(t, x.want, got, name)
	return accepted
}

// try sends a row once.
func (n *node) try(t *testing.T, name string, x threat) (answers string, accepted []received) {
	t.Helper()
	request, bodies := x.bytes()
	var got []string
	closed := "closed"
	for _, a := range n.exchange(t, name, request+probe) {
		if a.header.Get("X-Request-Id") == "the-probe" {
			closed = "open"
			break
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(a.status, " ", a.Error.Code)))
		if a.status >= 200 && a.status < 300 {
			r := received{answer: a}
			if bodies != nil {
				r.sent = bodies[len(accepted)]
			}
			accepted = append(accepted, r)
		}
	}
	if closed == "closed" {
		got = append(got, closed)
	}
	return strings.Join(got, ", "), accepted
}

// bytes returns what the row sends, and the bodies in it if the row has those.
func (x threat) bytes() (request string, bodies []string) {
	if x.request != "" {
		return x.request, nil
	}
	id := uniqueID("id")
	for _, body := range x.bodies {
		body = strings.ReplaceAll(body, "$ID", id)
		bodies = append(bodies, body)
		request += signed("hmac", body, x.head)
	}
	return request, bodies
}

// signed returns an authentic request with these bytes, for a provider that signs like hmac.
func signed(provider, body, head string) string {
	if !strings.Contains(head, "Content-Type:") {
		head += "Content-Type: application/json\r\n"
	}
	return request(provider, body, head+"X-Signature: sha256="+hexHMAC(body)+"\r\n")
}

// request returns a POST with these bytes, signed or not.
func request(provider, body, head string) string {
	return fmt.Sprintf("POST /webhooks/%s HTTP/1.1\r\nHost: hooks.example.com\r\n%sContent-Length: %d\r\n\r\n%s",
		provider, head, len(body), body)
}

// exchange sends the bytes and reads all answers until the server ends the connection. Each except "100 Continue" must be JSON.
func (n *node) exchange(t *testing.T, name, bytes string) (answers []answer) {
	t.Helper()
	connection := n.dial(t, "127.0.0.1")
	go func() { _, _ = io.WriteString(connection, bytes) }() // the server may answer before it has read everything
	defer func() { _ = connection.Close() }()
	reader := bufio.NewReader(connection)
	for {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			if timeout, ok := err.(net.Error); ok { //nolint:errorlint // it comes from the socket, unwrapped
				require.False(t, timeout.Timeout(), "%s: the server leaves the connection open", name)
			}
			return answers
		}
		a := answer{status: response.StatusCode, header: response.Header}
		a.body, err = io.ReadAll(response.Body)
		require.NoError(t, err, name)
		if a.status != http.StatusContinue {
			require.NoError(t, json.Unmarshal(a.body, &a), "%s: the answer is no JSON: %q", name, a.body)
			require.NotEmpty(t, a.header.Get("X-Request-Id"), name)
		}
		answers = append(answers, a)
	}
}

// dial connects from an address of the loopback network.
func (n *node) dial(t *testing.T, from string) *net.TCPConn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 20 * time.Second}
	connection, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(n.ingress, "http://"))
	require.NoError(t, err)
	require.NoError(t, connection.SetDeadline(time.Now().Add(time.Minute)))
	return connection.(*net.TCPConn)
}

// leftovers are the events that the rows have stored, by ID.
type leftovers struct {
	events, dead map[string]leftover
}

type leftover struct {
	threat

	sent string
}

func (l *leftovers) add(x threat, accepted []received) {
	if l.events == nil {
		l.events, l.dead = map[string]leftover{}, map[string]leftover{}
	}
	for _, r := range accepted {
		for _, e := range r.Events {
			switch {
			case e.Status != "accepted": // a duplicate stores nothing
			case e.Conflict:
				x.stored = "dead key_conflict"
				l.dead[e.EventID] = leftover{x, r.sent}
			case x.stored == "event":
				l.events[e.EventID] = leftover{x, r.sent}
			default: // of a row that says that nothing is stored, too: there is no dead letter of the reason ""
				l.dead[e.EventID] = leftover{x, r.sent}
			}
		}
	}
}

// assertLeft asserts that the database has exactly what the rows and the good client have stored.
func (i *installation) assertLeft(t *testing.T, l leftovers, polite int) {
	t.Helper()
	i.awaitCount(t, 5*time.Minute, len(l.dead)+len(l.events)+polite, "SELECT ("+processedEvents+") + ("+openDeadLetters+")")
	for id, left := range l.events {
		name := left.id + " " + left.what
		var body []byte
		holds := "true"
		if left.holds != "" {
			holds = left.holds
		}
		var held bool
		err := i.tryQuery("SELECT raw_body, coalesce("+holds+", false) FROM events WHERE id = $1", []any{id}, &body, &held)
		require.NoError(t, err, name)
		require.True(t, held, "%s: %s", name, left.holds)
		if left.bodies != nil {
			require.Equal(t, left.sent, string(body), name)
		}
	}
	for id, left := range l.dead {
		name := left.id + " " + left.what
		var body []byte
		var reason string
		err := i.tryQuery("SELECT raw_body, error_code FROM dead_letters WHERE event_id = $1", []any{id}, &body, &reason)
		require.NoError(t, err, name)
		require.Equal(t, left.stored, "dead "+reason, name)
		if left.bodies != nil {
			require.Equal(t, left.sent, string(body), name)
		}
	}
	require.Equal(t, len(l.dead), i.count(t, openDeadLetters))
	require.Equal(t, len(l.events)+polite, i.count(t, "SELECT count(*) FROM events"))
	keys := i.count(t, "SELECT count(DISTINCT (provider, key)) FROM dead_letters WHERE key <> ''")
	require.Equal(t, len(l.events)+polite+keys, i.count(t, "SELECT count(*) FROM idempotency_keys WHERE key NOT LIKE 'earlier/%'"))
}

// assertLogIsClean asserts that each line is one record, and that none has a secret or a piece of the input.
func (n *node) assertLogIsClean(t *testing.T) {
	t.Helper()
	log := n.log.String()
	for line := range strings.Lines(log) {
		require.True(t, json.Valid([]byte(line)), "no record: %q", line)
		require.Equal(t, -1, bytes.IndexFunc([]byte(strings.TrimRight(line, "\n")), func(r rune) bool { return r < ' ' || r == 0x7f }),
			"a control character: %q", line)
	}
	for _, hidden := range []string{secret, oldSecret, marker} {
		require.NotContains(t, log, hidden)
	}
	require.NotContains(t, log, "request.panicked")
}
