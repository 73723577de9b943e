// Package operator is a client of Holdfast's operator API, generated from the API's OpenAPI document; New authenticates it and
// returns the API's errors as Go errors. It must not have routes or types of its own.
package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// New returns a client of the operator API at url, such as http://127.0.0.1:8081. Each request carries the token, unless it is
// empty. A request and its response have a minute, unless WithHTTPClient says otherwise; then errors aren't of type *Error.
func New(url, token string, options ...ClientOption) (*ClientWithResponses, error) {
	ours := []ClientOption{
		WithHTTPClient(doer{&http.Client{Timeout: time.Minute}}),
		WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			return nil
		}),
	}
	return NewClientWithResponses(url, append(ours, options...)...)
}

// Error is an error of the API.
type Error struct {
	Status int
	ErrorBody
}

func (e *Error) Error() string {
	text := fmt.Sprintf("operator API: status %d: %s: %s", e.Status, e.Code, e.Message)
	if e.Field != nil {
		text += " (field " + *e.Field + ")"
	}
	return text
}

// doer returns errors of the API as Go errors.
type doer struct{ client *http.Client }

// maxError is in bytes.
const maxError = 1 << 20

func (d doer) Do(request *http.Request) (*http.Response, error) {
	response, err := d.client.Do(request)
	if err != nil || response.StatusCode < 400 {
		return response, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxError))
	if err != nil {
		return nil, fmt.Errorf("read response with status %d: %w", response.StatusCode, err)
	}
	var read struct {
		Error *ErrorBody `json:"error"`
	}
	if json.Unmarshal(body, &read) != nil || read.Error == nil {
		response.Body = io.NopCloser(bytes.NewReader(body)) // /readyz, or a proxy
		return response, nil
	}
	return nil, &Error{response.StatusCode, *read.Error}
}
