package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/maintenance"
)

func (s *stub) Purge(_ context.Context, by oversight.Actor) (map[retention.Kind]int64, error) {
	return map[retention.Kind]int64{retention.Events: 7}, s.changed("purge", by)
}

func (s *stub) PlanPurge(context.Context) (map[retention.Kind]time.Time, error) {
	return map[retention.Kind]time.Time{retention.Events: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}, s.call("plan purge")
}

func (s *stub) PlanExpunge(_ context.Context, id string) (retention.Expunged, error) {
	return retention.Expunged{EventID: id, WorkflowIDs: []string{"acme:evt_1"}, Events: 1}, s.call("plan expunge")
}

func (s *stub) Expunge(_ context.Context, id string, by oversight.Actor) (retention.Expunged, error) {
	return retention.Expunged{EventID: id, WorkflowIDs: []string{"acme:evt_1"}, Events: 1, Runs: 1}, s.changed("expunge", by)
}

func (s *stub) PlanReconcile(_ context.Context, since, until time.Time) (reconcile.Comparison, error) {
	return reconcile.Comparison{Since: since, Until: until, DryRun: true, Findings: []reconcile.Inconsistency{}}, s.call("plan reconcile")
}

func (s *stub) Reconcile(_ context.Context, since, until time.Time, by oversight.Actor) (reconcile.Comparison, error) {
	return reconcile.Comparison{Since: since, Until: until, Findings: []reconcile.Inconsistency{}}, s.changed("reconcile", by)
}

// Maintenance is for administrators. An expunge needs a reason, and its plan doesn't.
func TestMaintenanceIsForAdministrators(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	for _, c := range []struct{ path, content, call string }{
		{"/purge", `{"reason":"disk"}`, "purge"},
		{"/purge", `{"dry_run":true}`, "plan purge"},
		{"/events/" + someID + "/expunge", `{"reason":"asked"}`, "expunge"},
		{"/events/acme:a%2Fb/expunge", `{"dry_run":true}`, "plan expunge"},
		{"/reconcile", `{"since":"3h"}`, "reconcile"},
		{"/reconcile", `{"since":"2026-11-21T09:00:00Z","until":"2026-11-21T10:00:00Z","dry_run":true}`, "plan reconcile"},
	} {
		behind := &stub{}
		_, base := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
		for _, role := range access.Roles() {
			want := 403
			if role == access.RoleAdmin {
				want = 200
			}
			r := ask(t, "POST", base+c.path, c.content, bearer(texts[role])...)
			require.Equal(t, want, r.status, "%s as %s: %s", c.path, role, r.body)
		}
		require.Equal(t, []string{c.call}, behind.called(), c.path)
	}

	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	admin := bearer(texts[access.RoleAdmin])
	r := ask(t, "POST", base+"/events/"+someID+"/expunge", `{}`, admin...)
	require.Equal(t, "missing_field reason", r.Error.Code+" "+r.Error.Field)
	require.Empty(t, behind.called())
	ask(t, "POST", base+"/events/"+someID+"/expunge", `{"reason":"asked"}`, admin...)
	require.Equal(t, []string{"the-admin", "admin", "asked"}, []string{behind.actor.Name, behind.actor.Role, behind.actor.Reason})
}

// The period of a reconciliation begins at a given time and ends now, or at another time after its beginning.
func TestThePeriodOfAReconciliation(t *testing.T) {
	t.Parallel()
	_, base := serve(t, operator.Options{API: (&stub{}).api()})
	var report reconcile.Comparison
	r := ask(t, "POST", base+"/reconcile", `{"since":"3h"}`)
	require.NoError(t, json.Unmarshal(r.body, &report))
	require.WithinDuration(t, report.Until.Add(-3*time.Hour), report.Since, time.Second)
	for content, field := range map[string]string{
		`{}`: "since", `{"since":"yesterday"}`: "since", `{"since":"1h","until":"2h"}`: "until", `{"since":"1h","until":"x"}`: "until",
	} {
		r := ask(t, "POST", base+"/reconcile", content)
		require.Equal(t, 400, r.status, content)
		require.Equal(t, field, r.Error.Field, content)
	}
}

// An administrator sees why maintenance failed. What was done before is reported, too.
func TestMaintenanceThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		path   string
		status int
		says   string
	}{
		"a full disk":          {errors.New("archive: no space left"), "/purge", 200, `"problem":"archive: no space left"`},
		"a part of an archive": {&maintenance.ArchiveError{Files: 2, Err: errors.New("read-only")}, "/events/" + someID + "/expunge", 200, `in 2 file(s)`},
		"an open run":          {errors.New("its latest run is still open"), "/events/" + someID + "/expunge", 409, `its latest run is still open`},
		"another namespace":    {event.Rejectf("no_runs", "Is it the right namespace?"), "/reconcile", 409, `Is it the right namespace?`},
		"an outage":            {&event.Error{Class: event.ClassTransient, Code: "connection_failed"}, "/purge", 503, `"unavailable"`},
		"no such event":        {event.ErrNotFound, "/events/" + someID + "/expunge", 404, `"no_such_thing"`},
	} {
		_, base := serve(t, operator.Options{API: (&stub{err: c.err}).api()})
		r := ask(t, "POST", base+c.path, map[string]string{"/purge": ``, "/reconcile": `{"since":"1h"}`}[c.path]+
			map[bool]string{true: `{"reason":"asked"}`}[c.path != "/purge" && c.path != "/reconcile"])
		require.Equal(t, c.status, r.status, "%s: %s", name, r.body)
		require.Contains(t, string(r.body), c.says, name)
	}
}

var _ api.Maintenance = (*stub)(nil)
