package queue_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
	"holdfast/internal/devstack/brokertest"
)

// toSQS returns a destination at a host, which is an emulator or a stand-in that only answers.
func toSQS(host string, change func(*delivery.SQS)) delivery.Target {
	to := &delivery.SQS{
		Connection: delivery.Connection{URL: "http://" + host + "/" + brokertest.SQSAccount, User: "AKIAME"}, Queue: "orders",
	}
	if change != nil {
		change(to)
	}
	return delivery.Target{
		Secrets: []string{"sesame-sesame"}, Destination: delivery.Destination{ID: 5, Name: "shop", SQS: to},
	}
}

func TestAQueueOfSQSConfirmsADelivery(t *testing.T) {
	t.Parallel()
	b := brokertest.SQS(t)
	b.SQSQueue(t, "orders")
	s, to := newSender(t, webhook.SenderOptions{}), toSQS(b.Address, nil)
	to.Subscription.Body = delivery.BodyCloudEvents
	j, m := order(1)
	r := send(t, s, to, j, m)
	require.Equal(t, delivery.OK, r.Kind, r)
	require.Equal(t, "stored", r.Code)
	got := b.ReadSQS(t, "orders")
	require.Len(t, got, 1)
	require.Contains(t, *got[0].Body, `"data":{"number":1}`)
	require.Equal(t, j.ID(), *got[0].MessageAttributes["webhook-id"].StringValue)
	require.Equal(t, m.Receipt.ID, *got[0].MessageAttributes["holdfast-event-id"].StringValue)
	require.Equal(t, "application/cloudevents+json; charset=UTF-8", *got[0].MessageAttributes["content-type"].StringValue)
	require.LessOrEqual(t, len(got[0].MessageAttributes), 10)
	found := check(t, s, to)
	require.True(t, found[0].OK && found[1].OK, found)
	require.Contains(t, found[1].Text, "bytes")

	gone := toSQS(b.Address, func(q *delivery.SQS) { q.Queue = "gone" })
	r = send(t, s, gone, j, m)
	require.Equal(t, "no_queue", r.Code, r)
	require.Equal(t, delivery.Blocked, r.Kind)
	require.Contains(t, check(t, s, gone)[0].Text, "no_queue")
}

// A FIFO queue drops the repeat of an attempt and keeps a resend. Messages with one key have one group, whatever the key is; one
// without a key has a group of its own.
func TestAFIFOQueueDropsARepeat(t *testing.T) {
	t.Parallel()
	b := brokertest.SQS(t)
	b.SQSQueue(t, "orders.fifo")
	s := newSender(t, webhook.SenderOptions{})
	to := toSQS(b.Address, func(q *delivery.SQS) { q.Queue, q.Group = "orders.fifo", ".body.customer" })
	j, m := order(1)
	for _, body := range []string{`{"customer":"c1"}`, `{"customer":"c1"}`} {
		m.Body = []byte(body)
		require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	}
	for _, body := range []string{`{"customer":"Jürgen S."}`, `{"customer":"Jürgen S."}`, `{"customer":null}`} {
		j.Generation++
		m.Body = []byte(body)
		require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	}
	seen := map[string][]string{} // emulators tell no group of a message: what is delivered at once shows it
	for _, got := range b.ReadSQS(t, "orders.fifo") {
		seen[*got.Body] = append(seen[*got.Body], *got.MessageAttributes["webhook-id"].StringValue)
	}
	require.Len(t, seen[`{"customer":"c1"}`], 1)
	require.Len(t, seen[`{"customer":"Jürgen S."}`], 2)
	require.Len(t, seen[`{"customer":null}`], 1)
}

// What SQS can't hold is refused before it is sent, and says what to do.
func TestSQSCannotHoldEveryBody(t *testing.T) {
	t.Parallel()
	b := brokertest.SQS(t)
	b.SQSQueue(t, "orders")
	s, to := newSender(t, webhook.SenderOptions{}), toSQS(b.Address, nil)
	j, m := order(1)
	for code, bodies := range map[string][]string{
		"invalid_body": {"", "\xff\xfe", "a\x00b", "\x1b[31m", "\ufffe"},
		"too_large":    {strings.Repeat("x", 1<<20)}, // without attributes, it would fit
	} {
		for _, body := range bodies {
			m.Body = []byte(body)
			r := send(t, s, to, j, m)
			require.Equal(t, code, r.Code, "%.20q: %+v", body, r)
			require.Equal(t, delivery.Final, r.Kind)
			require.Contains(t, r.Error, "set body to")
		}
	}
	m.Body = []byte("tabs\tand\r\nlines, é, 🙂")
	require.Equal(t, "stored", send(t, s, to, j, m).Code)
	m.Body = []byte{0xff}
	to.Subscription.Body = delivery.BodyCloudEvents
	require.Equal(t, "stored", send(t, s, to, j, m).Code, "CloudEvents encodes any bytes")
	require.Len(t, b.ReadSQS(t, "orders"), 2)
}

// The emulator checks neither signatures nor limits. A stand-in gives the answers that the service's documentation has.
func TestAnswersOfSQS(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct {
		status int
		kind   delivery.Kind
		code   string
	}{
		`{"__type":"com.amazon.coral.service#InvalidClientTokenId","message":"m"}`:                                  {403, delivery.Blocked, "credentials"},
		`{"__type":"com.amazon.coral.service#AccessDeniedException","message":"m"}`:                                 {400, delivery.Blocked, "credentials"},
		`{"__type":"com.amazonaws.sqs#KmsDisabled","message":"m"}`:                                                  {400, delivery.Blocked, "credentials"},
		`{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"m"}`:                                            {400, delivery.Blocked, "no_queue"},
		`{"__type":"com.amazonaws.sqs#RequestThrottled","message":"m"}`:                                             {400, delivery.Busy, "blocked"},
		`{"__type":"com.amazonaws.sqs#InvalidMessageContents","message":"m"}`:                                       {400, delivery.Final, "invalid_body"},
		`{"__type":"com.amazon.coral.service#InvalidParameterValueException","message":"must be shorter than 9 b"}`: {400, delivery.Final, "too_large"},
		`{"__type":"com.amazonaws.sqs#UnsupportedOperation","message":"hunter"}`:                                    {400, delivery.Bad, "refused"},
		`{"__type":"InternalFailure"}`:                                                                              {500, delivery.Bad, "refused"},
		`{}`:                                                                                                        {200, delivery.Bad, "refused"}, // nothing is stored without the ID of a message
		`{"MessageId":"m1","MD5OfMessageBody":"00000000000000000000000000000000"}`:                                  {200, delivery.Bad, ""},
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(want.status)
			_, _ = io.WriteString(w, answer)
		}))
		s := newSender(t, webhook.SenderOptions{})
		j, m := order(1)
		r := send(t, s, toSQS(strings.TrimPrefix(server.URL, "http://"), nil), j, m)
		server.Close()
		require.Equal(t, want.kind, r.Kind, "%s: %+v", answer, r)
		if want.code != "" {
			require.Equal(t, want.code, r.Code, "%s: %+v", answer, r)
		}
		require.NotContains(t, r.Error, "hunter")
		require.Equal(t, 1, requests, "the delivery's retries follow, not the client's")
	}
}

// Connections to the service break while many deliveries are under way: each is stored, and repeats have the same ID.
func TestNoDeliveryToSQSIsLost(t *testing.T) {
	t.Parallel()
	b := brokertest.SQS(t)
	b.SQSQueue(t, "orders")
	s, to := newSender(t, webhook.SenderOptions{}), toSQS(b.Address, nil)
	ids := deliverThroughCrashes(t, s, to, 600, func() {
		b.Kill(t)
		<-time.After(200 * time.Millisecond) // attempts fail meanwhile
		b.Start(t)
	})
	stored := map[string]bool{}
	for _, m := range b.ReadSQS(t, "orders") {
		stored[aws.ToString(m.MessageAttributes["webhook-id"].StringValue)] = true
	}
	require.Equal(t, ids, stored)
}

// The guard and the authorities of endpoints hold for the service, too.
func TestSQSIsReachedLikeAnEndpoint(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"MessageId":"m1"}`)
	}))
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	j, m := order(1)
	at := func(ca string) delivery.Target {
		return toSQS("", func(q *delivery.SQS) { q.URL, q.CA = server.URL+"/"+brokertest.SQSAccount, ca })
	}
	s := newSender(t, webhook.SenderOptions{})
	require.Equal(t, "tls", send(t, s, at(""), j, m).Code)
	require.Equal(t, "stored", send(t, s, at(authority), j, m).Code)
	guarded := newSender(t, webhook.SenderOptions{AllowedNetworks: []netip.Prefix{}})
	require.Equal(t, "private_address", send(t, guarded, at(authority), j, m).Code)
}
