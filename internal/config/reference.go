package config

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:generate go test . -run "TestReferencePageIsCurrent|TestTheListOfValuesInForceIsMasked" -update

//go:embed reference.md.tmpl
var referenceTemplate string

// referenceSection is a part of the reference page.
type referenceSection struct {
	Name, Doc string
	Variables []Variable
}

// Reference is the page docs/configuration.md.
func Reference() string {
	docs := readDocs()
	var page []referenceSection
	for _, v := range Describe() {
		if len(page) == 0 || page[len(page)-1].Name != v.Section {
			page = append(page, referenceSection{Name: v.Section, Doc: docs[v.Section]})
		}
		last := &page[len(page)-1]
		last.Variables = append(last.Variables, v)
	}
	var b strings.Builder
	if err := template.Must(template.New("reference").Parse(referenceTemplate)).Execute(&b, page); err != nil {
		panic(err) // a template and data that are both part of this package
	}
	return b.String()
}
