package fakeapi

import (
	"fmt"
	"hash/fnv"
	"net/http"
)

// Targets are what the logs of deliveries are of, by the name of the provider.
func Targets() map[string]string {
	return map[string]string{
		"github": "repos/acme/app/hooks/1", "gitlab": "projects/7/hooks/1", "resend": "4dd369bc-aa82-4ff3-97de-514ae3000ee0",
	}
}

// numberOf is the number that a log gives an event, greater than what a float64 can hold.
func numberOf(e Event) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(e.ID)) // never fails
	return 1<<60 + uint64(h.Sum32())
}

func statusOf(e Event) int {
	if e.IsDelivered {
		return http.StatusOK
	}
	return http.StatusBadGateway
}

// linked answers with a list, and the next page in the Link header.
func linked(cursor string) func(w http.ResponseWriter, r *http.Request, items []any, next string) any {
	return func(w http.ResponseWriter, r *http.Request, items []any, next string) any {
		if next != "" {
			w.Header().Add("link", "<"+with(r, cursor, next)+`>; rel="next"`)
		}
		return items
	}
}

// github: https://docs.github.com/rest/repos/webhooks#list-deliveries-for-a-repository-webhook
func github() Style {
	path := "/" + Targets()["github"] + "/deliveries"
	return Style{
		method: "GET", path: path, allows: hasBearer,
		limit: "per_page", defaultLimit: 30, maxLimit: 100, cursor: "cursor", isNewestFirst: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"id": numberOf(e), "guid": e.ID, "delivered_at": rfc3339(e.Time), "redelivery": false, "duration": 0.27,
				"status": http.StatusText(statusOf(e)), "status_code": statusOf(e), "event": "issues", "action": "opened",
				"installation_id": nil, "repository_id": 186,
			}
		},
		answer: linked("cursor"),
		follows: func(e Event) (method, at string, status int, answer any) {
			return "POST", fmt.Sprintf("%s/%d/attempts", path, numberOf(e)), http.StatusAccepted, map[string]any{}
		},
	}
}

// gitlab: https://docs.gitlab.com/api/project_webhooks/#list-project-webhook-events
func gitlab() Style {
	path := "/api/v4/" + Targets()["gitlab"] + "/events"
	return Style{
		method: "GET", path: path,
		allows: func(r *http.Request) bool { return r.Header.Get("private-token") == Credential },
		limit:  "per_page", defaultLimit: 20, maxLimit: 100, cursor: "page", isPage: true, isNewestFirst: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"id": numberOf(e), "url": "https://hooks.example.com", "trigger": "push_hooks", "created_at": rfc3339(e.Time),
				"request_headers": map[string]any{"Idempotency-Key": e.ID, "X-Gitlab-Token": "[REDACTED]"},
				"request_data":    map[string]any{"object_kind": "push", "project_id": 7}, "response_headers": map[string]any{},
				"response_body": "", "execution_duration": 1.09, "response_status": fmt.Sprint(statusOf(e)),
			}
		},
		answer: linked("page"),
		follows: func(e Event) (method, at string, status int, answer any) {
			return "POST", fmt.Sprintf("%s/%d/resend", path, numberOf(e)), http.StatusCreated, map[string]any{"response_status": 200}
		},
	}
}

// easypost: https://docs.easypost.com/docs/events/payloads; pages as in EasyPost/easypost-ruby, lib/easypost/services/event.rb
func easypost() Style {
	return Style{
		method: "GET", path: "/v2/events",
		allows: func(r *http.Request) bool {
			user, password, _ := r.BasicAuth()
			return user == Credential && password == ""
		},
		limit: "page_size", defaultLimit: 20, maxLimit: 100, cursor: "before_id", isNewestFirst: true,
		item: func(e Event) map[string]any {
			return map[string]any{
				"id": e.ID, "object": "Event", "description": e.Type, "mode": "production", "created_at": rfc3339(e.Time),
				"status": "failed", "pending_urls": []any{}, "completed_urls": []any{},
			}
		},
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, next string) any {
			return map[string]any{"events": items, "has_more": next != ""}
		},
		follows: func(e Event) (method, at string, status int, answer any) {
			body := fmt.Sprintf(`{"id": %q, "description": %q, "result": {"id": "trk_1", "object": "Tracker"}}`, e.ID, e.Type)
			return "GET", "/v2/events/" + e.ID + "/payloads", http.StatusOK, map[string]any{"payloads": []any{map[string]any{
				"id": "payload_1", "object": "Payload", "request_body": body, "response_code": 503,
			}}}
		},
	}
}

// resend: https://resend.com/docs/api-reference/webhooks/list-events
func resend() Style {
	path := "/webhooks/" + Targets()["resend"] + "/events"
	itemOf := func(e Event) map[string]any {
		status := map[bool]string{true: "success", false: "failed"}[e.IsDelivered]
		return map[string]any{"id": e.ID, "type": e.Type, "created_at": rfc3339(e.Time), "status": status}
	}
	return Style{
		method: "GET", path: path, allows: hasBearer,
		limit: "limit", defaultLimit: 20, maxLimit: 100, cursor: "after", isNewestFirst: true,
		item: itemOf,
		answer: func(_ http.ResponseWriter, _ *http.Request, items []any, next string) any {
			return map[string]any{"object": "list", "has_more": next != "", "data": items}
		},
		follows: func(e Event) (method, at string, status int, answer any) {
			one := itemOf(e)
			one["object"], one["next_attempt_at"] = "webhook_event", nil
			one["payload"] = map[string]any{"type": e.Type, "created_at": rfc3339(e.Time), "data": map[string]any{"email_id": "e1"}}
			return "GET", path + "/" + e.ID, http.StatusOK, one
		},
	}
}
