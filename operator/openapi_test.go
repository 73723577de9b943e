package operator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/httpapi"
)

var parameter = regexp.MustCompile(`:(\w+)`)

// everything returns a server with all routes.
func everything(t *testing.T, tokens access.Tokens) (server *operator.Server, url string) {
	t.Helper()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			w.Header().Set("Content-Type", "text/plain")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})
	return serve(t, operator.Options{
		API: (&stub{noSuch: "new", idleConnections: someWaiting()}).api(), Refusals: refusals{}, Tokens: tokens,
		Metrics: metrics, MetricsJSON: metrics, MetricsHistory: metrics,
	})
}

// The document is valid OpenAPI 3.1, lists exactly the registered routes with their roles, and matches the responses.
func TestTheDocumentIsTrue(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	server, url := everything(t, tokens)
	r := ask(t, "GET", url+"/openapi.json", "", bearer(texts[access.RoleViewer])...)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	document, err := openapi3.NewLoader().LoadFromData(r.body)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(document.OpenAPI, "3.1"))
	require.NoError(t, document.Validate(context.Background()))

	documented := map[string]bool{}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			documented[method+" "+path] = true
		}
	}
	for _, route := range server.Registered() {
		path := parameter.ReplaceAllString(route.Path, "{$1}")
		name := route.Method + " " + path
		require.True(t, documented[name], "%s is not documented", name)
		delete(documented, name)
		operation := document.Paths.Find(path).GetOperation(route.Method)
		require.EqualValues(t, access.Needs(route.Method, route.Path), operation.Extensions["x-role"], name)
		for _, role := range []access.Role{access.RoleViewer, access.RoleAdmin} {
			answer := ask(t, route.Method, url+target(route.Method, route.Path), sample(route.Path), bearer(texts[role])...)
			requireDocumented(t, document, path, operation, route.Method, answer)
		}
		wrong := ask(t, route.Method, url+target(route.Method, route.Path)+"?nonsense=1", sample(route.Path), bearer(texts["admin"])...)
		requireDocumented(t, document, path, operation, route.Method, wrong)
	}
	require.Empty(t, documented, "documented and not served")
}

// The document lists every value of each enumeration.
func TestTheDocumentNamesEveryValue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var document any
	require.NoError(t, json.Unmarshal(text, &document))
	sets := map[string]any{
		"class": anyOf(event.Classes()), "step": anyOf(event.Steps()), "phase": anyOf(event.Phases()),
	}
	seen := map[string]int{}
	requireValues(t, document, func(name string, schema map[string]any) {
		if wanted, ok := sets[name]; ok && schema["type"] == "string" {
			require.ElementsMatch(t, wanted, schema["enum"], name)
			seen[name]++
		}
	})
	for name := range sets {
		require.Greater(t, seen[name], 1, name)
	}
}

// The bounds in the tags of bodies are those that handlers check.
func TestTheDocumentHasTheBounds(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	field := func(path, name string) *openapi3.Schema {
		return document.Paths.Find(path).Post.RequestBody.Value.Content["application/json"].Schema.Value.Properties[name].Value
	}
	for _, kind := range []operation.Kind{operation.KindReplay, operation.KindRebuild, operation.KindResend} {
		rate, rates := field("/"+kind.Plural(), "rate"), kind.Rates()
		require.Equal(t, []any{rates.Min, rates.Max, rates.Default}, []any{*rate.Min, *rate.Max, rate.Default}, kind)
	}
	require.EqualValues(t, httpapi.MaxText, *field("/replays", "reason").MaxLength)
	require.InDelta(t, operation.MaxCleanup, *field("/dead-letters/cleanup", "limit").Max, 0)
	for _, name := range []string{"Rebuild", "Import"} {
		require.EqualValues(t, operation.MaxProblems, *document.Components.Schemas[name].Value.Properties["problems"].Value.MaxItems)
	}
}

var routeInText = regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/[^` ?]*)")

// The routes that pages name exist, on this port or on the public one.
func TestThePagesNameRoutesThatExist(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	known := map[string]bool{}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			known[method+" "+variable.ReplaceAllString(path, "{}")] = true
		}
	}
	for route := range access.Routes() {
		known[parameters.ReplaceAllString(route, "{}")] = true
	}
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	named := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, route := range routeInText.FindAllStringSubmatch(string(text), -1) {
			if !isPublic(route[1], route[2]) {
				require.True(t, known[route[1]+" "+variable.ReplaceAllString(route[2], "{}")], "%s names %s", page, route[0])
				named++
			}
		}
	}
	require.Greater(t, named, 10)
}

// isPublic reports whether a route belongs to the public port.
func isPublic(method, path string) bool {
	return strings.HasPrefix(path, "/webhooks/") || method+" "+path == "POST /events" || method+" "+path == "GET /health"
}

var variable = regexp.MustCompile(`\{\w+\}`)

func anyOf[T ~string](all []T) (values []any) {
	for _, one := range all {
		values = append(values, string(one))
	}
	return values
}

// requireValues calls check for each parameter and each property below the value.
func requireValues(t *testing.T, value any, check func(name string, schema map[string]any)) {
	t.Helper()
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			requireValues(t, one, check)
		}
	case map[string]any:
		if schema, ok := v["schema"].(map[string]any); ok && v["in"] == "query" {
			check(fmt.Sprint(v["name"]), schema)
		}
		if properties, ok := v["properties"].(map[string]any); ok {
			for name, property := range properties {
				if schema, ok := property.(map[string]any); ok {
					check(name, schema)
				}
			}
		}
		for _, one := range v {
			requireValues(t, one, check)
		}
	}
}

// requireDocumented compares a response with the document.
func requireDocumented(
	t *testing.T, document *openapi3.T, path string, operation *openapi3.Operation, method string, r reply,
) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, nil)
	require.NoError(t, err)
	input := &openapi3filter.RequestValidationInput{
		Request: request,
		Route:   &routers.Route{Spec: document, Path: path, PathItem: document.Paths.Find(path), Method: method, Operation: operation},
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: r.status, Header: r.header,
		Body:    readCloser{bytes.NewReader(r.body)},
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	require.NoError(t, err, "%s %s: %d %s", method, path, r.status, r.body)
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
