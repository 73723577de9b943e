package httpapi

import (
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/internal/word"
)

const formKey = "form"

// AcceptForm makes ReadChange read a form instead of JSON. Only the guard calls it, for requests to pages: any site can make a
// browser send a form, and pages check where it comes from.
func AcceptForm(c *fiber.Ctx) { c.Locals(formKey, true) }

func isForm(c *fiber.Ctx) bool { return c.Locals(formKey) != nil }

// decodeForm reads the fields of a struct, by their names in JSON, from a form and the query. It leaves out empty fields, and
// fields of the form that the struct lacks, and refuses parameters of the query that it lacks.
func decodeForm(c *fiber.Ctx, into any) error {
	query, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return Refuse(CodeBadRequest)
	}
	names, value := []string{}, reflect.ValueOf(into).Elem()
	for _, f := range reflect.VisibleFields(value.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		if text := strings.TrimSpace(c.FormValue(name)); name != "" && text != "" {
			if err := setField(value.FieldByIndex(f.Index), text); err != nil {
				return &RefusalError{Code: CodeBadField, Field: name, Detail: err.Error()}
			}
		}
	}
	for name := range query {
		if !slices.Contains(names, name) {
			return refuseField(CodeUnknownParameter, Shortened(name))
		}
	}
	return nil
}

// setField sets a field of a request's body.
func setField(field reflect.Value, text string) (err error) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch to := field.Addr().Interface().(type) {
	case *time.Time:
		*to, err = ParseTime(text)
	case *event.Duration:
		var d time.Duration
		d, err = word.ParseDuration(text)
		*to = event.Duration(d)
	default:
		err = setPlain(field, text)
	}
	return err
}

func setPlain(field reflect.Value, text string) (err error) {
	var b bool
	var n int64
	var x float64
	switch field.Kind() {
	case reflect.Bool:
		b, err = strconv.ParseBool(text)
		field.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err = strconv.ParseInt(text, 10, 64)
		field.SetInt(n)
	case reflect.Float64:
		x, err = strconv.ParseFloat(text, 64)
		field.SetFloat(x)
	case reflect.String:
		field.SetString(text)
	default:
		err = errors.New("isn't a field of forms")
	}
	return err
}
