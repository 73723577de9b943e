package operator_test

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// stubOperations has a single operation of a kind.
type stubOperations[T operation.Any] struct {
	stub *stub
	one  T
}

func (o stubOperations[T]) Start(_ context.Context, wanted T, by oversight.Actor) (T, error) {
	o.stub.started = wanted
	return o.one, o.stub.changed("start operation", by)
}

func (o stubOperations[T]) Read(context.Context, string) (T, error) {
	return o.one, o.stub.call("read operation")
}

func (o stubOperations[T]) Latest(context.Context, int) ([]T, error) {
	return []T{o.one}, o.stub.call("latest operations")
}

func (o stubOperations[T]) Change(_ context.Context, _ string, _ operation.State, by oversight.Actor) (T, error) {
	return o.one, o.stub.changed("change operation", by)
}

type stubReplays struct {
	stubOperations[operation.Replay]
}

func (s *stub) replays() stubReplays {
	return stubReplays{stubOperations[operation.Replay]{s, someReplay()}}
}

func (o stubReplays) Plan(context.Context, operation.ReplayFilter, int) (operation.ReplayPlan, error) {
	return operation.ReplayPlan{ByClass: map[event.Class]int64{}, ByProvider: map[string]int64{"acme": 1}}, o.stub.call("plan")
}

func (o stubReplays) Count(ctx context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error) {
	return o.Plan(ctx, f, 0)
}

type stubRebuilds struct {
	stubOperations[operation.Rebuild]
}

func (s *stub) rebuilds() stubRebuilds {
	return stubRebuilds{stubOperations[operation.Rebuild]{s, someRebuild()}}
}

func (o stubRebuilds) Diff(context.Context, string) ([]fold.EntityDiff, error) {
	return []fold.EntityDiff{{
		EntityRef: event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: "1"},
		Fields:    []fold.FieldDiff{{Path: "/name", Old: json.RawMessage(`"Ada"`)}},
	}}, o.stub.call("rebuild diff")
}

type stubResends struct {
	stubOperations[operation.Resend]
}

func (s *stub) resends() stubResends {
	return stubResends{stubOperations[operation.Resend]{s, someResend()}}
}

func (o stubResends) ResendMissing(_ context.Context, k delivery.Key, by oversight.Actor) (bool, error) {
	o.stub.key = k
	return !o.stub.hasDelivery, o.stub.changed("resend missing", by)
}

func (o stubResends) Plan(context.Context, string, time.Time, time.Time, int) (operation.ResendPlan, error) {
	return operation.ResendPlan{Events: 9, Matching: 3, Missing: 3}, o.stub.call("plan resend")
}

func someReplay() operation.Replay {
	return operation.Replay{Base: operation.Base{ID: "r1", State: operation.Running, Rate: 1, StartedAt: noon, StartedBy: "ada"}}
}

func someImport() operation.Import {
	return operation.Import{
		Base: operation.Base{ID: "20261122-220000-abcd", Rate: 500, State: operation.Running, StartedBy: "ada"},
		Name: "old.ndjson", Total: 3, Read: 2,
		Counts: operation.ImportCounts{operation.ImportKey: {New: 1, There: 1}, operation.ImportEvent: {New: 1, Unreadable: 1, Failed: 1}},
		Problems: []operation.ImportProblem{{
			Line: 2, Record: operation.ImportEvent, Class: event.ClassRejected, Code: "entity_too_large", Message: "too large",
		}},
	}
}

func someRecovery() operation.Recovery {
	return operation.Recovery{
		Base:     operation.Base{ID: "v1", Rate: 20, State: operation.Running, StartedBy: "ada", StartedAt: noon},
		Provider: "stripe", Target: "acct_1", AskedSince: noon, Since: noon, Until: noon, Cut: operation.CutReach, Listed: 100, Known: 86,
		Missed: 14, Retrying: 3, Recovered: 5, Problem: "503",
		Examples: []operation.MissedEvent{{WorkflowID: "stripe:evt_1", Type: "customer.updated", At: noon}},
	}
}

func someRebuild() operation.Rebuild {
	return operation.Rebuild{
		Base: operation.Base{ID: "b1", State: operation.Running, Rate: 1, StartedAt: noon, StartedBy: "ada"},
		From: noon, Until: noon,
		Filter: operation.RebuildFilter{Provider: "acme", Kind: "thing"}, Read: 1, Unreadable: 1,
		Problems: []operation.RebuildProblem{{
			EventID: someID, Provider: "acme", Class: event.ClassRejected, Code: "malformed_json", Message: "no JSON",
		}},
	}
}

func someResend() operation.Resend {
	return operation.Resend{
		Base:           operation.Base{ID: "s1", Rate: 100, State: operation.Running, StartedBy: "ada", StartedAt: noon},
		SubscriptionID: 5, Subscription: "customers", Since: noon, Until: noon,
	}
}
