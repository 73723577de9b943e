package console_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// The footer's switch sets a cookie, and the choice can be undone; without scripts as well.
func TestColorsFollowTheUsersChoice(t *testing.T) {
	t.Parallel()
	s := start(t, "/tools", false)
	v := newVisitor(t)
	_, page := v.get(s.url + "/console?window=6h")
	require.Contains(t, page, `<html lang="en">`)
	choose := func(theme, next string) (page string) {
		proof := proofField.FindStringSubmatch(page)
		if proof == nil {
			_, plain := v.get(s.url + "/console")
			proof = proofField.FindStringSubmatch(plain)
		}
		res, _ := v.ask("POST", s.url+"/tools/console/theme", url.Values{"csrf": {proof[1]}, "theme": {theme}, "next": {next}})
		require.Equal(t, 303, res.StatusCode)
		require.Equal(t, "/tools/console?window=6h", res.Header.Get("Location"))
		_, page = v.get(s.url + "/tools/console")
		return page
	}
	require.Contains(t, page, `name="next" value="/tools/console?window=6h"`)
	require.Contains(t, choose("dark", "/tools/console?window=6h"), `data-theme="dark"`)
	require.Contains(t, choose("light", "/tools/console?window=6h"), `data-theme="light"`)
	require.NotContains(t, choose("", "/tools/console?window=6h"), "data-theme")
	require.NotContains(t, choose(`"><b>`, "/tools/console?window=6h"), "data-theme")
	res, _ := v.ask("POST", s.url+"/console/theme", url.Values{"theme": {"dark"}})
	require.Equal(t, 403, res.StatusCode)
}
