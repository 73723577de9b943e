package console

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/internal/word"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// field is one input of a form. Its name is the field's path in the API.
type field struct {
	Name, Label, Hint string
	Kind              fieldKind
	Value, Error      string
	// Covers are more API fields whose errors are shown here.
	Covers []string
}

type fieldKind string

// The kinds of fields other than a line of text.
const (
	fieldArea   fieldKind = "area"
	fieldSecret fieldKind = "password"
	fieldCheck  fieldKind = "check"
)

// fieldGroup is a part of a form; one with a title is collapsed unless a field in it is set.
type fieldGroup struct {
	Title  string
	Fields []*field
}

// Open reports whether the group starts expanded.
func (g fieldGroup) Open() bool {
	return slices.ContainsFunc(g.Fields, func(f *field) bool { return f.Value != "" || f.Error != "" })
}

// form is a page that creates or edits something. Its parsers record errors next to the field.
type form struct {
	Lead, Action, Button, Back string
	Groups                     []fieldGroup
	Hidden                     []frame.Fact
	// Problems are errors that belong to no field.
	Problems []string
}

func (f *form) fields() (all []*field) {
	for _, g := range f.Groups {
		all = append(all, g.Fields...)
	}
	return all
}

func (f *form) field(name string) *field {
	for _, one := range f.fields() {
		if one.Name == name {
			return one
		}
	}
	return nil
}

// read reads the submitted values. Fields that weren't sent stay unchanged.
func (f *form) read(ctx *fiber.Ctx) {
	sent := ctx.Request().PostArgs()
	for _, one := range f.fields() {
		if !sent.Has(one.Name) {
			continue
		}
		text := string(sent.Peek(one.Name))
		if !httpapi.IsText(text) {
			text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
			f.refuse(one.Name, "must be UTF-8 without NUL characters: they were removed")
		}
		one.Value = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	}
}

func (f *form) failed() bool {
	return len(f.Problems) > 0 || slices.ContainsFunc(f.fields(), func(one *field) bool { return one.Error != "" })
}

// text returns the value of a field; "" if the form has no such field.
func (f *form) text(name string) string {
	if one := f.field(name); one != nil {
		return one.Value
	}
	return ""
}

// words splits a field into several values; nil if it is empty.
func (f *form) words(name string) []string {
	words := strings.FieldsFunc(f.text(name), isSeparator)
	if len(words) == 0 {
		return nil
	}
	return words
}

func isSeparator(r rune) bool { return strings.ContainsRune(", \n\t", r) }

// number parses a whole number; an empty field is 0.
func (f *form) number(name string) int {
	text := f.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		f.refuse(name, "must be a whole number")
	}
	return n
}

// duration parses a duration; an empty field is 0.
func (f *form) duration(name string) event.Duration {
	text := f.text(name)
	if text == "" {
		return 0
	}
	return f.durationOf(name, text)
}

func (f *form) durationOf(name, text string) event.Duration {
	d, err := word.ParseDuration(text)
	if err != nil {
		f.refuse(name, err.Error())
	}
	return event.Duration(d)
}

// object parses a JSON object; an empty field leaves the value unchanged.
func (f *form) object(name string, into any) {
	text := f.text(name)
	if text == "" {
		return
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		f.refuse(name, "is not the JSON that is expected here: "+strings.TrimPrefix(err.Error(), "json: "))
	}
}

func (f *form) refuse(name, why string) {
	if one := f.owner(name); one != nil {
		if one.Error != "" {
			why = one.Error + "; " + why
		}
		one.Error = why
		return
	}
	f.Problems = append(f.Problems, strings.TrimSpace(name+" "+why))
}

// owner returns the form's field for a path in the API, or nil.
func (f *form) owner(path string) *field {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	for _, one := range f.fields() {
		names := append([]string{one.Name}, one.Covers...)
		if slices.ContainsFunc(names, func(name string) bool { return within(path, name) }) {
			return one
		}
	}
	for _, one := range f.fields() {
		if path != "" && within(one.Name, path) {
			return one
		}
	}
	return nil
}

// explain puts an API error next to the fields that it concerns. It returns false if no other input would avoid the error.
func (f *form) explain(ctx *fiber.Ctx, err error) bool {
	var refused *event.Error
	if errors.As(err, &refused) && len(refused.Fields) > 0 {
		for _, one := range refused.Fields {
			f.refuse(one.Field, one.Reason)
		}
		return true
	}
	shown := httpapi.FailureOf(ctx, err)
	why := shown.Message
	if shown.Detail != "" {
		why = shown.Detail
	}
	switch shown.Code {
	case httpapi.CodeMissingField:
		f.refuse(shown.Field, "is required")
	case httpapi.CodeBadField, httpapi.CodeRefused, httpapi.CodeWrongState:
		path, text := shown.Field, why
		if path == "" {
			path, text = f.leadingField(why)
		}
		f.refuse(path, text)
	case httpapi.CodeForbidden:
		f.refuse("", why)
	default:
		return false
	}
	return true
}

// leadingField splits a leading field name off a sentence.
func (f *form) leadingField(sentence string) (path, rest string) {
	first, rest, _ := strings.Cut(sentence, " ")
	first = strings.TrimSuffix(first, ":")
	if f.owner(first) == nil {
		return "", sentence
	}
	return first, rest
}

// showForm shows a form; one with problems keeps the input, except for secrets.
func (c *Console) showForm(ctx *fiber.Ctx, title string, f *form) error {
	if f.failed() {
		ctx.Status(fiber.StatusUnprocessableEntity)
		f.forgetSecrets()
	}
	return c.Show(ctx, "form", frame.Page{Title: title, Section: destinations, Data: f})
}

func (f *form) forgetSecrets() {
	for _, one := range f.fields() {
		if one.Kind == fieldSecret && one.Value != "" {
			one.Value = ""
			f.refuse(one.Name, "isn't sent back to you: give it again")
		}
	}
}

// changedMeanwhile reports that the edited object has changed since the form was shown.
func (f *form) changedMeanwhile(ctx *fiber.Ctx, version int64) {
	if ctx.FormValue("version") != strconv.FormatInt(version, 10) {
		f.Problems = append(f.Problems, "Another user changed it after you opened the form. Nothing was saved: open the form again.")
	}
}

func versionOf(version int64) []frame.Fact {
	return []frame.Fact{{"version", strconv.FormatInt(version, 10)}}
}

// textOfNumber returns "" for 0, which stands for the default.
func textOfNumber(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func textOfDuration(d event.Duration) string {
	if d == 0 {
		return ""
	}
	return word.Duration(time.Duration(d))
}

// suggestions are the existing providers and types, which filters suggest: {{template "suggestions" .Suggestions}}.
type suggestions struct{ Providers, Types []string }

// suggestions returns the providers and types of the definitions and of the newest events.
func (c *Console) suggestions(ctx context.Context) (k suggestions, err error) {
	if c.API.Events != nil {
		if k.Providers, k.Types, err = c.API.Events.RecentTypes(ctx); err != nil {
			return k, err
		}
	}
	if c.Definitions != nil {
		k.Providers = append(k.Providers, c.Definitions.Catalogue().Names()...)
	}
	slices.Sort(k.Providers)
	k.Providers = slices.Compact(k.Providers)
	return k, nil
}
