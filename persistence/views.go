package persistence

import (
	"holdfast/persistence/audit"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/decisions"
	"holdfast/persistence/entities"
	"holdfast/persistence/inbox"
	"holdfast/persistence/outbox"
	"holdfast/persistence/read"
	"holdfast/persistence/subscriptions"
	"holdfast/persistence/upkeep"
)

type (
	auditStore         = audit.Store
	deadLetterStore    = deadletters.Store
	decisionStore      = decisions.Store
	entityStore        = entities.Store
	inboxStore         = inbox.Store
	outboxStore        = outbox.Store
	readStore          = read.Store
	subscriptionsStore = subscriptions.Store
	upkeepStore        = upkeep.Store
)

// Views join stores for consumers that need several as one.
type (
	// QueueView is for the dispatcher: due deliveries and their targets.
	QueueView struct {
		*outboxStore
		*subscriptionsStore
	}
	// TrialView is for audited trials of a subscription.
	TrialView struct {
		*subscriptionsStore
		*auditStore
	}
	// ReplayView is for replaying an event or a delivery.
	ReplayView struct {
		*deadLetterStore
		*outboxStore
	}
	// EventView finds an event wherever it is: stored, in the inbox, dead, dropped or removed.
	EventView struct {
		*readStore
		*decisionStore
		*inboxStore
		*upkeepStore
		*deadLetterStore
	}
	// EntityView reads the state of entities, current or at an earlier time.
	EntityView struct {
		*readStore
		*entityStore
	}
	// CountView counts the rows of lists.
	CountView struct {
		*readStore
		*deadLetterStore
		*outboxStore
	}
)

// QueueView joins Outbox and Subscriptions.
func (s *Store) QueueView() QueueView { return QueueView{s.Outbox, s.Subscriptions} }

// TrialView joins Subscriptions and Audit.
func (s *Store) TrialView() TrialView { return TrialView{s.Subscriptions, s.Audit} }

// ReplayView joins DeadLetters and Outbox.
func (s *Store) ReplayView() ReplayView { return ReplayView{s.DeadLetters, s.Outbox} }

// EventView joins Read, Decisions, Inbox, Upkeep and DeadLetters.
func (s *Store) EventView() EventView {
	return EventView{s.Read, s.Decisions, s.Inbox, s.Upkeep, s.DeadLetters}
}

// EntityView joins Read and Entities.
func (s *Store) EntityView() EntityView { return EntityView{s.Read, s.Entities} }

// CountView joins Read, DeadLetters and Outbox.
func (s *Store) CountView() CountView { return CountView{s.Read, s.DeadLetters, s.Outbox} }
