package frame

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/guard"
)

// themeCookie keeps a user's choice of colors. Without it, the browser's setting decides.
const themeCookie = "holdfast_theme"

// themeTime is how long a choice is kept.
const themeTime = 365 * 24 * time.Hour

// themeOf returns "light" or "dark", or "" if the user hasn't chosen.
func themeOf(ctx *fiber.Ctx) string {
	if theme := ctx.Cookies(themeCookie); theme == "light" || theme == "dark" {
		return theme
	}
	return ""
}

// setTheme keeps the choice and shows the page again. Any value other than light and dark removes the choice.
func (f *Frame) setTheme(ctx *fiber.Ctx) error {
	theme, until := ctx.FormValue("theme"), time.Now().Add(themeTime)
	if theme != "light" && theme != "dark" {
		theme, until = "", time.Unix(1, 0)
	}
	ctx.Cookie(&fiber.Cookie{
		Name: themeCookie, Value: theme, Path: f.prefix + Home, Expires: until, HTTPOnly: true,
		SameSite: fiber.CookieSameSiteStrictMode, Secure: guard.IsHTTPS(ctx),
	})
	return ctx.Redirect(f.local(ctx.FormValue("next")), fiber.StatusSeeOther)
}
