package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/proxy"
)

// A list names each proxy once, with a URL that the parser can use to the end. Errors repeat nothing of a URL.
func TestListsOfProxies(t *testing.T) {
	t.Parallel()
	list, err := proxy.Parse("office=http://u:p%20%2C@10.0.0.5,  eu=socks5://10.1.0.5:1081\nlab=https://proxy.example.com?resolve=A.example.com" +
		"&resolve=*.hooks.example.com&resolve=10.0.0.9")
	require.NoError(t, err)
	require.Equal(t, []string{"office", "eu", "lab"}, list.Names())
	lab, ok := list.Find("lab")
	require.True(t, ok)
	for host, resolves := range map[string]bool{
		"a.example.com": true, "A.EXAMPLE.COM.": true, "x.hooks.example.com": true, "x.y.hooks.example.com": true, "10.0.0.9": true,
		"hooks.example.com": false, "evilhooks.example.com": false, "b.example.com": false, "10.0.0.8": false, "": false,
	} {
		require.Equal(t, resolves, lab.Resolves(host), host)
	}
	none, err := proxy.Parse(" ")
	require.NoError(t, err)
	require.Empty(t, none)

	for text, says := range map[string]string{
		"http://u:hunter2@h":                                   "entry 1 doesn't begin with a name",
		"a=http://h,B=http://u:hunter2@h":                      "entry 2 doesn't begin with a name",
		"direct=http://u:hunter2@h":                            "entry 1 is called direct",
		"a=http://u:hunter2@h,a=http://h":                      "two proxies are called a",
		"a=ftp://u:hunter2@h":                                  "proxy a has a scheme that is none of",
		"a=socks5h://u:hunter2@h":                              "use socks5",
		"a=u:hunter2@h:80":                                     "proxy a has no URL",
		"a=http://u:hunter2%zz@h":                              "proxy a has no URL",
		"a=http://u:hunter2@":                                  "proxy a has no URL",
		"a=http://u:hunter2@h/x":                               "a path",
		"a=http://u:hunter2@h?resolver=x":                      "a parameter other than resolve",
		"a=http://u:hunter2@h?resolve=":                        "resolve=HOST",
		"a=http://u:hunter2@h?resolve=*":                       "resolve=HOST",
		"a=http://u:hunter2@h?resolve=*x.example.com":          "resolve=HOST",
		"a=http://u:hunter2" + strings.Repeat("x", 255) + "@h": "more than 255 bytes",
		"a=http://u%3Ahunter2:x@h":                             "a user with a colon",
	} {
		_, err := proxy.Parse(text)
		require.ErrorContains(t, err, says, text)
		require.NotContains(t, err.Error(), "hunter2", text)
	}
}

// Whatever prints a proxy prints its name.
func TestAPrintShowsNoCredential(t *testing.T) {
	t.Parallel()
	list, err := proxy.Parse("office=http://u:hunter2@10.0.0.5")
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		require.NotContains(t, fmt.Sprintf(verb, list), "hunter2", verb)
		require.NotContains(t, fmt.Sprintf(verb, list[0]), "hunter2", verb)
	}
}
