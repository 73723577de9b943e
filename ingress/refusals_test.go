package ingress

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

// Requests that are refused for all kinds of causes:
//   - the senders get one and the same answer
//   - the operator sees the cause, the claimed time, sizes and digests, and the names of known headers
//   - nothing that a sender wrote is kept, whether a value, a body or an invented name
func TestTheOperatorLearnsTheCauseAndTheSenderDoesNot(t *testing.T) {
	t.Parallel()
	refused := NewRefusals()
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.Refusals = refused })
	stripe, _ := d.catalogue.Lookup("stripe")
	const body, other = `{"id":"evt_1","type":"x"}`, "whsec_b3RoZXIgc2VjcmV0IG9mIHRoZSB0ZXN0cyAwMTIzNDU="
	sent := func(text, with string, at time.Time) *auth.Request {
		r := &auth.Request{Method: "POST", Path: "/webhooks/stripe", Body: []byte(text), Header: map[string][]string{}}
		require.NoError(t, stripe.Sign(r, with, at))
		return r
	}
	now := time.Now()
	spaced, forged := sent(body, secret, now), sent(body, other, now)
	spaced.Body = []byte(body + "\n")
	unsigned := &auth.Request{Method: "POST", Path: "/webhooks/stripe", Body: []byte(canary), Header: map[string][]string{}}
	foreign := sent(body, secret, now)
	foreign.Header["stripe-signature"] = []string{"sha256=" + canary}
	var answers []string
	for _, c := range []struct {
		r     *auth.Request
		cause denial.Reason
	}{
		{unsigned, denial.MissingSignature}, {foreign, denial.MalformedHeader}, {forged, denial.BadSignature},
		{spaced, denial.ModifiedBody}, {sent(body, secret, now.Add(-time.Hour)), denial.StaleTimestamp},
		{sent(body, secret, now.Add(time.Hour)), denial.TimestampFromFuture},
	} {
		c.r.Header["x-request-id"], c.r.Header["x-"+canary], c.r.Header["user-agent"] = []string{"r-cause"}, []string{canary}, []string{canary}
		answer := d.post(t, c.r)
		answer.header.Del("Date")
		answers = append(answers, fmt.Sprint(answer.status, answer.header, answer.raw))
		last := refused.Refusals("stripe")[0].Last[0]
		require.Equal(t, string(c.cause), last.Cause)
		require.Equal(t, 401, last.Status)
		sum := sha256.Sum256(c.r.Body)
		require.Equal(t, hex.EncodeToString(sum[:]), last.BodySHA256)
		require.Equal(t, len(c.r.Body), last.BodyBytes)
		require.Equal(t, 1, last.OtherHeaders)
		require.Contains(t, last.Headers, "user-agent")
		require.Equal(t, "127.0.0.1", last.Address)
	}
	for _, answer := range answers {
		require.Equal(t, answers[0], answer)
	}
	found := refused.Refusals("stripe")[0]
	require.EqualValues(t, 6, found.Count)
	require.Len(t, found.Causes, 6)
	require.NotEmpty(t, found.Causes[0].Next)
	require.InDelta(t, -time.Hour.Milliseconds(), *found.Last[0].SkewMS, 60_000)
	require.InDelta(t, time.Hour.Milliseconds(), *found.Last[1].SkewMS, 60_000)
	require.Contains(t, found.Last[2].Detail, "the body without surrounding white space")
	require.Contains(t, logged.line(`"reason":"modified_body"`), `"detail":"Checked header stripe-signature: timestamp OK (`)
	text, err := json.Marshal(found)
	require.NoError(t, err)
	for _, never := range []string{canary, strings.ToLower(canary), "evt_1", secret, "r-cause"} {
		require.NotContains(t, string(text), never)
	}
}

// Refusals before authentication have a cause, too.
func TestRefusalsBeforeAuthentication(t *testing.T) {
	t.Parallel()
	refused := NewRefusals()
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.Refusals = refused })
	for _, r := range []*auth.Request{
		{Method: "GET", Path: "/webhooks/stripe"}, {Method: "POST", Path: "/webhooks/" + canary}, {Method: "POST", Path: "/" + canary},
		{Method: "POST", Path: "/webhooks/stripe", Header: map[string][]string{"content-encoding": {"gzip"}}},
	} {
		require.GreaterOrEqual(t, d.post(t, r).status, 400)
	}
	causesOf := func(provider string) (all []string) {
		for _, cause := range refused.Refusals(provider)[0].Causes {
			require.NotEmpty(t, cause.Means, cause.Cause)
			require.NotEmpty(t, cause.Next, cause.Cause)
			all = append(all, cause.Cause)
		}
		return all
	}
	require.Equal(t, []string{"method_not_allowed", "not_found", "unknown_provider"}, causesOf("unknown"))
	require.Equal(t, []string{"encoding_not_supported"}, causesOf("stripe"))
	require.Len(t, refused.Refusals(""), 2)
	require.Empty(t, refused.Refusals("github"))
}

// A 5xx isn't counted as a refusal: the request was authentic, and the error log has it.
func TestAnUnstoredRequestIsNotARefusal(t *testing.T) {
	t.Parallel()
	refused := NewRefusals()
	d := openDoor(t, "", func(o *Options, in *intake.Options) { o.Refusals, in.StartTimeout = refused, time.Nanosecond })
	d.before = func(event.Receipt) error { return fmt.Errorf("away") }
	require.Equal(t, 503, d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, true, "webhook-id", "msg_away").status)
	require.Empty(t, refused.Refusals(""))
}

// Twenty thousand hostile requests, each with its own headers and body: what is kept is bounded, in total and for each. It
// isn't parallel, because it measures the memory of the process.
func TestRefusalsTakeBoundedMemory(t *testing.T) {
	all, clock := NewRefusals(), time.Now()
	all.now = func() time.Time { return clock }
	before := heap()
	for n := range 20_000 {
		clock = clock.Add(20 * time.Millisecond)
		var request fasthttp.Request
		for h := range 5 {
			request.Header.Set(fmt.Sprintf("X-%s-%d-%d", strings.Repeat("hostile", 20), n, h), strings.Repeat("v", 500))
		}
		request.SetBodyString(strings.Repeat("b", 500) + fmt.Sprint(n))
		o := &observation{
			receivedAt: clock, outcome: outcomeRefused, provider: fmt.Sprintf("provider-%d", n%50),
			reason: string(denial.Reasons()[n%len(denial.Reasons())]), client: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}),
			denied: &denial.Error{Reason: denial.BadSignature, Part: "header x-s", Tried: []string{"a form"}},
		}
		all.count(o.provider, o.reason, clock)
		all.keep(o.provider, o.refusal(401, &request))
	}
	require.Less(t, heap()-before, int64(8<<20))
	kept, found := 0, all.Refusals("")
	require.Len(t, found, 50)
	for _, of := range found {
		require.LessOrEqual(t, len(of.Last), maxPerProvider)
		kept += len(of.Last)
		require.EqualValues(t, 400, of.Count, "each is counted: it took less than an hour")
		for _, r := range of.Last {
			require.Equal(t, 5, r.OtherHeaders)
			require.Empty(t, r.Headers)
		}
	}
	require.Equal(t, maxInTotal, kept)
	text, err := json.Marshal(found)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hostile")

	clock = clock.Add(time.Hour)
	for _, of := range all.Refusals("") {
		require.Zero(t, of.Count, "counts are of the last hour")
		require.NotEmpty(t, of.Last, "the last ones stay")
	}
}

// heap returns the live heap, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Strangers can't have every request examined: beyond a limit, a wrong signature gets no further reason.
func TestExaminationsAreBounded(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	server, err := New(Options{MaxConns: 1})
	require.NoError(t, err)
	server.now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	stripe, _ := d.catalogue.Lookup("stripe")
	examined := 0
	for n := range 100 {
		r := &auth.Request{Method: "POST", Body: []byte(`{"id":"evt_1"}`), Header: map[string][]string{}}
		require.NoError(t, stripe.Sign(r, secret, server.now()))
		if r.Body = append(r.Body, '\n'); n == 0 {
			r.Body = append(r.Body, make([]byte, maxExamined)...)
			r.Body = []byte(strings.ReplaceAll(string(r.Body), "\x00", "\n"))
		}
		err := server.examine(stripe, r, stripe.Authenticate(r, server.now()))
		if denial.ReasonOf(err) == denial.ModifiedBody {
			require.NotZero(t, n, "the first is too large")
			examined++
		}
	}
	require.Equal(t, examinationsAtOnce, examined)
}

// A certificate that isn't the sender's is refused permanently. One that can't be verified now makes the sender retry. The
// operator learns which of the two it was, and why.
func TestACertificateThatCannotBeVerifiedNowIsSentAgain(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:us-west-2:123456789012:Sample"
	body := `{"Type":"Notification","MessageId":"m1","TopicArn":"` + topic + `","Message":"x","Timestamp":"2025-10-09T08:53:20.000Z",` +
		`"SigningCertURL":"https://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem","Signature":""}`
	for reason, status := range map[denial.Reason]int{denial.WrongCertificate: 401, denial.NoCertificate: 503} {
		refused := NewRefusals()
		d := openDoor(t, "", func(o *Options, _ *intake.Options) {
			o.Refusals = refused
			catalogue := o.Catalogue.(*providers.Catalogue).WithSecrets(func(string) []string { return []string{topic} })
			o.Catalogue = catalogue.WithCertificates(func(auth.CertificateAt) (*rsa.PublicKey, error) {
				return nil, &denial.Error{Reason: reason, Found: "this is the matter with it"}
			})
		})
		sns, _ := d.catalogue.Lookup("sns")
		r := &auth.Request{Method: "POST", Path: "/webhooks/sns", Body: []byte(body), Header: map[string][]string{}}
		require.NoError(t, sns.Sign(r, topic, time.Now()))
		answer := d.post(t, r)
		require.Equal(t, status, answer.status)
		require.NotContains(t, answer.raw, "certificate")
		last := refused.Refusals("sns")[0].Last[0]
		require.Equal(t, string(reason), last.Cause)
		require.Contains(t, last.Detail, "this is the matter with it")
	}
}
