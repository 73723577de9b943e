package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/oversight"
	"holdfast/operator"
	"holdfast/operator/access"
)

// refusals has one refused request per provider.
type refusals struct{}

func (refusals) Refusals(provider string) []oversight.ProviderRefusals {
	if provider == "" {
		provider = "acme"
	}
	skew := int64(-7)
	return []oversight.ProviderRefusals{{
		Provider: provider, Count: 1,
		Causes: []oversight.RefusalCause{{Cause: "bad_signature", Means: "it is wrong", Next: "correct it", Count: 1, LastAt: noon}},
		Last: []oversight.Refusal{{
			At: noon, Cause: "bad_signature", Status: 401, SkewMS: &skew, Headers: []string{"host"}, OtherHeaders: 2, BodyBytes: 9,
		}},
	}}
}

// A process that receives webhooks but serves no other part of the API still shows its refusals to clients with a token.
func TestRefusalsAreServedWithoutTheRestOfTheAPI(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	_, base := serve(t, operator.Options{Refusals: refusals{}, Tokens: tokens})
	require.Equal(t, 401, ask(t, "GET", base+"/refusals", "").status)
	r := ask(t, "GET", base+"/refusals?provider=stripe", "", bearer(texts[access.RoleViewer])...)
	require.Equal(t, 200, r.status)
	require.Contains(t, string(r.body), `"provider":"stripe"`)
	require.Equal(t, 400, ask(t, "GET", base+"/refusals?cause=x", "", bearer(texts[access.RoleViewer])...).status)
}
