package limits

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
)

// maxClients bounds the memory for client addresses to about 30 MiB. Beyond it the least recently seen client is dropped, which
// gives it a full bucket. The same number of sources is kept.
const maxClients = 1 << 16

// Limits hold the token buckets: one for each provider, one for each source of a provider, and one for each client.
type Limits struct {
	mu        sync.Mutex
	latest    time.Time
	providers map[bucketKey]*bucket
	sources   *lru.Cache[bucketKey, *bucket]
	clients   *lru.Cache[bucketKey, *rate.Limiter]
	// shared applies the rates across all processes; nil if this process counts locally.
	shared *sharedRates
}

// bucketKey includes the rate, so that a definition whose rate has changed gets new buckets, and no other does.
type bucketKey struct {
	provider string
	isSource bool
	source   string
	client   netip.Addr
	rate     receiving.Rate
}

// bucket counts a rate that processes share. A request takes from its process's bucket first, so that requests beyond the whole
// rate cost the store nothing.
type bucket struct {
	*rate.Limiter

	closedUntil time.Time // all processes together have used up the rate
}

// New returns limits whose buckets are full. A store shares the rates of providers and sources with all processes; it may be nil.
func New(store RateStore) (*Limits, error) {
	clients, err := lru.New[bucketKey, *rate.Limiter](maxClients)
	if err != nil {
		return nil, err
	}
	sources, err := lru.New[bucketKey, *bucket](maxClients)
	l := &Limits{providers: map[bucketKey]*bucket{}, sources: sources, clients: clients}
	if store != nil {
		l.shared = newSharedRates(store)
	}
	return l, err
}

// AllowClient counts a request of a client, before anything else about it is known. It returns how long to wait, or 0 if the
// request may pass. Processes don't share these counts: otherwise strangers could make them write.
func (l *Limits) AllowClient(p *providers.Provider, client netip.Addr, now time.Time) (wait time.Duration) {
	r := p.ClientRate()
	if r == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := bucketKey{provider: p.Name(), client: networkOf(client), rate: *r}
	bucket, ok := l.clients.Get(key)
	if !ok {
		bucket = newBucket(*r)
		l.clients.Add(key, bucket)
	}
	return l.reserve(bucket, now)
}

// AllowProvider counts an authentic request. It runs after authentication, so that strangers can't use up the provider's rate.
func (l *Limits) AllowProvider(p *providers.Provider, now time.Time) (wait time.Duration) {
	return l.allow(providerKeys(p), now)
}

// RefundProvider undoes AllowProvider for a request whose source is over its rate, so that other sources don't pay for it.
func (l *Limits) RefundProvider(p *providers.Provider) {
	l.refund(providerKeys(p), providerKeys(p))
}

// providerKeys returns the provider's bucket, or none if it has no rate.
func providerKeys(p *providers.Provider) []bucketKey {
	if p.Rate() == nil {
		return nil
	}
	return []bucketKey{{provider: p.Name(), rate: *p.Rate()}}
}

// AllowSources counts a request once for each source of its events.
func (l *Limits) AllowSources(p *providers.Provider, items []reading.Item, now time.Time) (wait time.Duration) {
	if p.SourceRate() == nil {
		return 0
	}
	var keys []bucketKey
	for _, item := range items {
		key := bucketKey{provider: p.Name(), isSource: true, source: item.Source, rate: *p.SourceRate()}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return l.allow(keys, now)
}

// allow takes one request from each bucket, or none from any: first from this process's, and if all of them have one, from the
// shared ones.
func (l *Limits) allow(keys []bucketKey, now time.Time) (wait time.Duration) {
	buckets, wait := l.allowLocally(keys, now)
	if wait > 0 || l.shared == nil {
		return wait
	}
	requested := make([]*pending, len(keys))
	for i, key := range keys {
		requested[i] = l.shared.request(key.claim())
	}
	granted := make([]bucketKey, 0, len(keys))
	for i, p := range requested {
		if p == nil {
			continue
		}
		one := l.close(buckets[i], now, p.wait())
		if one == 0 {
			granted = append(granted, keys[i])
		}
		wait = max(wait, one)
	}
	if wait > 0 {
		l.refund(keys, granted)
	}
	return wait
}

// allowLocally takes from the buckets of this process.
func (l *Limits) allowLocally(keys []bucketKey, now time.Time) (buckets []*bucket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken []*bucket
	for _, key := range keys {
		b := l.bucketOf(key)
		buckets = append(buckets, b)
		one := b.closedUntil.Sub(now)
		if one <= 0 {
			if one = l.reserve(b.Limiter, now); one == 0 {
				taken = append(taken, b)
			}
		}
		wait = max(wait, one)
	}
	if wait > 0 {
		l.refill(taken...)
	}
	return buckets, wait
}

// refund returns one request to the buckets of this process, and to the shared ones that granted it.
func (l *Limits) refund(taken, granted []bucketKey) {
	l.mu.Lock()
	for _, key := range taken {
		l.refill(l.bucketOf(key))
	}
	l.mu.Unlock()
	if l.shared == nil {
		return
	}
	for _, key := range granted {
		l.shared.refund(key.claim())
	}
}

// refill returns one request to each bucket. A bucket is capped at its burst at the next request.
func (l *Limits) refill(buckets ...*bucket) {
	for _, b := range buckets {
		b.AllowN(l.latest, -1)
	}
}

// close keeps requests from asking for what is used up.
func (l *Limits) close(b *bucket, now time.Time, wait time.Duration) time.Duration {
	if wait > 0 {
		l.mu.Lock()
		b.closedUntil = now.Add(wait)
		l.mu.Unlock()
	}
	return wait
}

func (l *Limits) bucketOf(key bucketKey) *bucket {
	b, ok := l.providers[key]
	if key.isSource {
		b, ok = l.sources.Get(key)
	}
	if ok {
		return b
	}
	b = &bucket{Limiter: newBucket(key.rate)}
	if key.isSource {
		l.sources.Add(key, b)
	} else {
		l.providers[key] = b
	}
	return b
}

func (k bucketKey) claim() event.RateClaim {
	per := time.Duration(k.rate.Per)
	name := fmt.Sprintf("%s %d/%s", k.provider, k.rate.Requests, per)
	if k.isSource {
		name += " " + k.source
	}
	return event.RateClaim{Name: name, Requests: k.rate.Requests, Per: per}
}

// newBucket is full: a burst may be as large as what the rate allows in its span of time.
func newBucket(r receiving.Rate) *rate.Limiter {
	perSecond := float64(r.Requests) / time.Duration(r.Per).Seconds()
	return rate.NewLimiter(rate.Limit(perSecond), r.Requests)
}

// networkOf returns what counts as one client: an IPv4 address, or the /64 of IPv6 that one subscriber has to choose from.
func networkOf(client netip.Addr) netip.Addr {
	client = client.Unmap().WithZone("")
	if !client.Is6() {
		return client
	}
	return netip.PrefixFrom(client, 64).Masked().Addr()
}

// reserve never goes back in time: of two requests the one that began first may come second, and a bucket that is set back
// would be filled twice for the time between them.
func (l *Limits) reserve(bucket *rate.Limiter, now time.Time) (wait time.Duration) {
	if now.Before(l.latest) {
		now = l.latest
	}
	l.latest = now
	reservation := bucket.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}
