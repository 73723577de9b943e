package httpapi

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"holdfast/event"
)

type formFilter struct {
	Provider string      `json:"provider,omitempty"`
	Class    event.Class `json:"class,omitempty"`
}

type formBody struct {
	formFilter
	Reasoned

	All    bool            `json:"all,omitempty"`
	Rate   float64         `json:"rate,omitempty"`
	Limit  int             `json:"limit,omitempty"`
	Since  time.Time       `json:"since,omitzero"`
	Age    event.Duration  `json:"age,omitempty"`
	Grace  *event.Duration `json:"grace,omitempty"`
	Nested struct{ X int } `json:"nested"`
}

// submit sends a form to a page, or with isPage false to a route of the API.
func submit(t *testing.T, query string, fields url.Values, isPage bool) (read formBody, got error) {
	t.Helper()
	app := fiber.New(fiber.Config{Immutable: true})
	app.Post("/", func(c *fiber.Ctx) error {
		if isPage {
			AcceptForm(c)
		}
		got = ReadChange(c, &read)
		return nil
	})
	r := httptest.NewRequest(fiber.MethodPost, "/?"+query, strings.NewReader(fields.Encode()))
	r.Header.Set(fiber.HeaderContentType, fiber.MIMEApplicationForm)
	response, err := app.Test(r, -1)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return read, got
}

// A page's form has the fields of the route's body. What else it has is for the page.
func TestAFormIsABody(t *testing.T) {
	t.Parallel()
	day := event.Duration(24 * time.Hour)
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	read, err := submit(t, "provider=stripe&since=2026-11-20T08:00:00Z", url.Values{
		"class": {"rejected"}, "all": {"true"}, "rate": {"0.5"}, "limit": {"7"}, "age": {"1d"}, "grace": {"1d"}, "reason": {" why "},
		"csrf": {"x"}, "count": {"3"},
	}, true)
	require.NoError(t, err)
	require.Equal(t, formBody{
		formFilter: formFilter{"stripe", event.ClassRejected}, Reasoned: Reasoned{"why"}, All: true, Rate: 0.5, Limit: 7, Since: at,
		Age: day, Grace: &day,
	}, read)
	read, err = submit(t, "", url.Values{"rate": {" "}, "since": {""}}, true)
	require.NoError(t, err)
	require.Equal(t, formBody{}, read)
}

// A field that can't be used is named, and a filter in the address that the route lacks is never ignored. Routes of the API
// take no form, which any site can make a browser send.
func TestAFormIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"all": "maybe", "rate": "fast", "limit": "1.5", "since": "yesterday", "age": "old", "grace": "old", "nested": "1",
		"reason": strings.Repeat("x", MaxText+1),
	} {
		_, err := submit(t, "", url.Values{name: {text}}, true)
		var refused *RefusalError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, CodeBadField, refused.Code)
		require.Equal(t, name, refused.Field)
	}
	_, err := submit(t, "provider=stripe&event_id=1", nil, true)
	require.Equal(t, refuseField(CodeUnknownParameter, "event_id"), err)
	_, err = submit(t, "", url.Values{"reason": {"why"}}, false)
	require.Equal(t, Refuse(CodeMediaType), err)
}
