package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/providers"
)

// Without workers one finding names every queue and what to do; queues with workers are listed as usual.
func TestQueuesWithoutAWorkerAreOneFinding(t *testing.T) {
	t.Parallel()
	d := &doctor{}
	d.judgeQueues([]oversight.QueueStats{
		{Queue: "events", Backlog: 1}, {Queue: "events-bulk"}, {Queue: "operations", WorkflowPollers: 1},
	})
	require.Len(t, d.findings, 2)
	require.Equal(t, oversight.Finding{Check: "queue operations", Result: resultOK, Detail: "0 waiting, 1 poller"}, d.findings[0])
	require.Equal(t, resultFail, d.findings[1].Result)
	require.Equal(t, "no worker polls events, events-bulk; 1 task waits", d.findings[1].Detail)
	require.Contains(t, d.findings[1].Advice, "start a worker (`holdfast worker`)")

	d = &doctor{}
	d.judgeQueues([]oversight.QueueStats{{Queue: "events", ActivityPollers: 2}})
	require.Len(t, d.findings, 1)
	require.Equal(t, resultOK, d.findings[0].Result)
}

// A queue whose tasks wait gets twice the slots, by a variable and its value; a queue without a setting needs more workers.
func TestSlotsAreAdvisedAsAValue(t *testing.T) {
	t.Parallel()
	d := &doctor{cfg: config.Config{Worker: config.Worker{SlotsNormal: 8}}}
	waits := event.Duration(2 * oldestBacklog)
	d.judgeQueues([]oversight.QueueStats{
		{Queue: "events", Backlog: 1, Age: waits, ActivityPollers: 2}, {Queue: "operations", Backlog: 1, Age: waits, ActivityPollers: 2},
	})
	require.Equal(t, "start more workers, or give each more slots, such as HOLDFAST_WORKER_SLOTS_NORMAL=16", d.findings[0].Advice)
	require.Equal(t, "start more workers", d.findings[1].Advice)
}

// Only an ingress has the senders' secrets: doctor next to an operator must not fail for their absence.
func TestProvidersThatCanAuthenticate(t *testing.T) {
	t.Parallel()
	d := &doctor{}
	d.reportProviders(nil, 78)
	d.reportProviders([]string{"github", "stripe"}, 78)
	require.Equal(t, "0 of 78 can authenticate their senders", d.findings[0].Detail)
	require.Equal(t, resultWarn, d.findings[0].Result)
	require.Contains(t, d.findings[0].Advice, "an ingress needs the secret of at least one provider")
	require.Equal(t, "2 of 78 can authenticate their senders: github, stripe", d.findings[1].Detail)
	d.reportProviders(make([]string, 75), 78)
	require.Equal(t, "75 of 78 can authenticate their senders; `holdfast provider list` lists them", d.findings[2].Detail)
}

// Events without an entity are named. They are a warning if a provider has no others: some events are about no entity.
func TestEventsInWhichNoRuleFoundAnEntity(t *testing.T) {
	t.Parallel()
	d := &doctor{}
	d.judgeMapped(nil)
	d.judgeMapped([]oversight.MappedEvents{{Provider: "stripe", Mapped: 90, Unmapped: 10}})
	d.judgeMapped([]oversight.MappedEvents{{Provider: "acme", Unmapped: 305}, {Provider: "stripe", Mapped: 90, Unmapped: 10}})
	require.Equal(t, resultOK, d.findings[0].Result)
	require.Equal(t, resultOK, d.findings[1].Result)
	require.Equal(t, "rules found none in 10 of 100 events in the last day: stripe 10 of 100", d.findings[1].Detail)
	require.Equal(t, resultWarn, d.findings[2].Result)
	require.Equal(t, "rules found none in 315 of 405 events in the last day: acme 305 of 305, stripe 10 of 100", d.findings[2].Detail)
	require.Contains(t, d.findings[2].Advice, "no event of acme changed an entity")
}

// With the secrets of `make run`, nearly all providers can authenticate, and few have a credential for their API: one finding says
// so. A few are named.
func TestProvidersWithoutACredentialAreOneFinding(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	cfg, err := config.LoadFrom(nil)
	require.NoError(t, err)
	d := &doctor{cfg: cfg}
	d.examineAPIs(catalogue, catalogue.Names())
	require.Len(t, d.findings, 1)
	require.Equal(t, resultOK, d.findings[0].Result)
	require.Regexp(t, `^\d\d have no credential, which is allowed. API of \S+: \w.* off: set \w+`, d.findings[0].Detail)

	d = &doctor{cfg: cfg}
	d.examineAPIs(catalogue, []string{"github", "stripe"})
	require.NotEmpty(t, d.findings)
	require.Equal(t, "API of stripe", d.findings[len(d.findings)-1].Check)
}
