package console

import (
	"html/template"
	"testing"

	"github.com/jba/templatecheck"
	"github.com/stretchr/testify/require"

	"holdfast/operator/api"
	"holdfast/operator/console/eventtypes"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// shown is a view whose data have their type, so that a template can be checked against it.
type shown[T any] struct {
	frame.View

	Data T
}

// Every field and method that a template reads exists: the compiler doesn't check those.
func TestTemplatesReadExistingFields(t *testing.T) {
	t.Parallel()
	pages := New(Options{API: &api.API{}}).Templates()
	for name, view := range map[string]any{
		"audit":        shown[auditPage]{},
		"causes":       shown[causePage]{},
		"check":        shown[checkPage]{},
		"connect":      shown[connectList]{},
		"connection":   shown[connection]{},
		"confirm":      shown[frame.Confirm]{},
		"deliveries":   shown[deliveryList]{},
		"diff":         shown[diffPage]{},
		"edit":         shown[editPage]{},
		"entities":     shown[entityPages]{},
		"entity":       shown[entityPage]{},
		"error":        shown[httpapi.Failure]{},
		"event":        shown[eventPage]{},
		"event_type":   shown[eventtypes.Page]{},
		"event_types":  shown[eventtypes.List]{},
		"events":       shown[eventList]{},
		"fields":       shown[fieldsPage]{},
		"form":         shown[*form]{},
		"found":        shown[matches]{},
		"dead_letter":  shown[deadLetterPage]{},
		"dead_letters": shown[deadLetterList]{},
		"made":         shown[madePage]{},
		"manual":       shown[manualPage]{},
		"now":          shown[nowPage]{},
		"operation":    shown[operationView]{},
		"operations":   shown[[]operationGroup]{},
		"provider":     shown[providerPage]{},
		"providers":    shown[providerList]{},
		"rebuild":      shown[api.RebuildRequest]{},
		"destination":  shown[destinationPage]{},
		"destinations": shown[destinationList]{},
		"replay":       shown[replayPage]{},
		"resend":       shown[resendPage]{},
		"rotated":      shown[rotatedPage]{},
		"trial":        shown[trialPage]{},
		"try":          shown[tryPage]{},
	} {
		page := pages[name]
		require.NotNil(t, page, name)
		delete(pages, name)
		// These two take the view, which has another type here.
		page.Funcs(template.FuncMap{
			"csrf": func(any) template.HTML { return "" },
			"may":  func(_ any, _, _ string) bool { return true },
		})
		require.NoError(t, templatecheck.CheckHTML(page.Lookup("layout.html"), view), name)
	}
	delete(pages, "login")
	require.Empty(t, pages, "each page is held against what it shows")
}
