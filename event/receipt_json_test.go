package event_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// texts have everything in them that JSON escapes, and what is no text at all.
var texts = []string{
	"", "plain", `"`, `\`, "<&>", "\x00\x1f\x7f", "\u00e9\u2028\u2029\U0001f600", "\xff\xfe", "evt_1", "1 + 1 = 2", "tab\tline\n",
}

func someText(random *rand.Rand) string {
	return texts[random.IntN(len(texts))] + texts[random.IntN(len(texts))]
}

// receiptOf fills every field that there is, so that one which the encoder has forgotten is found.
func receiptOf(t *testing.T, random *rand.Rand) (r event.Receipt) {
	t.Helper()
	fields := reflect.ValueOf(&r).Elem()
	for i := range fields.NumField() {
		if random.IntN(4) == 0 {
			continue
		}
		switch field := fields.Field(i); field.Interface().(type) {
		case time.Time:
			zone := time.FixedZone("", random.IntN(86400)-43200)
			field.Set(reflect.ValueOf(time.Unix(random.Int64N(1<<34), random.Int64N(1e9)).In(zone)))
		case json.RawMessage:
			field.SetBytes([]byte(`{"a": [1, 2.50, "<\u00e9>"],  "b":null}`))
		case map[string]string:
			field.Set(reflect.ValueOf(map[string]string{
				someText(random): someText(random), someText(random): someText(random), "user-agent": "x/1.0",
			}))
		default:
			switch field.Kind() {
			case reflect.String:
				field.SetString(someText(random))
			case reflect.Int64:
				field.SetInt(random.Int64())
			default:
				t.Fatalf("%s: what is a %s?", fields.Type().Field(i).Name, field.Type())
			}
		}
	}
	return r
}

func TestAReceiptIsEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	same := func(seed uint64) bool {
		r := receiptOf(t, rand.New(rand.NewPCG(seed, 0)))
		want, wrong := json.Marshal(r)
		got, err := r.AppendJSON([]byte("before"))
		if wrong != nil {
			return err != nil
		}
		return err == nil && string(got) == "before"+string(want)
	}
	require.NoError(t, quick.Check(same, &quick.Config{MaxCount: 3000}))
}

func TestAReceiptThatIsNoJSONIsNotEncoded(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]event.Receipt{
		"the envelope": {Root: json.RawMessage(`{"a":`)},
		"the time":     {ReceivedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := r.AppendJSON(nil)
		require.Error(t, err, name)
	}
}

func BenchmarkReceipt(b *testing.B) {
	r := event.Receipt{
		ID: "0199e4c3-7d3f-7000-8000-000000000001", Provider: "stripe", Key: "evt_1HF8sZ2eZvKYlo2C", KeyFrom: event.KeyFromEvent,
		DedupeWindow: event.Duration(30 * 24 * time.Hour), Type: "customer.updated", Priority: "normal", ReceivedAt: time.Now().UTC(),
		Headers:   map[string]string{"content-type": "application/json", "user-agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)"},
		RequestID: "55bca3f5-21f3-463b-b3b8-2920f674726d", CorrelationID: "55bca3f5-21f3-463b-b3b8-2920f674726d",
	}
	b.Run("AppendJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := r.AppendJSON(make([]byte, 0, 512))
			require.NoError(b, err)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := json.Marshal(r)
			require.NoError(b, err)
		}
	})
}
