package fakeapi

import (
	"net/http"
	"strings"
)

// okta: https://developer.okta.com/docs/api/openapi/okta-management/management/tag/SystemLog/. Between since and until, the last
// page has no next link.
func okta() Style {
	return Style{
		method: "GET", path: "/api/v1/logs",
		allows: func(r *http.Request) bool { return r.Header.Get("authorization") == "SSWS "+Credential },
		limit:  "limit", defaultLimit: 100, maxLimit: 1000, cursor: "after", from: "since", to: "until", isOffset: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"uuid": e.ID, "eventType": e.Type, "published": rfc3339(e.Time), "severity": "INFO",
				"actor": map[string]any{"id": "00u1", "type": "User"}, "target": []any{},
			}
		},
		answer: func(w http.ResponseWriter, r *http.Request, items []any, next string) any {
			w.Header().Add("link", "<https://"+r.Host+r.URL.RequestURI()+`>; rel="self"`)
			if next != "" {
				w.Header().Add("link", "<"+with(r, "after", next)+`>; rel="next"`)
			}
			return items
		},
	}
}

// trello: https://developer.atlassian.com/cloud/trello/rest/api-group-boards/#api-boards-boardid-actions-get. The answer says
// nothing about further pages.
func trello() Style {
	return Style{
		method: "GET", path: "/1/boards/b1/actions",
		allows: func(r *http.Request) bool {
			header := r.Header.Get("authorization")
			return strings.HasPrefix(header, `OAuth oauth_consumer_key="`) && strings.Contains(header, `oauth_token="`+Credential+`"`)
		},
		limit: "limit", defaultLimit: 50, maxLimit: 1000, cursor: "before", from: "since", isExclusive: true, isNewestFirst: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"id": e.ID, "type": e.Type, "date": rfc3339(e.Time), "idMemberCreator": "m1",
				"data": map[string]any{"card": map[string]any{"id": "c1", "name": "Door"}, "board": map[string]any{"id": "b1"}},
			}
		},
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, _ string) any { return items },
	}
}

// coinbase: github.com/coinbase/coinbase-commerce-node, lib/resources/Event.js
func coinbase() Style {
	return Style{
		method: "GET", path: "/events",
		allows: func(r *http.Request) bool { return r.Header.Get("x-cc-api-key") == Credential },
		limit:  "limit", defaultLimit: 25, maxLimit: 100, cursor: "starting_after", isNewestFirst: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"id": e.ID, "resource": "event", "type": e.Type, "api_version": "2018-03-22", "created_at": rfc3339(e.Time),
				"data": map[string]any{"id": "ch1", "code": "66BEOV2A"},
			}
		},
		answer: func(_ http.ResponseWriter, r *http.Request, items []any, next string) any {
			pagination := map[string]any{"order": "desc", "limit": len(items), "yielded": len(items), "next_uri": nil}
			if next != "" {
				pagination["next_uri"] = with(r, "starting_after", next)
			}
			return map[string]any{"data": items, "pagination": pagination}
		},
	}
}

// offset is the form of many smaller APIs: the cursor is the number of items before the page.
func offset() Style {
	return Style{
		method: "GET", path: "/events", allows: hasBearer,
		limit: "limit", defaultLimit: 20, maxLimit: 100, cursor: "offset", from: "since", isOffset: true,
		item: func(e Event) map[string]any {
			return map[string]any{"id": e.ID, "type": e.Type, "time": rfc3339(e.Time)}
		},
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, _ string) any {
			return map[string]any{"results": items}
		},
	}
}
