package frame

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
)

const loginPath = "/console/login"

// login is the data of the login page.
type login struct {
	// Next is where a user goes after logging in.
	Next string
	// Bounce reloads the page: a browser that comes from another site hasn't sent its session cookie.
	Bounce string
	Failed *httpapi.Failure
}

// showLogin also handles the link with a ticket that `holdfast dev` prints.
func (f *Frame) showLogin(ctx *fiber.Ctx) error {
	next := f.local(ctx.Query("next"))
	if _, ok := guard.LoggedIn(ctx); ok {
		return ctx.Redirect(next, fiber.StatusSeeOther)
	}
	if ticket := ctx.Query("ticket"); ticket != "" {
		if err := guard.LogInByLink(ctx, ticket); err != nil {
			return f.showFailedLogin(ctx, next, err, "This link has expired: each logs in once, within a few minutes.")
		}
		return ctx.Redirect(next, fiber.StatusSeeOther)
	}
	data := login{Next: next}
	if site := ctx.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && ctx.Query("again") == "" {
		data.Bounce = f.prefix + loginPath + "?again=1&" + Query("next", next)
	}
	return f.Show(ctx, "login", Page{Title: "Log in", Data: data})
}

func (f *Frame) logIn(ctx *fiber.Ctx) error {
	next := f.local(ctx.FormValue("next"))
	if err := guard.LogIn(ctx, strings.TrimSpace(ctx.FormValue("token"))); err != nil {
		return f.showFailedLogin(ctx, next, err, "Unknown token.")
	}
	return ctx.Redirect(next, fiber.StatusSeeOther)
}

func (f *Frame) showFailedLogin(ctx *fiber.Ctx, next string, err error, why string) error {
	shown := guard.FailureOf(ctx, err)
	if shown.Status == fiber.StatusUnauthorized {
		shown.Message = why
	}
	ctx.Response().Header.Del(fiber.HeaderWWWAuthenticate) // a browser would ask for a password
	return f.Show(ctx.Status(shown.Status), "login", Page{Title: "Log in", Data: login{Next: next, Failed: &shown}})
}

func (f *Frame) logOut(ctx *fiber.Ctx) error {
	if err := guard.LogOut(ctx); err != nil {
		return err
	}
	return ctx.Redirect(f.prefix+loginPath, fiber.StatusSeeOther)
}

// local returns an address of the console; any other becomes its first page.
func (f *Frame) local(to string) string {
	home := f.prefix + Home
	rest, ok := strings.CutPrefix(to, home)
	if !ok || rest != "" && !strings.ContainsRune("/?", rune(rest[0])) || strings.ContainsAny(to, "\\\r\n") {
		return home
	}
	return to
}
