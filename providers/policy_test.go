package providers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Attempts include the first execution: in the built-in definitions each delay is used exactly once.
func TestEveryDelayOfTheCatalogueIsUsed(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t, secretOfTests)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		types := []string{""}
		for _, o := range p.Written().Overrides {
			types = append(types, o.Types...)
		}
		for _, eventType := range types {
			if policy := p.Policy(eventType); len(policy.Delays) > 0 {
				require.Equal(t, len(policy.Delays)+1, policy.Attempts, name)
			}
		}
	}
}

// The voice and booking platform executes each step maxAttempts times, the first one included. Both systems retry a timed-out
// execution, unless there is one attempt.
func TestTheAttemptsOfTheVoicePlatform(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t, secretOfTests)
	for name, want := range map[string]event.Policy{
		"retell call_ended":               {Attempts: 4, Delays: delays(60, 300, 900), Jitter: 0.2, Timeout: delays(120)[0]},
		"retell call_inbound":             {Attempts: 1, Timeout: delays(60)[0], FailOnTimeout: true},
		"calcom BOOKING_CREATED":          {Attempts: 3, Delays: delays(30, 120), Jitter: 0.2, Timeout: delays(120)[0]},
		"stripe payment_intent.succeeded": {Attempts: 3, Delays: delays(10, 60), Jitter: 0.2, Timeout: delays(60)[0]},
	} {
		provider, eventType, _ := strings.Cut(name, " ")
		p, _ := c.Lookup(provider)
		got := p.Policy(eventType)
		if want.Attempts == 1 {
			got.Delays, got.Jitter, got.InitialInterval, got.Coefficient, got.MaximumInterval = nil, 0, 0, 0, 0
		}
		require.Equal(t, want, got, name)
	}
}

func delays(seconds ...int) (all []event.Duration) {
	for _, n := range seconds {
		all = append(all, event.Duration(n)*event.Duration(time.Second))
	}
	return all
}

// A list of delays determines the number of attempts, unless the definition does.
func TestDelaysGiveTheAttempts(t *testing.T) {
	t.Parallel()
	policy := func(retry string) event.Policy { return mustLoad(t, minimal+"retry: "+retry+"\n").Policy("x") }
	require.Equal(t, 4, mustLoad(t, minimal).Policy("x").Attempts)
	require.Equal(t, 3, policy("{delays: [1s, 2s]}").Attempts)
	require.Equal(t, 9, policy("{attempts: 9, delays: [1s, 2s]}").Attempts)
	require.Equal(t, event.Duration(2*time.Second), policy("{attempts: 9, delays: [1s, 2s]}").Pause(7))
	backoff := policy("{initial: 1s, maximum: 5s}")
	require.Equal(t, 4, backoff.Attempts)
	for n, seconds := range []int{1, 2, 4, 5, 5} {
		require.Equal(t, event.Duration(time.Duration(seconds)*time.Second), backoff.Pause(n+1))
	}
}

// A definition can make a timed-out execution final.
func TestTimeoutsCanBeDeclaredToFail(t *testing.T) {
	t.Parallel()
	require.False(t, mustLoad(t, minimal).Policy("x").FailOnTimeout)
	p := mustLoad(t, minimal+"on_timeout: fail\noverrides: [{types: [slow], on_timeout: retry}, {types: [other], retry: {attempts: 2}}]\n")
	require.True(t, p.Policy("x").FailOnTimeout)
	require.False(t, p.Policy("slow").FailOnTimeout)
	require.True(t, p.Policy("other").FailOnTimeout)
}
