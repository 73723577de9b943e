package ingress

import (
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"holdfast/providers"
)

// maxClients bounds the memory that client addresses can take, about 30 MiB. Beyond it the client that was not heard of for
// longest is forgotten, and with that gets a full bucket.
const maxClients = 1 << 16

// limits hold the token buckets of the definitions' rates: one for each provider, and one for each client of a provider.
type limits struct {
	mu        sync.Mutex
	latest    time.Time
	providers map[bucketKey]*rate.Limiter
	clients   *lru.Cache[bucketKey, *rate.Limiter]
}

// bucketKey has the rate in it, so that a definition whose rate has changed gets new buckets, and no other does.
type bucketKey struct {
	provider string
	client   netip.Addr
	rate     providers.Rate
}

func newLimits() (*limits, error) {
	clients, err := lru.New[bucketKey, *rate.Limiter](maxClients)
	return &limits{providers: map[bucketKey]*rate.Limiter{}, clients: clients}, err
}

// takeClient counts a request of a client, before anything else is known of it. The result is how long to wait where there
// are too many, and 0 where there are not.
func (l *limits) takeClient(p *providers.Provider, client netip.Addr, now time.Time) (wait time.Duration) {
	r := p.ClientRate()
	if r == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := bucketKey{p.Name(), networkOf(client), *r}
	bucket, ok := l.clients.Get(key)
	if !ok {
		bucket = newBucket(*r)
		l.clients.Add(key, bucket)
	}
	return l.takeFrom(bucket, now)
}

// takeProvider counts an authentic request. It comes after authentication so that strangers cannot use up what is the
// provider's own.
func (l *limits) takeProvider(p *providers.Provider, now time.Time) (wait time.Duration) {
	r := p.Rate()
	if r == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := bucketKey{provider: p.Name(), rate: *r}
	bucket, ok := l.providers[key]
	if !ok {
		bucket = newBucket(*r)
		l.providers[key] = bucket
	}
	return l.takeFrom(bucket, now)
}

// newBucket is full: a burst may be as large as what the rate allows in its span of time.
func newBucket(r providers.Rate) *rate.Limiter {
	perSecond := float64(r.Requests) / time.Duration(r.Per).Seconds()
	return rate.NewLimiter(rate.Limit(perSecond), r.Requests)
}

// networkOf is what counts as one client: an IPv4 address, or the /64 of IPv6 that one subscriber has to choose from.
func networkOf(client netip.Addr) netip.Addr {
	client = client.Unmap().WithZone("")
	if !client.Is6() {
		return client
	}
	return netip.PrefixFrom(client, 64).Masked().Addr()
}

// takeFrom never goes back in time: of two requests the one that began first may come second, and a bucket that is set back
// would be filled twice for the time between them.
func (l *limits) takeFrom(bucket *rate.Limiter, now time.Time) (wait time.Duration) {
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
