package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

func (o *told) codes() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.entries {
		all = append(all, e.Code)
	}
	return all
}

// While a proxy can't be used, no attempt through it counts; operators get one alert when that begins and one when it ends. What goes
// out otherwise is delivered.
func TestAProxyThatFailsIsReportedOnce(t *testing.T) {
	t.Parallel()
	const each = 20
	m, alerts := newMemory(), &told{}
	to(m, 1, 2)
	for n := range each {
		m.waiting = append(m.waiting, job(n, 1), job(n, 2))
	}
	var failed atomic.Int64
	var repaired atomic.Bool
	send := sends(func(ctx context.Context, to delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		result := ok(ctx, to, j, msg)
		if to.Destination.ID != 1 {
			return result
		}
		if result.Proxy = "office"; !repaired.Load() {
			if failed.Add(1)%2 == 0 { // a kept connection goes on working
				return result
			}
			result.Kind, result.Code, result.Error, result.Reach = delivery.Ours, delivery.CodeProxy, "proxy office: it's gone", delivery.ReachUnknown
		}
		result.Connected = repaired.Load()
		return result
	})
	d, err := New(Options{Queue: m, HTTP: send, Temporal: send, Slots: 8, Errors: alerts})
	require.NoError(t, err)
	d.Start()
	m.until(func() bool { return len(m.ended) >= each && failed.Load() > 3 })
	require.Equal(t, []string{"proxy_failed"}, alerts.codes())
	repaired.Store(true)
	m.until(func() bool { return len(m.ended) == 2*each })
	require.Equal(t, []string{"proxy_failed", "proxy_recovered"}, alerts.codes())
	require.NoError(t, d.Stop(t.Context(), 0))
	for _, s := range m.settled {
		require.False(t, s.Dead)
		require.NotEqual(t, delivery.Bad, s.Kind)
	}
}

// A proxy whose network is down takes the blame for the hosts behind it, however many are reached otherwise.
func TestEachProxyIsOfflineOnItsOwn(t *testing.T) {
	t.Parallel()
	d, err := New(Options{Queue: newMemory(), Slots: 1, Errors: &told{}})
	require.NoError(t, err)
	try := func(host int, through string, reach delivery.Reach) delivery.Result {
		to := delivery.Destination{HTTP: &delivery.HTTP{URL: fmt.Sprintf("https://host-%d.example.com", host)}}
		kind := delivery.OK
		if reach == delivery.Unreached {
			kind = delivery.Bad
		}
		return d.checkReach(to, delivery.Result{Kind: kind, Code: "x", Reach: reach, Proxy: through})
	}
	for host := range 20 {
		try(host, "", delivery.Reached)
	}
	for host := range 4 {
		try(100+host, "office", delivery.Reached)
	}
	var last delivery.Result
	for host := range 4 {
		last = try(100+host, "office", delivery.Unreached)
	}
	require.Equal(t, delivery.Ours, last.Kind)
	require.Equal(t, codeOffline, last.Code)
	require.Contains(t, last.Error, "through proxy office")
	require.Equal(t, delivery.Bad, try(1, "", delivery.Unreached).Kind)
}
