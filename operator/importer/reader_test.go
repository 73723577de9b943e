package importer_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/importer"
	"holdfast/providers"
)

func reader(t *testing.T) *importer.Reader {
	t.Helper()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	return &importer.Reader{Lookup: catalogue.Lookup}
}

// read returns the lines of a file.
func read(t *testing.T, r *importer.Reader, text string) (lines []importer.Line) {
	t.Helper()
	require.NoError(t, r.Each(strings.NewReader(text), func(l importer.Line) error {
		lines = append(lines, l)
		return nil
	}))
	return lines
}

func problems(lines []importer.Line) (all []string) {
	for _, l := range lines {
		for _, m := range l.Problems {
			all = append(all, m.String())
		}
	}
	return all
}

// item returns the only item of the only line.
func item(t *testing.T, lines []importer.Line) operation.ImportItem {
	t.Helper()
	require.Empty(t, problems(lines))
	require.Len(t, lines, 1)
	require.Len(t, lines[0].Items, 1)
	return lines[0].Items[0]
}

const stripeBody = `{"id":"evt_1","object":"event","type":"customer.created","created":1763700000,"data":{"object":{"id":"cus_1"}}}`

// The key of a stored body is the one that the ingress would find, whether the body is a text, base64 or JSON.
func TestKeysAreFoundInBodies(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(stripeBody)
	require.NoError(t, err)
	for name, body := range map[string]string{
		"text": `"body":` + string(quoted), "JSON": `"body":` + stripeBody,
		"base64": `"body_base64":"` + base64.StdEncoding.EncodeToString([]byte(stripeBody)) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := item(t, read(t, reader(t), `{"record":"key","provider":"stripe","first_seen":"2025-11-20T10:00:00Z",`+
				`"expires_at":"2990-01-02T00:00:00Z",`+body+`}`))
			require.Equal(t, operation.ImportKey, one.Record)
			require.Equal(t, "evt_1", one.Receipt.Key)
			require.Equal(t, operation.KeyOwnerID("stripe", "evt_1"), one.Receipt.ID)
		})
	}
}

// An event keeps its times, its attempts and the parts of the request that its definition reads, and gets an ID derived from
// its content.
func TestEventsKeepTheirFields(t *testing.T) {
	t.Parallel()
	line := `{"record":"event","provider":"rentprog","received_at":"2025-11-20 10:00:00.5+02","occurred_at":1763620000,"attempts":3,` +
		`"headers":{"X-Webhook-Id":["w_1"],"authorization":"secret"},"body":"{\"event\":\"car_update\",\"payload\":\"{\\\"id\\\"=>1}\"}"}`
	one := item(t, read(t, reader(t), line))
	at := time.Date(2025, 11, 20, 8, 0, 0, 500_000_000, time.UTC)
	require.Equal(t, at, one.Receipt.ReceivedAt)
	require.Equal(t, "car_update", one.Receipt.Type)
	require.Contains(t, one.Receipt.Key, "w_1")
	require.Equal(t, map[string]string{"x-webhook-id": "w_1"}, one.Receipt.Headers, "what the definition does not keep is not kept")
	require.Equal(t, &event.Imported{Attempts: 3, OccurredAt: time.Unix(1763620000, 0).UTC()}, one.Receipt.Imported)
	require.Equal(t, operation.ImportedID("rentprog", one.Receipt.Key, at), one.Receipt.ID)
	made, ok := event.TimeOfID(one.Receipt.ID)
	require.True(t, ok)
	require.Equal(t, at, made.UTC())
	require.Equal(t, one, item(t, read(t, reader(t), line)))

	catalogue, err := providers.Load("")
	require.NoError(t, err)
	p, err := providers.Parser(catalogue.Lookup)(one.Receipt, one.Body)
	require.NoError(t, err)
	require.Equal(t, one.Receipt.Imported.OccurredAt, p.OccurredAt, "its body says no time")
	require.False(t, p.OccurredAtMissing)
}

// An envelope is split into the same events as by the ingress.
func TestAnEnvelopeIsSplit(t *testing.T) {
	t.Parallel()
	lines := read(t, reader(t), `{"record":"event","provider":"gocardless","received_at":"2025-11-20T10:00:00Z","body":{"events":[`+
		`{"id":"EV1","resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}},`+
		`{"id":"EV2","resource_type":"payments","action":"confirmed","links":{"payment":"PM2"}}]}}`)
	require.Empty(t, problems(lines))
	require.Len(t, lines[0].Items, 2)
	require.Equal(t, "EV1", lines[0].Items[0].Receipt.Key)
	require.Contains(t, string(lines[0].Items[1].Body), "EV2")
	require.NotNil(t, lines[0].Items[1].Receipt.Root)
}

// An unprocessed event is a dead letter, whatever the line's record type.
func TestStatusesBecomeDeadLetters(t *testing.T) {
	t.Parallel()
	for status, isExhausted := range map[string]bool{
		"pending": false, "processing": false, "failed": false, "permanently_failed": true,
	} {
		one := item(t, read(t, reader(t), fmt.Sprintf(`{"record":"event","provider":"stripe","received_at":"2025-11-20T10:00:00Z",`+
			`"status":%q,"attempts":"4","error":"refused","last_failed_at":"2025-11-20T11:00:00Z","body":%s}`, status, stripeBody)))
		require.Equal(t, operation.ImportDeadLetter, one.Record)
		require.Equal(t, &operation.ImportFailure{
			Exhausted: isExhausted, Attempts: 4, Error: "refused", FirstFailedAt: time.Date(2025, 11, 20, 11, 0, 0, 0, time.UTC),
			LastFailedAt: time.Date(2025, 11, 20, 11, 0, 0, 0, time.UTC),
		}, one.Failure)
	}
	require.Equal(t, operation.ImportDeadLetter, item(t, read(t, reader(t), `{"record":"dead_letter","provider":"stripe",`+
		`"received_at":"2025-11-20T10:00:00Z","body":`+stripeBody+`}`)).Record)
}

// A key past its window is left out.
func TestExpiredKeysAreLeftOut(t *testing.T) {
	t.Parallel()
	lines := read(t, reader(t), `{"record":"key","provider":"stripe","key":"a","first_seen":"2020-01-01T00:00:00Z","expires_at":"2020-01-02T00:00:00Z"}
{"record":"key","provider":"stripe","key":"b","first_seen":"2020-01-01T00:00:00Z","expires_at":"2990-01-02T00:00:00Z"}`)
	require.True(t, lines[0].IsExpired)
	require.Empty(t, lines[0].Items)
	require.False(t, lines[1].IsExpired)
	require.Len(t, lines[1].Items, 1)
}

// Every mistake of every line is reported with its line and field, without a value of the file.
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	lines := read(t, reader(t), strings.Join([]string{
		`{"record":"key","provider":"stripe"}`,
		``,
		`not JSON: s3cret`,
		`{"record":"s3cret"}`,
		`{"record":"event","provider":"nobody","received_at":"2025-11-20 10:00:00","attempts":-1,"s3cret_field":1}`,
		`{"record":"event","provider":"stripe","received_at":"2999-11-20T10:00:00Z","status":"s3cret","body":{"id":"e"}}`,
		`{"record":"event","provider":"github","received_at":"2025-11-20T10:00:00Z","body":{"event":"x","instance":"y"}}`,
		`{"record":"entity","provider":"stripe","kind":"customer","id":7,"state":[1],"as_of":"s3cret"}`,
		`{"record":"subscription","name":"crm","rate_limit":"s3cret"}`,
		"{\"record\":\"key\",\"provider\":\"stripe\",\"key\":\"\xff\",\"first_seen\":1763620000}",
		`{"record":"dead_letter","provider":"stripe","received_at":1763620000,"status":"processed","body_base64":"s3cret!"}`,
	}, "\n"))
	all := problems(lines)
	require.Equal(t, []string{
		"line 1: first_seen: is missing",
		"line 3: is no JSON object",
		"line 4: record: want one of key, event, dead_letter, entity or subscription",
		"line 5: provider: unknown provider: no definition has this name",
		"line 5: received_at: want a time with its zone such as 2026-11-22T10:00:00Z, or seconds since 1970",
		"line 5: attempts: want a whole number from 0",
		"line 5: body: is missing",
		"line 5: s3cret_field: is unknown: this record has no such field",
		"line 6: received_at: is in the future",
		"line 6: status: want one of processed, pending, processing, failed, permanently_failed",
		"line 7: body: the key of this event is the hash of its bytes, and JSON is not what was sent: give them as a text, or give a key",
		"line 8: state: want an object of JSON",
		"line 8: as_of: want a time with its zone such as 2026-11-22T10:00:00Z, or seconds since 1970",
		"line 9: url: is missing",
		"line 9: rate_limit: want a number above 0",
		"line 10: is no UTF-8: give a body in body_base64",
		"line 11: status: a dead letter is not processed: it is an event",
		"line 11: body_base64: is no base64",
	}, all)
}

// CSV is equivalent: an empty cell is missing, a body may contain line breaks, and lines are counted as editors do.
func TestCSV(t *testing.T) {
	t.Parallel()
	r := reader(t)
	r.Format, r.Record, r.Provider = importer.FormatCSV, operation.ImportEvent, "stripe"
	lines := read(t, r, "received_at,attempts,headers,body,status\n"+
		"2025-11-20T10:00:00Z,,,\"{\"\"id\"\":\"\"evt_1\"\",\n \"\"type\"\":\"\"x\"\"}\",\n"+
		"2025-11-20T10:00:00Z,2,\"{\"\"a\"\":\"\"b\"\"}\",\"{\"\"id\"\":\"\"evt_2\"\"}\",failed\n"+
		"2025-11-20T10:00:00Z,2\n"+
		"yesterday,,,{},\n")
	require.Equal(t, "evt_1", lines[0].Items[0].Receipt.Key)
	require.Equal(t, "{\"id\":\"evt_1\",\n \"type\":\"x\"}", string(lines[0].Items[0].Body))
	require.Equal(t, operation.ImportDeadLetter, lines[1].Items[0].Record)
	require.Equal(t, []string{
		"line 5: wrong number of fields",
		"line 6: received_at: want a time with its zone such as 2026-11-22T10:00:00Z, or seconds since 1970",
		"line 6: body: today's definition finds no key in it: give one as key",
	}[:2], problems(lines)[:2])
}

// A jsonb column keeps no bytes: it has its own white space, field order and number format. If a definition hashes values, the
// key found in it equals the one that the ingress found in the bytes.
func TestAKeyIsFoundInJSONB(t *testing.T) {
	t.Parallel()
	for provider, bodies := range map[string][2]string{
		"rentprog": {`{"payload":"{\"id\"=\u003e1, \"note\"=\u003e\"\\n\"}", "event":"car_update"}`,
			`{"event": "car_update", "payload": "{\"id\"=>1, \"note\"=>\"\\n\"}"}`},
		"evolution": {`{"event":"presence.update","instance":"a","data":{"presences":{},"id":1.50},"destination":"x"}`,
			`{"data": {"id": 1.5, "presences": {}}, "event": "presence.update", "instance": "a", "destination": "y"}`},
		"umnico": {`{"type":"lead.changed","leadId":2e3,"accountId":1}`, `{"type": "lead.changed", "leadId": 2000, "accountId": 1}`},
	} {
		var keys []string
		for _, body := range []string{quoteJSON(t, bodies[0]), bodies[1]} {
			one := item(t, read(t, reader(t), `{"record":"event","received_at":"2025-11-20T10:00:00Z","provider":"`+provider+`","body":`+body+`}`))
			require.Equal(t, event.KeyFromBody, one.Receipt.KeyFrom)
			keys = append(keys, one.Receipt.Key)
		}
		require.Equal(t, keys[0], keys[1], provider)
	}
}

func quoteJSON(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	return string(quoted)
}

// A CSV reader drops the CR of a line break within a cell, which would change a key that is a hash of the bytes.
func TestALineEndInACellIsNotExact(t *testing.T) {
	t.Parallel()
	r := reader(t)
	r.Format, r.Record, r.Provider = importer.FormatCSV, operation.ImportKey, "github"
	const want = "line 2: body: the key of this event is the hash of its bytes, and a cell of CSV does not keep those of a line end: " +
		"give body_base64, or a key"
	for _, end := range []string{"\r\n", "\n"} {
		body := `"{""event"":""x"",` + end + `""instance"":""y""}"`
		require.Equal(t, []string{want}, problems(read(t, r, "first_seen,body\n2025-11-20T10:00:00Z,"+body+"\n")))
	}
	body := base64.StdEncoding.EncodeToString([]byte("{\"event\":\"x\",\r\n\"instance\":\"y\"}"))
	require.NotEmpty(t, item(t, read(t, r,
		"first_seen,expires_at,body_base64\n2025-11-20T10:00:00Z,2990-01-01T00:00:00Z,"+body+"\n")).Receipt.Key)
}

// A quote that is never closed makes one row of all that follows: memory stays bounded.
func TestARowOfCSVThatIsTooLong(t *testing.T) {
	t.Parallel()
	r := reader(t)
	r.Format, r.Record, r.Provider = importer.FormatCSV, operation.ImportKey, "stripe"
	row := "evt_1" + strings.Repeat("x", 9000) + ",1763620000\n"
	file := io.MultiReader(strings.NewReader("key,first_seen\n"+row+"\"evt_2"), endless{})
	n := 0
	err := r.Each(file, func(importer.Line) error { n++; return nil })
	require.EqualError(t, err, fmt.Sprintf("read CSV: a row is longer than %d bytes: a quote may be open", importer.MaxLine))
	require.Equal(t, 1, n)

	lines := read(t, r, "key,first_seen\n"+strings.Repeat(row, 25<<20/len(row)))
	require.Len(t, lines, 25<<20/len(row), "a file may be longer than a row")
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// An event needs bytes: null is the same as no field.
func TestABodyHasToBeThere(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `,"body":null`, `,"body_base64":null`, `,"body_base64":""`} {
		require.Equal(t, []string{"line 1: body: is missing"}, problems(read(t, reader(t),
			`{"record":"event","provider":"stripe","key":"evt_1","received_at":1763620000`+body+`}`)), body)
	}
}

// A file without a heading is refused as a whole, and the error doesn't repeat its first line.
func TestCSVWithoutAHeading(t *testing.T) {
	t.Parallel()
	r := reader(t)
	r.Format, r.Record, r.Provider = importer.FormatCSV, operation.ImportKey, "stripe"
	err := r.Each(strings.NewReader("evt_1,S3cret 1\nevt_2,S3cret 2\n"), func(importer.Line) error { return nil })
	require.EqualError(t, err, "read the heading: column 2 has no name of a field: the first line names the columns")
	require.Equal(t, []string{"line 1: provider: is missing", "line 1: key: is missing, and there is no body to find it in"}[:1],
		problems(read(t, reader(t), `{"record":"key","first_seen":1763620000,"S3cret":1}`))[:1])
	require.NotContains(t, fmt.Sprint(problems(read(t, reader(t), `{"record":"key","first_seen":1763620000,"S3cret":1}`))), "S3cret")
}

// A line of any length is read in bounded memory, and the next one is read normally.
func TestALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	lines := read(t, reader(t), `{"record":"key","key":"`+strings.Repeat("x", importer.MaxLine)+"\"}\n"+
		`{"record":"key","provider":"stripe","key":"a","first_seen":1763620000,"expires_at":"2990-01-02T00:00:00Z"}`)
	require.Equal(t, []string{fmt.Sprintf("line 1: is longer than %d bytes", importer.MaxLine)}, problems(lines))
	require.Len(t, lines[1].Items, 1)
}

// Entities and subscriptions in the form of tables.
func TestEntitiesAndSubscriptions(t *testing.T) {
	t.Parallel()
	lines := read(t, reader(t), `{"record":"entity","provider":"stripe","kind":"customer","id":7,"state":"{\"a\":1.10}","deleted":"t"}
{"record":"subscription","name":"crm","url":"https://crm.example.com","event_types":"{customer.*,order.paid}","secret":"whsec_x","rate_limit":10,"active":false}`)
	require.Empty(t, problems(lines))
	require.Equal(t, &operation.ImportSnapshot{
		EntityRef: event.EntityRef{Provider: "stripe", Kind: "customer", ExternalID: "7"}, State: json.RawMessage(`{"a":1.10}`),
		Deleted: true, AsOf: time.Unix(0, 0).UTC(),
	}, lines[0].Items[0].Entity)
	s := lines[1].Subscription
	require.Equal(t, []string{"customer.*", "order.paid"}, s.EventTypes)
	require.InDelta(t, 10, *s.RateLimit, 0)
	require.False(t, s.Active)
	require.Equal(t, "whsec_x", s.Secret)
}

// An entity's kind must be in its definition: no event would ever reach one of another kind.
func TestAKindHasToBeKnown(t *testing.T) {
	t.Parallel()
	line := func(provider, kind string) string {
		return fmt.Sprintf(`{"record":"entity","provider":%q,"kind":%q,"id":"1","state":{}}`, provider, kind)
	}
	lines := read(t, reader(t), strings.Join([]string{
		line("calcom", "booking"), line("calcom", "bookings"), line("calcom", "s3cret value"), line("stripe", "anything"), line("stripe", "s3cret value"),
	}, "\n"))
	require.Equal(t, []string{
		`line 2: kind: "bookings" is unknown: the definition calcom has attendee, booking, event_type or organizer`,
		`line 3: kind: this kind is unknown: the definition calcom has attendee, booking, event_type or organizer`,
		`line 5: kind: want a name of letters, digits, _ . and -, with at most 64 characters`,
	}, problems(lines))
}

// Spreadsheets begin a file with a byte order mark, which is part of neither the first column's name nor the first line.
func TestAByteOrderMarkIsPassedOver(t *testing.T) {
	t.Parallel()
	r := reader(t)
	r.Format, r.Record, r.Provider = importer.FormatCSV, operation.ImportKey, "stripe"
	require.Equal(t, "evt_1", item(t, read(t, r, "\ufeffkey,first_seen,expires_at\nevt_1,1763620000,2990-01-01T00:00:00Z\n")).Receipt.Key)
	require.Equal(t, "evt_1", item(t, read(t, r, "\ufeff\"key\",first_seen,expires_at\nevt_1,1763620000,2990-01-01T00:00:00Z\n")).Receipt.Key)
	require.Equal(t, "evt_1", item(t, read(t, reader(t), "\ufeff"+
		`{"record":"key","provider":"stripe","key":"evt_1","first_seen":1763620000,"expires_at":"2990-01-02T00:00:00Z"}`)).Receipt.Key)
	require.Empty(t, read(t, r, "\ufeff"))
}

// A repeated field, as a column or in an object, is ambiguous: neither value is used.
func TestAFieldStandsThereOnce(t *testing.T) {
	t.Parallel()
	r := reader(t)
	r.Format, r.Record, r.Provider = importer.FormatCSV, operation.ImportKey, "stripe"
	err := r.Each(strings.NewReader("key,first_seen,key\nevt_1,1763620000,evt_2\n"), func(importer.Line) error { return nil })
	require.EqualError(t, err, `read the heading: columns 1 and 3 are both "key": leave one out`)
	require.Equal(t, []string{"line 1: key: is repeated"}, problems(read(t, reader(t),
		`{"record":"key","provider":"stripe","key":"evt_1","first_seen":1763620000,"key":"evt_2"}`)))
}

// A body together with other bytes is ambiguous.
func TestABodyIsGivenOnce(t *testing.T) {
	t.Parallel()
	for record, at := range map[string]string{"event": "received_at", "dead_letter": "received_at", "key": "first_seen"} {
		require.Equal(t, []string{"line 1: body: stands next to body_base64: give one of the two"}, problems(read(t, reader(t),
			`{"record":"`+record+`","provider":"stripe","`+at+`":1763620000,"body":`+stripeBody+`,"body_base64":"e30="}`)), record)
	}
}
