package frame

import (
	"net/url"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/exchange"
)

// Fail answers with a page that says what went wrong, and never how. Who has not logged in may do so, and then goes on; also from
// an address that is locked out, since a token that is right passes there.
func (f *Frame) Fail(ctx *fiber.Ctx, why exchange.Failure) error {
	if (why.Code == "unauthenticated" || why.Code == "locked_out") && ctx.Get("Hx-Request") == "" {
		next := url.Values{}
		if ctx.Method() == fiber.MethodGet {
			next.Set("next", f.here(ctx))
		}
		return ctx.Redirect(f.prefix+loginPath+"?"+next.Encode(), fiber.StatusSeeOther)
	}
	return f.Show(ctx, "error", Page{Title: titleOf(why.Status), Data: why})
}

// here is the address of this request as browsers see it, whatever a proxy has taken off.
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
