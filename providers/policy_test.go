package providers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Attempts are executions, the first included, in every definition: of the built-in ones each delay is used, once.
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
	retell, _ := c.Lookup("retell")
	ended := retell.Policy("call_ended")
	require.Equal(t, 5, ended.Attempts)
	require.Equal(t, event.Duration(time.Hour), ended.Pause(4))
	require.Equal(t, 1, retell.Policy("call_inbound").Attempts)
}

// A list of delays says how many attempts there are, unless the definition does.
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

// A definition says that an execution which takes too long is the end.
func TestTimeoutsCanBeDeclaredToFail(t *testing.T) {
	t.Parallel()
	require.False(t, mustLoad(t, minimal).Policy("x").FailOnTimeout)
	p := mustLoad(t, minimal+"on_timeout: fail\noverrides: [{types: [slow], on_timeout: retry}, {types: [other], retry: {attempts: 2}}]\n")
	require.True(t, p.Policy("x").FailOnTimeout)
	require.False(t, p.Policy("slow").FailOnTimeout)
	require.True(t, p.Policy("other").FailOnTimeout)
}
