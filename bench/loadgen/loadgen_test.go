package loadgen_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"holdfast/bench/loadgen"
	"holdfast/internal/ledger"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// secret fits every scheme: base64 of 32 bytes, after the prefix that some require.
var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("what these tests sign with. 32 b"))

// An endpoint that authenticates and splits requests like an ingress.
type receiver struct {
	url       string
	catalogue *providers.Catalogue

	mu      sync.Mutex
	events  map[string][][32]byte // bodies by workflow ID, one for each arrival
	denied  int
	failure func() int // an error status for the answer, or 0
}

// builtIn is compiled once and never changed.
var builtIn = sync.OnceValues(func() (*providers.Catalogue, error) { return providers.Load("") })

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	catalogue, err := builtIn()
	require.NoError(t, err)
	r := &receiver{
		catalogue: catalogue.WithSecrets(func(string) []string {
			return append(auth.TrialSecrets(), secret, strings.TrimPrefix(secret, "whsec_"))
		}).WithCertificates(auth.TrialCertificates).WithKeySets(auth.TrialKeySets),
		events: map[string][][32]byte{},
	}
	r.url = serve(t, r.receive)
	return r
}

func serve(t testing.TB, handler fasthttp.RequestHandler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &fasthttp.Server{Handler: handler, CloseOnShutdown: true, DisablePreParseMultipartForm: true}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, server.Shutdown())
		_ = l.Close() // fasthttp leaves it open if it hadn't begun
		require.NoError(t, <-done)
	})
	return "http://" + l.Addr().String()
}

func (r *receiver) receive(c *fasthttp.RequestCtx) {
	requestPath := string(c.Request.URI().PathOriginal())
	p, params, ok := r.catalogue.ByPath(requestPath)
	if !ok {
		c.SetStatusCode(http.StatusNotFound)
		return
	}
	got := &auth.Request{
		Method: string(c.Method()), Path: requestPath, PathParams: params, Body: append([]byte{}, c.Request.Body()...),
		Header: map[string][]string{}, Query: map[string][]string{}, URL: r.url + string(c.RequestURI()),
		RemoteIP: netip.MustParseAddr("192.0.2.7"),
	}
	for name, value := range c.Request.Header.All() {
		got.Header[strings.ToLower(string(name))] = []string{string(value)}
	}
	for name, value := range c.QueryArgs().All() {
		got.Query[string(name)] = []string{string(value)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		if status := r.failure(); status != 0 {
			c.SetStatusCode(status)
			return
		}
	}
	if err := p.Authenticate(got, time.Now()); err != nil {
		r.denied++
		c.SetStatusCode(http.StatusUnauthorized)
		return
	}
	items, _ := p.Split(got)
	var told []string
	for _, item := range items {
		id := p.Name() + ":" + item.Key
		status := "accepted"
		if len(r.events[id]) > 0 {
			status = "processing"
		}
		r.events[id] = append(r.events[id], sha256.Sum256(item.Body))
		told = append(told, fmt.Sprintf(`{"workflow_id":%q,"status":%q}`, id, status))
	}
	c.SetStatusCode(http.StatusAccepted)
	fmt.Fprintf(c, `{"ok":true,"events":[%s]}`, strings.Join(told, ","))
}

func (r *receiver) provider(t testing.TB, name string) *providers.Provider {
	t.Helper()
	p, ok := r.catalogue.Lookup(name)
	require.True(t, ok)
	return p
}

// options returns the options of a run that ends quickly.
func (r *receiver) options(t testing.TB, mix ...loadgen.Share) loadgen.Options {
	t.Helper()
	if len(mix) == 0 {
		mix = []loadgen.Share{{Provider: r.provider(t, "stripe")}}
	}
	return loadgen.Options{Targets: []string{r.url}, Mix: mix, Count: 200, Connections: 8, Seed: 1}
}

// send runs with a ledger, and reads it.
func send(t testing.TB, o loadgen.Options) (loadgen.Result, ledger.Ledger) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	o.Run = "r7"
	w, err := ledger.Open(path, ledger.Run{ID: o.Run, Seed: o.Seed})
	require.NoError(t, err)
	o.Ledger = w
	result, err := loadgen.Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	l, err := ledger.ReadFile(path)
	require.NoError(t, err)
	return result, l
}

// agrees asserts that the endpoint has exactly the acknowledged events of the ledger, byte for byte.
func (r *receiver) agrees(t testing.TB, l ledger.Ledger) {
	t.Helper()
	wanted := map[string][][32]byte{}
	for _, e := range l.Entries {
		if e.Outcome() == ledger.OutcomeOK {
			wanted[e.WorkflowID()] = append(wanted[e.WorkflowID()], e.SHA256)
		}
	}
	require.Equal(t, wanted, r.events)
}

// Every sample of every provider arrives authentic, with the key and hash that the ledger has for it.
func TestEverySample(t *testing.T) {
	for _, name := range newReceiver(t).catalogue.Names() {
		r := newReceiver(t)
		p := r.provider(t, name)
		for _, eventType := range p.SampleTypes() {
			if eventType == "url_verification" {
				continue // a handshake
			}
			if signsInBody(t, p, eventType) || name == "x" && eventType == "tweet_create_events" {
				continue // its events are assembled from several pieces of the body
			}
			clear(r.events)
			o := r.options(t, loadgen.Share{Provider: p, Type: eventType})
			o.Count, o.PublicURL = 20, r.url
			result, l := send(t, o)
			require.Equal(t, int64(20), result.OK, "%s %s %v", name, eventType, result.Statuses)
			r.agrees(t, l)
		}
	}
}

// signsInBody reports whether a signature changes the body, in which case no load can be generated.
func signsInBody(t *testing.T, p *providers.Provider, eventType string) bool {
	t.Helper()
	r, err := p.Sample(eventType, "x", time.Now())
	require.NoError(t, err)
	body := bytes.Clone(r.Body)
	require.NoError(t, p.SignWithSecrets(r, time.Now()))
	return !bytes.Equal(body, r.Body)
}

func TestAMixWithDuplicatesAndForgeries(t *testing.T) {
	r := newReceiver(t)
	o := r.options(t,
		loadgen.Share{Provider: r.provider(t, "stripe"), Weight: 3},
		loadgen.Share{Provider: r.provider(t, "github"), Type: "issues.opened"})
	o.Count, o.Duplicates, o.BadSignatures, o.Targets = 2000, 0.3, 0.1, []string{r.url, r.url + "/"}
	result, l := send(t, o)
	r.agrees(t, l)
	require.Equal(t, int64(2000), result.Requests)
	require.InDelta(t, 600, result.Kinds[ledger.KindDuplicate], 100)
	require.InDelta(t, 200, result.Kinds[ledger.KindBadSignature], 60)
	require.Equal(t, result.Kinds[ledger.KindBadSignature], result.Statuses[http.StatusUnauthorized])
	require.Equal(t, result.Kinds[ledger.KindDuplicate], result.Duplicates)
	require.Equal(t, result.Kinds[ledger.KindEvent], result.Accepted)
	require.Equal(t, int(result.Kinds[ledger.KindBadSignature]), r.denied)
	shares := map[string]int{}
	for _, e := range l.Entries {
		shares[e.Provider]++
	}
	require.InDelta(t, 1500, shares["stripe"], 120)
}

// A seed determines what is sent, whatever the number of connections.
func TestARunCanBeRepeated(t *testing.T) {
	r := newReceiver(t)
	o := r.options(t)
	o.At, o.Duplicates, o.Spread = time.Now(), 0.2, 3*time.Second
	_, first := send(t, o)
	o.Connections = 3
	_, second := send(t, o)
	require.ElementsMatch(t, eventsOf(first), eventsOf(second))
	o.Seed++
	_, third := send(t, o)
	require.NotElementsMatch(t, eventsOf(first), eventsOf(third))
}

func eventsOf(l ledger.Ledger) (events []ledger.Event) {
	for _, e := range l.Entries {
		events = append(events, e.Event)
	}
	return events
}

func TestBatches(t *testing.T) {
	r := newReceiver(t)
	o := r.options(t, loadgen.Share{Provider: r.provider(t, "gocardless")})
	o.Batch, o.Count, o.BodySize, o.Duplicates = 25, 10, 9000, 0.3
	result, l := send(t, o)
	r.agrees(t, l)
	require.Equal(t, int64(250), result.Events)
	require.Equal(t, int64(250), result.Accepted+result.Duplicates)
	require.Len(t, l.Entries, 250)
}

// A batch can't be made from an event whose provider has no batches.
func TestRefusals(t *testing.T) {
	r := newReceiver(t)
	for wanted, change := range map[string]func(*loadgen.Options){
		"no provider of the mix has batches":  func(o *loadgen.Options) { o.Batch = 2 },
		"want a duration or a count":          func(o *loadgen.Options) { o.Count = 0 },
		"needs one to begin with":             func(o *loadgen.Options) { o.RateTo = 5 },
		"the mix is empty":                    func(o *loadgen.Options) { o.Mix = nil },
		"together at most 1":                  func(o *loadgen.Options) { o.Duplicates, o.BadSignatures = 0.6, 0.6 },
		"invalid address":                     func(o *loadgen.Options) { o.Targets = []string{"ftp://x"} },
		"has no sample":                       func(o *loadgen.Options) { o.Mix[0].Type = "nothing" },
		"want at most 16 of a-z":              func(o *loadgen.Options) { o.Run = "R" },
		"a weight of the mix":                 func(o *loadgen.Options) { o.Mix[0].Weight = -1 },
		"connections: want":                   func(o *loadgen.Options) { o.Connections = 1 << 20 },
		"is STRIPE_WEBHOOK_SECRET set?":       func(o *loadgen.Options) { o.Mix[0].Provider = withoutSecret(t) },
		"spread: want":                        func(o *loadgen.Options) { o.Spread = time.Hour },
		"must not be negative":                func(o *loadgen.Options) { o.BodySize = -1 },
		"rate: want":                          func(o *loadgen.Options) { o.Rate = -1 },
		"that is a JSON object can be padded": func(o *loadgen.Options) { o.Mix[0], o.BodySize = loadgen.Share{Provider: r.provider(t, "twilio")}, 900 },
	} {
		o := r.options(t)
		change(&o)
		_, err := loadgen.New(o)
		require.ErrorContains(t, err, wanted)
	}
}

func withoutSecret(t *testing.T) *providers.Provider {
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	p, _ := catalogue.Lookup("stripe")
	return p
}

// Result and ledger distinguish requests without an answer from those with an error status.
func TestTrouble(t *testing.T) {
	r := newReceiver(t)
	n := 0
	r.failure = func() int {
		n++
		return []int{0, http.StatusServiceUnavailable, 0, 0}[n%4]
	}
	o := r.options(t)
	o.Targets, o.Count, o.Connections = []string{r.url, "http://127.0.0.1:1"}, 80, 4
	result, l := send(t, o)
	require.Equal(t, int64(40), result.NoAnswer)
	require.Contains(t, result.FirstError, "connection refused")
	require.Equal(t, int64(10), result.Statuses[http.StatusServiceUnavailable])
	outcomes := map[ledger.Outcome]int{}
	for _, e := range l.Entries {
		outcomes[e.Outcome()]++
	}
	require.Equal(t, map[ledger.Outcome]int{ledger.OutcomeOK: 30, ledger.OutcomeInfo: 50}, outcomes)
	distribution := result.Latency.Distribution
	require.Equal(t, int64(40), distribution[len(distribution)-1].Count, "of what was answered")
}

// brokenLedger fails to write after some requests.
type brokenLedger struct {
	mu   sync.Mutex
	left int
}

func (b *brokenLedger) Sending(int64, time.Time, ledger.Kind, []ledger.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left < 0 {
		return fmt.Errorf("disk full")
	}
	return nil
}

func (b *brokenLedger) Answered(int64, int, time.Duration) error { return nil }

// A request that isn't in the ledger isn't sent.
func TestALedgerThatCannotBeWritten(t *testing.T) {
	r := newReceiver(t)
	o := r.options(t)
	o.Ledger = &brokenLedger{left: 5}
	_, err := loadgen.Run(t.Context(), o)
	require.ErrorContains(t, err, "disk full")
	require.Len(t, r.events, 5)
}

func BenchmarkRequest(b *testing.B) {
	url := serve(b, func(c *fasthttp.RequestCtx) { c.SetStatusCode(http.StatusAccepted) })
	catalogue, err := providers.Load("")
	require.NoError(b, err)
	p, _ := catalogue.WithSecrets(func(string) []string { return []string{"whsec_of_this_benchmark"} }).Lookup("stripe")
	w, err := ledger.Open(filepath.Join(b.TempDir(), "ledger"), ledger.Run{ID: "r"})
	require.NoError(b, err)
	b.ResetTimer()
	_, err = loadgen.Run(b.Context(), loadgen.Options{
		Targets: []string{url}, Mix: []loadgen.Share{{Provider: p}}, Count: int64(b.N), Connections: 32, Ledger: w, BodySize: 600,
	})
	require.NoError(b, err)
}
