// Package apiclients checks the fake APIs of package fakeapi with the providers' own client libraries: a fake that they can't read
// would prove nothing about a definition.
package apiclients

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/PaddleHQ/paddle-go-sdk/v4"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v82"

	"holdfast/internal/devstack/fakeapi"
)

var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// serve lists 250 events, one a second, and returns the address.
func serve(t *testing.T, provider, eventType string) string {
	t.Helper()
	fake := fakeapi.New(fakeapi.Styles()[provider])
	for i := range 250 {
		fake.Add(fakeapi.Event{ID: fmt.Sprintf("evt_%03d", i), Type: eventType, Time: start.Add(time.Duration(i) * time.Second)})
	}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return server.URL
}

// stripe-go pages through the events of a time window, newest first.
func TestStripeReadsItsFake(t *testing.T) {
	t.Parallel()
	url := serve(t, "stripe", "customer.created")
	client := stripe.NewClient(fakeapi.Credential, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{URL: &url})))
	params := &stripe.EventListParams{CreatedRange: &stripe.RangeQueryParams{
		GreaterThanOrEqual: start.Unix() + 20, LesserThanOrEqual: start.Unix() + 239,
	}}
	params.Limit = stripe.Int64(100)
	at := 239
	for event, err := range client.V1Events.List(t.Context(), params) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("evt_%03d", at), event.ID)
		require.Equal(t, start.Unix()+int64(at), event.Created)
		require.Equal(t, stripe.EventType("customer.created"), event.Type)
		require.Equal(t, "cus_1", event.Data.Object["id"])
		at--
	}
	require.Equal(t, 19, at)
}

// paddle-go-sdk pages through all events, newest first.
func TestPaddleReadsItsFake(t *testing.T) {
	t.Parallel()
	client, err := paddle.New(fakeapi.Credential, paddle.WithBaseURL(serve(t, "paddle", "transaction.completed")))
	require.NoError(t, err)
	list, err := client.ListEvents(t.Context(), &paddle.ListEventsRequest{
		OrderBy: paddle.PtrTo("id[DESC]"), PerPage: paddle.PtrTo(100),
	})
	require.NoError(t, err)
	at := 249
	require.NoError(t, list.IterErr(t.Context(), func(e paddle.Event) error {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		var event struct {
			ID   string               `json:"event_id"`
			Type paddle.EventTypeName `json:"event_type"`
			At   time.Time            `json:"occurred_at"`
		}
		require.NoError(t, json.Unmarshal(text, &event))
		require.Equal(t, fmt.Sprintf("evt_%03d", at), event.ID)
		require.Equal(t, paddle.EventTypeNameTransactionCompleted, event.Type)
		require.True(t, event.At.Equal(start.Add(time.Duration(at)*time.Second)))
		at--
		return nil
	}))
	require.Equal(t, -1, at)
}
