package frame

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/guard"
)

// flashCookie carries a message to the next page.
const flashCookie = "holdfast_flash"

// Flash is a message that the next page shows once.
type Flash struct {
	Text string `json:"text"`
	// Bad reports a failure.
	Bad bool `json:"bad,omitempty"`
}

// Done redirects to the result of an action and shows a message there. The address is one of ours, without the prefix.
func (f *Frame) Done(ctx *fiber.Ctx, to, text string) error {
	return f.RedirectWith(ctx, to, Flash{Text: text})
}

// RedirectFailed redirects to a page that shows why an action failed.
func (f *Frame) RedirectFailed(ctx *fiber.Ctx, to, text string) error {
	return f.RedirectWith(ctx, to, Flash{Text: text, Bad: true})
}

// RedirectWith redirects to a page that shows a message.
func (f *Frame) RedirectWith(ctx *fiber.Ctx, to string, shortText Flash) error {
	encoded, err := json.Marshal(shortText)
	if err != nil {
		return err
	}
	setFlash(ctx, f.prefix, base64.RawURLEncoding.EncodeToString(encoded), time.Now().Add(time.Minute))
	return ctx.Redirect(f.prefix+to, fiber.StatusSeeOther)
}

func setFlash(ctx *fiber.Ctx, prefix, value string, until time.Time) {
	ctx.Cookie(&fiber.Cookie{
		Name: flashCookie, Value: value, Path: prefix + Home, Expires: until, HTTPOnly: true,
		SameSite: fiber.CookieSameSiteStrictMode, Secure: guard.IsHTTPS(ctx),
	})
}

func takeFlash(ctx *fiber.Ctx, prefix string) *Flash {
	value := ctx.Cookies(flashCookie)
	if value == "" {
		return nil
	}
	setFlash(ctx, prefix, "", time.Unix(1, 0))
	raw, err := base64.RawURLEncoding.DecodeString(value)
	f := &Flash{}
	if err != nil || json.Unmarshal(raw, f) != nil {
		return nil
	}
	return f
}
