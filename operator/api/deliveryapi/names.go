package deliveryapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

// nameCursor is a position in a list by name.
type nameCursor struct {
	Name string `json:"name"`
}

// afterName parses the parameters of a list by name.
func afterName(c *fiber.Ctx) (after string, limit int, err error) {
	q := httpapi.QueryOf(c, pageParameters...)
	limit = q.Limit()
	if place := httpapi.CursorOf(q, func(p nameCursor) bool { return p.Name != "" }); place != nil {
		after = place.Name
	}
	return after, limit, q.Err
}

// mustBeNew refuses a name that is taken.
func mustBeNew[T any](ctx context.Context, kind, name string, read func(context.Context, string) (T, error)) error {
	if name == "" {
		return httpapi.MissingField("name")
	}
	_, err := read(ctx, name)
	switch {
	case errors.Is(err, event.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	detail := fmt.Sprintf("there is a %s %s: PATCH /%ss/%s changes it", kind, name, kind, name)
	if kind == "destination" {
		detail += `, and a subscription names it by "to"`
	}
	return &httpapi.RefusalError{Code: httpapi.CodeRefused, Field: "name", Detail: detail}
}
