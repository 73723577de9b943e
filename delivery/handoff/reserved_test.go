package handoff

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdfast/delivery"
)

var reserved = Reserved{
	TaskQueues: []string{"events", "operations"}, WorkflowTypes: []string{"ProcessEvent", "PurgeExpired"},
	IDPrefixes: []string{"replay/", "holdfast-purge-expired"}, Providers: func() []string { return []string{"stripe"} },
}

// newGuarded makes a sender with profiles that lead to Holdfast's own namespace by another address, to another namespace of the same
// server, and to nothing.
func newGuarded(t *testing.T) (*bench, string) {
	t.Helper()
	b := newBench(t)
	other := "other-" + uuid.NewString()
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: server.Address(), Logger: discard})
	require.NoError(t, err)
	t.Cleanup(namespaces.Close)
	require.NoError(t, namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: other, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}))
	file := writeProfiles(t, fmt.Sprintf("[profile.same]\naddress = %q\nnamespace = %q\n[profile.other]\naddress = %q\nnamespace = %q\n"+
		"[profile.away]\naddress = \"127.0.0.1:1\"\n",
		strings.Replace(server.Address(), "127.0.0.1", "localhost", 1), server.Namespace(), server.Address(), other))
	b.Sender = NewSender(Options{Client: b.client, Namespace: server.Namespace(), ConfigFile: file, Reserved: reserved})
	t.Cleanup(b.Close)
	return b, other
}

// forged are subscriptions that use what belongs to Holdfast, each in one of its three forms, by what the reason names.
func forged(t *testing.T) map[string]delivery.Target {
	t.Helper()
	all := map[string]delivery.Target{}
	put := func(reason, queue, workflowType, id string) {
		start := delivery.Start{WorkflowID: delivery.JQ(id), Type: workflowType, Input: []delivery.JQ{".body"}}
		for form, sub := range map[string]delivery.Subscription{
			"start":             {Start: &start},
			"signal":            {Signal: &delivery.Signal{WorkflowID: delivery.JQ(id), SignalName: "payment"}},
			"signal-with-start": {SignalWithStart: &delivery.SignalWithStart{Start: start, SignalName: "payment"}},
		} {
			if form == "signal" && workflowType != "Settle" {
				continue // a signal has no type
			}
			target := targetOf(sub)
			target.Destination.Temporal.TaskQueue = queue
			all[reason+" "+form] = target
		}
	}
	put(`task queue "events"`, "events", "Settle", ".body.order")
	put(`task queue "temporal-sys-per-ns-tq"`, "temporal-sys-per-ns-tq", "Settle", ".body.order")
	put(`workflow type "ProcessEvent"`, "orders", "ProcessEvent", ".body.order")
	put(`workflow type "PurgeExpired"`, "orders", "PurgeExpired", ".body.order")
	put(`begin with "stripe:"`, "orders", "Settle", `"stripe:" + .body.order`)
	put(`begin with "replay/"`, "orders", "Settle", `"replay/" + .body.order`)
	put(`begin with "holdfast-purge-expired"`, "orders", "Settle", `"holdfast-purge-expired-2026" + .body.order`)
	put(`begin with "temporal-sys-"`, "orders", "Settle", `"temporal-sys-scheduler:holdfast-purge-expired" + .body.order`)
	return all
}

// A delivery to Holdfast's own namespace is rejected, whatever the profile, if it uses a task queue, a type or a workflow ID of
// Holdfast.
func TestAHandoffUsesNoReservedNames(t *testing.T) {
	t.Parallel()
	b, _ := newGuarded(t)
	for reason, target := range forged(t) {
		reason = reason[:strings.LastIndex(reason, " ")]
		for _, profile := range []string{"", "same"} {
			target.Destination.Temporal.Profile = profile
			j := newJob(t)
			_, body := newOrder()
			r := b.Send(t.Context(), target, j, messageOf(j, body))
			requireResult(t, r, delivery.Final, "reserved")
			require.Contains(t, r.Error, reason)
			require.NotContains(t, r.Error, "order-", "a reason has nothing of the event")

			m := messageOf(j, body)
			findings, err := b.Check(t.Context(), target, &m)
			require.NoError(t, err)
			require.Condition(t, func() bool { return refuses(findings, reason) }, "%s: %v", reason, findings)
		}
	}
	for _, sub := range []delivery.Subscription{starting(), signaling(), both("")} {
		j := newJob(t)
		_, body := newOrder()
		require.NotEqual(t, "reserved", b.Send(t.Context(), withProfile("same", sub), j, messageOf(j, body)).Code)
	}
}

func refuses(findings []delivery.Finding, reason string) bool {
	for _, f := range findings {
		if f.About == "reserved" && !f.OK && strings.Contains(f.Text, reason) {
			return true
		}
	}
	return false
}

// Without a sample, a check uses the constant fields of the subscription, as its creation does: type, queue, and the prefix of
// the workflow ID.
func TestReservedNamesShowWithoutASample(t *testing.T) {
	t.Parallel()
	b, _ := newGuarded(t)
	for reason, target := range forged(t) {
		findings, err := b.Check(t.Context(), target, nil)
		require.NoError(t, err)
		reason = reason[:strings.LastIndex(reason, " ")]
		require.True(t, refuses(findings, reason), reason)
		require.Contains(t, strings.Join(reserved.Conflicts(target), "; "), reason)
		target.Destination.Temporal.Profile = "other"
		require.Empty(t, reserved.Conflicts(target))
	}
}

func TestReservedNamesAreFreeInAnotherNamespace(t *testing.T) {
	t.Parallel()
	b, other := newGuarded(t)
	id, body := newOrder()
	sub := starting()
	sub.Start.Type, sub.Start.WorkflowID = "ProcessEvent", `"stripe:" + .body.order`
	target := withProfile("other", sub)
	target.Destination.Temporal.TaskQueue = "events"
	require.Eventually(t, func() bool { // until every part of the server has the namespace
		j := newJob(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return b.Send(ctx, target, j, messageOf(j, body)).Kind == delivery.OK
	}, time.Minute, 100*time.Millisecond)
	c, err := client.Dial(client.Options{HostPort: server.Address(), Namespace: other, Logger: discard})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.DescribeWorkflowExecution(t.Context(), "stripe:"+id, "")
	require.NoError(t, err)
}

// A namespace that does not give its ID may be Holdfast's own: a reserved name waits until it does, and no attempt counts.
func TestAReservedNameWaitsForTheNamespace(t *testing.T) {
	t.Parallel()
	b, _ := newGuarded(t)
	sub := starting()
	sub.Start.Type = "ProcessEvent"
	j := newJob(t)
	_, body := newOrder()
	r := b.Send(t.Context(), withProfile("away", sub), j, messageOf(j, body))
	requireResult(t, r, delivery.Ours, "unknown_namespace")
}
