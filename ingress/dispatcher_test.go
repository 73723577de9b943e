package ingress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"holdfast/ingress/intake"
)

// oldClients serves the paths of a dispatcher's clients.
type oldClients struct{}

func (oldClients) Serves(path string) bool             { return strings.HasPrefix(path, "/events/") }
func (oldClients) Handle(c *fasthttp.RequestCtx)       { c.SetStatusCode(http.StatusTeapot) }
func (oldClients) Check(string, string, []byte) string { return "" }

// A definition's own path takes precedence over a dispatcher's, also below the paths of the dispatcher's clients.
func TestADefinitionsPathGoesBeforeTheDispatchers(t *testing.T) {
	t.Parallel()
	d := openDoor(t, `
name: homemade
auth: [{token: {in: bearer, secrets: HOMEMADE_TOKEN}}]
paths: [/events/homemade]
type: .body.type
key: {parts: [.body.id], certainty: certain}
`, func(o *Options, _ *intake.Options) { o.Dispatcher = oldClients{} })
	for path, wanted := range map[string]int{
		"/events/homemade": http.StatusUnauthorized, "/events/evt_1": http.StatusTeapot, "/events/homemade/attempts": http.StatusTeapot,
	} {
		response, err := http.Post(d.url+path, "application/json", strings.NewReader(`{"type":"a"}`))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, wanted, response.StatusCode, path)
	}
}
