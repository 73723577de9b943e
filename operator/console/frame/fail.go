package frame

import (
	"net/url"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/httpapi"
)

// Fail responds with a page that says what failed without internal details. Users who aren't logged in can log in and then
// continue, even from a locked-out address, because a valid token is accepted there.
func (f *Frame) Fail(ctx *fiber.Ctx, why httpapi.Failure) error {
	if (why.Code == "unauthenticated" || why.Code == "locked_out") && ctx.Get("Hx-Request") == "" {
		next := url.Values{}
		if ctx.Method() == fiber.MethodGet {
			next.Set("next", f.here(ctx))
		}
		return ctx.Redirect(f.prefix+loginPath+"?"+next.Encode(), fiber.StatusSeeOther)
	}
	return f.Show(ctx, "error", Page{Title: titleOf(why.Status), Data: why})
}

// here returns the URL of this request as browsers see it, with the prefix that a proxy removed.
func (f *Frame) here(ctx *fiber.Ctx) string {
	at := f.prefix + ctx.Path()
	if asked := ctx.Request().URI().QueryString(); len(asked) > 0 {
		at += "?" + string(asked)
	}
	return at
}

func titleOf(status int) string {
	switch status {
	case fiber.StatusNotFound:
		return "Not found"
	case fiber.StatusGone:
		return "Gone"
	case fiber.StatusForbidden:
		return "Not allowed"
	case fiber.StatusConflict:
		return "Not now"
	case fiber.StatusBadRequest, fiber.StatusRequestEntityTooLarge:
		return "Invalid request"
	case fiber.StatusTooManyRequests:
		return "Too many attempts"
	case fiber.StatusServiceUnavailable:
		return "Unavailable"
	}
	return "Something went wrong"
}
