package webhook

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
)

const (
	keyHostName = "api.paypal.com"
	keyText     = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` +
		`"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":"KID"}`
)

func keyNamed(id string) string { return strings.ReplaceAll(keyText, "KID", id) }

func setOf(ids ...string) string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyNamed(id)
	}
	return `{"keys":[` + strings.Join(keys, ",") + `]}`
}

// keyClock is a time that tests move.
type keyClock struct{ at atomic.Int64 }

func (c *keyClock) now() time.Time           { return time.Unix(1_800_000_000, c.at.Load()) }
func (c *keyClock) forward(by time.Duration) { c.at.Add(int64(by)) }

// keySetsOf returns a cache that takes the host for every other, and its clock.
func keySetsOf(h *certificateHost, allowed ...string) (*KeySets, *keyClock) {
	k, clock := newKeySets(h.http(h.root.pool(), allowed...)), &keyClock{}
	k.now = clock.now
	return k, clock
}

// check returns the reason for which a key isn't found, once the fetch that it caused has ended; "" if it is found.
func check(t *testing.T, k *KeySets, at jws.Set, id string) denial.Reason {
	t.Helper()
	keys, err := k.Keys(at, id)
	k.fetches.Wait()
	if err != nil {
		require.Empty(t, keys)
		return denial.ReasonOf(err)
	}
	require.NotEmpty(t, keys)
	return ""
}

// Keys are fetched in the background:
//   - the first request, and the first with a new key, are answered with 503; the key is there when the sender retries
//   - an unknown key has the keys fetched once a minute; one that isn't published is refused
//   - fresh keys aren't fetched again, and older ones are used until the next are there
func TestPublishedKeysAreFetchedBetweenRequests(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	h.put("/jwks", setOf("k1"))
	at := jws.Set{URL: "https://" + keyHostName + "/jwks"}
	k, clock := keySetsOf(h, "127.0.0.0/8")
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	for range 3 {
		require.Empty(t, check(t, k, at, "k1"))
		require.Empty(t, check(t, k, at, ""), "a token without an ID may be signed with any key")
	}
	require.Equal(t, int64(1), h.asked.Load())

	h.put("/jwks", setOf("k1", "k2"))
	for range 3 {
		require.Equal(t, denial.NoKeys, check(t, k, at, "k2"), "within a minute of the last fetch")
	}
	require.Equal(t, int64(1), h.asked.Load())
	clock.forward(time.Minute)
	require.Equal(t, denial.NoKeys, check(t, k, at, "k2"), "this request has caused the fetch")
	require.Empty(t, check(t, k, at, "k2"))
	require.Equal(t, int64(2), h.asked.Load())

	clock.forward(time.Minute)
	require.Equal(t, denial.NoKeys, check(t, k, at, "k3"))
	for range 3 {
		require.Equal(t, denial.BadToken, check(t, k, at, "k3"), "it isn't published")
	}
	require.Equal(t, int64(3), h.asked.Load())
	for i := range 500 {
		require.Equal(t, denial.NoKeys, check(t, k, at, "stranger"+strings.Repeat("x", i)))
	}
	require.Equal(t, int64(3), h.asked.Load())
	require.LessOrEqual(t, len(k.hosts[at.URL].missed), maxMissedKeys)
	require.Empty(t, check(t, k, at, "k1"), "strangers don't affect a known key")

	clock.forward(keySetLife)
	require.Empty(t, check(t, k, at, "k1"), "the request doesn't wait")
	require.Equal(t, int64(4), h.asked.Load())
	h.put("/jwks", setOf("k9"))
	clock.forward(keySetLife)
	require.Empty(t, check(t, k, at, "k1"))
	require.Equal(t, denial.BadToken, check(t, k, at, "k1"), "the sender has withdrawn it")
	require.Empty(t, check(t, k, at, "k9"))
}

// Keys outlast their end by a day while their host is away. Without any, the sender is asked to retry.
func TestPublishedKeysOutlastAnOutage(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	h.put("/jwks", setOf("k1"))
	h.cacheControl = "public, max-age=7200, must-revalidate"
	at := jws.Set{URL: "https://" + keyHostName + "/jwks"}
	k, clock := keySetsOf(h, "127.0.0.0/8")
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	h.down.Store(true)
	clock.forward(2*time.Hour - time.Second)
	require.Empty(t, check(t, k, at, "k1"))
	require.Equal(t, int64(1), h.asked.Load(), "they are fresh")
	clock.forward(2 * time.Second)
	require.Empty(t, check(t, k, at, "k1"))
	require.Equal(t, int64(2), h.asked.Load())
	require.Empty(t, check(t, k, at, "k1"))
	require.Equal(t, int64(2), h.asked.Load(), "once a minute")
	require.Equal(t, denial.NoKeys, check(t, k, at, "k2"), "it may have been published meanwhile")
	clock.forward(24*time.Hour - 2*time.Second)
	require.Empty(t, check(t, k, at, "k1"))
	clock.forward(2 * time.Second)
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	h.down.Store(false)
	clock.forward(time.Minute)
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	require.Empty(t, check(t, k, at, "k1"))
}

// What isn't a set of keys leaves those before in place.
func TestUselessAnswersChangeNoKeys(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	at := jws.Set{URL: "https://" + keyHostName + "/jwks"}
	k, clock := keySetsOf(h, "127.0.0.0/8")
	for _, text := range []string{"", "<html>", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"AA"}]}`, strings.Repeat(" ", 1<<20) + setOf("k1")} {
		h.put("/jwks", text)
		require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
		clock.forward(time.Minute)
	}
	h.put("/jwks", setOf("k1"))
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	h.put("/jwks", `{"keys":[]}`)
	clock.forward(keySetLife)
	require.Empty(t, check(t, k, at, "k1"))
	require.Empty(t, check(t, k, at, "k1"))
	moved := jws.Set{URL: "https://" + keyHostName + "/moved.pem"}
	before := h.asked.Load()
	require.Equal(t, denial.NoKeys, check(t, k, moved, "k1"))
	require.Equal(t, before+1, h.asked.Load(), "no redirect is followed")
}

// No private address is reached, unless it is one to which deliveries may go, too. Nothing waits for long.
func TestPublishedKeysAreGuarded(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	h.put("/jwks", setOf("k1"))
	h.put("/slow", "slow")
	at := jws.Set{URL: "https://" + keyHostName + "/jwks"}
	k, _ := keySetsOf(h)
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	require.Zero(t, h.asked.Load())

	k, _ = keySetsOf(h, "127.0.0.0/8")
	began := time.Now()
	_, err := k.Keys(jws.Set{URL: "https://" + keyHostName + "/slow"}, "k1")
	require.Equal(t, denial.NoKeys, denial.ReasonOf(err))
	require.Less(t, time.Since(began), keySetTimeout/2, "no request waits for a host")
	k.fetches.Wait()
	require.Less(t, time.Since(began), 4*keySetTimeout)
}

// An API is asked for one key at a time. One that it doesn't know is refused; known ones stay.
func TestSingleKeysOfAnAPI(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	h.put("/key", `{"key":`+keyNamed("k1")+`}`)
	k, clock := keySetsOf(h, "127.0.0.0/8")
	named := func(id string) jws.Set {
		return jws.Set{URL: "https://" + keyHostName + "/key", Body: []byte(`{"key_id":"` + id + `"}`), Answer: "key"}
	}
	require.Equal(t, denial.NoKeys, check(t, k, named("k1"), "k1"))
	require.JSONEq(t, `{"key_id":"k1"}`, h.posted)
	require.Empty(t, check(t, k, named("k1"), "k1"))
	unknown := named("k2")
	unknown.URL = "https://" + keyHostName + "/nothing"
	require.Equal(t, denial.NoKeys, check(t, k, unknown, "k2"))
	asked := h.asked.Load()
	for range 3 {
		require.Equal(t, denial.BadToken, check(t, k, unknown, "k2"))
	}
	require.Equal(t, asked, h.asked.Load())
	for i := range 100 {
		_ = check(t, k, named("k"+strings.Repeat("x", i)), "k"+strings.Repeat("x", i))
	}
	require.LessOrEqual(t, h.asked.Load(), asked+oneKeyAtOnce, "strangers can have a few fetched")
	require.LessOrEqual(t, len(k.hosts[named("").URL].answers), maxSingleKeys+1)
	require.Empty(t, check(t, k, named("k1"), "k1"))
	clock.forward(keySetMaxLife)
	h.put("/key", "<html>")
	require.Empty(t, check(t, k, named("k1"), "k1"))
}

// namedKey returns the request for one key. The host knows only those at its path.
func namedKey(path, id string) jws.Set {
	return jws.Set{URL: "https://" + keyHostName + path, Body: []byte(`{"key_id":"` + id + `"}`), Answer: "key"}
}

// Strangers who name a new key each time delay a sender's key by a few requests only, and one that is known not at all.
func TestStrangersDoNotStarveASender(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	h.put("/key", `{"key":`+keyNamed("k1")+`}`)
	k, clock := keySetsOf(h, "127.0.0.0/8")
	made := 0
	strangers := func(n int) {
		for range n {
			made++
			_, err := k.Keys(namedKey("/key", "x"+strconv.Itoa(made)), "x"+strconv.Itoa(made))
			require.Error(t, err)
		}
		k.fetches.Wait()
	}
	strangers(2 * maxWantedKeys)
	require.LessOrEqual(t, len(k.hosts[namedKey("/key", "").URL].wanted), maxWantedKeys)
	tries := 0
	for ; tries < 10 && check(t, k, namedKey("/key", "k1"), "k1") != ""; tries++ {
		clock.forward(3 * time.Second)
		strangers(9)
	}
	require.Less(t, tries, 10)

	clock.forward(keySetLife)
	strangers(100)
	asked := h.asked.Load()
	require.Empty(t, check(t, k, namedKey("/key", "k1"), "k1"))
	require.Equal(t, asked+1, h.asked.Load(), "a known key is renewed while strangers ask")
	clock.forward(keySetMaxLife + keySetOutage + keySetLife)
	strangers(100)
	require.Equal(t, denial.NoKeys, check(t, k, namedKey("/key", "k1"), "k1"))
	require.Empty(t, check(t, k, namedKey("/key", "k1"), "k1"))
}

// A key that an API no longer knows is refused from then on.
func TestAWithdrawnSingleKeyIsRefused(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	h.put("/key", `{"key":`+keyNamed("k1")+`}`)
	k, clock := keySetsOf(h, "127.0.0.0/8")
	at := namedKey("/key", "k1")
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	require.Empty(t, check(t, k, at, "k1"))
	h.mu.Lock()
	delete(h.files, "/key")
	h.mu.Unlock()
	clock.forward(keySetLife)
	require.Empty(t, check(t, k, at, "k1"), "this request has caused the fetch")
	require.Equal(t, denial.BadToken, check(t, k, at, "k1"))
	clock.forward(keySetEach)
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"), "it is asked for again")
	require.Equal(t, denial.BadToken, check(t, k, at, "k1"))
}

// Only an answer that says so means that there is no such key. Any other error can be about our credentials.
func TestErrorsOfAnAPIAreNotAMissingKey(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	k, clock := keySetsOf(h, "127.0.0.0/8")
	at := namedKey("/400/key", "k1")
	at.Unknown = "NO_SUCH_KEY"
	for text, want := range map[string]denial.Reason{
		`{"error_type":"INVALID_INPUT","error_code":"INVALID_API_KEYS"}`: denial.NoKeys,
		`{"error_type":"INVALID_INPUT","error_code":"NO_SUCH_KEY"}`:      denial.BadToken,
		`{"error":{"code":"NO_SUCH_KEY"}}`:                               denial.NoKeys,
		`NO_SUCH_KEY`:                                                    denial.NoKeys,
		``:                                                               denial.NoKeys,
	} {
		h.put("/400/key", text)
		require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
		require.Equal(t, want, check(t, k, at, "k1"), text)
		clock.forward(keySetEach)
	}
	at.Unknown = ""
	h.put("/400/key", `{"error_code":""}`)
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
	require.Equal(t, denial.NoKeys, check(t, k, at, "k1"))
}

// The sets of configured providers are fetched before a request needs them.
func TestPublishedKeysAreFetchedAhead(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	h.put("/jwks", setOf("k1"))
	at := jws.Set{URL: "https://" + keyHostName + "/jwks"}
	k, _ := keySetsOf(h, "127.0.0.0/8")
	ctx, cancel := context.WithCancel(t.Context())
	listed := make(chan bool, 1)
	ended := make(chan bool)
	go func() {
		k.Run(ctx, func() []jws.Set { listed <- true; return []jws.Set{at} })
		close(ended)
	}()
	<-listed
	require.Eventually(t, func() bool { _, err := k.Keys(at, "k1"); return err == nil }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, int64(1), h.asked.Load())
	cancel()
	<-ended
}

// There are no roots in addition to those of definitions, and nothing is asked for them.
func TestThereAreNoFurtherRoots(t *testing.T) {
	t.Parallel()
	sets := NewKeySets(nil, nil)
	keys, err := sets.Keys(jws.Set{}, "k")
	require.Empty(t, keys)
	require.Equal(t, denial.BadToken, denial.ReasonOf(err))
	require.Empty(t, sets.hosts)
}
