package queue_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
	"holdfast/internal/devstack/brokertest"
	"holdfast/internal/proxy"
)

func startNATS(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.JetStream, o.StoreDir = "127.0.0.1", -1, true, t.TempDir()
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		within(t, time.Minute, "stopping NATS", func() error {
			s.Shutdown()
			s.WaitForShutdown()
			return nil
		})
	})
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s
}

func streamOn(t *testing.T, url string, config jetstream.StreamConfig, options ...nats.Option) jetstream.Stream {
	t.Helper()
	conn, err := nats.Connect(url, options...)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.CreateStream(t.Context(), config)
	require.NoError(t, err)
	return stream
}

func toNATS(url string, change func(*delivery.NATS)) delivery.Target {
	to := &delivery.NATS{Connection: delivery.Connection{URL: url}, Stream: "STOCK", Subject: `"stock." + .event.type`}
	if change != nil {
		change(to)
	}
	return delivery.Target{Destination: delivery.Destination{ID: 1, Name: "stock", NATS: to}}
}

func TestAStreamConfirmsADelivery(t *testing.T) {
	t.Parallel()
	url := startNATS(t, &server.Options{}).ClientURL()
	stream := streamOn(t, url, jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}})
	s, to := newSender(t, webhook.SenderOptions{}), toNATS(url, nil)
	j, m := order(1)
	m.PossibleDuplicateOf = "before"
	r := send(t, s, to, j, m)
	require.Equal(t, delivery.OK, r.Kind, r)
	require.Equal(t, "stored", r.Code)
	require.True(t, r.Connected)
	got, err := stream.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "stock.order.paid", got.Subject)
	require.JSONEq(t, `{"number":1}`, string(got.Data))
	for name, value := range map[string]string{
		"Nats-Msg-Id": j.ID(), "webhook-id": j.ID(), "holdfast-event-id": m.Receipt.ID, "content-type": "application/json",
		"holdfast-possible-duplicate-of": "before",
	} {
		require.Equal(t, []string{value}, got.Header[name], name)
	}

	r = send(t, s, to, j, m) // a repeated attempt
	require.Equal(t, delivery.OK, r.Kind, r)
	require.Equal(t, "duplicate", r.Code)
	require.False(t, r.Connected, "the connection is shared")
	j.Generation++ // resent
	require.Equal(t, "stored", send(t, s, to, j, m).Code)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, info.State.Msgs)

	to.Subscription.Body = delivery.BodyCloudEventsBinary
	j, m = order(2)
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	got, err = stream.GetMsg(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, []string{"order.paid"}, got.Header["ce-type"])
	require.Equal(t, []string{"/events/shop"}, got.Header["ce-source"])
	require.Equal(t, []string{"application/json"}, got.Header["ce-datacontenttype"])
	to.Subscription.Body = delivery.BodyCloudEvents
	j, m = order(3)
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	got, err = stream.GetMsg(t.Context(), 4)
	require.NoError(t, err)
	require.Contains(t, string(got.Data), `"data":{"number":3}`)
	require.Equal(t, []string{"application/cloudevents+json; charset=UTF-8"}, got.Header["content-type"])

	found := check(t, s, to)
	require.Len(t, found, 2)
	require.True(t, found[0].OK && found[1].OK, found)
	require.Contains(t, found[1].Text, "1 of 1 servers")
}

// A stream may confirm what it doesn't keep.
func TestTheCheckWarnsOfAStreamThatLosesMessages(t *testing.T) {
	t.Parallel()
	url := startNATS(t, &server.Options{}).ClientURL()
	s := newSender(t, webhook.SenderOptions{})
	for name, c := range map[string]struct {
		config jetstream.StreamConfig
		warns  string
	}{
		"INTEREST": {jetstream.StreamConfig{Retention: jetstream.InterestPolicy}, "no consumer"},
		"LAST":     {jetstream.StreamConfig{MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, MaxMsgs: 9}, "max_msgs_per_subject"},
	} {
		c.config.Name, c.config.Subjects = name, []string{name + ".>"}
		streamOn(t, url, c.config)
		found := check(t, s, toNATS(url, func(n *delivery.NATS) { n.Stream = name }))
		require.Len(t, found, 3, name)
		require.False(t, found[2].OK, found)
		require.Contains(t, found[2].Text, c.warns)
	}
}

func TestAStreamRefusesADelivery(t *testing.T) {
	t.Parallel()
	url := startNATS(t, &server.Options{}).ClientURL()
	for _, c := range []jetstream.StreamConfig{
		{Name: "STOCK", Subjects: []string{"stock.>"}, MaxMsgs: 1, Discard: jetstream.DiscardNew, MaxMsgSize: 1000},
		{Name: "OTHER", Subjects: []string{"other.>"}}, {Name: "SILENT", Subjects: []string{"silent.>"}, NoAck: true},
	} {
		streamOn(t, url, c)
	}
	s := newSender(t, webhook.SenderOptions{})
	j, m := order(1)
	require.Equal(t, "stored", send(t, s, toNATS(url, nil), j, m).Code)
	j, m = order(2)
	large := m
	large.Body = make([]byte, 2000)
	for name, c := range map[string]struct {
		change func(*delivery.NATS)
		m      delivery.Message
		kind   delivery.Kind
		code   string
	}{
		"full":           {nil, m, delivery.Busy, "full"},
		"too large":      {nil, large, delivery.Final, "too_large"},
		"no stream":      {func(n *delivery.NATS) { n.Subject = `"nowhere"` }, m, delivery.Missing, "unroutable"},
		"another stream": {func(n *delivery.NATS) { n.Subject = `"other.x"` }, m, delivery.Blocked, "wrong_stream"},
		"a wildcard":     {func(n *delivery.NATS) { n.Subject = `"stock.*"` }, m, delivery.Final, "invalid_name"},
		"the API":        {func(n *delivery.NATS) { n.Subject = `"$JS.API.STREAM.PURGE.STOCK"` }, m, delivery.Final, "invalid_name"},
		"null":           {func(n *delivery.NATS) { n.Subject = `"stock." + .body.gone` }, m, delivery.Final, "body_error"},
		"no string":      {func(n *delivery.NATS) { n.Subject = `1` }, m, delivery.Final, "invalid_name"},
		"TLS":            {func(n *delivery.NATS) { n.URL = "tls" + url[4:] }, m, delivery.Bad, ""},
		"a bad URL":      {func(n *delivery.NATS) { n.URL = "nats://a:b" }, m, delivery.Blocked, "address"},
	} {
		r := send(t, s, toNATS(url, c.change), j, c.m)
		require.Equal(t, c.kind, r.Kind, "%s: %+v", name, r)
		if c.code != "" {
			require.Equal(t, c.code, r.Code, "%s: %+v", name, r)
		}
		require.NotContains(t, r.Error, "127.0.0.1", name)
	}
	silent := toNATS(url, func(n *delivery.NATS) { n.Stream, n.Subject = "SILENT", `"silent.x"` })
	r := sendWithin(t.Context(), s, silent, j, m, 300*time.Millisecond)
	require.Equal(t, delivery.Bad, r.Kind)
	require.Equal(t, "timeout", r.Code)
	require.Contains(t, check(t, s, silent)[2].Text, "no_ack")
	gone := check(t, s, toNATS(url, func(n *delivery.NATS) { n.Stream = "GONE" }))
	require.Contains(t, gone[0].Text, "no_queue")
}

func TestNATSAuthenticates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options server.Options
		user    string
		secret  string
		login   nats.Option
	}{
		"password": {server.Options{Username: "me", Password: "sesame"}, "me", "sesame", nats.UserInfo("me", "sesame")},
		"token":    {server.Options{Authorization: "sesame"}, "", "sesame", nats.Token("sesame")},
	} {
		url := startNATS(t, &c.options).ClientURL()
		streamOn(t, url, jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}}, c.login)
		s, to := newSender(t, webhook.SenderOptions{}), toNATS(url, func(n *delivery.NATS) { n.User = c.user })
		j, m := order(1)
		r := send(t, s, to, j, m)
		require.Equal(t, delivery.Blocked, r.Kind, "%s: %+v", name, r)
		require.Equal(t, "credentials", r.Code)
		to.Secrets = []string{c.secret} // the next attempt has another connection
		require.Equal(t, "stored", send(t, s, to, j, m).Code, name)
		require.NotContains(t, r.Error, c.secret)
	}
}

// NATS reports a subject that a user may not publish on, and then doesn't answer.
func TestAUserWithoutPermission(t *testing.T) {
	t.Parallel()
	url := startNATS(t, &server.Options{Users: []*server.User{
		{Username: "admin", Password: "sesame"},
		{Username: "me", Password: "sesame", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"stock.order.shipped", "$JS.API.>"}},
		}},
	}}).ClientURL()
	streamOn(t, url, jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}}, nats.UserInfo("admin", "sesame"))
	s, to := newSender(t, webhook.SenderOptions{}), toNATS(url, func(n *delivery.NATS) { n.User = "me" })
	to.Secrets = []string{"sesame"}
	j, m := order(1)
	r := sendWithin(t.Context(), s, to, j, m, time.Second)
	require.Equal(t, "credentials", r.Code, r)
	require.Equal(t, delivery.Blocked, r.Kind, r)
	require.NotContains(t, r.Error, "order.paid", "a subject may come from a payload")
	m.Type = "order.shipped"
	require.Equal(t, "stored", send(t, s, to, j, m).Code)
}

func TestABrokerInAPrivateNetwork(t *testing.T) {
	t.Parallel()
	url := startNATS(t, &server.Options{}).ClientURL()
	s := newSender(t, webhook.SenderOptions{AllowedNetworks: loopback[1:]})
	j, m := order(1)
	r := send(t, s, toNATS(url, nil), j, m)
	require.Equal(t, "private_address", r.Code, r)
}

func TestABrokerThatIsDown(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	s := newSender(t, webhook.SenderOptions{})
	j, m := order(1)
	for _, to := range []delivery.Target{
		toNATS("nats://"+listener.Addr().String(), nil), toRabbitMQ("amqp://"+listener.Addr().String(), nil),
		toKafka("kafka://"+listener.Addr().String(), nil), toPubSub(listener.Addr().String(), nil),
	} {
		r := send(t, s, to, j, m)
		require.Equal(t, delivery.Bad, r.Kind, r)
		require.Equal(t, "connection", r.Code, r)
		require.Contains(t, r.Error, "refused", to.Destination.Kind())
		require.Equal(t, delivery.Reached, r.Reach)
	}
}

// A server of NATS speaks first, which servers of HTTP never do.
func TestNATSBehindAProxy(t *testing.T) {
	t.Parallel()
	url := startNATS(t, &server.Options{}).ClientURL()
	stream := streamOn(t, url, jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}})
	list, err := proxy.Parse("office=http://" + eagerProxy(t))
	require.NoError(t, err)
	s := newSender(t, webhook.SenderOptions{Routes: webhook.Routes{Proxies: list}})
	j, m := order(1)
	r := send(t, s, toNATS(url, func(n *delivery.NATS) { n.Proxy = "office" }), j, m)
	require.Equal(t, "stored", r.Code, r)
	require.Equal(t, "office", r.Proxy)
	_, err = stream.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	r = send(t, s, toNATS(url, func(n *delivery.NATS) { n.Proxy = "home" }), j, m)
	require.Equal(t, "proxy_unknown", r.Code, r)
}

func TestNATSIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	b := brokertest.NATS(t, "", "")
	url := "nats://" + b.Address
	streamOn(t, url, jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}})
	ids := deliverThroughCrashes(t, newSender(t, webhook.SenderOptions{}), toNATS(url, nil), 3000, func() {
		b.Kill(t)
		b.Start(t)
	})
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "STOCK")
	require.NoError(t, err)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	stored := map[string]int{}
	for n := info.State.FirstSeq; n <= info.State.LastSeq; n++ {
		got, err := stream.GetMsg(t.Context(), n)
		require.NoError(t, err)
		stored[got.Header.Get("webhook-id")]++
	}
	require.Len(t, stored, len(ids), "nothing is lost, and duplicates carry the same ID")
	for id := range stored {
		require.True(t, ids[id])
	}
}

// deafNATS is a server of NATS that lets clients in, and then reads nothing.
func deafNATS(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	stopped := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		close(stopped)
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = conn.Write([]byte(`INFO {"server_id":"deaf","version":"2.10.0","max_payload":67108864,"headers":true}` + "\r\n"))
				for line := bufio.NewScanner(io.LimitReader(conn, 4096)); line.Scan(); {
					if line.Text() == "PING" {
						_, _ = conn.Write([]byte("PONG\r\n"))
						break
					}
				}
				<-stopped
			}()
		}
	}()
	return "nats://" + listener.Addr().String()
}

// The client is locked while it writes. Attempts at other destinations must not wait for it, nor this one for a minute.
func TestABrokerThatReadsNothingBlocksNoOther(t *testing.T) {
	t.Parallel()
	url := deafNATS(t)
	other := startNATS(t, &server.Options{}).ClientURL()
	streamOn(t, other, jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}})
	s, deaf := newSender(t, webhook.SenderOptions{}), toNATS(url, nil)
	ended := make(chan delivery.Result, 3)
	j, m := order(1)
	large := m
	large.Body = make([]byte, 32<<20) // more than the kernel buffers
	for range cap(ended) {
		go func() { ended <- sendWithin(t.Context(), s, deaf, j, large, time.Second) }()
		<-time.After(300 * time.Millisecond) // so that the first one writes, and the others find its connection
	}
	began := time.Now()
	r := send(t, s, toNATS(other, nil), j, m)
	require.Equal(t, "stored", r.Code, r)
	require.Less(t, time.Since(began), 3*time.Second)
	for range cap(ended) {
		select {
		case r := <-ended:
			require.Equal(t, delivery.Bad, r.Kind, r)
		case <-time.After(40 * time.Second):
			require.Fail(t, "an attempt doesn't end")
		}
	}
}
