package workflows

import (
	"go.temporal.io/sdk/converter"

	"holdfast/activities"
	"holdfast/event"
)

// input holds the event of a run and builds the arguments of its steps. The steps of a large event read it from the run's first
// history event instead.
type input struct {
	receipt event.Receipt
	body    converter.RawValue
	large   bool
}

// isStored reports whether the body is in PostgreSQL only. A local activity has too little time for it.
func (in input) isStored() bool { return in.receipt.Large != nil }

// invocation is an activity with its arguments.
type invocation struct {
	activity any
	args     []any
}

func inputOf(receipt event.Receipt, body converter.RawValue) input {
	size := len(body.Payload().GetData()) + len(receipt.Root)
	large := receipt.Large != nil || size > activities.LargeInput
	return input{receipt: receipt, body: body, large: large}
}

// small returns the receipt without the part that may be large.
func (in input) small() event.Receipt {
	r := in.receipt
	r.Root = nil
	return r
}

func (in input) parse() invocation {
	if in.large {
		return invocation{do.ParseLargeEvent, []any{in.small()}}
	}
	return invocation{do.ParseEvent, []any{in.receipt, in.body}}
}

func (in input) fetch() invocation {
	if in.large {
		return invocation{do.FetchLargeState, []any{in.small()}}
	}
	return invocation{do.FetchState, []any{in.receipt, in.body}}
}

func (in input) persist(p event.Parsed) invocation {
	if in.large {
		return invocation{do.PersistLargeEvent, []any{in.small()}}
	}
	return invocation{do.PersistEvent, []any{in.receipt, in.body, p}}
}

func (in input) upsert(p event.Parsed) invocation {
	if in.large {
		return invocation{do.UpsertLargeEntities, []any{in.small()}}
	}
	return invocation{do.UpsertEntities, []any{in.receipt, p, event.Persisted{}}}
}

func (in input) record(f event.Failure) invocation {
	if in.large {
		return invocation{do.RecordLargeDeadLetter, []any{in.small(), f}}
	}
	return invocation{do.RecordDeadLetter, []any{in.receipt, f, in.body}}
}
