package console_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/api"
)

const replayed = "01980f4e-7b1c-7c4e-9f52-3d1b0a6b9e11"

// The confirmation shows how many deliveries go out, and exactly those are sent: later ones aren't.
func TestAnEventIsResentToWhomTheQuestionNames(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	s := startShowing(t, behind.shown(), "", true)
	path := "/console/events/" + replayed + "/resend-all"
	status, page := s.look(t, access.RoleOperator, path)
	require.Equal(t, 303, status, "there is nothing to send: %s", page)

	behind.deliveries = []delivery.Delivery{
		{EventID: replayed, SubscriptionID: 4, Subscription: "customers", Destination: "crm", Status: delivery.Delivered},
		{EventID: replayed, SubscriptionID: 5, Subscription: "orders", Destination: "erp", Status: delivery.Failed},
	}
	status, page = s.look(t, access.RoleOperator, path)
	require.Equal(t, 200, status, page)
	require.Contains(t, page, "<button>Resend 2 deliveries</button>")
	require.Contains(t, page, "processed again: entities")
	require.Contains(t, page, "delivered, to crm")
	behind.deliveries = append(behind.deliveries, delivery.Delivery{EventID: replayed, SubscriptionID: 6})
	status, location, _ := s.send(t, access.RoleOperator, path, url.Values{"id": {"4", "5"}, "reason": {"INC-42"}})
	require.Equal(t, 303, status)
	require.Equal(t, "/console/events/"+replayed, location)
	require.Equal(t, []delivery.Key{{EventID: replayed, SubscriptionID: 4}, {EventID: replayed, SubscriptionID: 5}}, behind.sent)
	require.Equal(t, "INC-42", behind.did[0].Reason)

	status, _ = s.look(t, access.RoleViewer, path)
	require.Equal(t, 403, status)
	status, _, _ = s.send(t, access.RoleViewer, path, url.Values{"id": {"4"}})
	require.Equal(t, 403, status)
	require.Len(t, behind.sent, 2)
}

// replays records the replays of dead letters.
type replays struct {
	api.SingleReplayer

	did []string
}

func (r *replays) Replay(context.Context, int64, oversight.Actor) (operation.Replayed, error) {
	r.did = append(r.did, "replay")
	return operation.Replayed{EventID: replayed}, nil
}

func (r *replays) Fetch(context.Context, int64, oversight.Actor) (operation.Replayed, error) {
	r.did = append(r.did, "fetch")
	return operation.Replayed{EventID: replayed}, nil
}

// A dead letter is replayed with the state that was fetched for it, or with a new one.
func TestAReplayMayFetchAgain(t *testing.T) {
	t.Parallel()
	shown, behind := newDestinations().shown(), &replays{}
	shown.API.DeadLetters, shown.API.SingleReplays = struct{ api.DeadLetterStore }{}, behind
	s := startShowing(t, shown, "", true)
	for _, form := range []url.Values{{}, {"fetch": {"true"}}} {
		status, location, _ := s.send(t, access.RoleOperator, "/console/dead-letters/7/replay", form)
		require.Equal(t, 303, status)
		require.Equal(t, "/console/events/"+replayed, location)
	}
	require.Equal(t, []string{"replay", "fetch"}, behind.did)
}
