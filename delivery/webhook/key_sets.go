package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"holdfast/internal/proxy"
	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
)

// Limits of the keys that senders publish. Anyone can name an unknown key, therefore the keys of one address are fetched at most
// once a minute, whatever the reason. An API that is asked for one key is asked for each known one at most once a minute, and
// for a few unknown ones.
const (
	maxKeySetBytes  = 1 << 20
	keySetTimeout   = 5 * time.Second
	keySetMinLife   = 5 * time.Minute
	keySetLife      = time.Hour // if the answer says nothing
	keySetMaxLife   = 24 * time.Hour
	keySetOutage    = 24 * time.Hour // keys outlast their end by this while they can't be fetched
	keySetEach      = time.Minute
	oneKeyEach      = 6 * time.Second
	oneKeyAtOnce    = 10
	maxMissedKeys   = 64
	maxSingleKeys   = 16
	maxWantedKeys   = 1024
	keySetRenewEach = time.Minute
)

// KeySets keeps the keys that senders publish. It fetches them in the background, from public addresses and the allowed networks,
// and follows no redirects: no request waits for a fetch. It is safe for concurrent use.
type KeySets struct {
	http *http.Client
	now  func() time.Time
	// fetches are in progress.
	fetches sync.WaitGroup

	mu    sync.Mutex
	hosts map[string]*keyHost // by URL: the definitions bound their number
}

// keyHost is what is known of one address.
type keyHost struct {
	// answers has all keys under "", or one key under the request for it.
	answers  map[string]keyAnswer
	fetching map[string]bool
	// missed says when an ID turned out to be unknown there.
	missed map[string]time.Time
	// wanted are unknown keys of an API that haven't been fetched yet.
	wanted  map[string]wantedKey
	budget  *rate.Limiter
	failing bool
}

// keyAnswer is fresh until, and is used for an outage longer.
type keyAnswer struct {
	keys  []jws.Key
	until time.Time
	// asked is when it was last fetched, with success or without.
	asked time.Time
}

// wantedKey is a key for which some requests wait.
type wantedKey struct {
	at       jws.Set
	keyID    string
	requests int
}

// NewKeySets returns an empty cache that also reaches the allowed networks. Requests go through a proxy unless it is nil.
func NewKeySets(allowed []netip.Prefix, via *proxy.Proxy) *KeySets {
	return newKeySets(newHTTP(through(newDialer(guard{allowed: allowed}), via), nil))
}

func newKeySets(client *http.Client) *KeySets {
	return &KeySets{http: client, now: time.Now, hosts: map[string]*keyHost{}}
}

// Keys returns the known keys of a set with which a token may be signed, see auth.KeySets. It never waits for a fetch.
func (k *KeySets) Keys(at jws.Set, keyID string) ([]jws.Key, error) {
	if at.URL == "" { // roots in addition to those of definitions: there are none
		return nil, denial.Of(denial.BadToken)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	host, now := k.hostOf(at), k.now()
	answer := host.answers[questionOf(at)]
	if now.Before(answer.until.Add(keySetOutage)) && (at.Body != nil || answer.has(keyID)) {
		if !now.Before(answer.until) {
			k.fetchSoon(host, at, keyID)
		}
		return answer.keys, nil
	}
	if missed, ok := host.missed[missOf(at, keyID)]; ok && now.Sub(missed) < keySetEach {
		return nil, denial.Of(denial.BadToken)
	}
	k.fetchSoon(host, at, keyID)
	return nil, denial.Of(denial.NoKeys)
}

// Run keeps the sets that list returns fresh until ctx ends.
func (k *KeySets) Run(ctx context.Context, list func() []jws.Set) {
	tick := time.NewTicker(keySetRenewEach)
	defer tick.Stop()
	for {
		for _, at := range list() {
			k.renew(at)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (k *KeySets) renew(at jws.Set) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if host := k.hostOf(at); !k.now().Before(host.answers[""].until) {
		k.fetchSoon(host, at, "")
	}
}

// questionOf returns what an answer is kept under. The request for a single key contains its ID and our credentials.
func questionOf(at jws.Set) string { return string(at.Body) }

// missOf returns what an unknown ID is kept under: a set of keys is fetched for any ID.
func missOf(at jws.Set, keyID string) string {
	if at.Body == nil {
		return keyID
	}
	return questionOf(at)
}

// has reports whether a token may be signed with one of the keys.
func (a keyAnswer) has(keyID string) bool {
	return len(a.keys) > 0 && (keyID == "" || slices.ContainsFunc(a.keys, func(one jws.Key) bool { return one.ID == keyID }))
}

func (k *KeySets) hostOf(at jws.Set) *keyHost {
	host := k.hosts[at.URL]
	if host == nil {
		host = &keyHost{
			answers: map[string]keyAnswer{}, fetching: map[string]bool{}, missed: map[string]time.Time{}, wanted: map[string]wantedKey{},
		}
		host.budget = rate.NewLimiter(rate.Every(keySetEach), 1)
		if at.Body != nil {
			host.budget = rate.NewLimiter(rate.Every(oneKeyEach), oneKeyAtOnce)
		}
		k.hosts[at.URL] = host
	}
	return host
}

// fetchSoon begins a fetch, unless there is one or there was one just now. A known key of an API never waits for unknown ones. Of
// these, the one for which most requests wait is fetched first: a stranger makes up a new ID each time, and a sender repeats its
// own.
func (k *KeySets) fetchSoon(host *keyHost, at jws.Set, keyID string) {
	question, now := questionOf(at), k.now()
	answer, isKnown := host.answers[question]
	switch {
	case host.fetching[question]:
	case at.Body == nil:
		if host.budget.AllowN(now, 1) {
			k.begin(host, at, keyID)
		}
	case isKnown:
		if now.Sub(answer.asked) >= keySetEach {
			answer.asked = now
			host.answers[question] = answer
			k.begin(host, at, keyID)
		}
	default:
		host.want(at, keyID)
		if host.budget.AllowN(now, 1) {
			next := host.wanted[host.mostWanted(question)]
			delete(host.wanted, questionOf(next.at))
			k.begin(host, next.at, next.keyID)
		}
	}
}

// want counts a request that waits for an unknown key. There is always room for another: one of the least wanted goes.
func (h *keyHost) want(at jws.Set, keyID string) {
	question := questionOf(at)
	one, ok := h.wanted[question]
	if !ok && len(h.wanted) >= maxWantedKeys {
		least, requests := "", math.MaxInt
		for other, w := range h.wanted {
			if w.requests < requests {
				least, requests = other, w.requests
			}
		}
		delete(h.wanted, least)
	}
	h.wanted[question] = wantedKey{at, keyID, one.requests + 1}
}

// mostWanted returns the question for which most requests wait, and of equal ones the given.
func (h *keyHost) mostWanted(question string) string {
	most := h.wanted[question].requests
	for other, w := range h.wanted {
		if w.requests > most {
			question, most = other, w.requests
		}
	}
	return question
}

func (k *KeySets) begin(host *keyHost, at jws.Set, keyID string) {
	host.fetching[questionOf(at)] = true
	k.fetches.Go(func() {
		keys, life, err := k.fetch(at)
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(host.fetching, questionOf(at))
		now := k.now()
		host.put(at, keyID, keyAnswer{keys: keys, until: now.Add(life), asked: now}, err, now)
	})
}

// errNoSuchKey is the answer of an API that knows no such key.
var errNoSuchKey = &Error{Code: codeAnswer, Reason: "there is no such key"}

// put keeps the result of a fetch. Keys that couldn't be fetched leave those before in place.
func (h *keyHost) put(at jws.Set, keyID string, answer keyAnswer, err error, now time.Time) {
	if err != nil && !errors.Is(err, errNoSuchKey) {
		if !h.failing {
			slog.Warn("keys.unavailable", "host", hostOf(at.URL), "error", err.Error())
		}
		h.failing = true
		return
	}
	if h.failing {
		slog.Info("keys.available", "host", hostOf(at.URL))
	}
	h.failing = false
	question := questionOf(at)
	isThere := err == nil && (keyID == "" || answer.has(keyID))
	if isThere || at.Body == nil {
		h.answers[question] = answer
	} else {
		delete(h.answers, question) // the sender has withdrawn it
	}
	if !isThere {
		if len(h.missed) >= maxMissedKeys {
			clear(h.missed)
		}
		h.missed[missOf(at, keyID)] = now
	}
	for other := range h.answers { // an API has a few valid keys
		if len(h.answers) > maxSingleKeys && other != question {
			delete(h.answers, other)
		}
	}
}

// fetch returns the keys at an address, and for how long they are fresh. keySetTimeout bounds it.
func (k *KeySets) fetch(at jws.Set) (keys []jws.Key, life time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), keySetTimeout)
	defer cancel()
	method := http.MethodGet
	if at.Body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, at.URL, bytes.NewReader(at.Body))
	if err != nil {
		return nil, 0, &Error{Code: codeAddress, Reason: "the address is malformed"}
	}
	request.Header.Set("Accept", "application/json")
	if at.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := k.http.Do(request)
	if err != nil {
		return nil, 0, failure(err)
	}
	defer func() { _ = response.Body.Close() }() // nothing more to read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeySetBytes+1))
	switch {
	case err != nil:
		return nil, 0, failure(err)
	case at.Body != nil && response.StatusCode == http.StatusNotFound,
		response.StatusCode == http.StatusBadRequest && at.IsUnknown(text): // wrong credentials are often a 400, too
		return nil, 0, errNoSuchKey
	case response.StatusCode != http.StatusOK:
		return nil, 0, &Error{Code: codeAnswer, Reason: fmt.Sprintf("the response has the status %d", response.StatusCode)}
	case len(text) > maxKeySetBytes:
		return nil, 0, &Error{Code: codeAnswer, Reason: "the response is longer than 1 MiB"}
	}
	keys, err = at.ParseAnswer(text)
	if err != nil || len(keys) == 0 {
		return nil, 0, &Error{Code: codeAnswer, Reason: "the response has no usable key"}
	}
	return keys, lifeOf(response.Header), nil
}

var maxAge = regexp.MustCompile(`(?i)(?:^|[ ,])max-age="?([0-9]{1,9})`)

// lifeOf returns how long an answer is fresh, within bounds.
func lifeOf(header http.Header) time.Duration {
	found := maxAge.FindStringSubmatch(header.Get("Cache-Control"))
	if found == nil {
		return keySetLife
	}
	seconds, _ := strconv.Atoi(found[1]) // it has digits only
	return min(max(time.Duration(seconds)*time.Second, keySetMinLife), keySetMaxLife)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
