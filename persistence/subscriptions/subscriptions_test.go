package subscriptions_test

import (
	"bytes"
	"context"
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

func taskQueue(name string) delivery.Destination {
	return delivery.Destination{Name: name, Temporal: &delivery.Temporal{TaskQueue: name}}
}

// A destination is created, changed and removed by its name; applying it unchanged writes nothing.
func TestADestinationIsApplied(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	crm := persistencetest.Endpoint("crm")
	crm.HTTP.Headers = map[string]string{"x-key": "1"}
	crm.HTTP.Signature = []byte(`{"hmac": {"header": "x"}, "a": 1}`)
	made, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Ada)
	require.NoError(t, err)
	require.Positive(t, made.ID)
	require.Equal(t, "ready", persistencetest.Value[string](db, `SELECT state FROM destination_states WHERE destination_id = $1`, made.ID))
	again, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, made.Version, again.Version)
	require.Equal(t, []string{"destination.apply destination:crm"}, db.Audited())

	crm.InFlight = 3
	changed, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, made.ID, changed.ID)
	require.Greater(t, changed.Version, made.Version)
	for _, nameOrID := range []string{"crm", fmt.Sprint(made.ID)} {
		got, err := db.Subscriptions.Destination(ctx, nameOrID)
		require.NoError(t, err)
		require.Equal(t, 3, got.InFlight)
		require.Equal(t, changed.Version, got.Version)
		require.JSONEq(t, string(crm.HTTP.Signature), string(got.HTTP.Signature))
	}
	_, err = db.Subscriptions.ApplyDestination(ctx, delivery.Destination{Name: "crm"}, nil, persistencetest.Ada)
	require.Equal(t, "invalid_destination", event.CodeOf(err))

	db.Apply(delivery.Subscription{Name: "s", To: "crm", Active: true})
	require.Equal(t, "destination_in_use", event.CodeOf(db.Subscriptions.DeleteDestination(ctx, "crm", persistencetest.Ada)))
	_, err = db.Subscriptions.ApplyDestination(ctx, taskQueue("crm"), nil, persistencetest.Ada)
	require.Equal(t, "invalid_subscription", event.CodeOf(err), "it would not fit its subscriptions")
	require.NoError(t, persistencetest.Second(db.Subscriptions.DeleteSubscription(ctx, "s", persistencetest.Ada)))
	require.NoError(t, db.Subscriptions.DeleteDestination(ctx, "crm", persistencetest.Ada))
	require.ErrorIs(t, db.Subscriptions.DeleteDestination(ctx, "crm", persistencetest.Ada), event.ErrNotFound)
	_, err = db.Subscriptions.Destination(ctx, "crm")
	require.ErrorIs(t, err, event.ErrNotFound)
	all, err := db.Subscriptions.Destinations(ctx)
	require.NoError(t, err)
	require.Empty(t, all)
	anew, err := db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Ada)
	require.NoError(t, err)
	require.NotEqual(t, made.ID, anew.ID, "a name may be used again")
}

func TestASubscriptionIsApplied(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	s := delivery.Subscription{Name: "s", To: "crm", Active: true, Events: delivery.Events{Types: []string{"a.*"}}, Body: "envelope"}
	_, err := db.Subscriptions.ApplySubscription(ctx, s, persistencetest.Ada)
	require.Equal(t, "invalid_subscription", event.CodeOf(err))
	require.ErrorContains(t, err, "there is no destination crm")
	for _, d := range []delivery.Destination{persistencetest.Endpoint("crm"), persistencetest.Endpoint("erp"), taskQueue("orders")} {
		_, err := db.Subscriptions.ApplyDestination(ctx, d, nil, persistencetest.Ada)
		require.NoError(t, err)
	}
	made := db.Apply(s)
	require.Equal(t, made, db.Apply(s), "nothing has changed")
	require.Len(t, db.Audited(), 4)
	s.To = "orders"
	_, err = db.Subscriptions.ApplySubscription(ctx, s, persistencetest.Ada)
	require.ErrorContains(t, err, "body needs an HTTP destination")

	s.To, s.Active = "erp", false
	changed := db.Apply(s)
	require.Equal(t, made.ID, changed.ID)
	for _, nameOrID := range []string{"s", fmt.Sprint(made.ID)} {
		got, err := db.Subscriptions.Subscription(ctx, nameOrID)
		require.NoError(t, err)
		require.Equal(t, changed, got)
	}
	all, err := db.Subscriptions.Subscriptions(ctx)
	require.NoError(t, err)
	require.Equal(t, []delivery.Subscription{changed}, all)
	require.NoError(t, persistencetest.Second(db.Subscriptions.DeleteSubscription(ctx, "s", persistencetest.Ada)))
	require.ErrorIs(t, persistencetest.Second(db.Subscriptions.DeleteSubscription(ctx, "s", persistencetest.Ada)), event.ErrNotFound)
	_, err = db.Subscriptions.Subscription(ctx, "s")
	require.ErrorIs(t, err, event.ErrNotFound)
}

// A name may look like the number of another destination, and is still treated as a name.
func TestANameThatIsANumber(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	crm := db.Subscribe("crm", delivery.Events{})
	place, number := fmt.Sprint(crm.DestinationID), fmt.Sprint(crm.ID)
	_, err := db.Subscriptions.ApplySubscription(ctx, delivery.Subscription{Name: "s", To: place}, persistencetest.Ada)
	require.ErrorContains(t, err, "there is no destination")
	other, err := db.Subscriptions.ApplyDestination(ctx, persistencetest.Endpoint(place), nil, persistencetest.Ada)
	require.NoError(t, err)
	require.NotEqual(t, crm.DestinationID, other.ID)
	named := db.Apply(delivery.Subscription{Name: number, To: place})
	require.NotEqual(t, crm.ID, named.ID)
	require.Equal(t, other.ID, named.DestinationID)
	got, err := db.Subscriptions.Subscription(ctx, number)
	require.NoError(t, err)
	require.Equal(t, named, got)
}

// A row edited by hand, or by a later release, is replaced when the destination is applied, and the secrets stay.
func TestADestinationThatCannotBeReadIsRepaired(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	_, err := db.Subscriptions.ApplyDestination(t.Context(), persistencetest.Endpoint("crm"), []delivery.Secret{{Value: "whsec_MDEyMzQ1Njc4OWFi"}}, oversight.Actor{})
	require.NoError(t, err)
	db.Exec(`UPDATE destinations SET settings = '[7]', version = version + 1`)
	d, err := db.Subscriptions.Destination(t.Context(), "crm")
	require.Equal(t, delivery.CodeUnreadable, event.CodeOf(err))
	require.NotZero(t, d.ID)
	_, err = db.Subscriptions.ApplyDestination(t.Context(), persistencetest.Endpoint("crm"), nil, oversight.Actor{})
	require.NoError(t, err)
	repaired, err := db.Subscriptions.Destination(t.Context(), "crm")
	require.NoError(t, err)
	require.Equal(t, d.ID, repaired.ID)
	secrets, err := db.Subscriptions.SecretsOf(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, []delivery.Secret{{Value: "whsec_MDEyMzQ1Njc4OWFi"}}, secrets)
}

// Pending deliveries follow their subscription: they move to another destination, or are canceled.
func TestPendingDeliveriesAreDeletedWithTheirSubscription(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	s := db.Subscribe("crm", delivery.Events{})
	erp, err := db.Subscriptions.ApplyDestination(t.Context(), persistencetest.Endpoint("erp"), nil, persistencetest.Ada)
	require.NoError(t, err)
	db.Exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id) SELECT gen_random_uuid(), $1, $2 FROM generate_series(1, 2500)`,
		s.ID, s.DestinationID)
	db.Exec(`UPDATE delivery_queue SET lease = gen_random_uuid() WHERE event_id = (SELECT min(event_id::text)::uuid FROM delivery_queue)`)
	s.To = "erp"
	db.Apply(s)
	require.Equal(t, 2499, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_queue WHERE destination_id = $1`, erp.ID))
	require.NoError(t, persistencetest.Second(db.Subscriptions.DeleteSubscription(t.Context(), "crm", persistencetest.Ada)))
	require.Zero(t, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_queue`))
	require.Equal(t, 2500, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'canceled' AND code = 'deleted'`))
	_, err = db.Subscriptions.Target(t.Context(), s.ID)
	require.ErrorIs(t, err, event.ErrNotFound)
}

// mirror doesn't encrypt, and shows what is stored.
type mirror struct{}

func (mirror) Seal(plain []byte) ([]byte, error) { return reversed(plain), nil }
func (mirror) Open(sealed []byte) ([]byte, error) {
	if !bytes.HasSuffix(sealed, []byte("[")) && !bytes.HasSuffix(sealed, []byte("{")) {
		return nil, fmt.Errorf("not sealed: %s", sealed)
	}
	return reversed(sealed), nil
}

func reversed(b []byte) (r []byte) {
	for i := range b {
		r = append(r, b[len(b)-1-i])
	}
	return r
}

// Several secrets are valid during a rotation, and each attempt uses the secrets of its time.
func TestSecretsAreRotated(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, func(c *persistence.Config) {
		c.Sealer = mirror{}
		c.Secrets = func(name string) []string { return []string{"of " + name} }
	})
	ctx := t.Context()
	made, err := db.Subscriptions.ApplyDestination(ctx, persistencetest.Endpoint("crm"), []delivery.Secret{{Value: "whsec_one"}}, persistencetest.Ada)
	require.NoError(t, err)
	s := db.Apply(delivery.Subscription{Name: "s", To: "crm", Active: true})
	signedWith := func() []string {
		target, err := db.Subscriptions.Target(ctx, s.ID)
		require.NoError(t, err)
		require.Equal(t, "crm", target.Destination.Name)
		require.Equal(t, "s", target.Subscription.Name)
		return target.Secrets
	}
	require.Equal(t, []string{"whsec_one"}, signedWith())
	db.Exec(`UPDATE destinations SET secrets_at = now() - interval '400 days'`)
	require.WithinDuration(t, time.Now().Add(-400*24*time.Hour), *oldestSecret(db), time.Minute)
	require.NoError(t, db.Subscriptions.RotateSecret(ctx, "crm", delivery.Secret{Value: "whsec_two"}, time.Hour, persistencetest.Ada))
	require.Equal(t, []string{"whsec_two", "whsec_one"}, signedWith())
	require.WithinDuration(t, time.Now(), *oldestSecret(db), time.Minute)
	kept, err := db.Subscriptions.SecretsOf(ctx, made.ID)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), *kept[1].Until, time.Minute)
	require.NoError(t, db.Subscriptions.RotateSecret(ctx, "crm", delivery.Secret{Value: "whsec_three"}, 0, persistencetest.Ada))
	require.Equal(t, []string{"whsec_three"}, signedWith(), "the others are out of use at once")
	require.Equal(t, "same_secret", event.CodeOf(db.Subscriptions.RotateSecret(ctx, "crm", delivery.Secret{Value: "whsec_three"}, 0, persistencetest.Ada)))
	require.Equal(t, "invalid_secret", event.CodeOf(db.Subscriptions.RotateSecret(ctx, "crm", delivery.Secret{}, 0, persistencetest.Ada)))
	require.ErrorIs(t, db.Subscriptions.RotateSecret(ctx, "none", delivery.Secret{Value: "x"}, 0, persistencetest.Ada), event.ErrNotFound)

	crm := persistencetest.Endpoint("crm")
	crm.InFlight = 2
	db.Exec(`UPDATE destinations SET secrets_at = now() - interval '400 days'`)
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, nil, persistencetest.Ada)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-400*24*time.Hour), *oldestSecret(db), time.Minute, "another bound makes no secret new")
	require.Equal(t, []string{"whsec_three"}, signedWith(), "nil keeps them")
	require.NotContains(t, persistencetest.Value[string](db, `SELECT string_agg(a::text, '') FROM audit_log AS a`), "whsec_")
	require.NotContains(t, persistencetest.Value[string](db, `SELECT encode(secrets, 'escape') FROM destinations`), "whsec_")

	crm.HTTP.Secrets = "CRM_SECRET"
	_, err = db.Subscriptions.ApplyDestination(ctx, crm, []delivery.Secret{}, persistencetest.Admin)
	require.NoError(t, err)
	require.Equal(t, []string{"of CRM_SECRET"}, signedWith())
	require.Nil(t, oldestSecret(db), "the age of a variable is unknown")
	require.Equal(t, "secrets_of_variable", event.CodeOf(db.Subscriptions.RotateSecret(ctx, "crm", delivery.Secret{Value: "x"}, 0, persistencetest.Ada)))
	_, err = db.Subscriptions.ApplyDestination(ctx, taskQueue("orders"), []delivery.Secret{{Value: "x"}}, persistencetest.Ada)
	require.Equal(t, "no_secrets", event.CodeOf(err))
}

// oldestSecret returns since when the least recently changed secret is in use; nil if none is stored here.
func oldestSecret(db *persistencetest.Database) *time.Time {
	stats, err := db.Outbox.DeliveryStats(db.T.Context())
	require.NoError(db.T, err)
	return stats.OldestSecret
}

// A missing key is reported, without a part of the secret.
func TestSecretsWithoutTheirKey(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, func(c *persistence.Config) { c.Sealer = mirror{} })
	made, err := db.Subscriptions.ApplyDestination(t.Context(), persistencetest.Endpoint("crm"), []delivery.Secret{{Value: "whsec_one"}}, persistencetest.Ada)
	require.NoError(t, err)
	for _, broken := range []string{`UPDATE destinations SET secrets = '\x00ff'`, `UPDATE destinations SET secrets = 'x'`} {
		db.Exec(broken)
		_, err = db.Subscriptions.SecretsOf(t.Context(), made.ID)
		require.Equal(t, "unreadable_secrets", event.CodeOf(err))
	}
	db.Exec(`UPDATE destinations SET secrets = '[{"value":"in clear"}]'`)
	kept, err := db.Subscriptions.SecretsOf(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, "in clear", kept[0].Value, "it is older than the keys")
}

// The next attempt sees changes and removals by other processes.
func TestATargetIsNeverOld(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	s := db.Subscribe("crm", delivery.Events{})
	other, err := persistence.Open(t.Context(), db.Config)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	for n := range 3 {
		crm := persistencetest.Endpoint("crm")
		crm.InFlight = n + 1
		_, err = other.Subscriptions.ApplyDestination(t.Context(), crm, nil, persistencetest.Ada)
		require.NoError(t, err)
		target, err := db.Subscriptions.Target(t.Context(), s.ID)
		require.NoError(t, err)
		require.Equal(t, n+1, target.Destination.InFlight)
	}
	db.Exec(`UPDATE subscriptions SET settings = '{"events": 7}', version = 100`)
	db.Exec(`UPDATE subscriptions_head SET version = 100`)
	_, err = db.Subscriptions.Target(t.Context(), s.ID)
	require.Equal(t, "unreadable_subscription", event.CodeOf(err))
	names, err := db.Subscriptions.Unreadable(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"crm"}, names)
	require.NoError(t, persistencetest.Second(other.Subscriptions.DeleteSubscription(t.Context(), "crm", persistencetest.Ada)))
	_, err = db.Subscriptions.Target(t.Context(), s.ID)
	require.ErrorIs(t, err, event.ErrNotFound)
}

// After a failover the database may lack changes that a process has cached.
func TestAVersionThatGoesBack(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	kept, lost := db.Subscribe("kept", delivery.Events{}), db.Subscribe("lost", delivery.Events{})
	_, err := db.Subscriptions.Target(t.Context(), lost.ID)
	require.NoError(t, err)
	db.Exec(`DELETE FROM subscriptions WHERE id = $1`, lost.ID)
	db.Exec(`UPDATE subscriptions_head SET version = 2`)
	_, err = db.Subscriptions.Target(t.Context(), lost.ID)
	require.ErrorIs(t, err, event.ErrNotFound)
	_, err = db.Subscriptions.Target(t.Context(), kept.ID)
	require.NoError(t, err)
}

// Changes commit in the order of their versions: a transaction that has read one has seen all before it.
func TestChangesWaitForEachOther(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, func(c *persistence.Config) { c.LockTimeout = time.Minute })
	db.Subscribe("one", delivery.Events{})
	holder := persistencetest.Connect(t, db.URL)
	_, err := holder.Exec(t.Context(), `BEGIN; UPDATE subscriptions_head SET version = version + 1`)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := db.Subscriptions.ApplyDestination(context.WithoutCancel(t.Context()), persistencetest.Endpoint("two"), nil, persistencetest.Ada)
		done <- err
	}()
	db.OnBlock(holder)
	_, err = holder.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.Equal(t, persistencetest.Value[int](db, `SELECT version FROM subscriptions_head`), persistencetest.Value[int](db, `SELECT version FROM destinations WHERE name = 'two'`))
}

// Of two concurrent requests that create or change the same object, the second is refused: it would lose what the first one did,
// and a secret that was shown.
func TestAChangeOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	d := persistencetest.Endpoint("crm")
	d.Version = delivery.MustBeNew
	secret := func(s string) []delivery.Secret { return []delivery.Secret{{Value: s}} }
	made, err := db.Subscriptions.ApplyDestination(ctx, d, secret("the first one's"), persistencetest.Ada)
	require.NoError(t, err)
	_, err = db.Subscriptions.ApplyDestination(ctx, d, secret("the second one's"), persistencetest.Ada)
	require.Equal(t, event.CodeChangedMeanwhile, event.CodeOf(err))

	edit := made
	edit.InFlight = 3
	changed, err := db.Subscriptions.ApplyDestination(ctx, edit, nil, persistencetest.Ada)
	require.NoError(t, err)
	edit.InFlight = 4
	_, err = db.Subscriptions.ApplyDestination(ctx, edit, nil, persistencetest.Ada)
	require.Equal(t, event.CodeChangedMeanwhile, event.CodeOf(err))
	got, err := db.Subscriptions.Destination(ctx, "crm")
	require.NoError(t, err)
	require.Equal(t, changed.Version, got.Version)

	s := delivery.Subscription{Name: "s", To: "crm", Active: true, Version: delivery.MustBeNew}
	first, err := db.Subscriptions.ApplySubscription(ctx, s, persistencetest.Ada)
	require.NoError(t, err)
	s.Active = false
	_, err = db.Subscriptions.ApplySubscription(ctx, s, persistencetest.Ada)
	require.Equal(t, event.CodeChangedMeanwhile, event.CodeOf(err))
	first.Active = false
	_, err = db.Subscriptions.ApplySubscription(ctx, first, persistencetest.Ada)
	require.NoError(t, err)
	first.Events = delivery.Events{Types: []string{"x"}}
	_, err = db.Subscriptions.ApplySubscription(ctx, first, persistencetest.Ada)
	require.Equal(t, event.CodeChangedMeanwhile, event.CodeOf(err))
}

// Canceled deliveries are counted, and a destination of the same name is removed with its only subscription.
func TestDeletesOfASubscription(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	db.Subscribe("crm", delivery.Events{})
	db.Apply(delivery.Subscription{Name: "other", To: "crm", Active: true})
	gone, err := db.Subscriptions.DeleteSubscription(ctx, "crm", persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Removed{}, gone, "another one goes there")
	db.Apply(delivery.Subscription{Name: "crm", To: "crm", Active: true})
	gone, err = db.Subscriptions.DeleteSubscription(ctx, "other", persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Removed{}, gone, "it has another name")

	crm := db.Apply(delivery.Subscription{Name: "crm", To: "crm", Active: true})
	db.Exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id)
SELECT gen_random_uuid(), $1, $2 FROM generate_series(1, 700)`, crm.ID, crm.DestinationID)
	gone, err = db.Subscriptions.DeleteSubscription(ctx, "crm", persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Removed{Canceled: 700, Destination: "crm"}, gone)
	require.Equal(t, 700, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'canceled'`))
	_, err = db.Subscriptions.Destination(ctx, "crm")
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Contains(t, db.Audited(), "destination.delete destination:crm")
}

// Lists by name continue after a name; of the pending deliveries no more are counted than the list's limit.
func TestDestinationsArePaged(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	var ids []int64
	for _, name := range []string{"a", "b", "c"} {
		ids = append(ids, db.Subscribe(name, delivery.Events{}).DestinationID)
	}
	page, err := db.Subscriptions.DestinationsAfter(ctx, "a", 1)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, "b", page[0].Name)
	subscriptions, err := db.Subscriptions.SubscriptionsAfter(ctx, "b", 5)
	require.NoError(t, err)
	require.Len(t, subscriptions, 1)
	require.Equal(t, "c", subscriptions[0].Name)

	db.Exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id, queued_at, due_at)
SELECT gen_random_uuid(), 1, $1, now(), now() + n * interval '1 s' FROM generate_series(1, 1200) AS n`, ids[0])
	conditions, err := db.Subscriptions.Conditions(ctx, ids)
	require.NoError(t, err)
	require.Len(t, conditions, 3)
	require.EqualValues(t, 1000, conditions[ids[0]].Waiting)
	require.True(t, conditions[ids[0]].AtLeast)
	require.False(t, conditions[ids[1]].AtLeast)
	one, err := db.Subscriptions.Condition(ctx, ids[0])
	require.NoError(t, err)
	require.EqualValues(t, 1200, one.Waiting)
	require.False(t, one.AtLeast)
}
