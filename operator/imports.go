package operator

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event"
)

func (a *API) importRoutes() []route {
	return []route{
		{"GET", "/imports", "the latest imports", a.listImports},
		{"GET", "/imports/:id", "one import", a.showImport},
		{"POST", "/imports/:id/pause", "pause an import", a.changeImport(event.OperationPaused)},
		{"POST", "/imports/:id/resume", "resume an import", a.changeImport(event.OperationRunning)},
		{"POST", "/imports/:id/cancel", "cancel an import", a.changeImport(event.OperationCanceled)},
	}
}

func (a *API) listImports(c *fiber.Ctx) error { return sendLatest(c, a.Imports.Imports) }

func (a *API) showImport(c *fiber.Ctx) error { return sendOperation(c, a.Imports.Import) }

func (a *API) changeImport(to event.OperationState) fiber.Handler {
	return func(c *fiber.Ctx) error {
		return sendChanged(c, to, a.Imports.ChangeImport, func(i event.Import) string { return i.ID })
	}
}
