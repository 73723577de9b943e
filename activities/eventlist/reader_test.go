package eventlist_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/activities/eventlist"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/devstack/fakeapi"
	"holdfast/providers"
	"holdfast/providers/client"
)

// bulk is Stripe with a type in the bulk lane, one that is refused, and one whose keys expire early.
const bulk = `
name: bulk
extends: stripe
api:
  host: api.bulk.example.com
  headers: {authorization: "Bearer {BULK_API_KEY}"}
  rate: {requests: 5, per: 1s}
recover: {types: ["customer.*", brief.*]}
overrides:
  - {types: ["customer.*"], lane: bulk, priority: normal}
  - {types: ["brief.*"], dedupe: 1h}
`

// rates grants every second claim.
type rates struct {
	claims []event.RateClaim
}

func (r *rates) TakeRates(_ context.Context, claims []event.RateClaim) ([]event.RateGrant, error) {
	r.claims = append(r.claims, claims...)
	if len(r.claims)%2 == 1 {
		return []event.RateGrant{{Wait: time.Millisecond}}, nil
	}
	return []event.RateGrant{{Granted: 1}}, nil
}

// newReader reads the list of a fake Stripe, whatever the host is. Its credential is configured if key is.
func newReader(t *testing.T, fake http.Handler, key string) (*eventlist.Reader, *rates) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulk.yaml"), []byte(bulk), 0o600))
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	server := httptest.NewTLSServer(fake)
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com" // as in the server's certificate
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
	secrets := func(string) []string {
		if key == "" {
			return nil
		}
		return []string{key}
	}
	limits := &rates{}
	return &eventlist.Reader{
		Lookup: catalogue.Lookup, Lists: catalogue.Lists, Client: client.New(transport, secrets), Rates: limits,
	}, limits
}

// begin returns a recovery of the last day.
func begin(t *testing.T, r *eventlist.Reader, provider string) operation.Recovery {
	t.Helper()
	since, until := time.Now().Add(-24*time.Hour), time.Now()
	walk, err := r.Begin(provider, "", since, until)
	require.NoError(t, err)
	return operation.Recovery{
		Base: operation.Base{ID: "r1"}, Provider: provider, Since: since, Until: until, Walk: walk, Undelivered: true,
	}
}

// A missed event has the receipt that it would have had, without a fingerprint, and the time from the list.
func TestAnItemBecomesTheEventOfItsWebhook(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	at := time.Now().Add(-2 * time.Hour).Truncate(time.Second)
	fake.Add(fakeapi.Event{ID: "evt_1", Type: "customer.updated", Time: at})
	r, limits := newReader(t, fake, fakeapi.Credential)
	page, err := r.Page(t.Context(), begin(t, r, "stripe"))
	require.NoError(t, err)
	require.Nil(t, page.Next)
	require.EqualValues(t, 1, page.Listed)
	require.Equal(t, []event.RateClaim{{Name: "api:stripe", Requests: 5, Per: time.Second, Want: 1}}, limits.claims[:1])
	require.Len(t, limits.claims, 2, "the first one had to wait")

	item := page.Items[0]
	require.Equal(t, "stripe:evt_1", item.Receipt.WorkflowID())
	require.Equal(t, operation.ImportedID("stripe", "evt_1", at.UTC()), item.Receipt.ID)
	require.Equal(t, at.UTC(), item.Receipt.ReceivedAt)
	require.Equal(t, event.ViaRecover, item.Receipt.Via)
	require.True(t, item.Receipt.Undelivered)
	require.True(t, item.Receipt.Certain)
	require.Empty(t, item.Receipt.Fingerprint)
	require.True(t, item.Retrying, "Stripe tries for three days")
	require.False(t, item.AnyType)
	var body struct{ ID string }
	require.NoError(t, json.Unmarshal(item.Body, &body))
	require.Equal(t, "evt_1", body.ID)
}

// Types that the definition doesn't name are unwanted. An event whose key may have expired is unsafe, unless an operator accepts
// duplicates.
func TestOnlyEventsThatCanBeRecognizedAreItems(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	old, recent := time.Now().Add(-2*time.Hour), time.Now().Add(-30*time.Minute)
	fake.Add(fakeapi.Event{ID: "a", Type: "customer.updated", Time: old}, fakeapi.Event{ID: "b", Type: "other", Time: old},
		fakeapi.Event{ID: "c", Type: "brief.old", Time: old}, fakeapi.Event{ID: "d", Type: "brief.new", Time: recent})
	r, _ := newReader(t, fake, fakeapi.Credential)
	of := begin(t, r, "bulk")
	page, err := r.Page(t.Context(), of)
	require.NoError(t, err)
	require.Equal(t, []int64{4, 1, 1}, []int64{page.Listed, page.Unwanted, page.Unsafe})
	require.Equal(t, []string{"d", "a"}, []string{page.Items[0].Receipt.Key, page.Items[1].Receipt.Key})
	require.True(t, page.Items[0].AnyType)
	require.Equal(t, []event.Lane{"", event.LaneBulk}, []event.Lane{page.Items[0].Lane, page.Items[1].Lane})

	of.AcceptDuplicates = true
	page, err = r.Page(t.Context(), of)
	require.NoError(t, err)
	require.Zero(t, page.Unsafe)
	require.Len(t, page.Items, 3)
}

// Without a credential nothing is read, and the error names the variable.
func TestAListNeedsACredential(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	r, _ := newReader(t, fake, "")
	_, err := r.Describe("stripe")
	require.ErrorContains(t, err, "STRIPE_API_KEY")
	require.Equal(t, event.ClassRejected, event.ClassOf(err))
	_, err = r.Describe("adyen")
	require.Equal(t, "no_list", event.CodeOf(err))
	_, err = r.Describe("nobody")
	require.Equal(t, "unknown_provider", event.CodeOf(err))
	require.Zero(t, fake.Requests())
	require.Empty(t, r.Available())

	r, _ = newReader(t, fake, fakeapi.Credential)
	require.Contains(t, r.Available(), "stripe")
	require.NotContains(t, r.Available(), "adyen")
	lookup := r.Lookup
	r.Lookup = nil // a worker that starts asks what is available, which must not compile all definitions
	require.Contains(t, r.Available(), "stripe")
	r.Lookup = lookup
	list, err := r.Describe("stripe")
	require.NoError(t, err)
	require.Equal(t, operation.EventList{
		Reach: 30 * 24 * time.Hour, Overlap: time.Hour, Settle: 5 * time.Minute,
		Dedupe: operation.DedupeWindows{
			Shortest: event.Duration(31 * 24 * time.Hour), Longest: event.Duration(31 * 24 * time.Hour), All: list.Dedupe.All,
		},
	}, list)
}

// A problem of the provider is temporary. An incomplete answer is read again immediately, up to three times.
func TestProblemsOfAListAreTemporaryOrNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    func(n int) fakeapi.Fault
		want     *operation.ListError
		requests int
	}{
		"limited": {
			func(int) fakeapi.Fault { return fakeapi.Fault{Status: http.StatusTooManyRequests, RetryAfter: "90"} },
			&operation.ListError{IsTemporary: true, RetryAfter: 90 * time.Second}, 1,
		},
		"failing":      {func(int) fakeapi.Fault { return fakeapi.Fault{Status: 503} }, &operation.ListError{IsTemporary: true}, 1},
		"unauthorized": {func(int) fakeapi.Fault { return fakeapi.Fault{Status: 401} }, &operation.ListError{}, 1},
		"cut off once": {func(n int) fakeapi.Fault { return fakeapi.Fault{IsTruncated: n == 1} }, nil, 2},
		"never whole":  {func(int) fakeapi.Fault { return fakeapi.Fault{IsTruncated: true} }, &operation.ListError{}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := fakeapi.New(fakeapi.Styles()["stripe"])
			fake.Fault = c.fault
			r, _ := newReader(t, fake, fakeapi.Credential)
			_, err := r.Page(t.Context(), begin(t, r, "stripe"))
			require.Equal(t, c.requests, fake.Requests())
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			var failed *operation.ListError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, c.want.IsTemporary, failed.IsTemporary)
			require.Equal(t, c.want.RetryAfter, failed.RetryAfter)
			require.NotContains(t, failed.Text, fakeapi.Credential)
		})
	}
}

// An item without the body is known by its key, and gets its body before it starts, with the receipt of the whole webhook. The
// claims of the API's rate include that request.
func TestAnItemIsCompleted(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["easypost"])
	fake.Add(fakeapi.Event{ID: "evt_1", Type: "tracker.updated", Time: time.Now().Add(-2 * time.Hour)})
	r, limits := newReader(t, fake, fakeapi.Credential)
	of := begin(t, r, "easypost")
	page, err := r.Page(t.Context(), of)
	require.NoError(t, err)
	require.False(t, page.Redelivers)
	item := page.Items[0]
	require.Equal(t, "easypost:evt_1", item.Receipt.WorkflowID())
	require.Equal(t, "tracker.updated", item.Receipt.Type)
	require.Equal(t, "/v2/events/evt_1/payloads", item.Path)
	require.Empty(t, item.Body)
	claims := len(limits.claims)
	whole, err := r.Complete(t.Context(), of, item)
	require.NoError(t, err)
	require.Greater(t, len(limits.claims), claims)
	require.JSONEq(t, `{"id": "evt_1", "description": "tracker.updated", "result": {"id": "trk_1", "object": "Tracker"}}`, string(whole.Body))
	require.Equal(t, item.Receipt, whole.Receipt)
	require.False(t, whole.Redeliverable)

	item.Receipt.Key = "evt_2"
	_, err = r.Complete(t.Context(), of, item)
	var failed *operation.ListError
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.IsOfEvent)
	require.Contains(t, failed.Text, "another event")
}

// An attempt that only GitHub can repeat is known by its delivery ID, and is sent again only by those that may.
func TestOnlyAllowedProvidersSendAgain(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["github"])
	at := time.Now().Add(-2 * time.Hour)
	fake.Add(fakeapi.Event{ID: "one", Time: at}, fakeapi.Event{ID: "two", Time: at, IsDelivered: true}, fakeapi.Event{Time: at})
	r, _ := newReader(t, fake, fakeapi.Credential)
	list, err := r.Describe("github")
	require.NoError(t, err)
	require.True(t, list.NeedsTarget)
	target := fakeapi.Targets()["github"]
	walk, err := r.Begin("github", target, at.Add(-time.Hour), time.Now())
	require.NoError(t, err)
	of := operation.Recovery{Base: operation.Base{ID: "r1"}, Provider: "github", Target: target, Walk: walk}
	page, err := r.Page(t.Context(), of)
	require.NoError(t, err)
	require.EqualValues(t, 1, page.Unsafe, "one without a delivery ID")
	require.Len(t, page.Items, 2)
	two, one := page.Items[0], page.Items[1]
	require.Equal(t, []string{"github:two", "github:one"}, []string{two.Receipt.WorkflowID(), one.Receipt.WorkflowID()})
	require.Equal(t, []bool{true, false, true}, []bool{two.IsDelivered, one.IsDelivered, one.Redeliverable})

	asked, err := r.Redeliver(t.Context(), of, one)
	require.NoError(t, err)
	require.False(t, asked)
	require.Empty(t, fake.Asked())
	r.MayRedeliver = []string{"github"}
	asked, err = r.Redeliver(t.Context(), of, one)
	require.NoError(t, err)
	require.True(t, asked)
	require.Equal(t, []string{"one"}, fake.Asked())
}

// The provider refuses a cursor that has expired: the walk begins again. It ends with an error if it comes no farther than
// before.
func TestAnExpiredCursorBeginsANewWalk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses  func(n int) bool
		problem  string
		requests int
	}{
		"once":             {func(n int) bool { return n == 3 }, "", 6},
		"again, farther":   {func(n int) bool { return n == 2 || n == 5 }, "", 8},
		"again, as far":    {func(n int) bool { return n == 2 || n == 4 }, "its cursor may have expired", 4},
		"without a cursor": {func(int) bool { return true }, "its cursor may have expired", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := fakeapi.New(fakeapi.Styles()["stripe"])
			fake.PageCap = 1
			for _, id := range []string{"a", "b", "c"} {
				fake.Add(fakeapi.Event{ID: id, Type: "customer.updated", Time: time.Now().Add(-2 * time.Hour)})
			}
			fake.Fault = func(n int) fakeapi.Fault {
				if c.refuses(n) {
					return fakeapi.Fault{Status: http.StatusBadRequest}
				}
				return fakeapi.Fault{}
			}
			r, _ := newReader(t, fake, fakeapi.Credential)
			of, found := begin(t, r, "stripe"), map[string]bool{}
			var err error
			for of.Walk != nil && err == nil {
				var page operation.RecoveryPage
				page, err = r.Page(t.Context(), of)
				for _, item := range page.Items {
					found[item.Receipt.Key] = true
				}
				of.Walk = page.Next
			}
			require.Equal(t, c.requests, fake.Requests())
			if c.problem != "" {
				require.ErrorContains(t, err, c.problem)
				return
			}
			require.NoError(t, err)
			require.Len(t, found, 3)
		})
	}
}
