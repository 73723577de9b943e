package operator_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/payloadcodec"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
)

const temporalWeb = "https://temporal.example.com"

// For a page of Temporal Web:
//   - the preflight of its origin succeeds without a token and allows the request
//   - with an operator's token the page gets its payloads, and with a viewer's it can read the refusal
//   - other origins are refused, and Temporal Web's gets no other route
func TestTemporalWebMayAskForPayloads(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &stub{}
	_, url := serve(t, operator.Options{API: behind.api(), Tokens: tokens, TemporalWeb: []string{"http://a:1", temporalWeb}})
	preflight := func(path, origin string) reply {
		return ask(t, "OPTIONS", url+path, "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,x-namespace", "Sec-Fetch-Site", "cross-site")
	}
	allowed := preflight("/codec/decode", temporalWeb)
	require.Equal(t, 204, allowed.status)
	require.Equal(t, temporalWeb, allowed.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "POST", allowed.header.Get("Access-Control-Allow-Methods"))
	for _, name := range []string{"Content-Type", "X-Namespace", "Authorization"} {
		require.Contains(t, allowed.header.Get("Access-Control-Allow-Headers"), name)
	}
	require.Empty(t, allowed.header.Get("Access-Control-Allow-Credentials"))

	page := func(path, token, origin string) reply {
		return ask(t, "POST", url+path, `{"payloads":[]}`, append(bearer(token), "Origin", origin, "Sec-Fetch-Site", "cross-site")...)
	}
	decoded := page("/codec/decode", texts[access.RoleOperator], temporalWeb)
	require.Equal(t, 200, decoded.status, string(decoded.body))
	require.Equal(t, temporalWeb, decoded.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "application/json", decoded.header.Get("Content-Type"))
	refused := page("/codec/decode", texts[access.RoleViewer], temporalWeb)
	require.Equal(t, "403 forbidden", fmt.Sprint(refused.status, " ", refused.Error.Code))
	require.Equal(t, temporalWeb, refused.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, []string{"decode"}, behind.called())

	for _, other := range []string{"https://evil.example", "http://temporal.example.com", temporalWeb + ".evil.example", "null"} {
		require.Empty(t, preflight("/codec/decode", other).header.Get("Access-Control-Allow-Origin"), other)
		foreign := page("/codec/decode", texts[access.RoleOperator], other)
		require.Equal(t, "403 foreign_page", fmt.Sprint(foreign.status, " ", foreign.Error.Code), other)
	}
	require.Equal(t, "foreign_page", page("/dead-letters/7/replay", texts[access.RoleAdmin], temporalWeb).Error.Code)
	require.Empty(t, preflight("/dead-letters/7/replay", temporalWeb).header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, []string{"decode"}, behind.called())
}

// Without tokens, the page's origin is enough, but only for requests to an address of this machine.
func TestTemporalWebOfTheSameMachineNeedsNoToken(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, url := serve(t, operator.Options{API: behind.api(), TemporalWeb: []string{"http://127.0.0.1:8233"}})
	page := []string{"Origin", "http://127.0.0.1:8233", "Sec-Fetch-Site", "same-site"}
	require.Equal(t, 200, ask(t, "POST", url+"/codec/decode", "{}", page...).status)
	rebound := ask(t, "POST", url+"/codec/decode", "{}", append(page, "Host", "rebound.evil.example:8081")...)
	require.Equal(t, "foreign_page", rebound.Error.Code)

	_, closed := serve(t, operator.Options{API: behind.api()})
	require.Equal(t, "foreign_page", ask(t, "POST", closed+"/codec/decode", "{}", page...).Error.Code)
	require.Equal(t, 200, ask(t, "POST", closed+"/codec/decode", "{}").status, "a command line")
	require.Equal(t, []string{"decode", "decode"}, behind.called())
}

// Temporal's largest payload is decrypted, and an error reveals nothing of the payload.
func TestPayloadsAreTranslated(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	key, err := payloadcodec.NewKey("2026")
	require.NoError(t, err)
	codec := payloadcodec.New([]payloadcodec.Key{key})
	_, url := serve(t, operator.Options{API: &api.API{Payloads: codec}, Tokens: tokens})
	token := bearer(texts[access.RoleOperator])
	plain := fmt.Sprintf(`{"payloads":[{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":%q}]}`,
		base64.StdEncoding.EncodeToString([]byte(strings.Repeat("CANARY", 2<<20/6))))
	sealed := ask(t, "POST", url+"/codec/encode", plain, token...)
	require.Equal(t, 200, sealed.status)
	opened := ask(t, "POST", url+"/codec/decode", string(sealed.body), token...)
	require.Equal(t, 200, opened.status)
	require.JSONEq(t, plain, string(opened.body))
	tooLarge := ask(t, "POST", url+"/codec/decode", string(sealed.body), bearer(texts[access.RoleViewer])...)
	require.Equal(t, "too_large", tooLarge.Error.Code, "of others not even the body is read")

	unknown := `{"payloads":[{"metadata":{"encoding":"YmluYXJ5L2VuY3J5cHRlZA==","encryption-key-id":"b2xk"},"data":"Q0FOQVJZ"}]}`
	missing := ask(t, "POST", url+"/codec/decode", unknown, token...)
	require.Equal(t, "400 bad_payload", fmt.Sprint(missing.status, " ", missing.Error.Code))
	require.Contains(t, missing.Error.Detail, `"old"`)
	require.Equal(t, "bad_payload", ask(t, "POST", url+"/codec/decode", "CANARY", token...).Error.Code)
	form := ask(t, "POST", url+"/codec/decode", "{}", append(token, "Content-Type", "text/plain")...)
	require.Equal(t, "unsupported_media_type", form.Error.Code)
}
