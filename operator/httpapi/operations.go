package httpapi

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Operations starts, changes and reads the operations of one kind. Each change writes one audit entry in its transaction. An
// operation returned with an error is stored, and its workflow will see it a little later.
type Operations[T operation.Any] interface {
	// Start stores an operation, which has an ID and a rate, and starts it.
	Start(ctx context.Context, wanted T, by oversight.Actor) (T, error)
	// Read returns an operation with its progress.
	Read(ctx context.Context, id string) (T, error)
	// Latest returns the latest operations, newest first.
	Latest(ctx context.Context, limit int) ([]T, error)
	// Change pauses, resumes (running) or cancels an operation that hasn't ended.
	Change(ctx context.Context, id string, to operation.State, by oversight.Actor) (T, error)
}

// OperationRoutes returns the routes of a kind of operations.
func OperationRoutes[T operation.Any](kind operation.Kind, all Operations[T]) []Route {
	noun, title, path := string(kind), kind.Title(), "/"+kind.Plural()
	var one T
	id := TextParameter("id", "ID of the "+noun+".")
	change := func(verb, about string, to operation.State) Route {
		do := func(c *fiber.Ctx) (T, error) { return ChangeOperation(c, all, to) }
		return Post(verb+title, path+"/:id/"+verb, about, Answers(do)).
			With(id).MayTake(Reasoned{}).Returns(fiber.StatusOK, one)
	}
	list := func(c *fiber.Ctx) error { return sendLatest(c, all) }
	show := func(c *fiber.Ctx) error { return SendOperation(c, all.Read) }
	return []Route{
		Get("list"+operation.Kind(kind.Plural()).Title(), path, "The latest "+kind.Plural()+", newest first", list).
			With(LimitParameter).Returns(fiber.StatusOK, List[T]{}),
		Get("show"+title, path+"/:id", "One "+noun+" and its progress", show).
			With(id).Returns(fiber.StatusOK, one),
		change("pause", "Pause "+kind.WithArticle(), operation.Paused),
		change("resume", "Resume "+kind.WithArticle(), operation.Running),
		change("cancel", "Cancel "+kind.WithArticle()+"; what it has done stays done", operation.Canceled),
	}
}

func sendLatest[T operation.Any](c *fiber.Ctx, all Operations[T]) error {
	q := QueryOf(c, LimitParameter)
	limit := q.Limit()
	if q.Err != nil {
		return q.Err
	}
	return RespondWith(c, func(ctx context.Context) (List[T], error) { return ListOf(all.Latest(ctx, limit)) })
}

// SendOperation responds with what read returns for the ID in the path.
func SendOperation[T any](c *fiber.Ctx, read func(context.Context, string) (T, error)) error {
	return ReadByPath(c, "id", func(ctx context.Context, id string) error {
		r, err := read(ctx, id)
		if err != nil {
			return err
		}
		return c.JSON(r)
	})
}

// ChangeOperation changes the operation in the path. Once it is stored, it is changed, even if its workflow couldn't be signaled.
func ChangeOperation[T operation.Any](c *fiber.Ctx, all Operations[T], to operation.State) (changed T, err error) {
	err = ChangeByPath(c, "id", func(ctx context.Context, id string, by oversight.Actor) (err error) {
		changed, err = all.Change(ctx, id, to, by)
		return unlessStored(changed, err)
	})
	return changed, err
}

// StartOperation starts an operation. Once it is stored, it is started, even if its workflow couldn't be signaled.
func StartOperation[T operation.Any](c *fiber.Ctx, all Operations[T], wanted T, reason string) (started T, err error) {
	started, err = all.Start(RequestContext(c), wanted, Actor(c, reason))
	return started, unlessStored(started, err)
}

func unlessStored(o operation.Any, err error) error {
	if o.Common().ID != "" {
		return nil
	}
	return err
}

// Starts returns a handler that responds with what it starts.
func Starts[T any](start func(*fiber.Ctx) (T, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		started, err := start(c)
		if err != nil {
			return err
		}
		return c.Status(fiber.StatusAccepted).JSON(started)
	}
}

// Rate returns the rate in a body, or the default of the kind.
func Rate(rate float64, kind operation.Kind) (float64, error) {
	rates := kind.Rates()
	if rate == 0 {
		rate = rates.Default
	}
	if !rates.Allow(rate) {
		return 0, BadField("rate")
	}
	return rate, nil
}

// CheckAll refuses an empty filter unless the body has "all", and "all" together with a filter.
func CheckAll(all, restrictsNothing bool) error {
	switch {
	case restrictsNothing && !all:
		return MissingField("all")
	case all && !restrictsNothing:
		return BadField("all")
	}
	return nil
}
