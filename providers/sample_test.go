package providers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Each sample is an event of the type that its name says, keyed by the id that it is given.
func TestSamples(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t, secretOfTests)
	tried := 0
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		for _, eventType := range p.SampleTypes() {
			keys := map[string]bool{}
			for _, id := range []string{"first1", "second2"} {
				r, err := p.Sample(eventType, id, clock)
				require.NoError(t, err)
				require.NoError(t, p.Sign(r, secretOfTests, clock))
				require.NoError(t, p.Authenticate(r, clock))
				items, err := p.Split(r)
				require.NoError(t, err)
				require.Equal(t, event.KeyFromEvent, items[0].KeyFrom)
				keys[items[0].Key] = true
				parsed, err := p.Parse(receiptOf(p, items[0]), items[0].Body)
				require.NoError(t, err)
				require.Equal(t, eventType, parsed.Type)
				require.Equal(t, clock, parsed.OccurredAt)
				require.NotEmpty(t, parsed.Changes)
			}
			if name == "stripe" {
				require.Len(t, keys, 2)
			}
			tried++
		}
	}
	require.GreaterOrEqual(t, tried, 5)
	p, _ := c.Lookup("stripe")
	_, err := p.Sample("../stripe", "x", clock)
	require.ErrorContains(t, err, "customer.updated")
}
