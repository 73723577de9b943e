package providers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/reading"
)

// Metrics have one label for each type that a definition names, and one for all others.
func TestATypeHasALabel(t *testing.T) {
	t.Parallel()
	p, ok := catalogueOf(t).Lookup("stripe")
	require.True(t, ok)
	require.Equal(t, "customer.updated", p.TypeLabel("customer.updated"), "a sample")
	require.Equal(t, "payment_intent.*", p.TypeLabel("payment_intent.made_up"), "a pattern")
	for i := range 3 {
		require.Equal(t, reading.OtherType, p.TypeLabel(fmt.Sprint("invented.", i)))
	}
	require.Equal(t, reading.OtherType, p.TypeLabel(""))
}

// A definition can name any number of types, and metrics can't show them all.
func TestTypesOfADefinitionWithManyHaveOneLabel(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{400: "type.7", 501: reading.OtherType} {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprint("type.", i)
		}
		p := mustLoad(t, "name: acme\nextends: calcom\n"+
			"overrides:\n  - {types: ["+strings.Join(all, ", ")+"], priority: high}\n")
		require.Equal(t, want, p.TypeLabel("type.7"), "%d types", n)
	}
}

// Every sample's event has a label of its own, whether it has its own name, comes in a batch, or belongs to a definition that
// another one extends.
func TestTypesOfSamplesHaveALabel(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t, secretOfTests)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		heir := p
		if slices.Contains([]string{"gocardless", "hubspot", "stripe"}, name) {
			heir = mustLoad(t, "name: acme\nextends: "+name+"\n")
		}
		for _, sample := range p.SampleTypes() {
			for _, eventType := range typesOfSample(t, p, sample) {
				require.Equal(t, eventType, p.TypeLabel(eventType), "%s: %s", name, sample)
				require.Equal(t, eventType, heir.TypeLabel(eventType), "a definition that extends %s: %s", name, sample)
			}
		}
	}
}

// The triggers of Cal.com's current versions all have a label.
func TestCalcomsTriggersHaveALabel(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "calcom", secretOfTests)
	for _, trigger := range []string{
		"BOOKING_CREATED", "BOOKING_REQUESTED", "BOOKING_REJECTED", "BOOKING_CANCELLED", "BOOKING_RESCHEDULED", "BOOKING_PAID",
		"BOOKING_PAYMENT_INITIATED", "BOOKING_NO_SHOW_UPDATED", "MEETING_STARTED", "MEETING_ENDED", "RECORDING_READY",
		"RECORDING_TRANSCRIPTION_GENERATED", "INSTANT_MEETING", "OOO_CREATED", "FORM_SUBMITTED", "FORM_SUBMITTED_NO_EVENT",
		"AFTER_HOSTS_CAL_VIDEO_NO_SHOW", "AFTER_GUESTS_CAL_VIDEO_NO_SHOW", "WRONG_ASSIGNMENT_REPORT", "DELEGATION_CREDENTIAL_ERROR",
	} {
		require.Equal(t, trigger, p.TypeLabel(trigger))
	}
}

// typesOfSample returns the types of its events; a handshake has none.
func typesOfSample(t *testing.T, p *Provider, sample string) (types []string) {
	t.Helper()
	r, err := p.Sample(sample, "x1", clock)
	require.NoError(t, err)
	if _, isHandshake := p.Challenge(r, clock); isHandshake {
		return nil
	}
	items, err := p.Split(r)
	require.NoError(t, err)
	for _, item := range items {
		if item.Type != "" {
			types = append(types, item.Type)
		}
	}
	return types
}
