package subscriptions_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

var integrator = oversight.Actor{Name: "ina", Role: "integrator"}

// withVariables gives a store an environment in which each variable contains "of NAME".
func withVariables(c *persistence.Config) {
	c.Sealer = mirror{}
	c.Secrets = func(name string) []string { return []string{"of " + name} }
	c.Reserved = func(name string) bool { return name == "DATABASE_URL" }
}

func listedVariables(d *persistencetest.Database) string {
	return persistencetest.Value[string](d, `SELECT coalesce(string_agg(name || ' by ' || added_by, ', ' ORDER BY name), '') FROM destination_variables`)
}

// A queue's password may be in a variable, like an endpoint's secrets.
func TestVariablesOfQueues(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	c := delivery.Connection{User: "me", Secrets: "BROKER_PASSWORD"}
	at := func(url string) delivery.Connection {
		c.URL = url
		return c
	}
	for _, d := range []delivery.Destination{
		{NATS: &delivery.NATS{Connection: at("nats://a"), Stream: "S", Subject: `"s"`}},
		{RabbitMQ: &delivery.RabbitMQ{Connection: at("amqp://a"), RoutingKey: `"s"`}},
		{Kafka: &delivery.Kafka{Connection: at("kafka://a"), Topic: "t"}},
		{S3: &delivery.S3{Connection: at("https://a"), Bucket: "webhooks"}},
		{PubSub: &delivery.PubSub{Connection: delivery.Connection{URL: "https://a", Secrets: c.Secrets}, Topic: "projects/p/topics/t"}},
		{SQS: &delivery.SQS{Connection: at("https://a/1"), Queue: "orders"}},
	} {
		d.Name = d.Kind()
		_, err := db.Subscriptions.ApplyDestination(ctx, d, nil, integrator)
		require.Equal(t, event.CodeNeedsAdmin, event.CodeOf(err))
		without := d.WithBroker(func(c *delivery.Connection) { c.Secrets = "" })
		_, err = db.Subscriptions.ApplyDestination(ctx, without, []delivery.Secret{{Value: "stored"}}, integrator)
		require.NoError(t, err)
		_, err = db.Subscriptions.ApplyDestination(ctx, d, nil, persistencetest.Admin)
		require.NoError(t, err)
		s := db.Apply(delivery.Subscription{Name: "to-" + d.Name, To: d.Name, Active: true})
		target, err := db.Subscriptions.Target(ctx, s.ID)
		require.NoError(t, err)
		require.Equal(t, []string{"of BROKER_PASSWORD"}, target.Secrets, d.Name)
		named, err := db.Subscriptions.NamedVariables(ctx)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(named), "{"+d.Name+" BROKER_PASSWORD true}")
		reserved := d.WithBroker(func(c *delivery.Connection) { c.Secrets = "DATABASE_URL" })
		_, err = db.Subscriptions.ApplyDestination(ctx, reserved, nil, persistencetest.Admin)
		require.ErrorContains(t, err, d.Name+".secrets: DATABASE_URL configures Holdfast itself")
	}
}

// Only a variable that an admin has named resolves, and only while a destination names it.
func TestVariablesOfDestinations(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	crm := persistencetest.Endpoint("crm")
	crm.HTTP.Secrets = "CRM_SECRET"
	_, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.Equal(t, event.CodeNeedsAdmin, event.CodeOf(err))
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Admin)
	require.NoError(t, err)
	s := db.Apply(delivery.Subscription{Name: "s", To: "crm", Active: true})
	signedWith := func() []string {
		target, err := db.Subscriptions.Target(ctx, s.ID)
		require.NoError(t, err)
		return target.Secrets
	}
	require.Equal(t, []string{"of CRM_SECRET"}, signedWith())
	require.Equal(t, "CRM_SECRET by grace", listedVariables(db))
	require.Equal(t, "CRM_SECRET", persistencetest.Value[string](db, `SELECT detail->>'variable' FROM audit_log ORDER BY id LIMIT 1`))

	crm.InFlight = 3
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.NoError(t, err, "an integrator changes what has nothing to do with the secret")
	for _, pasted := range []string{"whsec_MDEyMzQ1Njc4OWFi", "hunter2", "A1B2C3D4E5F6A7B8C9D0", "[redacted]", "A B"} {
		crm.HTTP.Secrets = pasted
		_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Admin)
		require.Equal(t, "invalid_destination", event.CodeOf(err), pasted)
		require.NotContains(t, err.Error(), pasted)
	}
	crm.HTTP.Secrets = "DATABASE_URL"
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Admin)
	require.ErrorContains(t, err, "DATABASE_URL configures Holdfast itself")
	require.Equal(t, []string{"of CRM_SECRET"}, signedWith())

	db.Exec(`UPDATE destinations SET settings = jsonb_set(settings, '{http,secrets}', '"SMUGGLED"'), version = version + 1`)
	db.Exec(`UPDATE subscriptions_head SET version = version + 1`)
	require.Empty(t, signedWith(), "it isn't on the list")
	named, err := db.Subscriptions.NamedVariables(ctx)
	require.NoError(t, err)
	require.Equal(t, "[{crm SMUGGLED false}]", fmt.Sprint(named))
	crm.HTTP.Secrets = "SMUGGLED"
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.NoError(t, err)
	require.Empty(t, signedWith())
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Admin)
	require.NoError(t, err)
	require.Equal(t, []string{"of SMUGGLED"}, signedWith())
	require.Equal(t, "SMUGGLED by grace", listedVariables(db), "no destination names the other one any more")

	require.NoError(t, persistencetest.Second(db.Subscriptions.DeleteSubscription(ctx, "s", persistencetest.Admin)))
	require.NoError(t, db.Subscriptions.DeleteDestination(ctx, "crm", persistencetest.Admin))
	require.Empty(t, listedVariables(db))
}

// An integrator can't have a secret sent elsewhere, or in clear, without knowing it.
func TestWhoMayRedirectASecret(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	asToken := []byte(`{"token": {"in": "header", "name": "x-secret"}}`)
	ofVariable, own := persistencetest.Endpoint("crm"), persistencetest.Endpoint("own")
	ofVariable.HTTP.Secrets, ofVariable.HTTP.Signature = "CRM_SECRET", asToken
	_, err := db.Subscriptions.ApplyDestination(ctx, ofVariable, nil, persistencetest.Admin)
	require.NoError(t, err)
	own.HTTP.Headers = delivery.Headers{"x-key": "hunter2"}
	_, err = db.Subscriptions.ApplyDestination(ctx, own, []delivery.Secret{{Value: "whsec_one"}}, integrator)
	require.NoError(t, err)
	own.HTTP.Headers = own.HTTP.Headers.Masked()

	moved := func(d delivery.Destination, url string, signature []byte) delivery.Destination {
		h := *d.HTTP
		h.URL, h.Signature = url, signature
		d.HTTP = &h
		return d
	}
	const mine = "https://mine.example.com"
	for code, d := range map[string]delivery.Destination{
		event.CodeNeedsAdmin:  moved(ofVariable, mine, asToken),
		"invalid_secret":      moved(own, own.HTTP.URL, asToken),
		"invalid_destination": moved(own, mine, nil),
	} {
		_, err := db.Subscriptions.ApplyDestination(ctx, d, nil, integrator)
		require.Equal(t, code, event.CodeOf(err))
	}
	_, err = db.Subscriptions.ApplyDestination(ctx, moved(ofVariable, ofVariable.HTTP.URL, []byte(`{"token":{"name":"x-secret","in":"header"}}`)),
		nil, integrator)
	require.NoError(t, err, "the signature is the same one")
	again := moved(own, mine, asToken)
	again.HTTP.Headers = delivery.Headers{"x-key": "mine"}
	_, err = db.Subscriptions.ApplyDestination(ctx, again, []delivery.Secret{{Value: "whsec_mine"}}, integrator)
	require.NoError(t, err, "everything that is sent was given")
	_, err = db.Subscriptions.ApplyDestination(ctx, moved(ofVariable, mine, asToken), nil, persistencetest.Admin)
	require.NoError(t, err)
}

// The values of headers are encrypted, read for attempts only, and kept if they are masked or left out.
func TestHeaderValuesAreSecrets(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	crm := persistencetest.Endpoint("crm")
	crm.HTTP.Headers = delivery.Headers{"x-key": "hunter1", "x-tenant": "hunter2"}
	made, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.NoError(t, err)
	s := db.Apply(delivery.Subscription{Name: "s", To: "crm", Active: true})
	sent := func() delivery.Headers {
		target, err := db.Subscriptions.Target(ctx, s.ID)
		require.NoError(t, err)
		return target.Destination.HTTP.Headers
	}
	masked := delivery.Headers{"x-key": delivery.MaskedHeader, "x-tenant": delivery.MaskedHeader}
	require.Equal(t, masked, made.HTTP.Headers)
	require.Equal(t, delivery.Headers{"x-key": "hunter1", "x-tenant": "hunter2"}, sent())
	got, err := db.Subscriptions.Destination(ctx, "crm")
	require.NoError(t, err)
	require.Equal(t, masked, got.HTTP.Headers)
	require.NotContains(t, persistencetest.Value[string](db, `SELECT d::text || encode(headers, 'escape') FROM destinations AS d`), "hunter")

	again, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.NoError(t, err)
	require.Equal(t, made.Version, again.Version, "nothing has changed")
	crm.HTTP.Headers = delivery.Headers{"x-key": "", "x-tenant": "hunter3"}
	compared, err := db.Subscriptions.MaskHeaders(ctx, crm)
	require.NoError(t, err)
	require.Equal(t, delivery.Headers{"x-key": delivery.MaskedHeader, "x-tenant": "hunter3"}, compared.HTTP.Headers)
	changed, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.NoError(t, err)
	require.Greater(t, changed.Version, made.Version)
	require.Equal(t, delivery.Headers{"x-key": "hunter1", "x-tenant": "hunter3"}, sent())
	crm.HTTP.Headers = delivery.Headers{"x-tenant": delivery.MaskedHeader}
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.NoError(t, err)
	require.Equal(t, delivery.Headers{"x-tenant": "hunter3"}, sent(), "what is not named is gone")
	crm.HTTP.Headers = delivery.Headers{"x-other": delivery.MaskedHeader}
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.ErrorContains(t, err, "http.headers.x-other: has no value")
	require.NotContains(t, persistencetest.Value[string](db, `SELECT string_agg(a::text, '') FROM audit_log AS a`), "hunter")

	db.Exec(`UPDATE destinations SET headers = '\x00ff', version = version + 1`)
	db.Exec(`UPDATE subscriptions_head SET version = version + 1`)
	_, err = db.Subscriptions.Target(ctx, s.ID)
	require.Equal(t, "unreadable_secrets", event.CodeOf(err), "nothing is sent without its headers")
	crm.HTTP.Headers = delivery.Headers{"x-tenant": delivery.MaskedHeader}
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.Equal(t, "unreadable_secrets", event.CodeOf(err))
	crm.HTTP.Headers = delivery.Headers{"x-tenant": "hunter4"}
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, integrator)
	require.NoError(t, err, "to give the values again repairs it")
	require.Equal(t, crm.HTTP.Headers, sent())
}

// Only an admin lets a destination bypass the proxies, and decides where it then goes. Others can keep that, and choose a proxy again.
func TestOnlyAdminsBypassProxies(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	d := persistencetest.Endpoint("crm")
	apply := func(name string, by oversight.Actor) error {
		h := *d.HTTP
		h.Proxy = name
		d.HTTP = &h
		_, err := db.Subscriptions.ApplyDestination(t.Context(), d, nil, by)
		return err
	}
	require.Equal(t, event.CodeNeedsAdmin, event.CodeOf(apply(delivery.ProxyDirect, integrator)))
	require.NoError(t, apply("office", integrator))
	require.Equal(t, event.CodeNeedsAdmin, event.CodeOf(apply(delivery.ProxyDirect, integrator)))
	require.NoError(t, apply(delivery.ProxyDirect, persistencetest.Admin))
	d.Timeout = event.Duration(20 * time.Second)
	require.NoError(t, apply(delivery.ProxyDirect, integrator))
	d.HTTP.URL = "https://elsewhere.example.com"
	require.Equal(t, event.CodeNeedsAdmin, event.CodeOf(apply(delivery.ProxyDirect, integrator)))
	require.NoError(t, apply(delivery.ProxyDirect, persistencetest.Admin))
	require.NoError(t, apply("office", integrator))
	stored, err := db.Subscriptions.Destination(t.Context(), "crm")
	require.NoError(t, err)
	require.Equal(t, "office", stored.HTTP.Proxy)
}

// The key of a client certificate is encrypted, read for attempts only, and kept while it is masked and the certificate stays. A new
// certificate needs its key. A file's name is a setting like any other.
func TestAClientKeyIsASecret(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	apply := func(certificate, key string) (delivery.Destination, error) {
		d := persistencetest.Endpoint("crm")
		d.HTTP.Certificate, d.HTTP.Key = certificate, key
		return db.Subscriptions.ApplyDestination(ctx, d, nil, integrator)
	}
	const begin = "-----BEGIN "
	pem := func(text string) string {
		return begin + "CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString([]byte(text)) + "\n-----END CERTIFICATE-----\n"
	}
	one, two := pem("one"), pem("two")
	made, err := apply(one, begin+"hunter1")
	require.NoError(t, err)
	require.Equal(t, delivery.MaskedHeader, made.HTTP.Key)
	s := db.Apply(delivery.Subscription{Name: "s", To: "crm", Active: true})
	sent := func() [2]string {
		target, err := db.Subscriptions.Target(ctx, s.ID)
		require.NoError(t, err)
		return [2]string{target.Destination.HTTP.Certificate, target.Destination.HTTP.Key}
	}
	require.Equal(t, [2]string{one, begin + "hunter1"}, sent())
	got, err := db.Subscriptions.Destination(ctx, "crm")
	require.NoError(t, err)
	require.Equal(t, delivery.MaskedHeader, got.HTTP.Key)
	stored := func(column string) string {
		return persistencetest.Value[string](db, `SELECT d::text || encode(coalesce(`+column+`, ''), 'escape') FROM destinations AS d`)
	}
	require.NotContains(t, stored("client_key"), "hunter")

	for _, key := range []string{begin + "hunter1", delivery.MaskedHeader} {
		again, err := apply(one, key)
		require.NoError(t, err)
		require.Equal(t, made.Version, again.Version, "nothing has changed")
	}
	_, err = apply(two, delivery.MaskedHeader)
	require.ErrorContains(t, err, "http.key: give the key of this certificate")
	wanted := persistencetest.Endpoint("crm")
	wanted.HTTP.Certificate, wanted.HTTP.Key = one, begin+"hunter1"
	compared, err := db.Subscriptions.MaskHeaders(ctx, wanted)
	require.NoError(t, err)
	require.Equal(t, delivery.MaskedHeader, compared.HTTP.Key)
	again, err := apply(" \n"+one+"\n", delivery.MaskedHeader)
	require.NoError(t, err, "white space is no other certificate")
	require.Greater(t, again.Version, made.Version)
	wanted.HTTP.Certificate = two // renewed, with the same key
	compared, err = db.Subscriptions.MaskHeaders(ctx, wanted)
	require.NoError(t, err)
	require.Equal(t, begin+"hunter1", compared.HTTP.Key)
	_, err = db.Subscriptions.ApplyDestination(ctx, compared, nil, integrator)
	require.NoError(t, err)
	changed, err := apply(two, begin+"hunter2")
	require.NoError(t, err)
	require.Greater(t, changed.Version, made.Version)
	require.Equal(t, [2]string{two, begin + "hunter2"}, sent(), "the next attempt has the new one")
	require.NotContains(t, persistencetest.Value[string](db, `SELECT string_agg(a::text, '') FROM audit_log AS a`), "hunter")

	db.Exec(`UPDATE destinations SET client_key = '\x00ff', version = version + 1`)
	db.Exec(`UPDATE subscriptions_head SET version = version + 1`)
	_, err = db.Subscriptions.Target(ctx, s.ID)
	require.Equal(t, "unreadable_secrets", event.CodeOf(err), "nothing is sent without its certificate")
	_, err = apply(two, begin+"hunter2")
	require.NoError(t, err, "to give the key again repairs it")
	_, err = apply("client.pem", "client.key")
	require.NoError(t, err)
	require.Equal(t, [2]string{"client.pem", "client.key"}, sent())
	require.True(t, persistencetest.Value[bool](db, `SELECT client_key IS NULL FROM destinations`))
}

// Only an admin sends what a stored key authenticates elsewhere. Others give the key again, also in a declaration.
func TestAStoredClientKeyDoesNotFollowAnotherURL(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	const certificate = "-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n"
	with := func(url, key string) delivery.Destination {
		d := persistencetest.Endpoint("crm")
		d.HTTP.URL, d.HTTP.Certificate, d.HTTP.Key = url, certificate, key
		d.HTTP.Headers = delivery.Headers{"x-key": "hunter3"}
		return d
	}
	apply := func(d delivery.Destination, by oversight.Actor) error {
		_, err := db.Subscriptions.ApplyDestination(ctx, d, nil, by)
		return err
	}
	const key = "-----BEGIN hunter1"
	require.NoError(t, apply(with("https://one.example.com", key), integrator))
	require.ErrorContains(t, apply(with("https://two.example.com", delivery.MaskedHeader), integrator), "http.key: give it again")
	require.NoError(t, apply(with("https://one.example.com", delivery.MaskedHeader), integrator))
	require.NoError(t, apply(with("https://two.example.com", delivery.MaskedHeader), persistencetest.Admin))
	declared, err := db.Subscriptions.MaskHeaders(ctx, with("https://three.example.com", key))
	require.NoError(t, err)
	require.NoError(t, apply(declared, integrator))
}

// Nothing secret of a destination stays once it is deleted, alone or with many.
func TestDeletedDestinationsKeepNoSecret(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	for _, name := range []string{"one", "two"} {
		d := persistencetest.Endpoint(name)
		d.HTTP.Certificate, d.HTTP.Key = "-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n", "-----BEGIN hunter1"
		d.HTTP.Headers = delivery.Headers{"x-key": "hunter2"}
		_, err := db.Subscriptions.ApplyDestination(ctx, d, []delivery.Secret{{Value: "hunter3"}}, integrator)
		require.NoError(t, err)
	}
	require.NoError(t, db.Subscriptions.DeleteDestination(ctx, "one", integrator))
	require.NoError(t, db.Subscriptions.DeleteDestinations(ctx, []string{"two"}, integrator))
	require.EqualValues(t, 2, persistencetest.Value[int64](db, `SELECT count(*) FROM destinations
		WHERE deleted_at IS NOT NULL AND secrets IS NULL AND headers IS NULL AND client_key IS NULL`))
}

// The password of a queue is stored like a signing secret. It is never used for another kind of destination.
func TestThePasswordOfAQueueIsASecret(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, withVariables)
	ctx := t.Context()
	queue := func(url string) delivery.Destination {
		return delivery.Destination{Name: "crm", NATS: &delivery.NATS{
			Connection: delivery.Connection{URL: url, User: "me"}, Stream: "STOCK", Subject: `"stock"`,
		}}
	}
	_, err := db.Subscriptions.ApplyDestination(ctx, persistencetest.Endpoint("crm"), []delivery.Secret{{Value: "signing"}}, persistencetest.Ada)
	require.NoError(t, err)
	s := db.Apply(delivery.Subscription{Name: "s", To: "crm", Active: true})
	secrets := func() []string {
		target, err := db.Subscriptions.Target(ctx, s.ID)
		require.NoError(t, err)
		return target.Secrets
	}
	_, err = db.Subscriptions.ApplyDestination(ctx, queue("nats://a"), nil, persistencetest.Ada)
	require.NoError(t, err)
	require.Empty(t, secrets())
	_, err = db.Subscriptions.ApplyDestination(ctx, queue("nats://b"), nil, integrator)
	require.NoError(t, err, "there is no password that could go elsewhere")
	_, err = db.Subscriptions.ApplyDestination(ctx, queue("nats://b"), []delivery.Secret{{Value: "hunter2"}}, integrator)
	require.NoError(t, err)
	require.Equal(t, []string{"hunter2"}, secrets())
	require.NotContains(t, persistencetest.Value[string](db, `SELECT d::text || encode(secrets, 'escape') FROM destinations AS d`), "hunter2")
	_, err = db.Subscriptions.ApplyDestination(ctx, queue("nats://evil"), nil, integrator)
	require.ErrorContains(t, err, "secret: give one")
	require.NoError(t, db.Subscriptions.RotateSecret(ctx, "crm", delivery.Secret{Value: "hunter3"}, 0, integrator))
	require.Equal(t, []string{"hunter3"}, secrets())
}
