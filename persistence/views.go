package persistence

import (
	"holdfast/persistence/audit"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/entities"
	"holdfast/persistence/inbox"
	"holdfast/persistence/outbox"
	"holdfast/persistence/read"
	"holdfast/persistence/subscriptions"
	"holdfast/persistence/upkeep"
	"holdfast/persistence/writer"
)

type (
	auditStore         = audit.Store
	deadLetterStore    = deadletters.Store
	entityStore        = entities.Store
	inboxStore         = inbox.Store
	outboxStore        = outbox.Store
	readStore          = read.Store
	subscriptionsStore = subscriptions.Store
	upkeepStore        = upkeep.Store
	writerStore        = writer.Store
)

// Views join stores for a consumer that needs several of them as one.
type (
	// QueueView is for the dispatcher: what is due, and where it goes.
	QueueView struct {
		*outboxStore
		*subscriptionsStore
	}
	// TrialView is for trials of a subscription, which are audited.
	TrialView struct {
		*subscriptionsStore
		*auditStore
	}
	// ReplayView is for replays: of an event, or of a delivery.
	ReplayView struct {
		*deadLetterStore
		*outboxStore
	}
	// EventView finds an event wherever it is: stored, waiting, dead, dropped or removed.
	EventView struct {
		*readStore
		*writerStore
		*inboxStore
		*upkeepStore
		*deadLetterStore
	}
	// EntityView has the state of entities, now and at any time before.
	EntityView struct {
		*readStore
		*entityStore
	}
)

// QueueView joins Outbox and Subscriptions.
func (s *Store) QueueView() QueueView { return QueueView{s.Outbox, s.Subscriptions} }

// TrialView joins Subscriptions and Audit.
func (s *Store) TrialView() TrialView { return TrialView{s.Subscriptions, s.Audit} }

// ReplayView joins DeadLetters and Outbox.
func (s *Store) ReplayView() ReplayView { return ReplayView{s.DeadLetters, s.Outbox} }

// EventView joins Read, Writer, Inbox, Upkeep and DeadLetters.
func (s *Store) EventView() EventView {
	return EventView{s.Read, s.Writer, s.Inbox, s.Upkeep, s.DeadLetters}
}

// EntityView joins Read and Entities.
func (s *Store) EntityView() EntityView { return EntityView{s.Read, s.Entities} }
