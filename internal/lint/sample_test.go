package lint

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/definition"
)

// Each signed sample is an event of the type in its name, with its own key and time.
func TestSamples(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t, secretOfTests)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		for _, eventType := range p.SampleTypes() {
			t.Run(name+" "+eventType, func(t *testing.T) {
				t.Parallel()
				r := signedSample(t, p, eventType, "first1")
				e := Explain(p, r, clock)
				require.Empty(t, e.Refused)
				if e.Challenge {
					return
				}
				require.True(t, names(eventType, e.Events[0].Type), e.Events[0].Type)
				require.Nil(t, e.Events[0].DeadLetter)
				require.NotEqual(t, event.KeyFromNothing, e.Events[0].KeyFrom)
				// Forms and absences at Cal.com, tests of Intercom and the App Store, and a message of QStash with any body belong to no
				// entity, and Paystack's customers aren't entities.
				if !slices.Contains([]string{
					"FORM_SUBMITTED", "FORM_SUBMITTED_NO_EVENT", "OOO_CREATED", "DELEGATION_CREDENTIAL_ERROR", "ping",
					"customeridentification.failed", "dedicatedaccount.assign.failed", "message", "TEST",
				}, eventType) {
					require.NotEmpty(t, e.Events[0].Changes)
				}
				again := Explain(p, signedSample(t, p, eventType, "first1"), clock)
				require.Equal(t, e.Events[0].Key, again.Events[0].Key)
				other := Explain(p, signedSample(t, p, eventType, "second2"), clock)
				require.NotEqual(t, e.Events[0].Key, other.Events[0].Key)
			})
		}
	}
	p, _ := c.Lookup("stripe")
	_, err := p.Sample("../stripe", "x", clock)
	require.ErrorContains(t, err, "customer.updated")
}

// There is an event for every override of the catalogue, and a batch if the provider sends batches.
func TestSamplesReachEveryOverride(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t, secretOfTests)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		for i, o := range p.Written().Overrides {
			for _, pattern := range o.Types {
				require.True(t, slices.ContainsFunc(p.SampleTypes(), definition.NewGlob(pattern).Match), "%s: overrides[%d] is for %s", name, i, pattern)
			}
		}
		if p.Written().Batch == nil || p.Written().Batch.Items == "" || p.Coverage().Body != nil { // a signature over fields is for one item
			continue
		}
		most := 0
		for _, eventType := range p.SampleTypes() {
			most = max(most, len(Explain(p, signedSample(t, p, eventType, "x"), clock).Events))
		}
		require.GreaterOrEqual(t, most, 2, name)
	}
}
