package console

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// grownPlan counts one dead letter more than the form showed.
type grownPlan struct{ api.BulkReplayer }

func (grownPlan) Plan(context.Context, operation.ReplayFilter, int) (operation.ReplayPlan, error) {
	return operation.ReplayPlan{Count: 2}, nil
}

func (g grownPlan) Count(ctx context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error) {
	return g.Plan(ctx, f, 0)
}

// An invalid reason is refused before anything is counted.
func TestAReplayChecksItsFormFirst(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{Replays: grownPlan{}}})
	app := fiber.New()
	var got error
	app.Post("/", func(ctx *fiber.Ctx) error {
		httpapi.AcceptForm(ctx)
		got = c.startReplay(ctx)
		return nil
	})
	form := url.Values{"count": {"1"}, "rate": {""}, "reason": {strings.Repeat("x", httpapi.MaxText+1)}}
	r := httptest.NewRequest(fiber.MethodPost, "/?state=open", strings.NewReader(form.Encode()))
	r.Header.Set(fiber.HeaderContentType, fiber.MIMEApplicationForm)
	response, err := app.Test(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, httpapi.BadField("reason"), got)
}
