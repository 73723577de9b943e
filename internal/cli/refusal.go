package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

// RefusalError is an error response of the operator API. It is event.ErrNotFound if the response says so.
type RefusalError struct {
	httpapi.ErrorBody

	Status int
	// By is the URL of the server; "" for the API in this process.
	By string
}

// Error also says what to do, if that is known.
func (r *RefusalError) Error() string {
	switch {
	case r.Status == http.StatusUnauthorized:
		return "the token is invalid or missing: create one with `holdfast token new ada operator`, and set " + TokenVariable +
			" to the token that it prints"
	case r.Code == httpapi.CodeForbidden:
		return Printable(cmp.Or(r.Detail, r.Message))
	}
	said := cmp.Or(r.Detail, r.Message)
	if r.Field != "" {
		said = r.Field + ": " + said
	}
	if r.By != "" {
		said = fmt.Sprintf("%s responded %d %s %s", r.By, r.Status, r.Code, said)
	}
	return Printable(strings.TrimSpace(said))
}

// Is makes the error an event.ErrNotFound if the object doesn't exist.
func (r *RefusalError) Is(target error) bool {
	return target == event.ErrNotFound && r.Code == httpapi.CodeNoSuchThing
}

// IsFinal reports whether retrying is pointless.
func (r *RefusalError) IsFinal() bool {
	return r.Status >= 400 && r.Status < 500 && r.Status != http.StatusRequestTimeout && r.Status != http.StatusTooManyRequests
}

// explain names the flag whose value was refused, and says how to reach a store that didn't answer.
func explain(c *cobra.Command, a *API, err error) error {
	var refused *RefusalError
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Code == httpapi.CodeUnavailable && a.local != nil {
		return outage(c, a.Cfg, err)
	}
	flag := flagOf(c, refused)
	if flag == nil {
		return err
	}
	advice := cmp.Or(refused.Detail, refused.Message)
	if refused.Code == httpapi.CodeBadCursor {
		advice = "use the one that the previous page printed"
	}
	return UsageError(c, fmt.Errorf("invalid --%s %q: %s", flag.Name, flag.Value, advice))
}

// flagOf returns the flag whose value was refused; nil if none was.
func flagOf(c *cobra.Command, refused *RefusalError) (found *pflag.Flag) {
	name := refused.Field
	if refused.Code == httpapi.CodeBadCursor {
		name = "cursor"
	}
	if refused.Status != http.StatusBadRequest || name == "" {
		return nil
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if parameter := parameterOf(f); parameter == name || parameter == "" && strings.ReplaceAll(f.Name, "-", "_") == name {
			found = f
		}
	})
	return found
}

// notFoundError is an event.ErrNotFound with its own text.
type notFoundError struct{ text string }

func (m *notFoundError) Error() string        { return m.text }
func (m *notFoundError) Is(target error) bool { return target == event.ErrNotFound }

// NotFound returns an event.ErrNotFound with a text that says where to find the right name.
func NotFound(format string, args ...any) error { return &notFoundError{fmt.Sprintf(format, args...)} }
