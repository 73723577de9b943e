package fakeapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Style is the form of one provider's list.
type Style struct {
	method, path string
	// oauthPath is the path of the token endpoint; "" for none.
	oauthPath string
	allows    func(r *http.Request) bool
	// limit, cursor, from and to are the names of the parameters.
	limit, cursor, from, to string
	defaultLimit, maxLimit  int
	fromBody                func(r *http.Request) (url.Values, error)
	// isUnix means times in seconds; isExclusive, that bounds are excluded; isByID, the order of creation, not of times; isOffset
	// and isPage, that a cursor is a number of items, or of the page, and not an ID.
	isUnix, isExclusive, isByID, isOffset, isPage, isNewestFirst bool

	item   func(e Event) map[string]any
	answer func(w http.ResponseWriter, r *http.Request, items []any, next string) any
	// follows returns the request for one event, and its answer; nil if there is none.
	follows func(e Event) (method, path string, status int, answer any)
}

// Styles returns the styles by the name of the provider. "offset" is of no provider.
func Styles() map[string]Style {
	return map[string]Style{
		"stripe": stripe(), "gocardless": gocardless(), "paddle": paddle(), "paypal": paypal(), "square": square(),
		"chargebee": chargebee(), "workos": workos(), "okta": okta(), "trello": trello(), "coinbase-commerce": coinbase(),
		"github": github(), "gitlab": gitlab(), "easypost": easypost(), "resend": resend(),
		"offset": offset(),
	}
}

func hasBearer(r *http.Request) bool { return r.Header.Get("authorization") == "Bearer "+Credential }

func rfc3339(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func orNull(next string) any {
	if next == "" {
		return nil
	}
	return next
}

// stripe: https://docs.stripe.com/api/events/list
func stripe() Style {
	return Style{
		method: "GET", path: "/v1/events", allows: hasBearer,
		limit: "limit", defaultLimit: 10, maxLimit: 100, cursor: "starting_after", from: "created[gte]", to: "created[lte]",
		isUnix: true, isNewestFirst: true,
		item: func(e Event) map[string]any {
			customer := map[string]any{"id": cmp.Or(e.Object, "cus_1"), "object": "customer"}
			if e.Text != "" {
				customer["description"] = e.Text
			}
			return map[string]any{
				"id": e.ID, "object": "event", "api_version": "2024-06-20", "created": e.Time.Unix(), "type": e.Type, "livemode": false,
				"pending_webhooks": 0, "data": map[string]any{"object": customer},
			}
		},
		answer: func(_ http.ResponseWriter, r *http.Request, items []any, next string) any {
			return map[string]any{"object": "list", "url": r.URL.Path, "has_more": next != "", "data": items}
		},
	}
}

// gocardless: https://developer.gocardless.com/api-reference/#events-list-events
func gocardless() Style {
	return Style{
		method: "GET", path: "/events",
		allows: func(r *http.Request) bool { return hasBearer(r) && r.Header.Get("gocardless-version") != "" },
		limit:  "limit", defaultLimit: 50, maxLimit: 500, cursor: "after", from: "created_at[gte]", to: "created_at[lte]",
		isNewestFirst: true,
		item: func(e Event) map[string]any {
			of, action, _ := strings.Cut(e.Type, ".")
			return map[string]any{
				"id": e.ID, "created_at": rfc3339(e.Time), "resource_type": of, "action": action,
				"links": map[string]any{"payment": "PM1"}, "metadata": map[string]any{},
				"details": map[string]any{"origin": "gocardless", "cause": "payment_" + action, "description": ""},
			}
		},
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, next string) any {
			return map[string]any{"events": items, "meta": map[string]any{
				"cursors": map[string]any{"before": nil, "after": orNull(next)}, "limit": len(items),
			}}
		},
	}
}

// paddle: https://developer.paddle.com/api-reference/events/list-events
func paddle() Style {
	return Style{
		method: "GET", path: "/events", allows: hasBearer,
		limit: "per_page", defaultLimit: 50, maxLimit: 200, cursor: "after", isByID: true, isNewestFirst: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"event_id": e.ID, "event_type": e.Type, "occurred_at": rfc3339(e.Time), "data": map[string]any{"id": "txn_1"},
			}
		},
		answer: func(_ http.ResponseWriter, r *http.Request, items []any, next string) any {
			return map[string]any{"data": items, "meta": map[string]any{"request_id": "r1", "pagination": map[string]any{
				"per_page": len(items), "next": with(r, "after", next), "has_more": next != "", "estimated_total": len(items),
			}}}
		},
	}
}

// paypal: https://developer.paypal.com/docs/api/webhooks/v1/#webhooks-events_list. The next link has several parameters of its
// own.
func paypal() Style {
	return Style{
		method: "GET", path: "/v1/notifications/webhooks-events", oauthPath: "/v1/oauth2/token", allows: hasBearer,
		limit: "page_size", defaultLimit: 10, maxLimit: 300, cursor: "offset", from: "start_time", to: "end_time",
		isOffset: true, isNewestFirst: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"id": e.ID, "create_time": rfc3339(e.Time), "event_type": e.Type, "event_version": "1.0", "resource_type": "capture",
				"resource": map[string]any{"id": "CAP1", "status": "COMPLETED"}, "links": []any{},
			}
		},
		answer: func(_ http.ResponseWriter, r *http.Request, items []any, next string) any {
			links := []any{map[string]any{"href": "https://" + r.Host + r.URL.Path, "rel": "self", "method": "GET"}}
			if next != "" {
				href := with(r, "offset", next) + "&move_to=next"
				links = append(links, map[string]any{"href": href, "rel": "next", "method": "GET"})
			}
			return map[string]any{"events": items, "count": len(items), "links": links}
		},
	}
}

// square: https://developer.squareup.com/reference/square/events-api/search-events
func square() Style {
	return Style{
		method: "POST", path: "/v2/events", allows: hasBearer, fromBody: squareParameters,
		limit: "limit", defaultLimit: 100, maxLimit: 100, cursor: "cursor", from: "from", to: "to", isOffset: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"merchant_id": "ML1", "type": e.Type, "event_id": e.ID, "created_at": rfc3339(e.Time),
				"data": map[string]any{"type": "payment", "id": "PAY1", "object": map[string]any{"payment": map[string]any{"id": "PAY1"}}},
			}
		},
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, next string) any {
			answer := map[string]any{"events": items}
			if next != "" {
				answer["cursor"] = next
			}
			return answer
		},
	}
}

func squareParameters(r *http.Request) (url.Values, error) {
	var body struct {
		Cursor string
		Limit  int
		Query  struct {
			Filter struct {
				CreatedAt struct {
					StartAt string `json:"start_at"`
					EndAt   string `json:"end_at"`
				} `json:"created_at"`
			}
		}
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	between := body.Query.Filter.CreatedAt
	return url.Values{
		"cursor": {body.Cursor}, "limit": {strconv.Itoa(body.Limit)}, "from": {between.StartAt}, "to": {between.EndAt},
	}, err
}

// chargebee: https://apidocs.chargebee.com/docs/api/events#list_events
func chargebee() Style {
	return Style{
		method: "GET", path: "/api/v2/events",
		allows: func(r *http.Request) bool {
			user, password, _ := r.BasicAuth()
			return user == Credential && password == ""
		},
		limit: "limit", defaultLimit: 10, maxLimit: 100, cursor: "offset", from: "occurred_at[after]", to: "occurred_at[before]",
		isUnix: true, isExclusive: true, isOffset: true,
		item: func(e Event) map[string]any {
			return map[string]any{"event": map[string]any{
				"id": e.ID, "occurred_at": e.Time.Unix(), "event_type": e.Type, "object": "event", "api_version": "v2",
				"webhook_status": "failed", "content": map[string]any{"customer": map[string]any{"id": "c1", "resource_version": 1}},
			}}
		},
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, next string) any {
			answer := map[string]any{"list": items}
			if next != "" {
				answer["next_offset"] = next
			}
			return answer
		},
	}
}

// workos: https://workos.com/docs/reference/events/list
func workos() Style {
	return Style{
		method: "GET", path: "/events", allows: hasBearer,
		limit: "limit", defaultLimit: 10, maxLimit: 100, cursor: "after", from: "range_start", to: "range_end",
		item: func(e Event) map[string]any {
			return map[string]any{
				"object": "event", "id": e.ID, "event": e.Type, "created_at": rfc3339(e.Time), "context": map[string]any{},
				"data": map[string]any{"id": "directory_user_1", "object": "directory_user"},
			}
		},
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, next string) any {
			return map[string]any{"object": "list", "data": items, "list_metadata": map[string]any{"after": orNull(next), "before": nil}}
		},
	}
}
