package observe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dashboard is what of a dashboard of Grafana can be wrong without Grafana.
type dashboard struct {
	Title, UID, Description string
	Tags                    []string
	SchemaVersion           int `json:"schemaVersion"`
	Links                   []struct{ Title, URL, Type string }
	Templating              struct{ List []variable }
	Panels                  []panel

	file string
}

type variable struct {
	Name, Type string
	Query      json.RawMessage
	Datasource *datasource
}

type datasource struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               *datasource
	GridPos                  struct{ X, Y, W, H int } `json:"gridPos"`
	Targets                  []struct {
		RefID      string `json:"refId"`
		Expr       string
		Datasource *datasource
	}
	FieldConfig struct{ Defaults struct{ Unit string } } `json:"fieldConfig"`
}

func readDashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	for _, file := range dashboardFiles(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d := dashboard{file: filepath.Base(file)}
		require.NoError(t, json.Unmarshal(text, &d), file)
		all = append(all, d)
	}
	require.Len(t, all, 4)
	return all
}

// queries are the queries of panels and variables.
func (d dashboard) queries() (all []query) {
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, query{d.file + ", " + p.Title, target.Expr})
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		var of struct{ Query string }
		if json.Unmarshal(v.Query, &of) == nil {
			text := strings.TrimSuffix(strings.TrimPrefix(of.Query, "label_values("), ")")
			selector, label, _ := strings.Cut(text, ", ")
			all = append(all, query{d.file + ", variable " + v.Name, "count by (" + label + ") (" + selector + ")"})
		}
	}
	return all
}

const (
	prometheus = "prometheus"
	// docs is the variable that says where the documentation is shown.
	docs = "docs"
)

// A dashboard that Grafana would show wrongly, or not find its figures for, is found here.
func TestDashboardsAreWhole(t *testing.T) {
	t.Parallel()
	uids := map[string]string{}
	for _, d := range readDashboards(t) {
		t.Run(d.file, func(t *testing.T) {
			require.Empty(t, uids[d.UID], "its uid is its own")
			uids[d.UID] = d.file
			require.Equal(t, "holdfast-"+strings.TrimSuffix(d.file, ".json"), d.UID, "links go by it")
			require.NotEmpty(t, d.Description)
			require.Contains(t, d.Tags, "holdfast")
			require.GreaterOrEqual(t, d.SchemaVersion, 39)
			require.Equal(t, "datasource", d.Templating.List[0].Type)
			require.Equal(t, "datasource", d.Templating.List[0].Name)
			for _, v := range d.Templating.List[1:] {
				if v.Name != docs {
					require.NotEmpty(t, d.asks("$"+v.Name), "$%s is used", v.Name)
				}
			}
			ids := map[int]bool{}
			for _, p := range d.Panels {
				require.NotZero(t, p.ID, p.Title)
				require.False(t, ids[p.ID], "%s: the id %d is taken", p.Title, p.ID)
				ids[p.ID] = true
				p.check(t)
			}
			d.checkPlaces(t)
		})
	}
}

func (d dashboard) asks(variable string) (where []string) {
	for _, q := range d.queries() {
		if strings.Contains(q.text, variable) {
			where = append(where, q.where)
		}
	}
	return where
}

func (p panel) check(t *testing.T) {
	t.Helper()
	require.NotEmpty(t, p.Title)
	if p.Type == "row" || p.Type == "text" {
		return
	}
	require.NotEmpty(t, p.Description, "%s says what it shows, and what to do", p.Title)
	require.Equal(t, &datasource{prometheus, "${datasource}"}, p.Datasource, p.Title)
	require.NotEmpty(t, p.FieldConfig.Defaults.Unit, "%s has a unit", p.Title)
	require.NotEmpty(t, p.Targets, p.Title)
	refs := map[string]bool{}
	for _, target := range p.Targets {
		require.NotEmpty(t, target.Expr, p.Title)
		require.False(t, refs[target.RefID], "%s: refId %s is taken", p.Title, target.RefID)
		refs[target.RefID] = true
	}
}

// checkPlaces: the grid is 24 wide, and no panel lies on another.
func (d dashboard) checkPlaces(t *testing.T) {
	t.Helper()
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		at := p.GridPos
		require.LessOrEqual(t, at.X+at.W, 24, p.Title)
		require.Positive(t, at.W*at.H, p.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies on another", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// Each leads to each of the others, and to the playbook.
func TestDashboardsLeadToEachOther(t *testing.T) {
	t.Parallel()
	all := readDashboards(t)
	for _, d := range all {
		urls := map[string]bool{}
		for _, link := range d.Links {
			urls[link.URL] = true
		}
		for _, other := range all {
			require.Equal(t, other.UID != d.UID, urls["/d/"+other.UID], "%s to %s", d.UID, other.UID)
		}
		require.True(t, urls["${docs}/playbook.md"], "%s leads to the playbook", d.UID)
	}
}
