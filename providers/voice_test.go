package providers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/reading"
)

func mustParse(t testing.TB, p *Provider, body string) (reading.Item, event.Parsed) {
	t.Helper()
	item, parsed, err := parse(t, p, body)
	require.NoError(t, err)
	return item, parsed
}

// A Retell call is found by its ID in either place.
func TestRetellCallAtTheTop(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "retell", secretOfTests)
	for _, name := range []string{"call_started", "call_ended", "call_analyzed"} {
		fields := `"call_id":"c1","call_status":"ended","start_timestamp":1777888800000,"end_timestamp":1777888860000`
		below, deep := mustParse(t, p, `{"event":"`+name+`","call":{`+fields+`}}`)
		atTop, flat := mustParse(t, p, `{"event":"`+name+`",`+fields+`}`)
		require.True(t, strings.HasPrefix(below.Key, name+":c1"), below.Key)
		require.True(t, strings.HasPrefix(atTop.Key, name+":c1"), atTop.Key)
		require.Equal(t, deep.Changes, flat.Changes)
		require.Equal(t, deep.OccurredAt, flat.OccurredAt)
		require.False(t, flat.OccurredAtMissing)
	}
}

// Two Cal.com webhooks that say the same about a booking within milliseconds are one event; a later change, another seat, or
// the reverse change is another.
func TestCalcomSaysTheSameInOneSecond(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "calcom", secretOfTests)
	key := func(trigger, createdAt, attendee string) string {
		item, _ := mustParse(t, p, `{"triggerEvent":"`+trigger+`","createdAt":"`+createdAt+`","payload":{"uid":"u1","attendees":[`+attendee+`]}}`)
		return item.Key
	}
	const ada = `{"email":"ada@example.com"}`
	first := key("BOOKING_CREATED", "2026-05-04T10:00:00.100Z", ada)
	require.Equal(t, "BOOKING_CREATED:u1::20260504T100000:", first[:strings.Index(first, "h.")])
	require.Equal(t, first, key("BOOKING_CREATED", "2026-05-04T10:00:00.900Z", ada))
	require.NotEqual(t, first, key("BOOKING_CREATED", "2026-05-04T10:00:01.100Z", ada))
	require.NotEqual(t, first, key("BOOKING_CREATED", "2026-05-04T10:00:00.100Z", `{"email":"bob@example.com"}`))
	require.NotEqual(t, first, key("BOOKING_CANCELLED", "2026-05-04T10:00:00.100Z", ada))
	require.NotEqual(t, key("BOOKING_NO_SHOW_UPDATED", "2026-05-04T10:00:00.1Z", `{"email":"a@b.c","noShow":true}`),
		key("BOOKING_NO_SHOW_UPDATED", "2026-05-04T10:00:00.2Z", `{"email":"a@b.c","noShow":false}`))
}

// A no-show is in the state of the booking, and of the guest.
func TestCalcomKeepsTheNoShow(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "calcom", secretOfTests)
	for _, value := range []string{"true", "false"} {
		_, parsed := mustParse(t, p, `{"triggerEvent":"BOOKING_NO_SHOW_UPDATED","createdAt":"2026-05-04T10:00:00Z","payload":{
			"bookingUid":"u1","bookingId":9,"attendees":[{"email":"ada@example.com","noShow":`+value+`}]}}`)
		require.JSONEq(t, `{"booking_id":9,"noShow":{"ada@example.com":`+value+`}}`, string(parsed.Changes[0].State))
		require.Equal(t, "attendee", parsed.Changes[1].Kind)
		require.JSONEq(t, `{"noShow":`+value+`}`, string(parsed.Changes[1].State))
	}
}

// The priorities match the queues of the old systems.
func TestPrioritiesOfPaymentsAndBookings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]event.Priority{"stripe": event.PriorityCritical, "calcom": event.PriorityHigh} {
		p := providerOf(t, name, secretOfTests)
		require.Equal(t, string(want), p.Written().Priority)
		for _, o := range p.Written().Overrides {
			require.Contains(t, []string{"", string(want)}, o.Priority, name)
		}
	}
}
