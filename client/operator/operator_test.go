package operator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsOfTheAPIAreGoErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer token":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"code":"unauthenticated","message":"no token","request_id":"r1"}}`)
		case r.URL.Path == "/readyz":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"ready":false}`)
		case r.URL.Query().Get("cursor") == "x":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"code":"bad_cursor","message":"unknown","field":"cursor","request_id":"r2"}}`)
		default:
			_, _ = io.WriteString(w, `{"items":[]}`)
		}
	}))
	defer server.Close()

	stranger, err := New(server.URL, "")
	require.NoError(t, err)
	_, err = stranger.ListEventsWithResponse(t.Context(), nil)
	require.EqualError(t, err, "operator API: status 401: unauthenticated: no token")

	api, err := New(server.URL, "token")
	require.NoError(t, err)
	page, err := api.ListEventsWithResponse(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, page.JSON200.Items)
	cursor := "x"
	_, err = api.ListEventsWithResponse(t.Context(), &ListEventsParams{Cursor: &cursor})
	var problem *Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, []string{"bad_cursor", "cursor", "r2"}, []string{string(problem.Code), *problem.Field, problem.RequestId})
	require.EqualError(t, err, "operator API: status 400: bad_cursor: unknown (field cursor)")
	ready, err := api.ReadyWithResponse(t.Context())
	require.NoError(t, err)
	require.NotNil(t, ready.JSON503)
}
