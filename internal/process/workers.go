package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"holdfast/activities"
	"holdfast/activities/background"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/buildinfo"
	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/providers"
	"holdfast/workflows"
	"holdfast/workflows/runs"
)

// The pollers of a queue: few while it is quiet, more while there is a backlog.
const (
	initialPollers = 2
	maximumPollers = 20
)

// workflowTasks is how many workflow tasks of a queue are processed concurrently. A task waits while its local activities run,
// so there are more of them than slots for steps. With 100, every tenth start found none free at full load, and its first task
// went through the queue.
const workflowTasks = 300

// operationSlots is how many jobs that belong to no event run concurrently in one process.
const operationSlots = 4

// fetchSlots is how many states one process fetches concurrently. Most of the time they wait for the provider.
const fetchSlots = 16

// largeSlots is how many steps of large events one process runs concurrently. A decoded body takes up to seven times its bytes.
const largeSlots = 2

// startWorkers runs one worker for each priority, each with its own slots, so that a flood of normal events can't delay a
// critical one; one for batches of the bulk lane, which take no slots of single events; one for dead letters, so that no flood
// of events can delay those; one for replayed events, so that a bulk replay doesn't slow live ones; one for fetches; one for
// large events; and one for
// the workflows of replays and sweeps.
func (p *process) startWorkers(ctx context.Context) error {
	if err := waitFor(ctx, "Temporal", p.probeTemporal()); err != nil {
		return err
	}
	if err := stores.RefuseEarlierNamespace(ctx, p.temporal, p.cfg.Temporal.Namespace); errors.Is(err, stores.ErrEarlierNamespace) {
		return err
	}
	if err := errors.Join(p.observeQueues(), p.observeSchedules(), p.observeLists()); err != nil {
		return err
	}
	go p.scheduleNotifications(ctx)
	go sweepAfterFailover(ctx, p.store.DeadLetters.Server, func(ctx context.Context) error {
		return runs.Schedules{Client: p.temporal}.RunNow(ctx, workflows.ScheduleSweep)
	})
	classify := activities.NewInterceptor(p.errors)
	worker.SetStickyWorkflowCacheSize(p.cfg.Worker.StickyCache)
	worker.SetBinaryChecksum(buildinfo.Read().ID()) // or each start hashes the 50 MB of the program
	p.warnOfRetention(ctx)
	p.switchRecoveryOn(ctx)
	steps, operate := p.activities(), p.operations()
	purger, err := stores.NewPurger(p.cfg, p.store)
	if err != nil {
		return err
	}
	upkeep := &background.Upkeep{
		Retention: purger, Keep: stores.Retention(p.cfg), Runs: p.namespace(), Alerts: p.store.Errors, Notifier: p.notifier,
		Reports: stores.NewStatistics(p.cfg, p.store, p.temporal), ReportPeriod: p.cfg.Notify.Report.Length(),
		From: "holdfast " + p.cfg.Temporal.Namespace,
	}
	slots := map[string]int{
		workflows.Queue(event.PriorityCritical): p.cfg.Worker.SlotsCritical,
		workflows.Queue(event.PriorityHigh):     p.cfg.Worker.SlotsHigh,
		workflows.Queue(event.PriorityNormal):   p.cfg.Worker.SlotsNormal,
		workflows.QueueDeadLetter:               p.cfg.Worker.SlotsDeadLetter,
		workflows.QueueBulk:                     p.cfg.Worker.SlotsBulk,
		workflows.QueueReplay:                   p.cfg.Worker.SlotsReplay,
		workflows.QueueFetch:                    fetchSlots,
		workflows.QueueLarge:                    largeSlots,
		workflows.QueueOperations:               operationSlots,
	}
	for queue, n := range slots {
		options := p.workerOptions(n, classify)
		options.DisableWorkflowWorker = queue == workflows.QueueDeadLetter || queue == workflows.QueueFetch
		w := worker.New(p.temporal, queue, options)
		if !options.DisableWorkflowWorker {
			workflows.Register(w)
		}
		w.RegisterActivity(steps)
		w.RegisterActivity(operate)
		if queue == workflows.QueueOperations {
			w.RegisterActivity(upkeep)
		}
		if err := w.Start(); err != nil {
			return fmt.Errorf("start worker of %s: %w", queue, err)
		}
		p.workers = append(p.workers, w)
		slog.Debug("worker.started", "queue", queue, "slots", n)
	}
	return nil
}

func (p *process) namespace() runs.Namespace {
	return runs.Namespace{Client: p.temporal, Name: p.cfg.Temporal.Namespace}
}

// warnOfRetention warns at the start if events stay longer than configured. A purge checks Temporal again.
func (p *process) warnOfRetention(ctx context.Context) {
	ofRuns, err := p.namespace().Retention(ctx)
	if configured, effective := stores.RetentionOfEvents(p.cfg, ofRuns); err == nil && effective != configured {
		slog.WarnContext(ctx, "retention.extended", "configured", configured, "namespace", ofRuns, "effective", effective)
	}
}

func (p *process) activities() *activities.Activities {
	return &activities.Activities{
		Catalogue: p.catalogue, Events: countedEvents{p.store.Writer, p.counts.events}, DeadLetters: p.deadLetters(),
		Splits: p.store.Inbox, Batches: batchStore{countedBatches{p.store.Writer, p.counts.events}, p.bulkStarter},
		Lane: p.bulkStarter, Duplicates: p.duplicates,
		Inputs: runs.NewReader(p.temporal, p.codec.DataConverter()), States: p.store.Fetches, Fetcher: p.fetcher(),
		Bodies: p.store.Inbox, Mappings: p.counts.mappings,
	}
}

func (p *process) deadLetters() activities.DeadLetterStore {
	return countedDeadLetters{p.store.DeadLetters, p.counts.events}
}

func (p *process) operations() *background.Activities {
	return &background.Activities{
		Starter: p.starter(), Runs: runs.NewReader(p.temporal, p.codec.DataConverter()), DeadLetters: p.deadLetters(),
		Claims: p.store.ReplayView(), Replays: p.store.Replays, Rebuilds: p.store.Rebuilds,
		States: p.store.Fetches, Fetcher: p.fetcher(), Resends: p.store.Resends, Imports: p.store.Imports,
		Recoveries: p.store.Recoveries, Lists: p.eventLists(), Inbox: p.store.Inbox.NewInboxWriter(),
		Destinations: p.store.Subscriptions, Due: p.store.DeadLetters, Sweeps: p.store.DeadLetters, Kept: p.store.DeadLetters,
		Healing: p.store.DeadLetters, Audit: p.store.Audit, RestoreRate: p.cfg.Replay.Rate,
		Parse: activities.SafeParser(p.catalogue), ParseAgain: activities.SafeSplittingParser(p.catalogue),
		Automatic: p.automaticReplay, Errors: p.errors, Shapes: p.store.Observed,
		Definitions: background.Definitions{
			Redact: providers.Redactor{Lookup: p.catalogue.Lookup}.Redact, Reads: providers.Reads(p.catalogue.Lookup),
		},
	}
}

// stopAll stops the workers concurrently, so that they share one grace period.
func stopAll(workers []worker.Worker) {
	var stopping sync.WaitGroup
	for _, w := range workers {
		stopping.Go(w.Stop)
	}
	stopping.Wait()
}

func (p *process) workerOptions(slots int, classify interceptor.WorkerInterceptor) worker.Options {
	pollers := pollers(p.cfg.Worker.Pollers)
	return worker.Options{
		MaxConcurrentActivityExecutionSize:      slots,
		MaxConcurrentLocalActivityExecutionSize: slots,
		MaxConcurrentWorkflowTaskExecutionSize:  workflowTasks,
		WorkflowTaskPollerBehavior:              pollers,
		ActivityTaskPollerBehavior:              pollers,
		WorkerStopTimeout:                       p.cfg.Worker.Grace,
		Interceptors:                            []interceptor.WorkerInterceptor{classify},
		DeploymentOptions:                       deployment(p.cfg.Temporal),
		OnFatalError:                            func(err error) { p.failed <- fmt.Errorf("worker: %w", err) },
	}
}

// pollers returns a fixed number of pollers, or one that follows the load.
func pollers(fixed int) worker.PollerBehavior {
	if fixed > 0 {
		return worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: fixed})
	}
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: initialPollers, MaximumNumberOfPollers: maximumPollers,
	})
}

// deployment returns the workers' build and deployment; the zero value without worker versioning.
func deployment(cfg config.Temporal) worker.DeploymentOptions {
	return worker.DeploymentOptions{
		UseVersioning: cfg.Versioned(),
		Version:       worker.WorkerDeploymentVersion{DeploymentName: cfg.DeploymentName, BuildID: cfg.WorkerBuildID},
	}
}

// automaticReplay returns the policy of the configuration and of the current definitions; zero for none.
func (p *process) automaticReplay() operation.AutomaticReplay {
	cfg := p.cfg.Replay
	if !cfg.Automatic {
		return operation.AutomaticReplay{}
	}
	policy := operation.AutomaticReplay{
		ReplayPolicy: configuredReplay(cfg), Own: map[string]operation.ReplayPolicy{}, Rate: cfg.Rate,
	}
	for name, own := range p.catalogue.Catalogue().Replays() {
		policy.Own[name] = own.Over(policy.ReplayPolicy)
	}
	return policy
}

// configuredReplay returns the policy of providers whose definitions have none.
func configuredReplay(cfg config.Replay) operation.ReplayPolicy {
	policy := operation.ReplayPolicy{
		Base: cfg.Base, Attempts: cfg.Attempts, Classes: []event.Class{event.ClassFailed, event.ClassTransient},
	}
	if cfg.Rejected {
		policy.Classes = append(policy.Classes, event.ClassRejected)
	}
	return policy
}
